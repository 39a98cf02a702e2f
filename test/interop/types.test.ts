/** Tables of every type that both engines append to and delete from; matrix.test.ts has single columns. */

import { tableFromIPC, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { sharedDirectory } from "../support/fixtures.js";
import { allTypesSpec, makeIpc, makeTable, type TableSpec, tableSpecs } from "../support/generators.js";
import { exchangeTables, sharedNamespaces } from "../support/interop.js";
import { compareTables, reference } from "../support/reference.js";

const VERSIONS = ["2.1", "2.2"] as const;

const root = sharedDirectory();
const namespaces = sharedNamespaces(root);
let tableCount = 0;
const freshName = () => `t${tableCount++}`;

describe.each(VERSIONS)("file version %s", (version) => {
  it("several fragments, appended by turns", async () => {
    const name = freshName();
    const namespace = namespaces[version];
    const part = (seed: number) => makeTable(allTypesSpec(2_500, "some", { seed, shape: "sorted" }));
    await namespace.createTable({ id: [name] }, part(0));
    for (let seed = 1; seed < 6; seed++) {
      if (seed % 2 === 0) await namespace.insertIntoTable({ id: [name] }, part(seed));
      else await reference.appendTable(root, name, tableToIPC(part(seed)));
    }
    const expected = part(0).concat(part(1), part(2), part(3), part(4), part(5));
    compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
    compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
    const stats = await namespace.getTableStats({ id: [name] });
    expect(stats).toEqual(await reference.tableStats(root, name));
    expect(stats.fragmentStats.numFragments).toBe(6);
  });

  it("arbitrary schemas and data", async () => {
    await exchangeTables({
      label: `interop ${version}`,
      namespace: namespaces[version],
      root,
      dataStorageVersion: version,
      specs: tableSpecs({ maxRows: 2_000 }),
      tableOf: makeTable,
      runs: 60,
    });
  });
});

describe("parts of a table", () => {
  it("columns, limit and offset give what the reference gives", async () => {
    const name = freshName();
    const spec = allTypesSpec(20_000, "some", { seed: 9, batchRows: 6_000 });
    const namespace = namespaces["2.2"];
    await reference.createTable(root, name, makeIpc(spec));
    await namespace.insertIntoTable({ id: [name] }, makeTable(spec));
    const columns = spec.columns.filter((_, index) => index % 3 === 1).map((column) => column.name);
    for (const [offset, limit] of [
      [0, 1],
      [5_999, 2],
      [19_990, 20],
      [39_999, 5],
      [40_000, 5],
      [123, 30_000],
    ]) {
      const expected = tableFromIPC(await reference.readTable(root, name, { columns, offset, limit }));
      const actual = await namespace.table([name]).scan({ columns, offset, limit }).toArrow();
      expect(actual.numRows).toBe(Math.max(0, Math.min(limit, 40_000 - offset)));
      compareTables(expected, actual, { metadata: false });
    }
  });

  it("rows the reference deleted are gone", async () => {
    const name = freshName();
    const namespace = namespaces["2.2"];
    const spec: TableSpec = {
      columns: [
        { name: "k", type: "int32", shape: "sorted", nulls: "none" },
        { name: "s", type: "utf8", shape: "random", nulls: "some" },
      ],
      rowCount: 30_000,
      seed: 4,
    };
    await namespace.createTable({ id: [name] }, makeTable(spec));
    await namespace.insertIntoTable({ id: [name] }, makeTable({ ...spec, seed: 5 }));
    const keys = makeTable(spec).getChild("k")!;
    await reference.deleteRows(root, name, `k = ${keys.get(77)} or k = ${keys.get(9_000)}`);
    const some = tableFromIPC(await reference.readTable(root, name));
    compareTables(some, await namespace.table([name]).scan().toArrow(), { metadata: false });
    expect(await namespace.countTableRows({ id: [name] })).toBe(some.numRows);
    // Enough rows that the deletion file becomes a bitmap.
    await reference.deleteRows(root, name, `k > ${keys.get(20_000)}`);
    const fewer = tableFromIPC(await reference.readTable(root, name));
    expect(fewer.numRows).toBeLessThan(some.numRows);
    compareTables(fewer, await namespace.table([name]).scan().toArrow(), { metadata: false });
    compareTables(
      tableFromIPC(await reference.readTable(root, name, { offset: 70, limit: 15_000 })),
      await namespace.table([name]).scan({ offset: 70, limit: 15_000 }).toArrow(),
      { metadata: false },
    );
    await namespace.insertIntoTable({ id: [name] }, makeTable({ ...spec, rowCount: 10 }));
    expect(await reference.countRows(root, name)).toBe(fewer.numRows + 10);
  });
});
