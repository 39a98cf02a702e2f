/** Makes, restores and drops tables while disk calls fail: see crashLoop. */

import { join } from "node:path";
import { expect } from "vitest";
import { ID, prepared, readTree, rowsOf, STRIDE, stateOf, testCrashes, writeTree } from "./crashLoop.js";

testCrashes([
  {
    name: "create",
    prepared: false,
    run: (namespace) => namespace.createTable({ id: ID }, rowsOf(7, 8)),
    before: null,
    after: { version: 1, rows: [7, 8] },
  },
  {
    name: "overwrite",
    ...prepared,
    run: (namespace) => namespace.insertIntoTable({ id: ID, mode: "overwrite" }, rowsOf(9)),
    after: { version: 3, rows: [9] },
  },
  {
    name: "restore",
    ...prepared,
    run: (namespace) => namespace.restoreTable({ id: ID, version: 1 }),
    after: { version: 3, rows: [1, 2] },
  },
  {
    name: "createTableVersion",
    ...prepared,
    run: (namespace) =>
      namespace.createTableVersion({ id: ID, version: 3, manifestPath: "staged", metadata: { by: "test" } }),
    after: { version: 3, rows: [1, 2] },
  },
  {
    name: "drop and create anew",
    ...prepared,
    run: async (namespace) => {
      await namespace.dropTable({ id: ID });
      await namespace.createTable({ id: ID }, rowsOf(7, 8));
    },
    between: null,
    after: { version: 1, rows: [7, 8] },
    stride: STRIDE,
  },
  {
    name: "append to what was put back from a copy",
    ...prepared,
    setUp: async (namespace, disk, root) => {
      const table = join(root, "t.lance");
      const copy = await readTree(table);
      // The engine knows versions that the copy lacks.
      await namespace.insertIntoTable({ id: ID }, rowsOf(4));
      expect(await stateOf(namespace)).toEqual({ version: 3, rows: [1, 2, 3, 4] });
      await disk.removeTree(table);
      await writeTree(disk, table, copy);
    },
    run: (namespace) => namespace.insertIntoTable({ id: ID }, rowsOf(9)),
    after: { version: 3, rows: [1, 2, 3, 9] },
    stride: STRIDE,
  },
]);
