import { existsSync, readdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  InvalidInputError,
  PermissionDeniedError,
  TableAlreadyExistsError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableVersionNotFoundError,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import { decideBatch, prepareBatch } from "../../../src/catalog/batches/batchJournal.js";
import type { BatchStep, CreateVersionStep } from "../../../src/catalog/batches/journalFormat.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { raceEngines } from "../../support/engineWorker.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { rowsOf } from "../../support/intRows.js";
import { reference } from "../../support/reference.js";
import { stageDoubled } from "../../support/stageVersion.js";
import { makeTempDir } from "../../support/tempDir.js";

const disk = new NodeDisk({ durability: "none" });
const open = (root: string, otherDisk?: Disk) =>
  new DirectoryNamespace({ root, durability: "none", ...(otherDisk && { disk: otherDisk }) });

async function leaveBatch(
  root: string,
  steps: readonly BatchStep[],
  manifests: readonly Uint8Array[] = [],
): Promise<void> {
  await decideBatch(disk, await prepareBatch(disk, root, steps, manifests));
}

/** Makes root tables `a` and `b`, and `n.c`, all at version 1; returns their directories. */
async function prepare(): Promise<{ root: string; places: Record<"a" | "b" | "c", string> }> {
  const root = await makeTempDir();
  const ns = open(root);
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["a"] }, rowsOf(1));
  await ns.createTable({ id: ["b"] }, rowsOf(2, 3));
  await ns.createTable({ id: ["n", "c"] }, rowsOf(4));
  const { location } = await ns.describeTable({ id: ["n", "c"], withTableUri: true } as never);
  await ns.close();
  return { root, places: { a: join(root, "a.lance"), b: join(root, "b.lance"), c: location as string } };
}

const entryOf = async (id: string[], tableRoot: string, version = 2) => ({
  id,
  version,
  manifestPath: await stageDoubled(tableRoot, version),
});

async function countsOf(root: string): Promise<Record<string, number>> {
  await using ns = open(root);
  const counts: Record<string, number> = {};
  for (const id of [["a"], ["b"], ["n", "c"]]) counts[id.join("$")] = await ns.countTableRows({ id });
  return counts;
}

const OLD = { a: 1, b: 2, n$c: 1 };
const NEW = { a: 2, b: 4, n$c: 2 };
const batchesIn = (root: string) => existsSync(join(root, ".tiltyard-batches"));

it("a caller waits for a batch in progress, whatever locks its parts need", async () => {
  for (const last of [false, true]) {
    const root = await makeTempDir();
    const rival = open(root);
    await rival.createNamespace({ id: ["n"] });
    let settled: Promise<unknown> = Promise.resolve();
    const names = ["x", "y"].map((name) => `${name}.lance`);
    const isPart = (verb: keyof Disk, path: string) =>
      verb === "makeDirectory" && path.endsWith(names[last ? 1 : 0]);
    const slow = interruptedDisk(disk, isPart, async () => {
      settled = rival.listTables();
      await new Promise((resolve) => setTimeout(resolve, 100));
    });
    const ns = open(root, slow);
    const operations = [["x"], ["y"], ["n", "z"]].map((id) => ({ declareTable: { id } }));
    expect((await ns.batchCommitTables({ operations })).results).toHaveLength(3);
    expect(slow.interrupted).toBe(true);
    expect(await settled).toEqual({ tables: ["x", "y"] });
    expect((await ns.listAllTables()).tables).toEqual(["n$z", "x", "y"]);
    expect(batchesIn(root)).toBe(false);
    await Promise.all([ns.close(), rival.close()]);
  }
});

