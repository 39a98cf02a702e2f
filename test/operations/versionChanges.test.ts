/** Lists what each commit changed, and its message. */

import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, InvalidInputError, type TableHandle } from "tiltyard";
import { expect } from "vitest";
import { changesOf } from "../../src/operations/version/versionChanges.js";
import { type ManifestFile, readManifestFile } from "../../src/table/versions/manifest.js";
import { listVersions } from "../../src/table/versions/versions.js";
import { it } from "../support/fixtures.js";
import { reference } from "../support/reference.js";
import { get, post, startRestServer } from "../support/restServer.js";
import { readdir, writeFile } from "../support/suite/rootFiles.js";
import { suiteDisk } from "../support/suite/suiteDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

interface Counts {
  readonly rowsAdded?: number;
  readonly rowsRemoved?: number;
  readonly rowsChanged?: number;
}
const counts = (rowsAdded: number, rowsRemoved: number, rowsChanged: number): Counts => ({
  rowsAdded,
  rowsRemoved,
  rowsChanged,
});

type Change =
  | { readonly kind: "insert" | "overwrite" | "merge" | "replace"; readonly keys: readonly number[] }
  | { readonly kind: "delete" | "update"; readonly below: number }
  | { readonly kind: "optimize" };

const key = fc.integer({ min: 0, max: 15 });
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 8 });
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constantFrom("insert", "overwrite", "merge", "replace"), keys }),
  fc.record({ kind: fc.constantFrom("delete", "update"), below: key }),
  fc.record({ kind: fc.constant("optimize") }),
);

/** Makes a change, and returns the counts that a model of the table expects. The model's keys are unique. */
async function make(table: TableHandle, model: Set<number>, wanted: Change): Promise<Counts> {
  if (!("keys" in wanted || "below" in wanted)) {
    await table.optimize();
    return counts(0, 0, 0);
  }
  if ("below" in wanted) {
    const hit = [...model].filter((each) => each < wanted.below);
    if (wanted.kind === "update") {
      await table.update({ where: `k < ${wanted.below}`, valuesSql: { v: "v + 1" } });
      return counts(0, 0, hit.length);
    }
    await table.delete(`k < ${wanted.below}`);
    for (const each of hit) model.delete(each);
    return counts(0, hit.length, 0);
  }
  const rows = (list: readonly number[]) => list.map((k) => ({ k, v: 0 }));
  const fresh = wanted.keys.filter((each) => !model.has(each));
  const size = model.size;
  switch (wanted.kind) {
    case "insert": {
      await table.insert(rows(fresh));
      for (const each of fresh) model.add(each);
      return counts(fresh.length, 0, 0);
    }
    case "overwrite": {
      await table.insert(rows(wanted.keys), { mode: "Overwrite" });
      model.clear();
      for (const each of wanted.keys) model.add(each);
      return counts(wanted.keys.length, size, 0);
    }
    default: {
      const isReplace = wanted.kind === "replace";
      await table.mergeInsert("k", rows(wanted.keys), {
        whenMatchedUpdateAll: true,
        whenNotMatchedInsertAll: true,
        whenNotMatchedBySourceDelete: isReplace,
      });
      const matched = wanted.keys.length - fresh.length;
      if (isReplace) model.clear();
      for (const each of wanted.keys) model.add(each);
      return counts(fresh.length, isReplace ? size - matched : 0, matched);
    }
  }
}

it("the numbers of rows follow a model through random histories", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 10 }), fc.boolean(), async (changes, stableRowIds) => {
      await using ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", workers: 0 });
      await ns.createTable({ id, stableRowIds }, [{ k: 0, v: 0 }]);
      const table = ns.table("t");
      const model = new Set([0]);
      const expected = new Map<number, Counts>([[1, counts(1, 0, 0)]]);
      for (const wanted of changes) {
        const before = await table.version();
        const told = await make(table, model, wanted);
        const after = await table.version();
        // A compaction makes no version, or several.
        for (let version = before + 1; version <= after; version++) expected.set(version, told);
      }
      expect(await table.countRows()).toBe(model.size);
      const versions = await table.versions();
      expect(versions.map(({ version, ...rest }) => [version, pick(rest)])).toEqual([...expected]);
      for (const version of versions) {
        expect((await ns.describeTableVersion({ id, version: version.version })).version).toEqual(version);
      }
    }),
    { numRuns: 40 },
  );
});

