/** Leaves batches that cannot be finished, now or ever, and checks whom they block and how they end. */

import { existsSync, readdirSync } from "node:fs";
import {
  copyFile,
  cp,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import os from "node:os";
import { join } from "node:path";
import {
  CorruptFileError,
  DirectoryNamespace,
  InternalError,
  InvalidInputError,
  PermissionDeniedError,
  ServiceUnavailableError,
  UnsupportedError,
} from "tiltyard";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { rowsOf } from "../support/intRows.js";
import { dieBehindDecision, MUTATING, refusingDisk } from "../support/leftBatches.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const disk = new NodeDisk({ durability: "none" });
const open = (root: string, otherDisk?: Disk) =>
  new DirectoryNamespace({ root, durability: "none", ...(otherDisk && { disk: otherDisk }) });

const batchesIn = (root: string) => join(root, ".tiltyard-batches");
const endedIn = (root: string) => join(root, ".tiltyard-ended-batches");
const journalsIn = (root: string): string[] =>
  existsSync(batchesIn(root))
    ? readdirSync(batchesIn(root)).map((name) => join(batchesIn(root), name, "journal.json"))
    : [];

/** Root tables `a`, `b` and `other`, and `n.c` and `n.d`, all at version 1. */
let root: string;
let places: Record<"a" | "b" | "other" | "c", string>;

beforeEach(async () => {
  root = await makeTempDir();
  await using ns = open(root);
  await ns.createNamespace({ id: ["n"] });
  await ns.createNamespace({ id: ["m"] });
  for (const name of ["a", "b", "other"]) await ns.createTable({ id: [name] }, rowsOf(1));
  await ns.createTable({ id: ["n", "c"], properties: { p: "1" } }, rowsOf(4));
  await ns.createTable({ id: ["n", "d"] }, rowsOf(5));
  const { location } = await ns.describeTable({ id: ["n", "c"] });
  places = {
    a: join(root, "a.lance"),
    b: join(root, "b.lance"),
    other: join(root, "other.lance"),
    c: location as string,
  };
});

const entryOf = async (id: string[], tableRoot: string) => ({
  id,
  version: 2,
  manifestPath: await stageDoubled(tableRoot, 2),
});

async function leaveVersions(more: object = {}): Promise<void> {
  const entries = [
    await entryOf(["a"], places.a),
    { ...(await entryOf(["b"], places.b)), ...more },
    await entryOf(["n", "c"], places.c),
  ];
  await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries }));
  expect(journalsIn(root)).toHaveLength(1);
}

const versionsOf = async (ns: DirectoryNamespace, id: string[]): Promise<number[]> =>
  (await ns.listTableVersions({ id })).versions.map(({ version }) => version);

/** Calls all operations that do not concern `a`, `b` and `n.c`. */
async function goOnElsewhere(ns: DirectoryNamespace): Promise<void> {
  const id = ["other"];
  expect(await ns.countTableRows({ id })).toBe(1);
  expect((await ns.table(id).scan().toArrow()).numRows).toBe(1);
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.createTableTag({ id, tag: "t", version: 1 });
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
  await ns.deleteTableBranch({ id, name: "dev" });
  await ns.updateTableSchemaMetadata({ id, metadata: { k: "v" } });
  await ns.optimizeTable({ id });
  await ns.cleanupTable({ id });
  await ns.createTable({ id: ["made"] }, rowsOf(1));
  await ns.renameTable({ id: ["made"], newTableName: "renamed" });
  await ns.dropTable({ id: ["renamed"] });
  await ns.declareTable({ id: ["m", "x"] });
  await ns.deregisterTable({ id: ["m", "x"] });
  await ns.createNamespace({ id: ["q"] });
  await ns.dropNamespace({ id: ["q"], behavior: "Cascade" });
  expect((await ns.listNamespaces()).namespaces).toEqual(["m", "n"]);
  expect((await ns.listTables()).tables).toEqual(["a", "b", "other"]);
  expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c", "d"]);
  expect((await ns.listAllTables()).tables).toEqual(["a", "b", "n$c", "n$d", "other"]);
  const { transactionId } = await ns.insertIntoTable({ id: ["n", "d"] }, rowsOf(6));
  expect((await ns.describeTransaction({ id: [transactionId as string] })).status).toBe("Succeeded");
  const version = Math.max(...(await versionsOf(ns, id))) + 1;
  const manifestPath = await stageDoubled(places.other, version);
  await ns.batchCreateTableVersions({ entries: [{ id, version, manifestPath }] });
}