describe("versions of several tables", () => {
  it("are published together, and read by the reference", async () => {
    const { root, places } = await prepare();
    await using ns = open(root);
    const entries = [
      await entryOf(["n", "c"], places.c),
      { ...(await entryOf(["a"], places.a)), eTag: "e", metadata: { k: "v" } },
      await entryOf(["b"], places.b),
    ];
    const { versions } = await ns.batchCreateTableVersions({ entries });
    expect(versions.map((version) => version.version)).toEqual([2, 2, 2]);
    expect(versions[1]).toMatchObject({ eTag: "e", metadata: { k: "v" } });
    expect(versions[2].manifestPath).toContain(places.b);
    expect(entries.map((entry) => existsSync(entry.manifestPath))).toEqual([false, false, false]);
    expect(await countsOf(root)).toEqual(NEW);
    expect(await reference.countRows(root, "b")).toBe(4);
    expect(batchesIn(root)).toBe(false);
  });

  it("of one table are published in ascending order", async () => {
    const { root, places } = await prepare();
    await using ns = open(root);
    const [third, second] = [await entryOf(["a"], places.a, 3), await entryOf(["a"], places.a, 2)];
    const { versions } = await ns.batchCreateTableVersions({ entries: [third, second] });
    expect(versions.map((version) => version.version)).toEqual([3, 2]);
  });

  it("are all refused if one of them cannot be published", async () => {
    const { root, places } = await prepare();
    await using ns = open(root);
    const good = await entryOf(["a"], places.a);
    const before = await directorySnapshot(root);
    const attempts: [unknown, new (message: string) => Error][] = [
      [
        await entryOf(["b"], places.b, 1).then((entry) => ({ ...entry, version: 1 })),
        ConcurrentModificationError,
      ],
      [{ id: ["b"], version: 2, manifestPath: "nowhere" }, InvalidInputError],
      [{ id: ["b"], version: 3, manifestPath: good.manifestPath }, InvalidInputError],
      [{ id: ["missing"], version: 2, manifestPath: "x" }, TableNotFoundError],
      [{ ...good }, InvalidInputError],
      [{ ...good, version: -1 }, InvalidInputError],
      [null, InvalidInputError],
    ];
    for (const [entry, type] of attempts) {
      const entries = [good, entry] as never;
      await expect(ns.batchCreateTableVersions({ entries })).rejects.toThrow(type);
    }
    await expect(ns.batchCreateTableVersions({ entries: [] })).rejects.toThrow(InvalidInputError);
    const after = await directorySnapshot(root);
    for (const path of Object.keys(after)) if (/-[0-9a-f-]{36}$/.test(path)) delete after[path];
    for (const path of Object.keys(before)) if (/-[0-9a-f-]{36}$/.test(path)) delete before[path];
    expect(after).toEqual(before);
  });

  it("are each authorised separately", async () => {
    const { root, places } = await prepare();
    const calls: string[] = [];
    await using ns = new DirectoryNamespace({
      root,
      durability: "none",
      authorize: ({ operation, id }) => {
        calls.push(`${operation} ${id.join("$")}`);
        if (id[0] === "b") throw new PermissionDeniedError("not b");
      },
    });
    const entries = [await entryOf(["a"], places.a), await entryOf(["b"], places.b)];
    await expect(ns.batchCreateTableVersions({ entries })).rejects.toThrow(PermissionDeniedError);
    expect(calls).toEqual(["batchCreateTableVersions ", "createTableVersion a", "createTableVersion b"]);
    expect(await countsOf(root)).toEqual(OLD);
  });

  it("have one winner among processes that name them in different orders", async () => {
    const { root, places } = await prepare();
    const jobs = [];
    for (let index = 0; index < 4; index++) {
      const entries = [await entryOf(["a"], places.a), await entryOf(["b"], places.b)];
      if (index % 2 === 1) entries.reverse();
      jobs.push({ root, steps: [["batchCreateTableVersions", { entries }] as const] });
    }
    const outcomes = (await raceEngines(jobs)).flat();
    expect(outcomes.filter((outcome) => "ok" in outcome)).toHaveLength(1);
    for (const outcome of outcomes)
      if (!("ok" in outcome)) expect(outcome.type).toBe("ConcurrentModification");
    expect(await countsOf(root)).toEqual({ ...NEW, n$c: 1 });
  });
});

const versionsOf = async (ns: DirectoryNamespace, id: string[], branch?: string): Promise<number[]> =>
  (await ns.listTableVersions({ id, branch })).versions.map(({ version }) => version);

/** Makes table `a` with versions 1 to 4, `b` with 1 to 3, and branch `dev` of `b` with versions 3 to 5. */
async function prepareHistory(): Promise<{ root: string; places: Record<"a" | "b" | "c", string> }> {
  const prepared = await prepare();
  await using ns = open(prepared.root);
  for (const value of [2, 3, 4]) await ns.insertIntoTable({ id: ["a"], mode: "Overwrite" }, rowsOf(value));
  for (const value of [4, 5]) await ns.insertIntoTable({ id: ["b"] }, rowsOf(value));
  await ns.createTableBranch({ id: ["b"], name: "dev" });
  for (const value of [6, 7]) await ns.insertIntoTable({ id: ["b"], branch: "dev" }, rowsOf(value));
  return prepared;
}