const pick = ({ rowsAdded, rowsRemoved, rowsChanged }: Counts): Counts => ({
  rowsAdded,
  rowsRemoved,
  rowsChanged,
});

it("pages of a listing tell the same as the whole", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 0 }]);
  for (let k = 1; k < 6; k++) await ns.insertIntoTable({ id }, [{ k }]);
  await ns.deleteFromTable({ id, predicate: "k < 2" });
  const { versions: all } = await ns.listTableVersions({ id });
  for (const descending of [false, true]) {
    const paged: unknown[] = [];
    let pageToken: string | undefined;
    do {
      const page = await ns.listTableVersions({ id, limit: 2, descending, pageToken });
      paged.push(...page.versions);
      pageToken = page.pageToken;
    } while (pageToken !== undefined);
    expect(paged).toEqual(descending ? [...all].reverse() : all);
  }
});

it("every change takes a message, and the reference opens the table after each", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  const table = ns.table("t");
  const message = "why: ü 🙂";
  const rows = [{ k: 1, v: 1 }];
  const changes: [string, () => Promise<unknown>][] = [
    ["Overwrite", () => table.create(rows, { message })],
    ["Append", () => table.insert([{ k: 2, v: 2 }], { message })],
    ["Overwrite", () => table.insert(rows, { mode: "Overwrite", message })],
    ["Update", () => table.update({ values: { v: 3 }, message })],
    ["Update", () => table.mergeInsert("k", rows, { whenMatchedUpdateAll: true, message })],
    ["Delete", () => table.delete("k > 5", undefined, { message })],
    ["Merge", () => table.addColumns({ name: "w", expression: "k + 1" }, { message })],
    ["Project", () => table.alterColumns({ path: "w", rename: "x" }, { message })],
    ["Project", () => table.dropColumns("x", { message })],
    ["UpdateConfig", () => table.updateMetadata({ a: "b" }, { message })],
    ["UpdateConfig", () => table.updateFieldMetadata({ path: "k", metadata: { a: "b" } }, { message })],
    [
      "CreateIndex",
      async () => {
        const { jobId } = await table.createIndex("k", { indexType: "BTREE", message });
        await table.waitForJob(jobId ?? "");
      },
    ],
    ["CreateIndex", () => table.dropIndex("k_idx", { message })],
    ["Restore", () => table.restore(2, { message })],
  ];
  for (const [operation, make] of changes) {
    await make();
    const [latest] = (await ns.listTableVersions({ id, descending: true, limit: 1 })).versions;
    expect(latest).toMatchObject({ operation, message });
    expect(await reference.countRows(root, "t")).toBe(await table.countRows());
  }
  await table.insert([{ k: 9, v: 9 }]);
  expect((await table.versions()).at(-1)?.message).toBeUndefined();
  await table.optimize({ message });
  expect((await table.versions()).at(-1)).toMatchObject({ operation: "Rewrite", message });
  const branch = await table.createBranch("dev", undefined, { message });
  expect(await branch.versions()).toMatchObject([{ operation: "Clone", message, rowsAdded: 0 }]);
  const { transactionId } = await branch.insert(rows, { message });
  const described = await ns.describeTransaction({ id: ["t", transactionId] });
  expect(described.properties?.__lance_commit_message).toBe(message);
});

it("a message is not written to the catalog, and a bad one changes nothing", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["n", "t"], message: "secret words" }, [{ k: 1 }]);
  const names = await readdir(join(root, "__manifest", "_transactions")).catch(() => []);
  expect(names.length).toBeLessThanOrEqual(1);
  const catalog = new DirectoryNamespace({ root });
  await catalog.close();
  for (const message of ["x".repeat(10_001), "\ud800", 7, {}]) {
    const refused = ns.insertIntoTable({ id: ["n", "t"], message: message as string }, [{ k: 2 }]);
    await expect(refused).rejects.toThrow(InvalidInputError);
  }
  expect((await ns.listTableVersions({ id: ["n", "t"] })).versions).toHaveLength(1);
  // A request that commits nothing takes no message.
  await expect(ns.dropTable({ id: ["n", "t"], message: "x" } as never)).rejects.toThrow("message");
});

