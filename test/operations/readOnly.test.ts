/** Reads without write permission: a directory of another user, and a read-only file system. */

import { fork } from "node:child_process";
import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Table } from "apache-arrow";
import { DirectoryNamespace, type QueryResult } from "tiltyard";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { nextMessage } from "../support/childProcess.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { rowsOf } from "../support/intRows.js";
import { dieBehindDecision, MUTATING, refusingDisk } from "../support/leftBatches.js";
import { isRoot, readableScript, whyNoOtherUser } from "../support/otherUser.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

type Step = readonly [method: string, request: object];
type Outcome = { readonly ok: unknown } | { readonly type: string; readonly message: string };

/** Table `a` with versions 1 and 2, a branch and a tag; `n.c`; the declared table `n.d`. */
let root: string;
let transactionId: string;

beforeEach(async () => {
  root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["a"] }, rowsOf(1));
  transactionId = (await ns.insertIntoTable({ id: ["a"] }, rowsOf(2, 3))).transactionId as string;
  await ns.createTableBranch({ id: ["a"], name: "dev" });
  await ns.insertIntoTable({ id: ["a"], branch: "dev" }, rowsOf(4));
  await ns.createTableTag({ id: ["a"], tag: "t", version: 1 });
  await ns.createTable({ id: ["n", "c"], properties: { k: "v" } }, rowsOf(1));
  await ns.declareTable({ id: ["n", "d"] });
});

/** All read operations with their answers. */
const steps = (): [Step, unknown][] => [
  [["describeTable", { id: ["a"] }], { version: 2 }],
  [["describeTable", { id: ["a"], branch: "dev" }], { version: 3 }],
  [["describeTable", { id: ["a"], tag: "t" }], { version: 1 }],
  [["describeTable", { id: ["n", "c"] }], { version: 1, properties: { k: "v" } }],
  [["describeTable", { id: ["n", "d"] }], { isOnlyDeclared: true }],
  [["tableExists", { id: ["a"] }], undefined],
  [["tableExists", { id: ["n", "c"], version: 1 }], undefined],
  [["queryTable", { id: ["a"] }], 3],
  [["queryTable", { id: ["a"], branch: "dev", limit: 2 }], 2],
  [["takeRows", { id: ["a"], rowOffsets: [0, 2] }], 2],
  [["countTableRows", { id: ["a"], version: 1 }], 1],
  [["countTableRows", { id: ["n", "c"] }], 1],
  [["getTableStats", { id: ["a"] }], { numRows: 3 }],
  [["listTableVersions", { id: ["a"] }], { versions: [{ version: 1 }, { version: 2 }] }],
  [["describeTableVersion", { id: ["a"], version: 1 }], { version: { version: 1 } }],
  [["listTableBranches", { id: ["a"] }], { branches: { dev: { parentVersion: 2 } } }],
  [["listTableTags", { id: ["a"] }], { tags: { t: { version: 1 } } }],
  [["getTableTagVersion", { id: ["a"], tag: "t" }], { version: 1 }],
  [["describeTransaction", { id: ["a", transactionId] }], { properties: { version: "2" } }],
  [["describeTransaction", { id: [transactionId] }], { properties: { table: "a" } }],
  [["listTables", {}], { tables: ["a"] }],
  [["listTables", { id: ["n"] }], { tables: ["c", "d"] }],
  [["listTables", { id: ["n"], includeDeclared: false }], { tables: ["c"] }],
  [["listAllTables", {}], { tables: ["a", "n$c", "n$d"] }],
  [["listNamespaces", {}], { namespaces: ["n"] }],
  [["describeNamespace", { id: ["n"] }], { properties: {} }],
  [["namespaceExists", { id: ["n"] }], undefined],
];

function expectAll(outcomes: readonly Outcome[]): void {
  for (const [index, [[method, request], expected]] of steps().entries()) {
    const where = `${method} ${JSON.stringify(request)}: ${JSON.stringify(outcomes[index])}`;
    expect(outcomes[index], where).toHaveProperty("ok");
    const { ok } = outcomes[index] as { ok: unknown };
    if (typeof expected === "object") expect(ok, where).toMatchObject(expected as object);
    else expect(ok, where).toBe(expected);
  }
}

/** Leaves a batch that is decided and not begun; its changes are not visible yet. */
async function leaveBatch(): Promise<void> {
  const entryOf = async (id: string[], tableRoot: string, version: number, branch?: string) => ({
    createTableVersion: { id, branch, version, manifestPath: await stageDoubled(tableRoot, version) },
  });
  const a = join(root, "a.lance");
  const [c] = (await readdir(root)).filter((name) => name.endsWith("_n$c"));
  const operations = [
    await entryOf(["a"], a, 3),
    await entryOf(["a"], join(a, "tree", "dev"), 4, "dev"),
    await entryOf(["n", "c"], join(root, c), 2),
    { declareTable: { id: ["n", "new"] } },
    { deregisterTable: { id: ["n", "d"] } },
  ];
  await dieBehindDecision({ root }, (ns) => ns.batchCommitTables({ operations }));
}

const situations: [string, () => Promise<void>][] = [
  ["without a batch", async () => {}],
  ["with an unfinished batch", leaveBatch],
];

