/** Geneva's computed columns, which we recognise, fill and clean up around; and ours, as Geneva sees them. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Int64, type Table, Utf8 } from "apache-arrow";
import { DirectoryNamespace, type UserFunction } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { expectSame } from "./support/frameSuite.js";
import { RayPython } from "./support/rayPython.js";
import { numbersFrom, rowsOf, sortedIdsOf } from "./support/rows.js";

const rowsFrom = (first: number, count: number): Table =>
  rowsOf(numbersFrom(first, count), { s: [new Utf8(), (id) => `text ${id}`] });

/** Our function of the name that Geneva's has, told apart by what it returns. */
const TIMES_TEN: UserFunction = {
  version: "1",
  inputs: ["id"],
  output: new Int64(),
  batch: ({ id }, { rowCount }) => Array.from({ length: rowCount }, (_, row) => id.get(row) * 10n),
};

describe("Geneva 0.17.0", () => {
  let root: string;
  let namespace: DirectoryNamespace;
  let python: RayPython;
  beforeAll(async () => {
    root = await makeTempDir();
    namespace = new DirectoryNamespace({ root, durability: "none", functions: { twice: TIMES_TEN } });
    python = await RayPython.start("geneva", "geneva_tables");
  }, 300_000);
  afterAll(async () => {
    await python?.[Symbol.asyncDispose]();
    await namespace.close();
  }, 60_000);

  const rowsHere = (name: string) =>
    namespace
      .table([name])
      .scan({ columns: ["id", "twice"] })
      .toArrow();
  const rowsThere = (name: string) => python.call<Table>("rows", root, name, ["id", "twice"]);
  const backfillHere = async (name: string) => {
    const { jobId } = await namespace.table([name]).backfill("twice");
    return namespace.waitForJob({ jobId });
  };
  const functionFiles = (name: string) => readdir(join(root, `${name}.lance`, "_udfs"));

  it("declares a column that we recognise, and fill by our function of its name", async () => {
    await python.call("create", root, "recognised", rowsFrom(0, 60));
    expect(await namespace.table(["recognised"]).computedColumns()).toMatchObject([
      {
        column: "twice",
        kind: "function",
        udfName: "twice",
        inputs: ["id"],
        isRegistered: true,
        staleRows: 60,
      },
    ]);
    expect((await backfillHere("recognised")).state).toBe("Succeeded");
    const rows = await rowsHere("recognised");
    for (const { id, twice } of rows) expect(twice).toBe(id * 10n);
    expectSame(rows, await rowsThere("recognised"));
  });

  it("finds its function after our compaction and cleanup, and computes the rows that we added", async () => {
    await python.call("create", root, "kept", rowsFrom(0, 40));
    const table = namespace.table(["kept"]);
    const files = await functionFiles("kept");
    expect(files).toHaveLength(1);
    await table.insert(rowsFrom(40, 30));
    await table.delete("id % 10 = 9");
    await table.optimize();
    await table.cleanup({ olderThanMs: 0, deleteUnverified: true });
    expect(await functionFiles("kept")).toEqual(files);
    expect(await python.call("backfill", root, "kept", "twice")).toBe("DONE");
    const rows = await rowsHere("kept");
    expect(rows.numRows).toBe(63);
    for (const { id, twice } of rows) expect(twice).toBe(id * 2n);
    expect(await table.computedColumns()).toMatchObject([{ column: "twice", staleRows: 0 }]);
  }, 300_000);

  it("computes its column while we insert rows, and loses none", async () => {
    await python.call("create", root, "busy", rowsFrom(0, 100));
    const table = namespace.table(["busy"]);
    const backfill = python.call("backfill", root, "busy", "twice");
    for (let step = 0; step < 5; step++) {
      await table.insert(rowsFrom(100 + step * 10, 10));
    }
    expect(await backfill).toBe("DONE");
    await backfillHere("busy");
    const computed = await rowsHere("busy");
    expect(sortedIdsOf(computed)).toEqual(numbersFrom(0, 150));
    const rows = computed.toArray();
    // Geneva computes the rows that existed at its start; our next backfill computes the others.
    for (const { id, twice } of rows) expect([id * 2n, id * 10n]).toContain(twice);
    expect(rows.filter(({ id, twice }) => twice === id * 2n).length).toBeGreaterThan(0);
  }, 300_000);

  describe("our computed columns", () => {
    it("are virtual columns to it, and their values are read", async () => {
      await namespace.createTable({ id: ["ours"] }, rowsFrom(0, 20));
      await namespace.alterTableAddColumns({
        id: ["ours"],
        newColumns: [
          { name: "twice", virtualColumn: { udfName: "twice" } },
          { name: "length", computed: "character_length(s)" },
        ],
      });
      await backfillHere("ours");
      expect(await python.call("metadata", root, "ours", "twice")).toMatchObject({
        virtual_column: "true",
        "virtual_column.udf_name": "twice",
        "virtual_column.udf_inputs": '["id"]',
      });
      expectSame(await rowsHere("ours"), await rowsThere("ours"));
    });

    it("are refused where it has no function of theirs, and stay as they are", async () => {
      const before = await rowsHere("ours");
      await expect(python.call("backfill", root, "ours", "twice")).rejects.toThrow(
        "virtual_column.udf not found",
      );
      expectSame(before, await rowsHere("ours"));
    });
  });
});
