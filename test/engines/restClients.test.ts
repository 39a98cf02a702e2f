/** Python clients of the REST protocol get from our server the values that we see in process. */

import type { Table as ArrowTable } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { API_KEY } from "./support/handler.js";
import { MAJORS } from "./support/pylance.js";
import { Python } from "./support/python.js";
import { RestPair, ROWS, rowsFrom } from "./support/restPair.js";
import { idsOf, sortedIdsOf } from "./support/rows.js";

const VECTOR = [3, 3, 3, 1];
const RACES = 20;

describe.each([true, false])("REST from Python, managed versions: %s", (managedVersioning) => {
  describe.each(["remote", "namespace", "pushdown"])("LanceDB 0.40 (%s)", (kind) => {
    let pair: RestPair;
    beforeAll(async () => {
      pair = await RestPair.open("lancedb", managedVersioning);
      await pair.call("connect_lancedb", kind, pair.handler.url, API_KEY);
    });
    afterAll(() => pair[Symbol.asyncDispose]());

    const madeThere = async () => {
      const id = pair.freshId();
      await pair.call("create_table", id, rowsFrom(0));
      return id;
    };
    const search = (id: readonly string[], query: object = {}) => pair.call<ArrowTable>("search", id, query);

    it("makes, lists and drops namespaces and tables", async () => {
      await pair.call("create_namespace", ["a"]);
      await pair.call("create_namespace", ["a", "b c"]);
      await pair.call("create_table", ["a", "b c", "t"], rowsFrom(0));
      await pair.namespace.createTable({ id: ["a", "ours"] }, rowsFrom(7, 20));
      expect(await pair.call("listed", ["a"])).toEqual({ namespaces: ["b c"], tables: ["ours"] });
      expect(await pair.call("listed", ["a", "b c"])).toEqual({ namespaces: [], tables: ["t"] });
      await pair.expectEqual(["a", "b c", "t"], search(["a", "b c", "t"]));
      await pair.expectEqual(["a", "ours"], search(["a", "ours"]));
      await expect(pair.call("drop_namespace", ["a"])).rejects.toThrow(/not empty/);
      await pair.call("drop_table", ["a", "b c", "t"]);
      await pair.call("drop_namespace", ["a", "b c"]);
      expect((await pair.namespace.listNamespaces({ id: ["a"] })).namespaces).toEqual([]);
      await expect(pair.namespace.describeTable({ id: ["a", "b c", "t"] })).rejects.toThrow();
    });

    it("adds, overwrites, updates, deletes and merges rows", async () => {
      const id = await madeThere();
      expect(await pair.call("add", id, rowsFrom(ROWS, 50))).toBe(2);
      expect(await pair.call("delete", id, "id % 10 = 3")).toBe(35);
      expect(await pair.call("update", id, "id < 20", { s: "upper(s)" })).toBe(18);
      expect(await pair.call("merge", id, "id", rowsFrom(340, 20))).toEqual({ inserted: 11, updated: 9 });
      await pair.expectEqual(id, search(id));
      expect(await pair.call("count", id)).toBe(await pair.namespace.countTableRows({ id }));
      expect(await pair.call("count", id, "id < 20")).toBe(18);
      await pair.namespace.table(id).insert(rowsFrom(400, 10));
      await pair.expectEqual(id, search(id));
      await pair.call("add", id, rowsFrom(5, 9), "overwrite");
      expect(idsOf(await pair.rowsHere(id))).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13]);
      await expect(pair.call("create_table", id, rowsFrom(0))).rejects.toThrow(/already exists/);
      await expect(pair.call("add", ["nothing"], rowsFrom(0))).rejects.toThrow(/not found/);
    });

    it("queries rows by filters, vectors and texts, with and without indexes", async () => {
      const id = await madeThere();
      const table = pair.namespace.table(id);
      const filter = "id BETWEEN 20 AND 80 AND s IS NOT NULL";
      const vectorQuery = { vector: VECTOR, where: "id > 10", limit: 7 };
      const compareAll = async () => {
        const columns = ["s", "id"];
        await pair.expectEqual(id, search(id, { where: filter, columns }), {}, { filter, columns });
        const near = await search(id, vectorQuery);
        const nearHere = await table.search({ vector: VECTOR, filter: "id > 10", k: 7 }).toArrow();
        expect(idsOf(near)).toEqual(idsOf(nearHere));
        expect(Array.from(near.getChild("_distance") ?? [])).toEqual(
          Array.from(nearHere.getChild("_distance") ?? []),
        );
      };
      await compareAll();
      expect((await search(id, { offset: 5, limit: 3 })).numRows).toBe(3);
      await pair.call("create_indexes", id);
      await compareAll();
      expect(await pair.call("indexes", id)).toMatchObject({
        id_idx: { type: "BTree", columns: ["id"], rows: ROWS, left: 0 },
        s_idx: { type: "FTS", columns: ["s"], rows: ROWS, left: 0 },
        v_idx: { type: "IvfFlat", columns: ["v"], rows: ROWS, left: 0 },
      });
      // LanceDB sends its query object as printed text; see below.
      if (kind !== "pushdown") {
        const matches = await search(id, { text: "4" });
        const foundHere = await table.search({ text: "4", limit: ROWS }).toArrow();
        expect(matches.numRows).toBeGreaterThan(10);
        expect(sortedIdsOf(matches)).toEqual(sortedIdsOf(foundHere));
        const both = await search(id, { vector: VECTOR, text: "row41", limit: 5 });
        const bothHere = await table.search({ vector: VECTOR, text: "row41", limit: 5 }).toArrow();
        expect(sortedIdsOf(both)).toEqual(sortedIdsOf(bothHere));
      }
      for (const plan of ["explain", "analyze"]) {
        expect(await pair.call("search", id, vectorQuery, plan)).toMatch(/v/);
      }
      if (kind === "remote") {
        const { jobs } = await pair.namespace.listJobs({ id });
        const jobsThere = await pair.call<{ id: string }[]>("jobs");
        for (const { jobId } of jobs) {
          expect(jobsThere).toContainEqual({ id: jobId, table: id.join("$"), state: "finished" });
        }
      }
      await pair.call("drop_index", id, "s_idx");
      expect(Object.keys((await pair.call<object>("indexes", id)) ?? {})).toEqual(["id_idx", "v_idx"]);
      await expect(search(id, { where: "nothing = 1" })).rejects.toThrow(/nothing/);
    });

    it("reads and restores versions, and sets tags and branches", async () => {
      const id = await madeThere();
      await pair.call("add", id, rowsFrom(ROWS, 10));
      await pair.namespace.table(id).insert(rowsFrom(400, 10));
      expect(await pair.call("versions", id)).toEqual([1, 2, 3]);
      await pair.expectEqual(id, pair.call<ArrowTable>("rows_at", id, 2), { version: 2 });
      await pair.call("tag", id, "create", "good", 2);
      expect(await pair.call("tag", id, "get_version", "good")).toBe(2);
      expect((await pair.namespace.getTableTagVersion({ id, tag: "good" })).version).toBe(2);
      await pair.call("tag", id, "update", "good", 1);
      await pair.expectEqual(id, pair.call<ArrowTable>("rows_at", id, "good"), { tag: "good" });
      await pair.call("tag", id, "delete", "good");
      expect((await pair.namespace.listTableTags({ id })).tags).toEqual({});
      await pair.call("branch", id, "create", "dev");
      expect(await pair.call("branch", id, "list")).toEqual(["dev"]);
      expect(await pair.call("add_to_branch", id, "dev", rowsFrom(500, 5))).toBe(325);
      expect(await pair.namespace.countTableRows({ id, branch: "dev" })).toBe(325);
      expect(await pair.namespace.countTableRows({ id })).toBe(320);
      await pair.call("branch", id, "delete", "dev");
      await pair.call("restore", id, 1);
      await pair.expectEqual(id, search(id));
      expect(await pair.namespace.countTableRows({ id })).toBe(ROWS);
    });

    it("adds, alters and drops columns, renames tables and reads their statistics", async () => {
      const id = await madeThere();
      await pair.call("columns", id, "add", { twice: "id * 2", loud: "upper(s)" });
      await pair.call("columns", id, "alter", { path: "twice", rename: "two" });
      await pair.call("columns", id, "drop", ["loud"]);
      await pair.expectEqual(id, search(id));
      expect((await pair.call<ArrowTable>("schema", id)).schema.names).toEqual(["id", "s", "v", "two"]);
      expect(await pair.call("statistics", id)).toMatchObject({ num_rows: ROWS, num_indices: 0 });
      await pair.call("rename_table", id, "renamed");
      await pair.expectEqual(["renamed"], search(["renamed"]));
      await expect(search(id)).rejects.toThrow(/not found/i);
      await pair.call("drop_table", ["renamed"]);
      await expect(pair.namespace.describeTable({ id: ["renamed"] })).rejects.toThrow();
    });

    it("is refused with a wrong key and without one", async () => {
      const id = await madeThere();
      for (const [key, reason] of [
        ["wrong", "the API key is not valid"],
        [null, "credentials are needed"],
      ]) {
        await pair.call("connect_lancedb", kind, pair.handler.url, key);
        await expect(search(id)).rejects.toMatchObject({
          type: kind === "remote" ? "HttpError" : "RuntimeError",
          message: expect.stringContaining(reason as string),
        });
        await expect(pair.call("add", id, rowsFrom(0))).rejects.toThrow(reason as string);
      }
      await pair.call("connect_lancedb", kind, pair.handler.url, API_KEY);
      expect(await pair.call("count", id)).toBe(ROWS);
    });
  });

  describe.each(MAJORS)("pylance %i", (major) => {
    let pair: RestPair;
    beforeAll(async () => {
      pair = await RestPair.open(`pylance${major}`, managedVersioning);
      await pair.call("connect_namespace", pair.handler.url, API_KEY);
    });
    afterAll(() => pair[Symbol.asyncDispose]());

    it("creates, changes and reads a table by its id", async () => {
      const id = pair.freshId();
      const read = (version?: number) => pair.call<ArrowTable>("rows", id, version);
      expect(await pair.call("write", id, rowsFrom(0))).toEqual({ version: 1, managed: managedVersioning });
      expect(await pair.call("write", id, rowsFrom(ROWS, 20), "append")).toMatchObject({ version: 2 });
      await pair.expectEqual(id, read());
      await pair.expectEqual(id, read(1), { version: 1 });
      const version = await pair.call("change", id, rowsFrom(310, 30));
      expect((await pair.namespace.describeTable({ id })).version).toBe(version);
      await pair.expectEqual(id, read());
      await pair.namespace.table(id).update({ where: "id = 5", values: { s: "ours" } });
      await pair.expectEqual(id, read());
      expect((await pair.namespace.getTableTagVersion({ id, tag: "good" })).version).toBe(version);
      await pair.call("write", id, rowsFrom(7, 5), "overwrite");
      expect(idsOf(await pair.rowsHere(id))).toEqual([7, 8, 9, 10, 11]);
    });

    it("commits fragments that were written before", async () => {
      const id = pair.freshId();
      await pair.namespace.createTable({ id }, rowsFrom(0));
      expect(await pair.call("commit_fragments", id, rowsFrom(ROWS, 20))).toBe(2);
      await pair.expectEqual(id, pair.call<ArrowTable>("rows", id));
      expect(await pair.namespace.countTableRows({ id })).toBe(320);
    });

    it("is refused with a wrong key and without one", async () => {
      for (const key of ["wrong", null]) {
        await pair.call("connect_namespace", pair.handler.url, key);
        await expect(pair.call("namespace_call", "list_tables", { id: [] })).rejects.toMatchObject({
          type: "UnauthenticatedError",
        });
        await expect(pair.call("write", ["w"], rowsFrom(0))).rejects.toMatchObject({
          type: "UnauthenticatedError",
        });
      }
      await pair.call("connect_namespace", pair.handler.url, API_KEY);
      expect((await pair.namespace.listTables({ id: [] })).tables).not.toContain("w");
    });
  });

  describe("pylance 14", () => {
    it("loses no row in 20 rounds in which both engines append at once", async () => {
      await using pair = await RestPair.open("pylance14", managedVersioning);
      await pair.call("connect_namespace", pair.handler.url, API_KEY);
      const id = pair.freshId();
      await pair.namespace.createTable({ id }, rowsFrom(0, 1));
      for (let round = 0; round < RACES; round++) {
        const first = 1 + round * 6;
        const parts = [0, 1, 2].map((part) => rowsFrom(first + part, 1));
        await Promise.all([
          pair.call("append_each", id, parts),
          ...[3, 4, 5].map((part) => pair.namespace.table(id).insert(rowsFrom(first + part, 1))),
        ]);
      }
      const expected = Array.from({ length: 1 + 6 * RACES }, (_, row) => row);
      expect(sortedIdsOf(await pair.rowsHere(id))).toEqual(expected);
      expect(sortedIdsOf(await pair.call<ArrowTable>("rows", id))).toEqual(expected);
      expect((await pair.namespace.describeTable({ id })).version).toBe(1 + 6 * RACES);
    });
  });
});

describe("LanceDB 0.40 (pushdown) with Lance's own REST server", () => {
  it("finds other rows by text too, because LanceDB sends its query object as printed text", async () => {
    await using python = await Python.start("lancedb", "rest_clients");
    const port = await python.call<number>("start_reference", await makeTempDir());
    await python.call("connect_lancedb", "pushdown", `http://127.0.0.1:${port}`, null);
    await python.call("create_table", ["t"], rowsFrom(0));
    await python.call("create_indexes", ["t"]);
    const matches = await python.call<ArrowTable>("search", ["t"], { text: "4", columns: ["id", "s"] });
    expect(Array.from(matches.getChild("s") ?? [], String)).toContain("text 1 row1");
  });
});
