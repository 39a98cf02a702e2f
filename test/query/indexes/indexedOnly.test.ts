/** `fastSearch` of a query without a search: rows that no index of the filter covers are left out. */

import { Int32, Table, Utf8, vectorFromArray } from "apache-arrow";
import { openBothEngines } from "../../support/bothEngines.js";
import { describe, expect, it } from "../../support/fixtures.js";

const ids = ["t"];
const rows = (first: number, count: number) =>
  new Table({
    id: vectorFromArray(
      Array.from({ length: count }, (_, row) => first + row),
      new Int32(),
    ),
    kind: vectorFromArray(
      Array.from({ length: count }, (_, row) => `k${row % 3}`),
      new Utf8(),
    ),
  });

const FILTERS = [
  "id >= 98",
  "id IN (3, 101)",
  "id IN (3, 101) AND kind = 'k1'",
  "NOT (id < 98)",
  "kind = 'k2'",
  "kind = 'k2' OR id > 100",
  "id IS NULL",
];

describe("a fast query", async () => {
  const { namespace, connection } = await openBothEngines();

  it("finds the rows that LanceDB finds", async () => {
    await namespace.createTable({ id: ids }, rows(0, 100));
    await namespace
      .createTableIndex({ id: ids, column: "id", indexType: "BTREE" })
      .then(namespace.waitForJob.bind(namespace));
    await namespace.insertIntoTable({ id: ids }, rows(100, 4));
    const table = await connection.openTable("t");
    for (const filter of FILTERS) {
      const theirs = await table.query().where(filter).fastSearch().select(["id"]).toArray();
      const ours = await namespace.queryTable({ id: ids, filter, fastSearch: true, columns: ["id"] });
      expect([filter, (await ours.toArray()).map(({ id }) => id)]).toEqual([
        filter,
        theirs.map(({ id }) => id),
      ]);
    }
  });

  it("reads all rows without an index on a column of the filter, and without a filter", async ({ ns }) => {
    await ns.createTable({ id: ids }, rows(0, 10));
    const count = async (filter?: string) =>
      (await (await ns.queryTable({ id: ids, filter, fastSearch: true })).toArray()).length;
    expect(await count("id > 7")).toBe(2);
    expect(await count()).toBe(10);
  });

  it("scans all rows if the request forbids indexes", async ({ ns }) => {
    await ns.createTable({ id: ids }, rows(0, 10));
    await ns.waitForJob(await ns.createTableIndex({ id: ids, column: "id", indexType: "BTREE" }));
    await ns.insertIntoTable({ id: ids }, rows(10, 2));
    const count = async (useScalarIndex?: boolean) =>
      (await (await ns.queryTable({ id: ids, filter: "id > 7", fastSearch: true, useScalarIndex })).toArray())
        .length;
    expect(await count()).toBe(2);
    expect(await count(false)).toBe(4);
  });
});