// Windows has no such permissions.
describe.runIf(process.platform !== "win32")("who may not write where a namespace lies", () => {
  const SCRIPT = fileURLToPath(new URL("../support/processes/readOnlyEngine.mjs", import.meta.url));
  const noOtherUser = whyNoOtherUser();
  let entry: string;

  beforeAll(async () => {
    // Root can't read its own files after it has become another user.
    entry = isRoot ? await readableScript("readOnlyEngine.mjs") : SCRIPT;
  });
  beforeEach(({ skip }) => skip(noOtherUser !== null, String(noOtherUser)));

  /** Gives permissions back that a test has removed, because the user may not be root. */
  async function openAll(directory: string): Promise<void> {
    await chmod(directory, 0o755);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await openAll(join(directory, entry.name));
    }
  }

  async function setModes(directory: number, file: number): Promise<void> {
    // A briefly held lock may disappear meanwhile.
    const entries = await vi.waitFor(async () => {
      await openAll(root);
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      expect(entries.filter(({ name }) => name === LOCK_NAME)).toEqual([]);
      return entries;
    }, 5000);
    for (const entry of entries) {
      await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? directory : file);
    }
    await chmod(root, directory);
  }

  afterEach(() => setModes(0o755, 0o644));

  async function runAsReader(calls: readonly Step[]): Promise<Outcome[]> {
    const child = fork(entry, { serialization: "advanced", execArgv: [] });
    try {
      const answer = nextMessage(child);
      child.send({ root, steps: calls });
      return ((await answer) as { outcomes: Outcome[] }).outcomes;
    } finally {
      child.kill();
    }
  }

  it.each(situations)("a caller that can only read reads all tables, %s", async (_name, prepare) => {
    await prepare();
    await setModes(0o555, 0o444);
    const before = await directorySnapshot(root);
    expectAll(await runAsReader(steps().map(([step]) => step)));
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it("a caller without access to the journals reads all tables", async () => {
    await leaveBatch();
    await setModes(0o555, 0o444);
    await chmod(join(root, ".tiltyard-batches"), 0o700);
    if (process.getuid?.() !== 0) await chmod(join(root, ".tiltyard-batches"), 0);
    expectAll(await runAsReader(steps().map(([step]) => step)));
    await chmod(join(root, ".tiltyard-batches"), 0o755);
    await chmod(root, 0o755);
    for (const entry of await readdir(join(root, ".tiltyard-batches"), { withFileTypes: true })) {
      await chmod(join(root, ".tiltyard-batches", entry.name), 0);
    }
    expectAll(await runAsReader(steps().map(([step]) => step)));
  });

  it("a change by a read-only caller fails with a clear error", async () => {
    await leaveBatch();
    await setModes(0o555, 0o444);
    const calls: Step[] = [
      ["createTableTag", { id: ["a"], tag: "x", version: 1 }],
      ["dropNamespace", { id: ["n"], behavior: "Cascade" }],
    ];
    for (const outcome of await runAsReader(calls)) {
      expect(outcome).toMatchObject({
        type: "PermissionDenied",
        message: expect.stringMatching(/the file system does not let this process .*EACCES/),
      });
    }
  });

  it("a caller that may write to some tables of a batch undoes it, or finishes it if only those are left", async () => {
    root = await makeTempDir();
    const ns = new DirectoryNamespace({ root, durability: "none" });
    for (const name of ["a", "b"]) await ns.createTable({ id: [name] }, rowsOf(1));
    await ns.close();
    for (const isDone of [false, true]) {
      const version = 2;
      const entries = await Promise.all(
        ["a", "b"].map(async (name) => ({
          id: [name],
          version,
          manifestPath: await stageDoubled(join(root, `${name}.lance`), version),
        })),
      );
      if (isDone) {
        // The process dies before the second part.
        let isDead = false;
        const disk = refusingDisk(new NodeDisk({ durability: "none" }), (verb, [, path = ""]) => {
          isDead ||= verb === "link" && path.startsWith(join(root, "b.lance", "_versions"));
          return isDead ? "EIO" : undefined;
        });
        await using dying = new DirectoryNamespace({ root, durability: "none", disk } as never);
        await expect(dying.batchCreateTableVersions({ entries })).rejects.toThrow(/is decided/);
      } else {
        await dieBehindDecision({ root }, (each) => each.batchCreateTableVersions({ entries }));
      }
      await setModes(0o777, 0o666);
      // Nobody else may write to `a`.
      for (const entry of await readdir(join(root, "a.lance"), { recursive: true, withFileTypes: true })) {
        if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o555);
      }
      await chmod(join(root, "a.lance"), 0o555);
      const outcomes = await runAsReader([
        ["describeTable", { id: ["b"] }],
        ["describeTable", { id: ["a"] }],
      ]);
      const latest = isDone ? 2 : 1;
      expect(outcomes).toMatchObject([{ ok: { version: latest } }, { ok: { version: latest } }]);
      expect(await readdir(root)).not.toContain(".tiltyard-batches");
      await setModes(0o755, 0o644);
    }
  });
});

it.each(situations)("a disk that refuses every change can be read, %s", async (_name, prepare) => {
  await prepare();
  const before = await directorySnapshot(root);
  const disk = refusingDisk(new NodeDisk({ durability: "none" }), (verb) =>
    MUTATING.has(verb) ? "EROFS" : undefined,
  );
  const ns = new DirectoryNamespace({ root, disk } as never);
  const outcomes: Outcome[] = [];
  for (const [[method, request]] of steps()) {
    const call = (ns as unknown as Record<string, (request: object) => Promise<unknown>>)[method];
    const value = await call.call(ns, request);
    const result = value as Partial<QueryResult & Table>;
    if (typeof result?.toArrow === "function") outcomes.push({ ok: (await result.toArrow()).numRows });
    else
      outcomes.push({ ok: "schema" in Object(value) && "numRows" in Object(value) ? result.numRows : value });
  }
  expectAll(outcomes);
  await ns.close();
  expect(await directorySnapshot(root)).toEqual(before);
});
