/**
 * Index builds, backfills and compactions as jobs, with several processes, suspensions and drops. Two
 * requests run the work once, and a suspended process publishes nothing afterwards.
 */

import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, type Job, type UserFunction } from "tiltyard";
import { afterEach, describe, expect } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { jobsDirectory } from "../../src/jobs/jobFiles.js";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { someOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { type Pause, runPaused } from "../support/pausedEngine.js";
import { reference } from "../support/reference.js";

const ID = { id: ["t"] };
const FRAGMENTS = 3;
const FRAGMENT_ROWS = 200;
const ROWS = FRAGMENTS * FRAGMENT_ROWS;

const opened: DirectoryNamespace[] = [];
const processes: ChildProcess[] = [];
afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close();
  for (const child of processes.splice(0)) {
    child.kill("SIGKILL");
    await exitOf(child);
  }
});

function open(root: string, functions: Readonly<Record<string, UserFunction>> = {}): DirectoryNamespace {
  const ns = new DirectoryNamespace({ root, durability: "none", lock: { staleMs: 2000 }, functions });
  opened.push(ns);
  return ns;
}

const rows = (from: number, count: number): Table =>
  new Table({ n: vectorFromArray(Int32Array.from({ length: count }, (_, n) => from + n)) });

async function makeTable(ns: DirectoryNamespace): Promise<void> {
  await ns.createTable(ID, rows(0, FRAGMENT_ROWS));
  for (let part = 1; part < FRAGMENTS; part++) {
    await ns.insertIntoTable(ID, rows(part * FRAGMENT_ROWS, FRAGMENT_ROWS));
  }
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", computed: "n * 2" }] });
}

const works = {
  backfill: ["alterTableBackfillColumns", { ...ID, column: "d" }],
  index: ["createTableIndex", { ...ID, column: "n", indexType: "BTREE" }],
  optimize: ["optimizeTable", { ...ID, background: true }],
} as const;
type Work = keyof typeof works;
const WORKS = Object.keys(works) as Work[];

async function start(ns: DirectoryNamespace, work: Work): Promise<string> {
  const [method, request] = works[work];
  return (await ns[method](request as never)).jobId as string;
}

/** Runs the work to its end, even if the job must be taken over several times. */
async function finish(ns: DirectoryNamespace, work: Work): Promise<Job> {
  for (;;) {
    const jobId = await start(ns, work);
    try {
      return await ns.waitForJob({ jobId });
    } catch (error) {
      if ((error as { type?: string }).type !== "ServiceUnavailable") throw error;
    }
  }
}

const latestVersion = async (root: string): Promise<number> =>
  (await open(root).describeTable(ID)).version ?? 0;

/** Checks that the work ran once, that the reference reads all rows, and that no orphan remains. */
async function expectDone(root: string, work: Work, versionsMade: number): Promise<void> {
  const ns = open(root);
  // A compaction reserves ids first; if two reserve, the second ids are used.
  if (work === "optimize") expect([2, 3]).toContain(versionsMade);
  // A backfill of SQL ends with a version that names its record of inputs, as LanceDB makes it.
  else expect(versionsMade).toBe(work === "backfill" ? 2 : 1);
  const { indexes } = await ns.listTableIndices(ID);
  expect(indexes.map(({ indexName }) => indexName)).toEqual(work === "index" ? ["n_idx"] : []);
  const { fragmentStats } = await ns.getTableStats(ID);
  expect(fragmentStats.numFragments).toBe(work === "optimize" ? 1 : FRAGMENTS);
  await ns.cleanupTable({ ...ID, olderThanMs: 0, deleteUnverified: true });
  const table = tableFromIPC(await reference.readTable(root, "t"));
  const pairs = [...table].map(({ n, d }): [number, number | null] => [n, d === null ? null : Number(d)]);
  pairs.sort(([a], [b]) => a - b);
  const doubled = (n: number): number | null => (work === "backfill" ? n * 2 : null);
  expect(pairs).toEqual(Array.from({ length: ROWS }, (_, n) => [n, doubled(n)]));
  expect(await ns.countTableRows({ ...ID, predicate: "n >= 100 and n < 110" })).toBe(10);
  const files = await readdir(join(root, "t.lance"), { recursive: true, withFileTypes: true });
  const names = files.filter((entry) => entry.isFile()).map(({ name }) => name);
  expect(names.filter((name) => /\.tmp|^\.tmp-/.test(name))).toEqual([]);
  const data = files.filter((entry) => entry.isFile() && entry.parentPath.endsWith("/data"));
  const perFragment = work === "backfill" ? 2 : 1;
  expect(data.length).toBe(work === "optimize" ? 1 : FRAGMENTS * perFragment);
  expect(await readdir(join(root, "t.lance", "_tiltyard", "checkpoints")).catch(() => [])).toEqual([]);
  const indices = await readdir(join(root, "t.lance", "_indices")).catch(() => []);
  expect(indices.length).toBe(work === "index" ? 1 : 0);
  for (const job of await readdir(jobsDirectory(root))) {
    expect(job).toMatch(/^[0-9a-f-]{36}$/);
    const jobFiles = await readdir(join(jobsDirectory(root), job));
    expect(jobFiles.filter((name) => name.startsWith("."))).toEqual([]);
  }
}

