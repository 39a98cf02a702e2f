/** Zones have the requested number of rows, initially and after each update of the index. */

import { join } from "node:path";
import { Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { kindOfName } from "../../../src/indexes/kinds/kinds.js";
import type { TableField } from "../../../src/schema/schema.js";
import { filesIn } from "../../indexes/indexDirectory.js";
import { buildIndex, foundThere } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";

const ROWS = 300;
const id = ["t"];
const FIELD = { id: 0, name: "id", type: { kind: "int", bits: 32, signed: true } } as unknown as TableField;

const rowsFrom = (first: number) =>
  new Table({
    id: vectorFromArray(Int32Array.from({ length: ROWS }, (_, row) => first + row)),
  });

it.each([
  ["ZONEMAP", false],
  ["ZONEMAP", true],
  ["BLOOMFILTER", false],
  ["BLOOMFILTER", true],
] as const)("%s, stable row ids: %s", async (indexType, stableRowIds) => {
  const root = await makeTempDir();
  await using namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id, stableRowIds }, rowsFrom(0));
  const kind = kindOfName(indexType)!;
  /** Returns the rows of a zone by the index's file, and the rows that are scanned for one value. */
  const look = async () => {
    const [{ indexUuid, numUnindexedRows }] = await namespace.table(id).indexes();
    expect(numUnindexedRows).toBe(0);
    const files = filesIn(join(root, "t.lance", "_indices", indexUuid));
    const index = await kind.open(files, FIELD);
    const values = {
      ...{ kind: "fixed", length: 1, validity: null, byteWidth: 4 },
      values: Uint8Array.of(200, 0, 0, 0),
    };
    const { rows } = await index.search({ kind: "in", values } as never);
    await files.close();
    expect(rows.size).toBeLessThan(64);
    expect(await foundThere(root, "t", "id = 200")).toEqual([200]);
    return index.parameters;
  };
  const asked = { rowsPerZone: 16 };
  await buildIndex(namespace, { id, column: "id", indexType, ...asked });
  expect(await look()).toMatchObject(asked);
  await namespace.insertIntoTable({ id }, rowsFrom(ROWS));
  await namespace.optimizeTable({ id, targetRowsPerFragment: ROWS });
  expect(await look()).toMatchObject(asked);
  await namespace.deleteFromTable({ id, predicate: "id % 5 = 1" });
  await namespace.optimizeTable({ id });
  expect(await look()).toMatchObject(asked);
  await buildIndex(namespace, { id, column: "id", indexType, replace: true });
  expect((await namespace.table(id).indexes())[0].numIndexedRows).toBe(480);
});