describe("versions deleted in a batch", () => {
  it("are deleted together with its other parts, and the answers keep the order", async () => {
    const { root, places } = await prepareHistory();
    await using ns = open(root);
    const { results } = await ns.batchCommitTables({
      operations: [
        { deleteTableVersions: { id: ["b"], branch: "dev", ranges: [{ startVersion: 3, endVersion: 5 }] } },
        { createTableVersion: await entryOf(["a"], places.a, 5) },
        { deleteTableVersions: { id: ["a"], ranges: [{ startVersion: 1, endVersion: 3 }] } },
        { declareTable: { id: ["top"] } },
        // One version of the range is named above, and 0 does not exist.
        { deleteTableVersions: { id: ["a"], ranges: [{ startVersion: 0, endVersion: 4 }] } },
        { deregisterTable: { id: ["n", "c"] } },
        { deleteTableVersions: { id: ["b"], ranges: [{ startVersion: 9, endVersion: -1 }] } },
      ],
    });
    expect(results).toMatchObject([
      { deleteTableVersions: { deletedCount: 2 } },
      { createTableVersion: { version: { version: 5 } } },
      { deleteTableVersions: { deletedCount: 2 } },
      { declareTable: { location: join(root, "top.lance") } },
      { deleteTableVersions: { deletedCount: 1 } },
      { deregisterTable: { id: ["n", "c"] } },
      { deleteTableVersions: { deletedCount: 0 } },
    ]);
    expect(await versionsOf(ns, ["a"])).toEqual([4, 5]);
    expect(await versionsOf(ns, ["b"])).toEqual([1, 2, 3]);
    expect(await versionsOf(ns, ["b"], "dev")).toEqual([5]);
    // The files that only these versions needed are gone, too.
    expect(readdirSync(join(places.a, "data"))).toHaveLength(1);
    expect(batchesIn(root)).toBe(false);
    expect(await reference.countRows(root, "a")).toBe(2);
    expect(await reference.countRows(root, "b", undefined, { branch: "dev" })).toBe(6);
  });

  it("stay, with everything else, if one of them is needed", async () => {
    const { root, places } = await prepareHistory();
    await using ns = open(root);
    await ns.createTableTag({ id: ["a"], tag: "v", version: 2 });
    const part = { createTableVersion: await entryOf(["a"], places.a, 5) };
    const before = await directorySnapshot(root);
    const remove = (id: string[], startVersion: number, endVersion: number, branch?: string) => ({
      deleteTableVersions: { id, branch, ranges: [{ startVersion, endVersion }] },
    });
    const refused: [unknown[], new (message: string) => Error][] = [
      [[part, remove(["a"], 1, 3)], InvalidInputError],
      // Version 5 would become the latest, but the check uses the latest before the batch.
      [[part, remove(["a"], 3, 5)], InvalidInputError],
      [[remove(["b"], 1, 2), remove(["a"], 1, -1)], InvalidInputError],
      [[remove(["a"], 1, 2), remove(["b"], 3, 4)], InvalidInputError],
      [[remove(["a"], 1, 2), remove(["b"], 5, 6, "dev")], InvalidInputError],
      [[remove(["a"], 1, 2), remove(["b"], 3, 4, "none")], TableBranchNotFoundError],
      [[remove(["a"], 1, 2), remove(["m"], 1, 2)], TableNotFoundError],
      [[remove(["a"], 1, 2), { deregisterTable: { id: ["a"] } }], InvalidInputError],
      [[remove(["a"], 2, 1)], InvalidInputError],
      [[{ deleteTableVersions: { id: ["a"] } }], InvalidInputError],
      [[{ ...part, ...remove(["a"], 1, 2) }], InvalidInputError],
    ];
    for (const [operations, type] of refused) {
      await expect(ns.batchCommitTables({ operations } as never)).rejects.toThrow(type);
    }
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it("are authorised like versions that are deleted separately", async () => {
    const { root } = await prepareHistory();
    const calls: string[] = [];
    await using ns = new DirectoryNamespace({
      root,
      durability: "none",
      authorize: ({ operation, id }) => {
        calls.push(`${operation} ${id.join("$")}`);
        if (operation === "batchDeleteTableVersions") throw new PermissionDeniedError("not this");
      },
    });
    const ranges = [{ startVersion: 1, endVersion: 2 }];
    const operations = [{ deleteTableVersions: { id: ["a"], ranges } }];
    await expect(ns.batchCommitTables({ operations })).rejects.toThrow(PermissionDeniedError);
    expect(calls).toEqual(["batchCommitTables ", "batchDeleteTableVersions a"]);
  });

  const decided: readonly BatchStep[] = [
    { kind: "deleteVersions", location: "a.lance", branch: null, versions: [1, 2, 3] },
    { kind: "deleteVersions", location: "b.lance", branch: "dev", versions: [3, 4] },
  ];

  it.each<[string, (ns: DirectoryNamespace) => Promise<unknown>]>([
    ["a reader", (ns) => ns.describeTable({ id: ["b"], branch: "dev" })],
    ["whoever would tag one", (ns) => ns.createTableTag({ id: ["a"], tag: "v", version: 1 })],
    ["whoever would start from one", (ns) => ns.createTableBranch({ id: ["a"], name: "x", fromVersion: 1 })],
    ["whoever would restore one", (ns) => ns.restoreTable({ id: ["b"], branch: "dev", version: 4 })],
  ])("are deleted by %s once that is decided", async (_name, call) => {
    const { root } = await prepareHistory();
    await leaveBatch(root, decided);
    await using ns = open(root);
    await call(ns).catch((error: unknown) => expect(error).toBeInstanceOf(TableVersionNotFoundError));
    expect(batchesIn(root)).toBe(false);
    expect(await versionsOf(ns, ["a"])).toEqual([4]);
    expect(await versionsOf(ns, ["b"], "dev")).toEqual([5]);
    expect((await ns.listTableTags({ id: ["a"] })).tags).toEqual({});
    // The next cleanup removes their files, whatever its age limit for versions.
    const { dataFilesRemoved, versionsRemoved } = await ns.cleanupTable({ id: ["a"] });
    expect({ dataFilesRemoved, versionsRemoved }).toEqual({ dataFilesRemoved: 3, versionsRemoved: 3 });
    expect(await reference.countRows(root, "a")).toBe(1);
  });

  it("stay if an engine without journals needs them meanwhile", async () => {
    const { root } = await prepareHistory();
    await leaveBatch(root, decided);
    await reference.createTag(root, "a", "theirs", 2);
    await reference.createTag(root, "b", "damaged", 1);
    await writeFile(join(root, "b.lance", "_refs", "tags", "damaged.json"), "{");
    await using ns = open(root);
    expect(await versionsOf(ns, ["a"])).toEqual([2, 4]);
    // An unreadable ref may need any version.
    expect(await versionsOf(ns, ["b"], "dev")).toEqual([3, 4, 5]);
    expect(batchesIn(root)).toBe(false);
    expect(await ns.countTableRows({ id: ["a"], tag: "theirs" })).toBe(1);
  });

  it("of a table or branch that was dropped meanwhile block nobody", async () => {
    const { root, places } = await prepareHistory();
    await leaveBatch(root, decided);
    await rm(places.a, { recursive: true });
    await rm(join(places.b, "tree"), { recursive: true });
    await using ns = open(root);
    expect((await ns.listTables()).tables).toEqual(["b"]);
    expect(batchesIn(root)).toBe(false);
  });
});

describe("a batch", () => {
  it("declares, publishes and deregisters, and the answers keep the order", async () => {
    const { root, places } = await prepare();
    await using ns = open(root);
    const { results } = await ns.batchCommitTables({
      operations: [
        { declareTable: { id: ["n", "new"], properties: { p: "1" } } },
        { createTableVersion: await entryOf(["a"], places.a) },
        { deregisterTable: { id: ["b"] } },
        { declareTable: { id: ["top"] } },
      ],
    });
    expect(results).toMatchObject([
      { declareTable: { properties: { p: "1" } } },
      { createTableVersion: { version: { version: 2 } } },
      { deregisterTable: { id: ["b"], location: places.b } },
      { declareTable: { location: join(root, "top.lance") } },
    ]);
    expect((await ns.listTables()).tables).toEqual(["a", "top"]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c", "new"]);
    expect((await ns.describeTable({ id: ["n", "new"] })).properties).toEqual({ p: "1" });
    await ns.insertIntoTable({ id: ["n", "new"] }, rowsOf(9));
    expect(await ns.countTableRows({ id: ["a"] })).toBe(2);
  });

  it("changes nothing if one part is refused", async () => {
    const { root, places } = await prepare();
    await using ns = open(root);
    const part = { createTableVersion: await entryOf(["a"], places.a) };
    const before = await directorySnapshot(root);
    const refused: [unknown[], new (message: string) => Error][] = [
      [[part, { declareTable: { id: ["b"] } }], TableAlreadyExistsError],
      [[part, { declareTable: { id: ["m", "x"] } }], Error],
      [[{ declareTable: { id: ["x"] } }, { deregisterTable: { id: ["y"] } }], TableNotFoundError],
      [[part, { deregisterTable: { id: ["a"] } }], InvalidInputError],
      [[{ declareTable: { id: ["x"] } }, { declareTable: { id: ["x"] } }], InvalidInputError],
      [[part, {}], InvalidInputError],
      [[part, { declareTable: { id: ["x"] }, deregisterTable: { id: ["b"] } }], InvalidInputError],
      [[part, { declareTable: { id: ["a b/c"] } }], InvalidInputError],
    ];
    for (const [operations, type] of refused) {
      await expect(ns.batchCommitTables({ operations } as never)).rejects.toThrow(type);
    }
    expect(await directorySnapshot(root)).toEqual(before);
  });

  async function leaveDecided(root: string, places: Record<string, string>): Promise<void> {
    const manifests: Uint8Array[] = [];
    const steps: CreateVersionStep[] = [];
    for (const name of ["a", "b"]) {
      manifests.push(await readFile(await stageDoubled(places[name], 2)));
      steps.push({
        kind: "createVersion",
        location: `${name}.lance`,
        branch: null,
        version: 2,
        scheme: "V2",
        manifest: `${manifests.length - 1}.manifest`,
      });
    }
    await leaveBatch(root, steps, manifests);
  }

  it.each<[string, (ns: DirectoryNamespace) => Promise<unknown>]>([
    ["a reader", (ns) => ns.describeTable({ id: ["b"] })],
    ["a listing", (ns) => ns.listTables()],
    ["a writer", (ns) => ns.createTableTag({ id: ["b"], tag: "t", version: 2 })],
  ])("is done by the next caller once it is decided: %s", async (_name, call) => {
    const { root, places } = await prepare();
    await leaveDecided(root, places);
    const ns = open(root);
    await call(ns);
    expect(batchesIn(root)).toBe(false);
    expect(
      readdirSync(join(places.a, "_versions")).filter((name) => name.endsWith(".manifest")),
    ).toHaveLength(2);
    await ns.close();
    expect(await countsOf(root)).toEqual({ ...NEW, n$c: 1 });
  });

  it("goes before a writer that waits for the lock", async () => {
    const { root, places } = await prepare();
    // The writer has checked for batches before it writes its data file.
    const late = interruptedDisk(
      disk,
      (verb) => verb === "create",
      () => leaveDecided(root, places),
    );
    const ns = open(root, late);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(7))).toMatchObject({ version: 3 });
    await ns.close();
    expect(await countsOf(root)).toEqual({ ...NEW, a: 3, n$c: 1 });
  });

  it("is undone if an engine without journals takes a number", async () => {
    const { root, places } = await prepare();
    const raced = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(places.b),
      () => reference.deleteRows(root, "b", "v = 2"),
    );
    await using ns = open(root, raced);
    const operations = [
      { declareTable: { id: ["top"] } },
      { declareTable: { id: ["n", "new"] } },
      { createTableVersion: await entryOf(["a"], places.a) },
      { createTableVersion: await entryOf(["b"], places.b) },
    ];
    await expect(ns.batchCommitTables({ operations })).rejects.toThrow(ConcurrentModificationError);
    expect(raced.interrupted).toBe(true);
    expect(await countsOf(root)).toEqual({ ...OLD, b: 1 });
    expect((await ns.listTables()).tables).toEqual(["a", "b"]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c"]);
    expect(batchesIn(root)).toBe(false);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(7))).toMatchObject({ version: 2 });
  });
});
