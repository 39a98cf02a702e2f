/** Spark: SQL on our tables, through our catalog by REST and through the directory. */

import type { Table } from "apache-arrow";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildIndex } from "../support/indexedTable.js";
import { makeTempDir } from "../support/tempDir.js";
import { expectSame, typesOf } from "./support/frameSuite.js";
import { API_KEY } from "./support/handler.js";
import { Python } from "./support/python.js";
import { numbersFrom } from "./support/rows.js";
import { sampleRows } from "./support/sampleTable.js";
import { ServedDirectory } from "./support/served.js";
import { type SparkBundle, sparkBundle } from "./support/sparkBundle.js";

const ROUNDS = 20;
/** Types that Spark has; its integers have signs. */
const COLUMNS = ["id", "n", "kind", "s", "flag", "small", "day", "tags", "place"];
const rowsFrom = (first: number, count: number): Table => sampleRows(first, count).select(COLUMNS);

describe("Spark 4.0.5 with lance-spark 0.7.1", () => {
  let bundle: SparkBundle;
  let served: ServedDirectory;
  let spark: Python;
  beforeAll(async () => {
    bundle = await sparkBundle();
    if ("notServed" in bundle) return;
    served = await ServedDirectory.serve();
    await served.namespace.createNamespace({ id: ["lake"] });
    const rest = (key: string) => ({ impl: "rest", uri: served.handler.url, "headers.x-api-key": key });
    const catalogs = {
      rest: rest(API_KEY),
      dir: { impl: "dir", root: served.root },
      refused: rest("wrong"),
    };
    spark = await Python.start("spark", "spark_tables");
    expect(await spark.call("start", bundle.jar, await makeTempDir(), catalogs)).toMatch(/^4\.0\./);
  }, 900_000);
  afterAll(async () => {
    await spark?.call("stop");
    await spark?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  }, 60_000);
  beforeEach((context) => {
    if ("notServed" in bundle) context.skip(bundle.notServed);
  });

  const ours = (name: string) => served.namespace.table(["lake", name]);
  const idsHere = (name: string) => served.ids(["lake", name]);
  const makeOurs = async (name: string) => {
    const id = ["lake", name];
    await served.namespace.createTable({ id }, rowsFrom(0, 150));
    await ours(name).insert(rowsFrom(150, 100));
    await buildIndex(served.namespace, { id, column: "id", indexType: "BTREE" });
    await buildIndex(served.namespace, { id, column: "kind", indexType: "BITMAP" });
    await ours(name).insert(rowsFrom(250, 50));
    await ours(name).delete("id % 10 = 9");
  };

  describe.each(["rest", "dir"])("catalog of impl %s", (catalog) => {
    const nameThere = (name: string) => `${catalog}.lake.${name}`;

    it("creates a table and inserts rows, and we read it", async () => {
      const name = served.freshName();
      await spark.call("run", [
        `CREATE TABLE ${nameThere(name)} (id BIGINT NOT NULL, n DOUBLE, s STRING)`,
        `INSERT INTO ${nameThere(name)} SELECT id, id / 4, concat('text ', id) FROM range(90)`,
        `INSERT INTO ${nameThere(name)} VALUES (90, NULL, NULL)`,
      ]);
      expect(await idsHere(name)).toEqual(numbersFrom(0, 91));
      expect(await ours(name).countRows("s IS NULL AND n IS NULL")).toBe(1);
      expect(await ours(name).countRows("n >= 20.0 AND s = 'text 88'")).toBe(1);
    });

    it("reads our table with deletions and indexes", async () => {
      const name = served.freshName();
      await makeOurs(name);
      const rows = await ours(name).scan().toArrow();
      expectSame(rows, await spark.call("rows", `SELECT * FROM ${nameThere(name)}`, typesOf(rows.schema)));
    });

    it("selects with filters, aggregates and joins as we do", async () => {
      const name = served.freshName();
      await makeOurs(name);
      for (const where of [
        "id = 77",
        "id BETWEEN 30 AND 220 AND kind = 'kind 2'",
        "n > 40.5 OR s IS NULL",
        "flag",
      ]) {
        const counted = await spark.call("values", `SELECT count(*) FROM ${nameThere(name)} WHERE ${where}`);
        expect(counted, where).toEqual([[await ours(name).countRows(where)]]);
      }
      const sums = new Map<string, number>();
      for (const { kind, id } of await ours(name).scan().toArrow())
        sums.set(kind, (sums.get(kind) ?? 0) + Number(id));
      const sorted = [...sums].sort(([one], [two]) => (one < two ? -1 : 1));
      const grouped = `SELECT kind, sum(id) FROM ${nameThere(name)} GROUP BY kind ORDER BY kind`;
      expect(await spark.call("values", grouped)).toEqual(sorted);
      const joined =
        `SELECT k.label, sum(t.id) FROM ${nameThere(name)} t ` +
        "JOIN VALUES ('kind 1', 'one'), ('kind 3', 'three') AS k(kind, label) ON t.kind = k.kind GROUP BY k.label ORDER BY 1";
      expect(await spark.call("values", joined)).toEqual([
        ["one", sums.get("kind 1")],
        ["three", sums.get("kind 3")],
      ]);
    });

    it("updates, deletes and merges rows of our table", async () => {
      const name = served.freshName();
      await makeOurs(name);
      await spark.call("run", [
        `UPDATE ${nameThere(name)} SET s = 'changed' WHERE id BETWEEN 20 AND 24`,
        `DELETE FROM ${nameThere(name)} WHERE id < 10`,
        `MERGE INTO ${nameThere(name)} t USING (SELECT id + 295 AS id FROM range(10)) u ON t.id = u.id ` +
          "WHEN MATCHED THEN UPDATE SET t.s = 'merged' " +
          "WHEN NOT MATCHED THEN INSERT (id, n, kind, s, flag, small, day, tags, place) " +
          "VALUES (u.id, NULL, 'new', 'merged', NULL, NULL, NULL, NULL, NULL)",
      ]);
      const expected = [...numbersFrom(10, 290).filter((id) => id % 10 !== 9), 299, ...numbersFrom(300, 5)];
      expect(await idsHere(name)).toEqual(expected);
      expect(await ours(name).countRows("s = 'changed'")).toBe(5);
      expect(await ours(name).countRows("s = 'merged'")).toBe(10);
      // Our indexes answer for rows that Spark moved.
      expect(await ours(name).countRows("id = 22 AND s = 'changed'")).toBe(1);
    });

    it("reads a version of the past", async () => {
      const name = served.freshName();
      await served.namespace.createTable({ id: ["lake", name] }, rowsFrom(0, 20));
      await ours(name).insert(rowsFrom(20, 10));
      const counted = (suffix: string) =>
        spark.call("values", `SELECT count(*) FROM ${nameThere(name)}${suffix}`);
      expect(await counted(" VERSION AS OF 1")).toEqual([[20]]);
      expect(await counted("")).toEqual([[30]]);
    });

    it("renames a table", async () => {
      const [name, renamed] = [served.freshName(), served.freshName()];
      await served.namespace.createTable({ id: ["lake", name] }, rowsFrom(0, 5));
      await spark.call("run", [`ALTER TABLE ${nameThere(name)} RENAME TO ${nameThere(renamed)}`]);
      expect(await idsHere(renamed)).toEqual(numbersFrom(0, 5));
    });

    it("drops a table and keeps its files, or purges it", async () => {
      const [dropped, purged] = [served.freshName(), served.freshName()];
      for (const name of [dropped, purged])
        await served.namespace.createTable({ id: ["lake", name] }, rowsFrom(0, 5));
      const { location } = await ours(dropped).describe();
      await spark.call("run", [`DROP TABLE ${nameThere(dropped)}`, `DROP TABLE ${nameThere(purged)} PURGE`]);
      const { tables: left } = await served.namespace.listTables({ id: ["lake"] });
      expect(left).not.toContain(dropped);
      expect(left).not.toContain(purged);
      const read = `SELECT count(*) FROM lance.\`${location}\``;
      expect(await spark.call("values", read)).toEqual([[5]]);
    });
  });

  it("is refused with a wrong API key", async () => {
    await expect(spark.call("values", "SHOW TABLES IN refused.lake")).rejects.toThrow(/unauthenticated|401/i);
  });

  it(`loses no row in ${ROUNDS} rounds of a race with our inserts by REST`, async () => {
    const name = served.freshName();
    await spark.call("run", [`CREATE TABLE rest.lake.${name} (id BIGINT)`]);
    const insert = (first: number, count: number) =>
      served.insertByRest(["lake", name], rowsFrom(first, count).select(["id"]));
    for (let round = 0; round < ROUNDS; round++) {
      const first = round * 10;
      await Promise.all([
        spark.call("run", [`INSERT INTO rest.lake.${name} SELECT id + ${first} FROM range(4)`]),
        insert(first + 4, 3).then(() => insert(first + 7, 3)),
      ]);
    }
    expect(await idsHere(name)).toEqual(numbersFrom(0, ROUNDS * 10));
  });
});
