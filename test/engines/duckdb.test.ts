import { Float64, type Table, Utf8 } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { describeFrames, expectSame, type FramePair, pathOf, typesOf } from "./support/frameSuite.js";
import { API_KEY, startHandler } from "./support/handler.js";
import { Python } from "./support/python.js";
import { numbersFrom, rowsOf, sortedIdsOf } from "./support/rows.js";
import { makeSampleTable } from "./support/sampleTable.js";

const INTERVAL = /Unsupported cast from month_day_nano_interval to duration/;

/** Columns of the sample that DuckDB writes in the types that it read. */
const PLAIN = ["id", "n", "kind", "s"];

const plainRows = (ids: readonly number[]): Table =>
  rowsOf(ids, { n: [new Float64(), (id) => id / 2], s: [new Utf8(), (id) => `text ${id}`] });

const idsOf = async (namespace: DirectoryNamespace, name: string): Promise<number[]> =>
  sortedIdsOf(
    await namespace
      .table([name])
      .scan({ columns: ["id"] })
      .toArrow(),
  );

function describeDirectory(pair: FramePair): void {
  const attached = (...statements: string[]) => pair.python.call("attached", pair.root, statements);
  const attachedRows = (query: string, like: Table) =>
    pair.python.call<Table>("attached_rows", pair.root, query, like);

  describe("a directory attached", () => {
    it("lists and reads our tables", async () => {
      await makeSampleTable(pair.namespace, "listed");
      const rows = await pair.namespace.table(["listed"]).scan().toArrow();
      expectSame(rows, await attachedRows("FROM ours.main.listed", typesOf(rows.schema)));
    });

    it("creates, inserts, updates, merges and deletes rows that we read", async () => {
      await attached(
        "CREATE TABLE ours.main.made AS SELECT i AS id, i / 2 AS n, 'text ' || i AS s FROM range(60) t(i)",
        "INSERT INTO ours.main.made SELECT i, NULL, NULL FROM range(60, 90) t(i)",
        "UPDATE ours.main.made SET s = 'changed' WHERE id BETWEEN 20 AND 27",
        "DELETE FROM ours.main.made WHERE id IN (7, 77)",
        "MERGE INTO ours.main.made m USING (SELECT i AS id, 'merged' AS s FROM range(85, 95) t(i)) n ON m.id = n.id " +
          "WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.id, n.s)",
      );
      const table = pair.namespace.table(["made"]);
      const ids = numbersFrom(0, 95).filter((id) => id !== 7 && id !== 77);
      expect(await idsOf(pair.namespace, "made")).toEqual(ids);
      expect(await table.countRows("s = 'changed'")).toBe(8);
      expect(await table.countRows("s = 'merged'")).toBe(10);
      expect(await table.countRows("s IS NULL")).toBe(24);
    });

    it("changes our table, and we its", async () => {
      await pair.namespace.createTable({ id: ["shared"] }, plainRows([1, 2, 3]));
      const table = pair.namespace.table(["shared"]);
      await attached(
        "INSERT INTO ours.main.shared VALUES (4, 2.0, NULL)",
        "DELETE FROM ours.main.shared WHERE id = 1",
      );
      await table.insert(plainRows([5, 6]));
      await attached("UPDATE ours.main.shared SET s = 'theirs' WHERE id > 4");
      await table.delete("id = 6");
      expect(await idsOf(pair.namespace, "shared")).toEqual([2, 3, 4, 5]);
      const rows = await table.scan().toArrow();
      expectSame(rows, await attachedRows("FROM ours.main.shared", typesOf(rows.schema)));
    });

    it("alters columns of our table", async () => {
      await pair.namespace.createTable({ id: ["altered"] }, plainRows([1, 2]));
      await attached(
        "ALTER TABLE ours.main.altered ADD COLUMN twice DOUBLE",
        "ALTER TABLE ours.main.altered RENAME COLUMN s TO words",
        "ALTER TABLE ours.main.altered DROP COLUMN n",
      );
      const rows = await pair.namespace.table(["altered"]).scan().toArrow();
      expect(rows.toArray().map((row) => row.toJSON())).toEqual([
        { id: 1n, words: "text 1", twice: null },
        { id: 2n, words: "text 2", twice: null },
      ]);
    });

    it("builds an index, compacts and cleans up our table, and we read it", async () => {
      await makeSampleTable(pair.namespace, "kept");
      const table = pair.namespace.table(["kept"]);
      const rows = await table.scan().toArrow();
      const path = `'${pathOf(pair, "kept")}'`;
      await pair.python.call("run", `CREATE INDEX small_idx ON ${path} (small) USING BTREE`);
      await pair.python.call("run", `OPTIMIZE ${path}`);
      await pair.python.call(
        "run",
        `VACUUM LANCE ${path} WITH (older_than_seconds = 0, retain_n_versions = 1)`,
      );
      expectSame(rows, await table.scan().toArrow());
      expect((await table.indexes()).map(({ indexName }) => indexName).sort()).toEqual([
        "id_idx",
        "kind_idx",
        "small_idx",
      ]);
      expect(await table.countRows("small = 7")).toBe(1);
      const explained = await pair.namespace.explainTableQueryPlan({
        id: ["kept"],
        query: { filter: "small = 7" },
      });
      expect(explained).toContain("small_idx");
    });

    it("drops our table", async () => {
      await pair.namespace.createTable({ id: ["dropped"] }, plainRows([1]));
      await attached("DROP TABLE ours.main.dropped");
      expect((await pair.namespace.listTables({ id: [] })).tables).not.toContain("dropped");
    });

    it("finds the nearest vectors as we do", async () => {
      await makeSampleTable(pair.namespace, "vectors");
      const vector = [1, 0, 0, 0.5, 0, 0, 0, 0];
      const nearest = await pair.python.call("nearest", pathOf(pair, "vectors"), "vector", vector, 8);
      const matches = await pair.namespace.table(["vectors"]).search({ vector, limit: 8 }).toArrow();
      expect(nearest).toEqual(matches.toArray().map(({ id }) => Number(id)));
    });
  });
}