describe("a batch that cannot be finished now", () => {
  it.each(["ENOSPC", "EIO", "EMFILE", "ETIMEDOUT"])("blocks only its own tables: %s", async (code) => {
    await leaveVersions();
    let isFailing = true;
    const failing = refusingDisk(disk, (verb, paths) =>
      isFailing && MUTATING.has(verb) && paths.some((path) => path.startsWith(join(places.b, "_versions")))
        ? code
        : undefined,
    );
    await using ns = open(root, failing);
    await goOnElsewhere(ns);
    for (const call of [
      () => ns.describeTable({ id: ["a"] }),
      () => ns.countTableRows({ id: ["n", "c"] }),
      () => ns.insertIntoTable({ id: ["a"] }, rowsOf(9)),
      () => ns.createTableTag({ id: ["b"], tag: "t", version: 1 }),
      () => ns.dropTable({ id: ["n", "c"] }),
      () => ns.renameTable({ id: ["a"], newTableName: "z" }),
      () => ns.renameTable({ id: ["other"], newTableName: "a" }),
      () => ns.registerTable({ id: ["m", "c"], location: places.c.slice(root.length + 1) }),
      () => ns.dropNamespace({ id: ["n"], behavior: "Cascade" }),
      () => ns.batchDeleteTableVersions({ id: ["b"], ranges: [{ startVersion: 0, endVersion: 1 }] }),
      () => ns.batchCommitTables({ operations: [{ deregisterTable: { id: ["a"] } }] }),
    ]) {
      const error = await call().catch((reason: unknown) => reason);
      expect(error, String(call)).toBeInstanceOf(ServiceUnavailableError);
      expect((error as Error).message).toContain(code);
    }
    expect(journalsIn(root)).toHaveLength(1);
    isFailing = false;
    expect(await versionsOf(ns, ["b"])).toEqual([1, 2]);
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2]);
    expect(await versionsOf(ns, ["n", "c"])).toEqual([1, 2]);
    expect(existsSync(batchesIn(root))).toBe(false);
  });

  it("blocks the names that it declares and removes", async () => {
    await dieBehindDecision({ root }, (ns) =>
      ns.batchCommitTables({
        operations: [{ declareTable: { id: ["m", "new"] } }, { deregisterTable: { id: ["n", "c"] } }],
      }),
    );
    const failing = refusingDisk(disk, (verb) => (verb === "link" ? "EIO" : undefined));
    const ns = open(root, failing);
    for (const call of [
      () => ns.tableExists({ id: ["m", "new"] }),
      () => ns.tableExists({ id: ["n", "c"] }),
      () => ns.createNamespace({ id: ["m", "new"] }),
      () => ns.dropNamespace({ id: ["m"] }),
    ]) {
      await expect(call(), String(call)).rejects.toBeInstanceOf(ServiceUnavailableError);
    }
    await ns.tableExists({ id: ["n", "d"] });
    // The listing shows what exists.
    expect((await ns.listTables({ id: ["m"] })).tables).toEqual([]);
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["c", "d"]);
    await ns.close();
    await using later = open(root);
    expect((await later.listTables({ id: ["m"] })).tables).toEqual(["new"]);
    expect((await later.listTables({ id: ["n"] })).tables).toEqual(["d"]);
    expect((await later.describeTable({ id: ["m", "new"] })).isOnlyDeclared).toBe(true);
  });

  it("is found by other names of its tables' directories", async () => {
    const alias = join(root, "alias");
    await cp(places.b, alias, { recursive: true });
    const setUp = open(root);
    await setUp.registerTable({ id: ["m", "alias"], location: "alias" });
    await setUp.close();
    // A link to another table cannot be registered, but can appear later.
    await rm(alias, { recursive: true });
    await symlink(places.b, alias, "dir");
    await leaveVersions();
    await using ns = open(root);
    expect((await ns.describeTable({ id: ["m", "alias"] })).version).toBe(2);
    expect(existsSync(batchesIn(root))).toBe(false);
  });

  it("is reported to its caller, and the next caller finishes it", async () => {
    const entries = [await entryOf(["a"], places.a), await entryOf(["b"], places.b)];
    const error = await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries }));
    expect(error).toBeInstanceOf(InternalError);
    const later = open(root);
    const full = refusingDisk(disk, (verb, [, path = ""]) =>
      verb === "link" && path.startsWith(join(places.c, "_versions")) ? "ENOSPC" : undefined,
    );
    const ns = open(root, full);
    const more = [
      { id: ["n", "c"], version: 2, manifestPath: await stageDoubled(places.c, 2) },
      { id: ["other"], version: 2, manifestPath: await stageDoubled(places.other, 2) },
    ];
    const outcome = ns.batchCreateTableVersions({ entries: more });
    await expect(outcome).rejects.toBeInstanceOf(ServiceUnavailableError);
    await expect(outcome).rejects.toThrow(/is decided, and the next operation .*ENOSPC/);
    expect(await versionsOf(later, ["n", "c"])).toEqual([1, 2]);
    expect(await versionsOf(later, ["other"])).toEqual([1, 2]);
    await Promise.all([ns.close(), later.close()]);
  });
});

