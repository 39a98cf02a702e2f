import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  InvalidInputError,
  PermissionDeniedError,
  TableAlreadyExistsError,
  TableNotFoundError,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import { type CreateVersionStep, writeBatch } from "../../src/catalog/batchJournal.js";
import type { Disk } from "../../src/io/disk.js";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { raceEngines } from "../support/engineWorker.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const disk = new NodeDisk({ durability: "none" });
const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const open = (root: string, other?: Disk) =>
  new DirectoryNamespace({ root, durability: "none", ...(other && { disk: other }) });

/** Tables `a` and `b` of the root, `n.c`, all of version 1; and their directories. */
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

/** Rows of each table. */
async function countsOf(root: string): Promise<Record<string, number>> {
  const ns = open(root);
  const counts: Record<string, number> = {};
  for (const id of [["a"], ["b"], ["n", "c"]]) counts[id.join("$")] = await ns.countTableRows({ id });
  await ns.close();
  return counts;
}

const OLD = { a: 1, b: 2, n$c: 1 };
const NEW = { a: 2, b: 4, n$c: 2 };
const batchesIn = (root: string) => existsSync(join(root, ".tiltyard-batches"));

describe("versions of several tables", () => {
  it("are published together, and read by the reference", async () => {
    const { root, places } = await prepare();
    const ns = open(root);
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
    await ns.close();
  });

  it("of one table are published in the order of their numbers", async () => {
    const { root, places } = await prepare();
    const ns = open(root);
    const [third, second] = [await entryOf(["a"], places.a, 3), await entryOf(["a"], places.a, 2)];
    const { versions } = await ns.batchCreateTableVersions({ entries: [third, second] });
    expect(versions.map((version) => version.version)).toEqual([3, 2]);
    await ns.close();
  });

  it("change nothing where one of them can't be", async () => {
    const { root, places } = await prepare();
    const ns = open(root);
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
    await ns.close();
  });

  it("are each authorised by themselves", async () => {
    const { root, places } = await prepare();
    const calls: string[] = [];
    const ns = new DirectoryNamespace({
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
    await ns.close();
  });

  it("have one winner among processes that name them in other orders", async () => {
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

describe("a batch", () => {
  it("declares, publishes and deregisters, answering in order", async () => {
    const { root, places } = await prepare();
    const ns = open(root);
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
    await ns.close();
  });

  it("changes nothing where one part is refused", async () => {
    const { root, places } = await prepare();
    const ns = open(root);
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
    await ns.close();
  });

  /** A batch whose process died right behind its decision. */
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
    await writeBatch(disk, root, steps, manifests);
  }

  it.each<[string, (ns: DirectoryNamespace) => Promise<unknown>]>([
    ["a reader", (ns) => ns.describeTable({ id: ["n", "c"] })],
    ["a listing", (ns) => ns.listTables()],
    ["a writer", (ns) => ns.insertIntoTable({ id: ["n", "c"] }, rowsOf())],
  ])("that was decided is done by the next caller: %s", async (_name, call) => {
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

  it("that is decided while a writer waits for the lock goes first", async () => {
    const { root, places } = await prepare();
    let decided = false;
    // The writer has looked for batches when it writes its data file.
    const late = new Proxy<Disk>(disk, {
      get(target, verb) {
        const value = Reflect.get(target, verb);
        if (verb !== "create") return typeof value === "function" ? value.bind(target) : value;
        return async (path: string) => {
          if (!decided) {
            decided = true;
            await leaveDecided(root, places);
          }
          return target.create(path);
        };
      },
    });
    const ns = open(root, late);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(7))).toMatchObject({ version: 3 });
    await ns.close();
    expect(await countsOf(root)).toEqual({ ...NEW, a: 3, n$c: 1 });
  });

  it("is undone where an engine that knows no journals takes a number", async () => {
    const { root, places } = await prepare();
    let taken = false;
    const raced = new Proxy<Disk>(disk, {
      get(target, verb) {
        const value = Reflect.get(target, verb);
        if (verb !== "link") return typeof value === "function" ? value.bind(target) : value;
        return async (from: string, to: string) => {
          if (!taken && to.startsWith(places.b)) {
            taken = true;
            await reference.deleteRows(root, "b", "v = 2");
          }
          return target.link(from, to);
        };
      },
    });
    const ns = open(root, raced);
    const operations = [
      { declareTable: { id: ["top"] } },
      { declareTable: { id: ["n", "new"] } },
      { createTableVersion: await entryOf(["a"], places.a) },
      { createTableVersion: await entryOf(["b"], places.b) },
    ];
    await expect(ns.batchCommitTables({ operations })).rejects.toThrow(ConcurrentModificationError);
    expect(taken).toBe(true);
    expect(await countsOf(root)).toEqual({ ...OLD, b: 1 });
    expect((await ns.listTables()).tables).toEqual(["a", "b"]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c"]);
    expect(batchesIn(root)).toBe(false);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(7))).toMatchObject({ version: 2 });
    await ns.close();
  });
});