function describeRest(pair: FramePair): void {
  describe("our catalog attached by REST", () => {
    it.each([
      ["an API key", `, API_KEY '${API_KEY}'`],
      ["a header", `, HEADER 'x-api-key=${API_KEY}'`],
    ])("reads with %s", async (_, options) => {
      await makeSampleTable(pair.namespace, `served${options.length}`);
      const rows = (
        await pair.namespace
          .table([`served${options.length}`])
          .scan()
          .toArrow()
      ).select([...PLAIN]);
      await using handler = await startHandler(pair.root);
      const query = `SELECT ${PLAIN} FROM ours.main.served${options.length}`;
      expectSame(
        rows,
        await pair.python.call("rest_rows", handler.url, options, query, typesOf(rows.schema)),
      );
      const where = `${query} WHERE id > 300 AND kind = 'kind 2'`;
      const expected = rows.toArray().filter(({ id, kind }) => id > 300n && kind === "kind 2").length;
      const filtered = await pair.python.call<Table>(
        "rest_rows",
        handler.url,
        options,
        where,
        typesOf(rows.schema),
      );
      expect(filtered.numRows).toBe(expected);
    });

    const API_KEYED = `, API_KEY '${API_KEY}'`;

    it("creates a table, inserts, updates and deletes rows and drops our table", async () => {
      await pair.namespace.createTable({ id: ["doomed"] }, plainRows([1]));
      await using handler = await startHandler(pair.root, { managedVersioning: true });
      const run = (...statements: string[]) =>
        pair.python.call("rest_run", handler.url, API_KEYED, statements);
      await run("CREATE TABLE ours.main.rested (id BIGINT, n DOUBLE, s VARCHAR)");
      await run("INSERT INTO ours.main.rested SELECT i, i / 2, 'text ' || i FROM range(20) t(i)");
      await pair.namespace.table(["rested"]).insert(plainRows([20, 21]));
      await run(
        "UPDATE ours.main.rested SET s = 'changed' WHERE id > 18",
        "DELETE FROM ours.main.rested WHERE id = 5",
      );
      const ids = numbersFrom(0, 22).filter((id) => id !== 5);
      expect(await idsOf(pair.namespace, "rested")).toEqual(ids);
      expect(await pair.namespace.table(["rested"]).countRows("s = 'changed'")).toBe(3);
      await run("DROP TABLE ours.main.doomed");
      expect((await pair.namespace.listTables({ id: [] })).tables).not.toContain("doomed");
    });

    it("loses the rows of CREATE TABLE AS, as it does with Lance's own server", async () => {
      const create = "CREATE TABLE ours.main.lost AS SELECT i AS id FROM range(5) t(i)";
      const like = typesOf(plainRows([]).schema, ["id"]);
      await using handler = await startHandler(pair.root);
      await using server = await Python.start("pylance14", "rest_adapter");
      const url = `http://127.0.0.1:${await server.call("start", await makeTempDir())}`;
      for (const [address, options] of [
        [handler.url, API_KEYED],
        [url, ""],
      ]) {
        await pair.python.call("rest_run", address, options, [create]);
        const rows = pair.python.call<Table>(
          "rest_rows",
          address,
          options,
          "SELECT id FROM ours.main.lost",
          like,
        );
        expect((await rows).numRows).toBe(0);
      }
    });

    it.each([
      ["no key", ""],
      ["a wrong key", ", API_KEY 'wrong'"],
    ])("is refused with %s", async (_, options) => {
      await using handler = await startHandler(pair.root);
      const answer = pair.python.call(
        "rest_rows",
        handler.url,
        options,
        "SELECT 1",
        typesOf(plainRows([]).schema),
      );
      await expect(answer).rejects.toThrow("Unauthenticated");
    });
  });
}

describeFrames(
  {
    name: "DuckDB 1.5.5",
    environment: "duckdb",
    module: "duckdb_frames",
    refused: { decimal256: /Unsupported Internal Arrow Type for Decimal/ },
    altered: {
      // Durations become intervals, and the only timestamps with a zone are microseconds.
      durationSecond: INTERVAL,
      durationMillisecond: INTERVAL,
      durationMicrosecond: INTERVAL,
      durationNanosecond: INTERVAL,
      timestampZone: /expected .*, got/,
    },
  },
  (pair) => {
    describeDirectory(pair);
    describeRest(pair);
  },
);