describe("a batch that can never be finished", () => {
  /** Ways to make the part of `b` impossible. */
  const spoilers: [name: string, spoil: () => Promise<Disk | undefined>][] = [
    [
      "manifests of both naming schemes lie in a table",
      async () => {
        const [name] = readdirSync(join(places.b, "_versions")).filter((each) => each.endsWith(".manifest"));
        await copyFile(join(places.b, "_versions", name), join(places.b, "_versions", "1.manifest"));
        return undefined;
      },
    ],
    [
      "a file is where versions lie",
      async () => {
        await rename(join(places.b, "_versions"), join(places.b, "moved"));
        await writeFile(join(places.b, "_versions"), "");
        return undefined;
      },
    ],
    [
      "a directory is a link to itself",
      async () => {
        await rename(places.b, `${places.b}.moved`);
        await symlink(places.b, places.b);
        return undefined;
      },
    ],
    [
      "the manifest beside the journal is damaged",
      async () => {
        await truncate(join(batchesIn(root), readdirSync(batchesIn(root))[0], "1.manifest"), 10);
        return undefined;
      },
    ],
    [
      "the manifest beside the journal is gone",
      async () => {
        await rm(join(batchesIn(root), readdirSync(batchesIn(root))[0], "1.manifest"));
        return undefined;
      },
    ],
    ...["EACCES", "EPERM", "EROFS", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].map(
      (code): [string, () => Promise<Disk>] => [
        `the platform answers ${code}`,
        async () =>
          refusingDisk(disk, (verb, paths) =>
            MUTATING.has(verb) && paths.some((path) => path.startsWith(join(places.b, "_versions")))
              ? code
              : undefined,
          ),
      ],
    ),
  ];

  it.each(spoilers)("is undone by the next caller: %s", async (_name, spoil) => {
    await leaveVersions();
    await using ns = open(root, await spoil());
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    expect(existsSync(batchesIn(root))).toBe(false);
    expect(await versionsOf(ns, ["n", "c"])).toEqual([1]);
    expect(await ns.insertIntoTable({ id: ["a"] }, rowsOf(2))).toMatchObject({ version: 2 });
    expect(await reference.countRows(root, "a")).toBe(2);
  });

  it("leaves a version in place if it cannot be removed", async () => {
    await leaveVersions();
    await truncate(join(batchesIn(root), readdirSync(batchesIn(root))[0], "1.manifest"), 10);
    await using ns = open(
      root,
      refusingDisk(disk, (verb, [path]) =>
        verb === "rename" && path.startsWith(join(places.a, "_versions")) && path.endsWith(".manifest")
          ? "EACCES"
          : undefined,
      ),
    );
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2]);
    expect(existsSync(batchesIn(root))).toBe(false);
    expect(await versionsOf(ns, ["b"])).toEqual([1]);
  });

  it("continues if a table is gone whose id or versions it was to remove", async () => {
    const setUp = open(root);
    await setUp.insertIntoTable({ id: ["b"] }, rowsOf(2));
    await setUp.close();
    const entry = await entryOf(["a"], places.a);
    await dieBehindDecision({ root }, (ns) =>
      ns.batchCommitTables({
        operations: [
          { createTableVersion: entry },
          { deregisterTable: { id: ["n", "c"] } },
          { deleteTableVersions: { id: ["b"], ranges: [{ startVersion: 1, endVersion: 2 }] } },
        ],
      }),
    );
    await reference.catalogStep(root, "dropTable", ["n", "c"]);
    await reference.catalogStep(root, "dropTable", ["n", "d"]);
    await reference.catalogStep(root, "dropNamespace", ["n"]);
    await reference.dropTable(root, "b");
    await using ns = open(root);
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2]);
    expect(existsSync(batchesIn(root))).toBe(false);
  });

  it("reports the refused part and its error class, and has changed nothing", async () => {
    await using ns = open(root);
    const before = await directorySnapshot(places.a);
    const metadata = { k: "v".repeat(2 ** 20) };
    const entries = [await entryOf(["a"], places.a), { ...(await entryOf(["b"], places.b)), metadata }];
    const outcome = ns.batchCreateTableVersions({ entries });
    await expect(outcome).rejects.toBeInstanceOf(InvalidInputError);
    await expect(outcome).rejects.toThrow(/^version 2 of b\.lance: metadata/);
    expect(existsSync(batchesIn(root))).toBe(false);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    await rm(entries[0].manifestPath);
    const after = await directorySnapshot(places.a);
    for (const path of [join("_versions", "latest_version_hint.json")]) {
      delete before[path];
      delete after[path];
    }
    expect(after).toEqual(before);
  });

  it("names the part that the platform refuses", async () => {
    const refusing = refusingDisk(disk, (verb, [, path = ""]) =>
      verb === "link" && path.startsWith(join(places.b, "_versions")) ? "EROFS" : undefined,
    );
    await using ns = open(root, refusing);
    const entries = [await entryOf(["a"], places.a), await entryOf(["b"], places.b)];
    const outcome = ns.batchCreateTableVersions({ entries });
    await expect(outcome).rejects.toBeInstanceOf(PermissionDeniedError);
    await expect(outcome).rejects.toThrow(/^version 2 of b\.lance: the file system is read-only \(EROFS/);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    expect(existsSync(batchesIn(root))).toBe(false);
  });

  it("restores ids and versions that it had removed", async () => {
    const ns0 = open(root);
    await ns0.insertIntoTable({ id: ["a"] }, rowsOf(2));
    await ns0.insertIntoTable({ id: ["b"] }, rowsOf(2));
    await ns0.createTable({ id: ["r"], properties: { q: "2" } }, rowsOf(7));
    await ns0.close();
    const refusing = refusingDisk(disk, (verb, [, path = ""]) =>
      verb === "rename" && path.startsWith(join(places.b, "_versions")) && path.endsWith(".retired")
        ? "EACCES"
        : undefined,
    );
    await using ns = open(root, refusing);
    const ranges = [{ startVersion: 1, endVersion: 2 }];
    const outcome = ns.batchCommitTables({
      operations: [
        { declareTable: { id: ["top"] } },
        { declareTable: { id: ["m", "new"] } },
        { deregisterTable: { id: ["n", "c"] } },
        { deregisterTable: { id: ["r"] } },
        { deleteTableVersions: { id: ["a"], ranges } },
        { deleteTableVersions: { id: ["b"], ranges } },
      ],
    });
    await expect(outcome).rejects.toThrow(
      /^the deletion of versions of b\.lance: the file system does not let this process do that \(EACCES/,
    );
    expect(existsSync(batchesIn(root))).toBe(false);
    expect((await ns.listAllTables()).tables).toEqual(["a", "b", "n$c", "n$d", "other", "r"]);
    expect((await ns.describeTable({ id: ["n", "c"] })).properties).toEqual({ p: "1" });
    expect((await ns.describeTable({ id: ["r"] })).properties).toEqual({ q: "2" });
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2]);
    expect(await versionsOf(ns, ["b"])).toEqual([1, 2]);
    expect(await ns.countTableRows({ id: ["a"], version: 1 })).toBe(1);
    expect(await reference.countRows(root, "a")).toBe(2);
    expect(readdirSync(root).filter((name) => name.includes("new") || name.startsWith("top"))).toEqual([]);
  });

  it("is refused before the decision if its journal could not be read", async () => {
    await using ns = open(root);
    const huge = "x".repeat(900_000);
    const entries = await Promise.all(
      Array.from({ length: 80 }, async (_, index) => ({
        id: ["a"],
        version: 2 + index,
        manifestPath: await stageDoubled(places.a, 2 + index),
        metadata: { huge },
      })),
    );
    await expect(ns.batchCreateTableVersions({ entries })).rejects.toBeInstanceOf(InvalidInputError);
    expect(existsSync(batchesIn(root))).toBe(false);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
  });
});

