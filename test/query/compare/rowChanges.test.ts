/** Compares versions of tables with random histories, and checks the differences against a model. */

import { tableFromArrays, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import {
  DirectoryNamespace,
  InvalidInputError,
  TableColumnNotFoundError,
  type TableHandle,
  TableVersionNotFoundError,
} from "tiltyard";
import { describe, expect } from "vitest";
import { it } from "../../support/fixtures.js";
import { applyChange, type Rows, randomChange } from "../../support/randomHistory.js";
import { reference } from "../../support/reference.js";
import { post, startRestServer } from "../../support/restServer.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];

/** Collects differences as sorted texts. */
async function differences(diff: AsyncIterable<object>): Promise<string[]> {
  const all: string[] = [];
  for await (const each of diff) all.push(JSON.stringify(each));
  return all.sort();
}

/** Differences that a model expects, with rows as the table returns them. */
function expected(from: Rows, to: Rows): string[] {
  const rowOf = (k: number, rows: Rows) => ({ k, v: rows.get(k) });
  const all: string[] = [];
  for (const k of new Set([...from.keys(), ...to.keys()])) {
    const row = rowOf(k, to.has(k) ? to : from);
    if (!from.has(k)) all.push(JSON.stringify({ kind: "added", row }));
    else if (!to.has(k)) all.push(JSON.stringify({ kind: "removed", row }));
    else if (from.get(k) !== to.get(k))
      all.push(JSON.stringify({ kind: "changed", row, before: rowOf(k, from) }));
  }
  return all.sort();
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("diff", () => {
  it("by key finds what a model finds, through random histories", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomChange, { minLength: 1, maxLength: 10 }),
        fc.boolean(),
        fc.nat(),
        fc.nat(),
        async (changes, stableRowIds, first, second) => {
          await using ns = new DirectoryNamespace({
            root: await makeTempDir(),
            durability: "none",
            workers: 0,
          });
          await ns.createTable({ id, stableRowIds }, [{ k: 0, v: "a" }]);
          const table = ns.table("t");
          let model: Rows = new Map([[0, "a"]]);
          const states = new Map([[1, model]]);
          for (const change of changes) {
            model = await applyChange(table, model, change);
            states.set(await table.version(), model);
          }
          const versions = [...states.keys()];
          const [from, to] = [versions[first % versions.length], versions[second % versions.length]];
          const wanted = expected(states.get(from) as Rows, states.get(to) as Rows);
          expect(await differences(table.diff(from, to, { on: ["k"] }))).toEqual(wanted);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("by stable row ids finds the rows that updates and merges kept", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomChange, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        async (changes, first) => {
          await using ns = new DirectoryNamespace({
            root: await makeTempDir(),
            durability: "none",
            workers: 0,
          });
          await ns.createTable({ id, stableRowIds: true }, [{ k: 0, v: "a" }]);
          const table = ns.table("t");
          for (const change of changes) await applyChange(table, await rowsNow(table), change);
          const to = await table.version();
          const from = 1 + (first % to);
          const rowsOf = async (version: number) => {
            const columns = ["_rowid", "k", "v"];
            const rows = await ns.table("t", { version }).scan({ columns }).toArray();
            return new Map(rows.map(({ _rowid, k, v }) => [String(_rowid), JSON.stringify({ k, v })]));
          };
          const [old, now] = [await rowsOf(from), await rowsOf(to)];
          const wanted: string[] = [];
          for (const rowId of new Set([...old.keys(), ...now.keys()])) {
            const [before, row] = [old.get(rowId), now.get(rowId)];
            if (before === undefined) wanted.push(`{"kind":"added","row":${row}}`);
            else if (row === undefined) wanted.push(`{"kind":"removed","row":${before}}`);
            else if (row !== before) wanted.push(`{"kind":"changed","row":${row},"before":${before}}`);
          }
          expect(await differences(table.diff(from, to))).toEqual(wanted.sort());
        },
      ),
      { numRuns: 30 },
    );
  });

  it("reads no data of fragments that both versions have", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, workers: 0 });
    await ns.createTable({ id }, [{ k: 1, v: "x" }]);
    await ns.insertIntoTable({ id }, [{ k: 2, v: "y" }]);
    const { rm, readdir, rename } = await import("node:fs/promises");
    const data = `${root}/t.lance/data`;
    const [first] = await readdir(data);
    await ns.insertIntoTable({ id }, [{ k: 3, v: "z" }]);
    await rename(`${data}/${first}`, `${data}/gone`);
    await using fresh = new DirectoryNamespace({ root, workers: 0 });
    expect(await collect(fresh.table("t").diff(2, 3, { on: "k" }))).toEqual([
      { kind: "added", row: { k: 3, v: "z" } },
    ]);
    await rm(`${data}/gone`);
  });

  it("compares values of all types, nulls and NaN included", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    const row = {
      ...{
        k: 1n,
        f: Number.NaN,
        s: null as string | null,
        b: Uint8Array.of(1, 2),
        d: new Date(5),
        o: { x: [1] },
      },
      ...{ vector: [1, 2] },
    };
    await ns.createTable({ id }, [row, { ...row, k: 2n, s: "s" }]);
    const table = ns.table("t");
    const others = [
      ...[{ f: 1 }, { s: "other" }, { b: Uint8Array.of(1, 3) }, { d: new Date(6) }, { o: { x: [1, 2] } }],
      ...[{ o: null }, { vector: [1, 3] }],
    ];
    for (const other of others) {
      await table.mergeInsert("k", [{ ...row, s: "s", ...other }], { whenMatchedUpdateAll: true });
      const version = await table.version();
      const [change, ...more] = await collect(table.diff(1, version, { on: "k" }));
      expect(more).toEqual([]);
      expect(change.kind).toBe("changed");
      expect(change.before).toMatchObject({ k: 1n, s: null });
    }
    await table.mergeInsert("k", [row], { whenMatchedUpdateAll: true });
    expect(await collect(table.diff(1, await table.version(), { on: "k" }))).toEqual([]);
  });

  it("follows renames, and compares no added, dropped or cast column", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [
      { k: 1, a: 1, b: "x" },
      { k: 2, a: 2, b: "y" },
    ]);
    const table = ns.table("t");
    await table.alterColumns([{ path: "k", rename: "key" }]);
    await table.addColumns({ name: "c", expression: "a + 1" });
    await table.dropColumns("a");
    expect(await collect(table.diff(1, undefined, { on: "key" }))).toEqual([]);
    await table.update({ where: "key = 1", values: { b: "z", c: 9 } });
    expect(await collect(table.diff(1, undefined, { on: "key" }))).toEqual([
      { kind: "changed", row: { key: 1, b: "z", c: 9 }, before: { key: 1, b: "x", c: null } },
    ]);
    await expect(collect(table.diff(1, undefined, { on: "k" }))).rejects.toThrow(TableColumnNotFoundError);
    await expect(collect(table.diff(1, undefined, { on: "c" }))).rejects.toThrow(InvalidInputError);
  });

  it("names both ways to match rows, and refuses keys that are not unique", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 1 }]);
    const table = ns.table("t");
    await table.insert([{ k: 2 }, { k: 2 }]);
    const without = collect(table.diff(1, 2));
    await expect(without).rejects.toThrow(InvalidInputError);
    await expect(without).rejects.toThrow(/on: \["id"\].*stableRowIds: true/);
    await expect(collect(table.diff(1, 2, { on: "k" }))).rejects.toThrow(/several rows of version 2 .* k/);
    await expect(collect(table.diff(1, 7, { on: "k" }))).rejects.toThrow(TableVersionNotFoundError);
    for (const on of [[], ["k", "k"], [7], 7, {}]) {
      await expect(collect(table.diff(1, 1, { on: on as string[] }))).rejects.toThrow(InvalidInputError);
    }
    expect(() => table.diff(1, 2, { by: "k" } as never)).toThrow("by");
  });

  it("takes tags and moments, and works on branches", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 1 }]);
    const table = ns.table("t");
    await table.createTag("one");
    const dev = await table.createBranch("dev");
    await dev.insert([{ k: 2 }]);
    expect(await collect(dev.diff(1, undefined, { on: "k" }))).toEqual([{ kind: "added", row: { k: 2 } }]);
    await table.insert([{ k: 3 }]);
    const fromTag = table.diff({ tag: "one" }, { asOf: new Date() }, { on: "k" });
    expect(await collect(fromTag)).toEqual([{ kind: "added", row: { k: 3 } }]);
    expect(await collect(ns.table("t", { tag: "one" }).diff(2, undefined, { on: "k" }))).toEqual([
      { kind: "removed", row: { k: 3 } },
    ]);
    await expect(collect(dev.diff({ tag: "one" }, 2, { on: "k" }))).rejects.toThrow("another branch");
  });

  it("reads what the reference wrote", async ({ root }) => {
    const ipc = (k: number[], v: number[]) =>
      tableToIPC(tableFromArrays({ k: Int32Array.from(k), v: Int32Array.from(v) }));
    await reference.createTable(root, "t", ipc([1, 2, 3], [1, 2, 3]), { stableRowIds: true });
    await reference.updateRows(root, "t", { v: "v + 10" }, "k = 2");
    await reference.deleteRows(root, "t", "k = 1");
    await reference.appendTable(root, "t", ipc([4], [4]));
    await using ns = new DirectoryNamespace({ root });
    const table = ns.table("t");
    const first = (await table.versions())[0].version;
    const wanted = [
      { kind: "removed", row: { k: 1, v: 1 } },
      { kind: "changed", row: { k: 2, v: 12 }, before: { k: 2, v: 2 } },
      { kind: "added", row: { k: 4, v: 4 } },
    ];
    expect(await collect(table.diff(first))).toEqual(wanted);
    expect(await collect(table.diff(first, undefined, { on: "k" }))).toEqual(wanted);
  });

  it("streams over HTTP as rows of kind, row and before", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 1, v: 1 }]);
    await ns.updateTable({ id, values: { v: 2 } });
    await using server = await startRestServer(ns);
    const { tableFromIPC } = await import("apache-arrow");
    const answer = await post(server, "/v1/table/t/diff", { from: 1, to: 2, on: ["k"] });
    expect(answer.status).toBe(200);
    const rows = tableFromIPC(answer.bytes).toArray();
    expect(JSON.parse(JSON.stringify(rows))).toEqual([
      { kind: "changed", row: { k: 1, v: 2 }, before: { k: 1, v: 1 } },
    ]);
    const refused = await post(server, "/v1/table/t/diff", { from: 1 });
    expect([refused.status, refused.json.code]).toEqual([400, 13]);
    expect((await post(server, "/v1/table/t/diff", { to: 1 })).status).toBe(400);
  });
});

/** The rows of a table by their keys. */
const rowsNow = async (table: TableHandle): Promise<Rows> =>
  new Map((await table.scan().toArray()).map(({ k, v }) => [k as number, v as string]));
