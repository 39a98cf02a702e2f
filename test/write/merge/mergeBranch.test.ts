/** Merges branches with random histories on both lines, and compares the rows with a model. */

import fc from "fast-check";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  InvalidInputError,
  TableBranchNotFoundError,
  type TableHandle,
  TableSchemaValidationError,
  TableVersionNotFoundError,
} from "tiltyard";
import { describe, expect } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { it } from "../../support/fixtures.js";
import { applyChange, type RandomChange, type Rows, randomChange } from "../../support/randomHistory.js";
import { reference } from "../../support/reference.js";
import { post, startRestServer } from "../../support/restServer.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];

/** Merges rows of a branch as a three-way comparison by key does. Returns null for conflicts without winner. */
function merged(fork: Rows, main: Rows, branch: Rows, conflicts: "fail" | "ours" | "theirs"): Rows | null {
  const result = new Map(main);
  for (const k of new Set([...fork.keys(), ...branch.keys()])) {
    const [before, here, there] = [fork.get(k), main.get(k), branch.get(k)];
    if (there === before || there === here) continue;
    if (here !== before && conflicts === "fail") return null;
    if (here !== before && conflicts === "ours") continue;
    if (there === undefined) result.delete(k);
    else result.set(k, there);
  }
  return result;
}

const rowsOf = async (table: TableHandle): Promise<Map<number, string>> =>
  new Map((await table.scan().toArray()).map(({ k, v }) => [k as number, v as string]));

const sorted = (rows: Rows): [number, string][] => [...rows].sort(([a], [b]) => a - b);

async function applyAll(table: TableHandle, rows: Rows, changes: readonly RandomChange[]): Promise<Rows> {
  let after = rows;
  for (const change of changes) after = await applyChange(table, after, change);
  return after;
}

const history = fc.array(randomChange, { maxLength: 4 });