describe("a journal of unknown content", () => {
  const journal = () => journalsIn(root)[0];

  it.each<[string, () => Promise<unknown>]>([
    ["is empty", () => truncate(journal(), 0)],
    ["is cut short", () => truncate(journal(), 100)],
    ["is longer than any", () => truncate(journal(), 64 * 1024 * 1024 + 1)],
    ["has no steps", () => writeFile(journal(), '{"format":1}')],
    ["is a list", () => writeFile(journal(), "[]")],
    [
      "is a directory",
      async () => {
        await rm(journal());
        await mkdir(journal());
      },
    ],
  ])("is set aside if it %s, and blocks nobody", async (_name, damage) => {
    await leaveVersions();
    const name = readdirSync(batchesIn(root))[0];
    await damage();
    await using ns = open(root);
    await goOnElsewhere(ns);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    await ns.insertIntoTable({ id: ["a"] }, rowsOf(2));
    expect(existsSync(batchesIn(root))).toBe(false);
    const kept = readdirSync(join(endedIn(root), `${name}.damaged`)).sort();
    expect(kept).toEqual(["0.manifest", "1.manifest", "2.manifest", "journal.json"]);
  });

  it.each<[string, (content: { format: number; steps: Record<string, unknown>[] }) => void, unknown]>([
    ["a step of unknown kind", ({ steps }) => Object.assign(steps[0], { kind: "other" }), CorruptFileError],
    ["an invalid number", ({ steps }) => Object.assign(steps[1], { version: -1 }), CorruptFileError],
    ["a location outside", ({ steps }) => Object.assign(steps[2], { branch: "../x" }), CorruptFileError],
    ["an invalid identity", ({ steps }) => Object.assign(steps[2], { identity: {} }), CorruptFileError],
    ["the format of a later release", (content) => Object.assign(content, { format: 2 }), UnsupportedError],
  ])("blocks the tables that it names: %s", async (_name, change, type) => {
    await leaveVersions();
    const content = JSON.parse(await readFile(journal(), "utf8"));
    change(content);
    await writeFile(journal(), JSON.stringify(content));
    await using ns = open(root);
    await goOnElsewhere(ns);
    for (const id of [["a"], ["b"], ["n", "c"]]) {
      await expect(ns.describeTable({ id })).rejects.toBeInstanceOf(type);
      await expect(ns.insertIntoTable({ id }, rowsOf(1))).rejects.toBeInstanceOf(type);
    }
    await expect(ns.describeTable({ id: ["a"] })).rejects.toThrow(journal());
    expect(await readFile(journal(), "utf8")).toBe(JSON.stringify(content));
    // The message asks for this.
    await rm(join(journal(), ".."), { recursive: true });
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
  });

  it("never makes a table in another table's directory", async () => {
    const step = { kind: "declareTable", id: ["x"], location: "other.lance" };
    const directory = join(batchesIn(root), "11111111-2222-4333-8444-555555555555");
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "journal.json"), JSON.stringify({ format: 1, steps: [step] }));
    await using ns = open(root);
    await expect(ns.tableExists({ id: ["x"] })).rejects.toBeInstanceOf(CorruptFileError);
    await rm(directory, { recursive: true });
    expect(await ns.countTableRows({ id: ["other"] })).toBe(1);
  });

  it.each(["EACCES", "EIO"])("blocks nobody if it is unreadable: %s", async (code) => {
    await leaveVersions();
    const blind = refusingDisk(disk, (verb, paths) =>
      verb === "readFile" && paths[0].endsWith("journal.json") ? code : undefined,
    );
    const ns = open(root, blind);
    await goOnElsewhere(ns);
    expect(await versionsOf(ns, ["a"])).toEqual([1]);
    await ns.close();
    expect(journalsIn(root)).toHaveLength(1);
  });
});