it("the reference's versions tell what their transactions tell", async ({ root }) => {
  const ipc = (ks: number[]) => tableToIPC(tableFromArrays({ k: Int32Array.from(ks) }));
  for (const [name, stableRowIds] of [
    ["plain", false],
    ["stable", true],
  ] as const) {
    await reference.createTable(root, name, ipc([1, 2, 3]), { stableRowIds });
    await reference.appendTable(root, name, ipc([4, 5]));
    await reference.deleteRows(root, name, "k = 1");
    await reference.updateRows(root, name, { k: "k + 10" }, "k > 3");
    await reference.upsertRows(root, name, ["k"], ipc([2, 99]));
    await using ns = new DirectoryNamespace({ root });
    const versions = await ns.table(name).versions();
    expect(versions.slice(-4).map((version) => [version.operation, pick(version)])).toEqual([
      ["Append", counts(2, 0, 0)],
      ["Delete", counts(0, 1, 0)],
      ["Update", stableRowIds ? counts(0, 0, 2) : pick({})],
      ["Update", stableRowIds ? counts(1, 0, 1) : pick({})],
    ]);
  }
});

it("a lost or damaged transaction leaves the version in the listing", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await reference.createTable(root, "t", tableToIPC(tableFromArrays({ k: [1] })));
  const directory = join(root, "t.lance", "_transactions");
  for (const name of await readdir(directory)) await writeFile(join(directory, name), "not a transaction");
  const versions = await ns.table("t").versions();
  expect(versions.length).toBeGreaterThan(0);
  for (const { operation } of versions) expect(typeof operation).toBe("string");
});

it("damage that only concerns the numbers of rows hides no version", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id, stableRowIds: true }, [{ k: 1 }]);
  const table = ns.table("t");
  await table.update({ values: { k: 2 } });
  expect(Object.keys((await table.versions())[1])).not.toContain("eTag");
  expect(Object.keys((await table.versions())[1])).not.toContain("metadata");
  const disk = suiteDisk();
  const stored = { disk, root: join(root, "t.lance") };
  const entries = await listVersions(stored);
  const file = await readManifestFile(disk, entries[1].path);
  const transaction = file?.transaction;
  if (!file || !transaction?.update) throw new Error("version 2 has no update");
  const newFragments = transaction.update.newFragments.map((fragment) => ({
    ...fragment,
    inlineRowIds: Uint8Array.of(0xff),
  }));
  const damaged = {
    ...transaction,
    transactionProperties: new Map(),
    update: { ...transaction.update, newFragments },
  };
  const before = await readManifestFile(disk, entries[0].path);
  const { path, head, manifest } = file;
  const version2 = { path, head, manifest, transaction: damaged } as unknown as ManifestFile;
  expect(await changesOf(stored, version2, () => before)).toEqual({ operation: "Update" });
  await writeFile(entries[0].path, "not a manifest");
  const { version } = await ns.describeTableVersion({ id, version: 2 });
  expect(version).toMatchObject({ version: 2, operation: "Update" });
  expect(version.rowsChanged).toBeUndefined();
});

it("the wire takes messages, and lists what the commits changed", async ({ root }) => {
  await using ns = new DirectoryNamespace({ root });
  await ns.createTable({ id }, [{ k: 1 }]);
  await using server = await startRestServer(ns);
  await post(server, "/v1/table/t/insert?message=two+words", tableToIPC(tableFromArrays({ k: [2] })));
  await post(server, "/v1/table/t/delete", { predicate: "k = 1", message: "gone" });
  await post(server, "/v1/table/t/schema_metadata/update?message=meta", { message: "is metadata" });
  const { versions } = (await get(server, "/v1/table/t/version/list")).json;
  expect(versions).toMatchObject([
    { operation: "Overwrite", rows_added: 1, rows_removed: 0, rows_changed: 0 },
    { operation: "Append", message: "two words", rows_added: 1 },
    { operation: "Delete", message: "gone", rows_removed: 1 },
    { operation: "UpdateConfig", message: "meta" },
  ]);
});