describe("mergeBranch", () => {
  it("by key merges as a model does, through random histories and twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        ...[fc.boolean(), fc.constantFrom("fail" as const, "ours" as const, "theirs" as const)],
        ...([history, history, history, history, history] as const),
        async (stableRowIds, conflicts, before, onMain, onBranch, laterOnMain, laterOnBranch) => {
          const root = await makeTempDir();
          await using ns = new DirectoryNamespace({ root, durability: "none", workers: 0 });
          await ns.createTable({ id, stableRowIds }, [{ k: 0, v: "a" }]);
          const table = ns.table("t");
          let fork = await applyAll(table, new Map([[0, "a"]]), before);
          const dev = await table.createBranch("dev");
          let main = await applyAll(table, fork, onMain);
          let branch = await applyAll(dev, fork, onBranch);
          let mainFork = fork;
          for (const round of [1, 2]) {
            if (round === 2) {
              main = await applyAll(table, main, laterOnMain);
              branch = await applyAll(dev, branch, laterOnBranch);
            }
            const expected = mergedFrom(fork, mainFork, main, branch, conflicts);
            const merging = table.mergeBranch("dev", { on: "k", conflicts });
            if (expected === null) {
              await expect(merging).rejects.toThrow(ConcurrentModificationError);
              expect(sorted(await rowsOf(table))).toEqual(sorted(main));
              return;
            }
            const version = await table.version();
            const { transactionId } = await merging;
            main = expected;
            // A branch without new versions still parts where it did.
            if (transactionId !== undefined) [fork, mainFork] = [branch, main];
            expect(sorted(await rowsOf(table))).toEqual(sorted(main));
            expect(await table.version()).toBeLessThanOrEqual(version + 1);
          }
          expect(sorted(await rowsOf(dev))).toEqual(sorted(branch));
          expect(await reference.countRows(root, "t")).toBe(main.size);
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);

  it("by stable row ids keeps ids, adds rows of the branch and takes over deletions", async () => {
    await fc.assert(
      fc.asyncProperty(history, history, history, async (before, onMain, onBranch) => {
        const root = await makeTempDir();
        await using ns = new DirectoryNamespace({ root, durability: "none", workers: 0 });
        await ns.createTable({ id, stableRowIds: true }, [{ k: 0, v: "a" }]);
        const table = ns.table("t");
        const fork = await applyAll(table, new Map([[0, "a"]]), before);
        const dev = await table.createBranch("dev");
        await applyAll(table, fork, onMain);
        await applyAll(dev, fork, onBranch);
        const byId = async (handle: TableHandle, at?: number) => {
          const options = at === undefined ? {} : { version: at };
          const read = at === undefined ? handle : ns.table("t", options);
          const rows = await read.scan({ columns: ["_rowid", "k", "v"] }).toArray();
          return new Map(rows.map(({ _rowid, k, v }) => [String(_rowid), JSON.stringify({ k, v })]));
        };
        const forkVersion = (await dev.versions())[0].version;
        const [old, main, branch] = [await byId(table, forkVersion), await byId(table), await byId(dev)];
        const expected = [...main].flatMap(([rowId, row]) => {
          if (!old.has(rowId)) return [row];
          const there = branch.get(rowId);
          return there === old.get(rowId) ? [row] : there === undefined ? [] : [there];
        });
        for (const [rowId, row] of branch) {
          if (!old.has(rowId)) expected.push(row);
          // The branch changed a row that main removed.
          else if (!main.has(rowId) && row !== old.get(rowId)) expected.push(row);
        }
        await table.mergeBranch("dev", { conflicts: "theirs" });
        const now = await byId(table);
        expect([...now.values()].sort()).toEqual(expected.sort());
        for (const rowId of main.keys()) {
          if (old.has(rowId) && branch.has(rowId)) expect(now.has(rowId)).toBe(true);
        }
        expect(await reference.countRows(root, "t")).toBe(now.size);
      }),
      { numRuns: 30 },
    );
  }, 120_000);

  it("lists the first conflicts and changes nothing", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    const rows = Array.from({ length: 20 }, (_, k) => ({ k, v: "a" }));
    await ns.createTable({ id }, rows);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    await dev.update({ values: { v: "dev" } });
    await table.update({ where: "k < 12", values: { v: "main" } });
    await table.delete("k = 0");
    const versions = await table.versions();
    const merging = table.mergeBranch("dev", { on: "k" });
    await expect(merging).rejects.toThrow(ConcurrentModificationError);
    await expect(merging).rejects.toThrow(
      /12 rows.*k 0 \(changed on dev, removed on main\); k 1 .*and 2 more/,
    );
    expect(await table.versions()).toEqual(versions);
    const answer = await table.mergeBranch("dev", { on: ["k"], conflicts: "ours", message: "take the rest" });
    expect(answer).toMatchObject({ numInsertedRows: 0, numUpdatedRows: 8, numDeletedRows: 0 });
    expect((await table.versions()).at(-1)).toMatchObject({ message: "take the rest", rowsChanged: 8 });
  });

  it("refuses what it cannot merge, and says why", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 1, v: "a" }]);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    const inner = await dev.createBranch("inner");
    await expect(table.mergeBranch("dev")).rejects.toThrow(/on: \["id"\].*stableRowIds/);
    await expect(table.mergeBranch("none", { on: "k" })).rejects.toThrow(TableBranchNotFoundError);
    await expect(table.mergeBranch("inner", { on: "k" })).rejects.toThrow(/made from dev/);
    await expect(table.mergeBranch("main", { on: "k" })).rejects.toThrow(InvalidInputError);
    await expect(table.mergeBranch("dev", { on: "k", conflicts: "mine" as never })).rejects.toThrow(
      InvalidInputError,
    );
    await expect(ns.table("t", { version: 1 }).mergeBranch("dev", { on: "k" })).rejects.toThrow();
    await inner.insert([{ k: 2, v: "b" }]);
    await dev.mergeBranch("inner", { on: "k" });
    await table.mergeBranch("dev", { on: "k" });
    expect(sorted(await rowsOf(table))).toEqual([
      [1, "a"],
      [2, "b"],
    ]);
    await dev.addColumns({ name: "w", expression: "k" });
    await expect(table.mergeBranch("dev", { on: "k" })).rejects.toThrow(TableSchemaValidationError);
  });

  it("a row that the branch added under the key of another row is refused, and removes nothing", async ({
    root,
  }) => {
    const ns = new DirectoryNamespace({ root });
    const rows = [
      { k: 1, v: "a" },
      { k: 2, v: "a" },
    ];
    for (const [name, onMain] of [
      ["unchanged", "v = 'none'"],
      ["changed", "k = 1"],
      ["removed", null],
    ] as const) {
      const table = ns.table(name);
      await table.create(rows);
      const dev = await table.createBranch("dev");
      await dev.insert([{ k: 1, v: "second" }]);
      if (onMain === null) await table.delete("k = 1");
      else await table.update({ values: { v: "main" }, where: onMain });
      const before = await table.scan().toArray();
      for (const conflicts of ["fail", "ours", "theirs"] as const) {
        const merging = table.mergeBranch("dev", { on: "k", conflicts });
        await expect(merging, `${name}, ${conflicts}`).rejects.toThrow(
          "on: several rows of version 2 have the same value of k; a key must identify one row",
        );
      }
      expect(await table.scan().toArray()).toEqual(before);
    }
    await ns.close();
  });

  it("a second merge by row ids names key columns as the way", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id, stableRowIds: true }, [{ k: 1, v: "a" }]);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    await dev.insert([{ k: 2, v: "b" }]);
    await table.mergeBranch("dev");
    await dev.update({ where: "k = 2", values: { v: "c" } });
    await expect(table.mergeBranch("dev")).rejects.toThrow(/merged before, in version 2/);
    await table.mergeBranch("dev", { on: "k" });
    expect(sorted(await rowsOf(table))).toEqual([
      [1, "a"],
      [2, "c"],
    ]);
  });

  it("commits nothing if the branch has no new version, and still sees later conflicts", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [
      { k: 1, v: "a" },
      { k: 2, v: "a" },
    ]);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    const nothing = { numInsertedRows: 0, numUpdatedRows: 0, numDeletedRows: 0 };
    expect(await table.mergeBranch("dev", { on: "k" })).toEqual({ version: 1, ...nothing });
    await expect(table.mergeBranch("dev")).rejects.toThrow(InvalidInputError);
    await dev.update({ where: "k = 1", values: { v: "dev" } });
    expect(await table.mergeBranch("dev", { on: "k" })).toMatchObject({ version: 2, numUpdatedRows: 1 });
    await table.update({ where: "k = 2", values: { v: "main" } });
    expect(await table.mergeBranch("dev", { on: "k" })).toEqual({ version: 3, ...nothing });
    await dev.update({ where: "k = 2", values: { v: "dev" } });
    await expect(table.mergeBranch("dev", { on: "k" })).rejects.toThrow(ConcurrentModificationError);
  });

  it("refuses a branch that another one of its name replaced meanwhile", async ({ root }) => {
    const disk = new NodeDisk({ durability: "none" });
    await using ns = new DirectoryNamespace({ root, disk });
    await ns.createTable({ id }, [{ k: 1, v: "a" }]);
    const table = ns.table("t");
    await (await table.createBranch("dev")).insert([{ k: 2, v: "old" }]);
    await using other = new DirectoryNamespace({ root });
    const readFile = disk.readFile.bind(disk);
    disk.readFile = async (path, maxBytes) => {
      if (path.endsWith("dev.json")) {
        disk.readFile = readFile;
        await other.table("t").deleteBranch("dev");
        await (await other.table("t").createBranch("dev")).insert([{ k: 3, v: "new" }]);
      }
      return readFile(path, maxBytes);
    };
    await expect(table.mergeBranch("dev", { on: "k" })).rejects.toThrow(/was deleted or cleaned up/);
    expect(await table.version()).toBe(1);
    expect(await table.mergeBranch("dev", { on: "k" })).toMatchObject({ numInsertedRows: 1 });
    expect(sorted(await rowsOf(table))).toEqual([
      [1, "a"],
      [3, "new"],
    ]);
  });

  it("names the removed version if the branch is deleted while its rows are read", async ({ root }) => {
    const disk = new NodeDisk({ durability: "none" });
    await using ns = new DirectoryNamespace({ root, disk });
    await ns.createTable({ id }, [{ k: 1, v: "a" }]);
    const table = ns.table("t");
    await (await table.createBranch("dev")).insert([{ k: 2, v: "dev" }]);
    await using other = new DirectoryNamespace({ root });
    await using reader = new DirectoryNamespace({ root, disk });
    const open = disk.open.bind(disk);
    disk.open = async (path) => {
      if (path.endsWith(".lance") && path.includes("dev")) {
        disk.open = open;
        await other.table("t").deleteBranch("dev");
      }
      return open(path);
    };
    const refused = reader.table("t").mergeBranch("dev", { on: "k" });
    await expect(refused).rejects.toThrow(TableVersionNotFoundError);
  });

  it("commits of other writers meanwhile are kept", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 0, v: "a" }]);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    await dev.insert(Array.from({ length: 500 }, (_, k) => ({ k: k + 100, v: "dev" })));
    await dev.update({ where: "k = 0", values: { v: "dev" } });
    await using other = new DirectoryNamespace({ root });
    const writes = Array.from({ length: 4 }, (_, k) =>
      other.insertIntoTable({ id }, [{ k: k + 1, v: "main" }]),
    );
    await Promise.all([table.mergeBranch("dev", { on: "k" }), ...writes]);
    const rows = await rowsOf(table);
    expect(rows.size).toBe(505);
    expect(rows.get(0)).toBe("dev");
  });

  it("works over HTTP, and a conflict is 409", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ k: 1, v: "a" }]);
    const table = ns.table("t");
    const dev = await table.createBranch("dev");
    await dev.update({ values: { v: "dev" } });
    await table.update({ values: { v: "main" } });
    await using server = await startRestServer(ns);
    const body = { name: "dev", on: ["k"] };
    const refused = await post(server, "/v1/table/t/branches/merge", body);
    expect([refused.status, refused.json.code]).toEqual([409, 14]);
    const done = await post(server, "/v1/table/t/branches/merge", { ...body, conflicts: "theirs" });
    expect(done.json).toMatchObject({ version: 3, num_updated_rows: 1 });
    expect(await table.scan().toArray()).toEqual([{ k: 1, v: "dev" }]);
  });
});

/** Like {@link merged}, for lines whose common rows differ after an earlier merge. */
function mergedFrom(
  branchFork: Rows,
  mainFork: Rows,
  main: Rows,
  branch: Rows,
  conflicts: "fail" | "ours" | "theirs",
): Rows | null {
  if (branchFork === mainFork) return merged(branchFork, main, branch, conflicts);
  const result = new Map(main);
  for (const k of new Set([...branchFork.keys(), ...branch.keys()])) {
    const [there, here] = [branch.get(k), main.get(k)];
    if (there === branchFork.get(k)) continue;
    const isChangedHere = here !== mainFork.get(k);
    if (isChangedHere && there === here) continue;
    if (isChangedHere && conflicts === "fail") return null;
    if (isChangedHere && conflicts === "ours") continue;
    if (there === undefined) result.delete(k);
    else result.set(k, there);
  }
  return result;
}