describe("remains of batches", () => {
  it("are removed after an hour if none was decided, and not before", async () => {
    const directory = join(batchesIn(root), "11111111-2222-4333-8444-555555555555");
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "0.manifest"), "");
    await using ns = open(root);
    await ns.listTables();
    expect(existsSync(directory)).toBe(true);
    const old = Date.now() / 1000 - 3601;
    await utimes(directory, old, old);
    await ns.listTables();
    expect(existsSync(batchesIn(root))).toBe(false);
    expect(existsSync(endedIn(root))).toBe(false);
  });

  it("stay if the batch is decided at the moment of their removal", async () => {
    const entries = [await entryOf(["a"], places.a), await entryOf(["b"], places.b)];
    let directory = "";
    // The directory looks abandoned, and its process continues right before the rename.
    const late = interruptedDisk(
      disk,
      (verb, path) => verb === "rename" && path === directory,
      () => copyFile(join(root, "kept.json"), join(directory, "journal.json")),
    );
    await dieBehindDecision({ root }, (ns) => ns.batchCreateTableVersions({ entries }));
    directory = join(journalsIn(root)[0], "..");
    await rename(journalsIn(root)[0], join(root, "kept.json"));
    const old = Date.now() / 1000 - 3601;
    await utimes(directory, old, old);
    await using ns = open(root, late);
    await ns.describeTable({ id: ["other"] });
    expect(journalsIn(root)).toEqual([join(directory, "journal.json")]);
    expect(await versionsOf(ns, ["a"])).toEqual([1, 2]);
  });

  it("report the outcome for a week", async () => {
    await leaveVersions();
    const [name] = readdirSync(batchesIn(root));
    await using ns = open(root);
    await ns.describeTable({ id: ["a"] });
    expect(readdirSync(endedIn(root))).toEqual([`${name}.done`]);
    await ns.cleanupTable({ id: ["other"] });
    expect(readdirSync(endedIn(root))).toEqual([`${name}.done`]);
    const [nowMs, uptimeSeconds, week] = [Date.now(), os.uptime(), 7 * 24 * 60 * 60];
    const clock = vi.spyOn(Date, "now").mockImplementation(() => nowMs + week * 1000 + 5000);
    try {
      // Only the clock was set ahead, so a living process may still wait for the outcome.
      await ns.cleanupTable({ id: ["other"] });
      expect(readdirSync(endedIn(root))).toEqual([`${name}.done`]);
      const uptime = vi.spyOn(os, "uptime").mockImplementation(() => uptimeSeconds + week + 5);
      await ns.cleanupTable({ id: ["other"] }).finally(() => uptime.mockRestore());
    } finally {
      clock.mockRestore();
    }
    expect(existsSync(endedIn(root))).toBe(false);
  });
});