describe("two processes that request the same work at once", () => {
  async function runner(root: string): Promise<(call: readonly [string, object]) => Promise<unknown>> {
    const child = startProcess("backfillRunner.mjs", []);
    processes.push(child);
    const ask = async (message: object): Promise<unknown> => {
      const answer = nextMessage(child);
      child.send(message);
      const { ok, failure } = (await answer) as { ok?: unknown; failure?: object };
      if (failure !== undefined) throw Object.assign(new Error("refused"), failure);
      return ok;
    };
    await ask({ root, log: join(root, "calls.txt"), staleMs: 2000 });
    return (call) => ask({ call });
  }

  it.for(WORKS)("run it once: %s", async (work, { root }) => {
    await makeTable(open(root));
    const before = await latestVersion(root);
    const asked = await Promise.all([runner(root), runner(root), runner(root)]);
    const started = await Promise.allSettled(asked.map((ask) => ask(works[work])));
    const ids = new Set<string>();
    for (const each of started) {
      // A request after the end of the job fails, or finds nothing to do.
      if (each.status === "rejected") expect(each.reason).toMatchObject({ type: "TableIndexAlreadyExists" });
      else ids.add((each.value as { jobId: string }).jobId);
    }
    expect(ids.size).toBeGreaterThan(0);
    const ns = open(root);
    const outcomes = await Promise.allSettled([...ids].map((jobId) => ns.waitForJob({ jobId })));
    for (const each of outcomes) {
      // A job that began right after the index was committed notices by itself.
      if (each.status === "rejected") expect(each.reason).toMatchObject({ type: "TableIndexAlreadyExists" });
      else expect(each.value).toMatchObject({ state: "Succeeded" });
    }
    expect(outcomes.map(({ status }) => status)).toContain("fulfilled");
    await expectDone(root, work, (await latestVersion(root)) - before);
  });
});

describe("a process that is suspended while another takes its job over", () => {
  const moments: readonly (readonly [string, Pause])[] = [
    ["before its version", { verb: "link", path: /t\.lance.*_versions/, when: "before" }],
    [
      "before the version of its fragments",
      { verb: "link", path: /_versions.*18446744073709551609/, when: "before" },
    ],
    ["after its version", { verb: "link", path: /t\.lance.*_versions/, when: "after" }],
    [
      "before it notes what it is about to commit",
      { verb: "rename", path: /checkpoint\.json/, when: "before" },
    ],
    ["before it says that it is done", { verb: "link", path: /outcome\.json/, when: "before" }],
    ["as it begins", { verb: "rename", path: /progress\.json/, when: "before" }],
  ];
  const cases = WORKS.flatMap((work) => moments.map(([name, pause]) => [work, name, pause] as const)).filter(
    ([work, name, { path }]) => {
      // A compaction has no checkpoint, and two versions. Jobs of all kinds begin and end the same way.
      if (work === "optimize") return path.source.includes("_versions");
      return !path.source.includes("09") && (work === "backfill" || name !== "as it begins");
    },
  );

  it.for(cases)("publishes nothing afterwards: %s, %s", async ([work, _, pause], { root }) => {
    await makeTable(open(root));
    const before = await latestVersion(root);
    let after = 0;
    const ended = await runPaused({ root }, works[work] as never, pause, async () => {
      expect(await finish(open(root), work)).toMatchObject({ state: "Succeeded" });
      after = await latestVersion(root);
    });
    expect(await latestVersion(root)).toBe(after);
    // It learns how the job ended, or that another process has the job.
    if ("type" in ended) expect(ended.type).toMatch(/^(ConcurrentModification|ServiceUnavailable)$/);
    else expect(ended.ok).toMatchObject({ state: "Succeeded" });
    await expectDone(root, work, after - before);
  });
});