describe("without any batch", () => {
  /** Records the looks at the directory of batches, by verb. */
  async function looksOf(call: (ns: DirectoryNamespace) => Promise<unknown>): Promise<string[]> {
    const looks: string[] = [];
    const watching = refusingDisk(disk, (verb, paths) => {
      if (paths.some((path) => path.includes(".tiltyard-"))) looks.push(verb);
      return undefined;
    });
    await using ns = open(root, watching);
    await call(ns);
    return looks;
  }

  it.each<[string, (ns: DirectoryNamespace) => Promise<unknown>, number]>([
    ["describeTable", (ns) => ns.describeTable({ id: ["n", "c"] }), 1],
    ["tableExists", (ns) => ns.tableExists({ id: ["a"] }), 1],
    ["countTableRows", (ns) => ns.countTableRows({ id: ["a"] }), 1],
    ["listTables", (ns) => ns.listTables(), 1],
    ["listAllTables", (ns) => ns.listAllTables(), 1],
    ["describeNamespace", (ns) => ns.describeNamespace({ id: ["n"] }), 0],
    ["listNamespaces", (ns) => ns.listNamespaces(), 0],
    ["insertIntoTable", (ns) => ns.insertIntoTable({ id: ["a"] }, rowsOf(1)), 2],
    ["createTable", (ns) => ns.createTable({ id: ["n", "x"] }, rowsOf(1)), 1],
  ])("%s makes no unnecessary looks", async (_name, call, looks) => {
    expect(await looksOf(call)).toEqual(Array(looks).fill("stat"));
  });
});