describe("a job whose table is dropped while it writes", () => {
  /** Returns files below a directory; null if it does not exist. A lock may be removed during the walk. */
  async function filesOf(directory: string): Promise<string[] | null> {
    const walk = () => readdir(directory, { recursive: true, withFileTypes: true }).catch(() => null);
    let entries = await walk();
    while (entries === null && existsSync(directory)) entries = await walk();
    return (
      entries
        ?.filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .sort() ?? null
    );
  }

  const branch = "b";
  const fates = {
    "is dropped": {
      branchOption: {},
      directory: "t.lance",
      go: (ns: DirectoryNamespace) => ns.dropTable(ID),
    },
    "is dropped and made anew": {
      ...{ branchOption: {}, directory: "t.lance" },
      async go(ns: DirectoryNamespace) {
        await ns.dropTable(ID);
        await makeTable(ns);
      },
    },
    "was a branch that is deleted": {
      ...{ branchOption: { branch }, directory: join("t.lance", "tree", branch) },
      go: (ns: DirectoryNamespace) => ns.deleteTableBranch({ ...ID, name: branch }),
    },
    "was a branch that is deleted and made anew": {
      ...{ branchOption: { branch }, directory: join("t.lance", "tree", branch) },
      async go(ns: DirectoryNamespace) {
        await ns.deleteTableBranch({ ...ID, name: branch });
        await ns.createTableBranch({ ...ID, name: branch });
        await ns.deleteFromTable({ ...ID, branch, predicate: "n < 100" });
      },
    },
  } as const;
  const moments: Readonly<Record<Work, RegExp>> = {
    backfill: /data|checkpoints/,
    index: /_indices/,
    optimize: /data/,
  };
  const cases = WORKS.flatMap((work) =>
    (Object.keys(fates) as (keyof typeof fates)[]).map((fate) => [work, fate] as const),
  );

  it.for(someOf(cases, 5))("fails and leaves no file: %s of one that %s", async ([work, fate], { root }) => {
    const { branchOption, directory, go } = fates[fate];
    const rival = open(root);
    await makeTable(rival);
    if ("branch" in branchOption) await rival.createTableBranch({ ...ID, name: branch });
    let left: string[] | null = null;
    const isMoment = (verb: string, path: string) =>
      verb === "create" && path.includes(directory) && moments[work].test(path.slice(root.length));
    const disk = interruptedDisk(new NodeDisk({ durability: "none" }), isMoment, async () => {
      await go(rival);
      left = await filesOf(join(root, directory));
    });
    const ns = new DirectoryNamespace({ root, durability: "none", disk });
    opened.push(ns);
    const [method, request] = works[work];
    const { jobId } = (await ns[method]({ ...request, ...branchOption } as never)) as { jobId: string };
    await expect(ns.waitForJob({ jobId })).rejects.toMatchObject({
      type: expect.stringMatching(/^(ConcurrentModification|TableNotFound|TableBranchNotFound)$/),
    });
    expect(disk.interrupted).toBe(true);
    expect(await filesOf(join(root, directory))).toEqual(left);
    const { jobs } = await rival.listJobs();
    expect(jobs.map(({ state, isInterrupted }) => [state, isInterrupted])).toEqual([["Failed", undefined]]);
  });
});
