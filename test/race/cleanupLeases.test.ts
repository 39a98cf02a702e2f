/**
 * Suspends a cleanup before or after a removal, while others tag versions or make branches from them. Some
 * take the lock over; the reference ignores it. Acknowledged refs must survive this and the next cleanup.
 */

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { manifestName } from "../../src/table/versions/paths.js";
import { strideOf } from "../support/effort.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { KillableEngine } from "../support/killableEngine.js";
import { succeeds } from "../support/outcomes.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { type WatchedCall, watchedDisk } from "../support/watchedDisk.js";

const id = ["t"];
const LATEST = 6;
/** Step between the steps at which the cleanup is suspended. */
const STRIDE = strideOf("LEASE_STRIDE", 1);
const numbers = Array.from({ length: LATEST }, (_, index) => index + 1);
const disk = new NodeDisk({ durability: "none" });

let root: string;
let template: string;
/** Another engine, in another process. */
let rivalEngine: KillableEngine;

beforeAll(async () => {
  const base = await makeTempDir();
  // The path is the same in each case, because branches name their source by an absolute path.
  root = join(base, "inner", "root");
  template = join(base, "template");
  await mkdir(dirname(root));
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  for (let version = 2; version <= LATEST; version++) {
    await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(version));
  }
  await ns.close();
  await cp(root, template, { recursive: true });
  rivalEngine = new KillableEngine({ root, durability: "none" });
  await rivalEngine.ready;
});
afterAll(() => rivalEngine.kill());

const versionsOf = async (ns: DirectoryNamespace): Promise<number[]> =>
  (await ns.listTableVersions({ id })).versions.map(({ version }) => version);

/** Versions that another engine was told to exist, by the names of tags and branches. */
interface Told {
  readonly tags: Map<string, number>;
  readonly branches: Map<string, number>;
}

type Meanwhile = (told: Told, version: number) => Promise<void>;

/** Takes the lock over, as if its holder had been dead for long. */
const takeLockOver = () => rm(join(root, "t.lance", LOCK_NAME), { recursive: true, force: true });

const actors: { title: string; losesLock: boolean; meanwhile: Meanwhile }[] = [
  {
    title: "an engine that took the lock over tags versions",
    losesLock: true,
    async meanwhile({ tags }, version) {
      const tag = `v${version}`;
      const outcome = await rivalEngine.call(["createTableTag", { id, tag, version }]);
      if (outcome !== null && "ok" in outcome) tags.set(tag, version);
      else expect(outcome).toMatchObject({ type: "TableVersionNotFound" });
    },
  },
  {
    title: "an engine that took the lock over makes branches",
    losesLock: true,
    async meanwhile({ branches }, version) {
      const name = `b${version}`;
      const outcome = await rivalEngine.call(["createTableBranch", { id, name, fromVersion: version }]);
      if (outcome !== null && "ok" in outcome) branches.set(name, version);
      else expect(outcome).toMatchObject({ type: "TableVersionNotFound" });
    },
  },
  {
    title: "the reference tags versions",
    losesLock: false,
    async meanwhile({ tags }, version) {
      const tag = `r${version}`;
      const isTagged = await succeeds(reference.createTag(root, "t", tag, version));
      if (isTagged) tags.set(tag, version);
    },
  },
];

const isStep = ({ verb, path }: WatchedCall): boolean =>
  (verb === "rename" || verb === "remove" || verb === "removeTree") && path.includes("t.lance");

async function checkTold({ tags, branches }: Told, where: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const versions = await versionsOf(ns);
  expect(versions, where).toEqual(expect.arrayContaining([...tags.values(), ...branches.values()]));
  for (const version of versions) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow()), where).toEqual([version]);
  }
  for (const [tag, version] of tags) {
    expect(valuesOf(await ns.table(id, { tag }).scan().toArrow()), where).toEqual([version]);
  }
  for (const [branch, version] of branches) {
    expect(valuesOf(await ns.table(id, { branch }).scan().toArrow()), where).toEqual([version]);
  }
}

describe.each(actors)("while $title", ({ losesLock, meanwhile }) => {
  it.each(["before", "after"] as const)("a cleanup is suspended %s a step", async (side) => {
    let kept = 0;
    let lost = 0;
    for (let step = side === "before" ? 0 : 1; ; step += STRIDE) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true });
      const told: Told = { tags: new Map(), branches: new Map() };
      let where = `${step}`;
      let steps = 0;
      const standStill = async (call: WatchedCall): Promise<void> => {
        if (!isStep(call) || steps++ !== step) return;
        where += `: ${call.verb} ${call.path}`;
        if (losesLock) await takeLockOver();
        for (const version of numbers) await meanwhile(told, version);
      };
      const ns = new DirectoryNamespace({ root, disk: watchedDisk(disk, { [side]: standStill }) } as {
        root: string;
      });
      const outcome = await ns.cleanupTable({ id, olderThanMs: 0 }).then(
        (response) => response,
        (error: Error) => error,
      );
      await ns.close();
      if (steps <= step) break;
      kept += told.tags.size + told.branches.size;
      await checkTold(told, where);
      if (outcome instanceof Error) {
        lost++;
        expect(outcome, where).toMatchObject({ type: "ConcurrentModification" });
        await using others = new DirectoryNamespace({ root, durability: "none" });
        expect(await versionsOf(others), where).toEqual(numbers);
      }
      // Otherwise only the files of the latest and the needed versions remain.
      const next = new DirectoryNamespace({ root, durability: "none" });
      await next.cleanupTable({ id, olderThanMs: 0 });
      await checkTold(told, `${where}, cleaned up`);
      const left = new Set([LATEST, ...told.tags.values(), ...told.branches.values()]);
      expect(await versionsOf(next), where).toEqual([...left].sort((a, b) => a - b));
      expect(await readdir(join(root, "t.lance", "data")), where).toHaveLength(left.size);
      await next.close();
      for (const [tag, version] of told.tags) {
        const rows = tableFromIPC(await reference.readTable(root, "t", { tag }));
        expect(valuesOf(rows), where).toEqual([version]);
      }
    }
    // Some cases kept versions, and some lost the lock.
    expect(kept).toBeGreaterThan(LATEST);
    if (losesLock) expect(lost).toBeGreaterThan(1);
    else expect(lost).toBe(0);
  });
});

describe("while another engine takes the lock over and cleans up as well", () => {
  it.each([
    { side: "before", retainVersions: 1 },
    { side: "after", retainVersions: 1 },
    { side: "before", retainVersions: 4 },
    { side: "after", retainVersions: 4 },
  ] as const)("a cleanup is suspended $side a step; the other retains $retainVersions", async ({
    side,
    retainVersions,
  }) => {
    for (let step = side === "before" ? 0 : 1; ; step += STRIDE) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true });
      let where = `${step}`;
      let steps = 0;
      const standStill = async (call: WatchedCall): Promise<void> => {
        if (!isStep(call) || steps++ !== step) return;
        where += `: ${call.verb} ${call.path}`;
        await takeLockOver();
        const request = { id, olderThanMs: 0, retainVersions };
        expect(await rivalEngine.call(["cleanupTable", request]), where).toHaveProperty("ok");
        const rows = tableToIPC(rowsOf(LATEST + 1));
        expect(await rivalEngine.call(["insertIntoTable", { id, mode: "Overwrite" }, rows])).toHaveProperty(
          "ok",
        );
      };
      const ns = new DirectoryNamespace({ root, disk: watchedDisk(disk, { [side]: standStill }) } as {
        root: string;
      });
      await ns.cleanupTable({ id, olderThanMs: 0 }).catch((error: unknown) => {
        expect(error, where).toMatchObject({ type: "ConcurrentModification" });
      });
      await ns.close();
      if (steps <= step) break;
      await using next = new DirectoryNamespace({ root, durability: "none" });
      const versions = await versionsOf(next);
      expect(versions.slice(-2), where).toEqual([LATEST, LATEST + 1]);
      for (const version of versions) {
        expect(valuesOf(await next.table(id, { version }).scan().toArrow()), where).toEqual([version]);
      }
      await next.cleanupTable({ id, olderThanMs: 0 });
      expect(await versionsOf(next), where).toEqual([LATEST + 1]);
      expect(await readdir(join(root, "t.lance", "data")), where).toHaveLength(1);
    }
  });
});

it("a version that was tagged while its cleaner was suspended, and that the cleaner retired before it died, is restored", async () => {
  await rm(root, { recursive: true });
  await cp(template, root, { recursive: true });
  let isDead = false;
  const steps: string[] = [];
  const dying = watchedDisk(disk, {
    async before(call) {
      if (isDead) throw new Error("the process is gone");
      if (call.verb !== "rename" || !call.path.endsWith(".manifest")) return;
      steps.push(call.path);
      if (steps.length !== 3) return;
      await takeLockOver();
      expect(await rivalEngine.call(["createTableTag", { id, tag: "late", version: 3 }])).toHaveProperty(
        "ok",
      );
    },
    after(call) {
      if (call.verb === "rename" && steps.length === 3) isDead = true;
    },
  });
  const ns = new DirectoryNamespace({ root, disk: dying } as { root: string });
  await expect(ns.cleanupTable({ id, olderThanMs: 0 })).rejects.toThrow();
  await ns.close();
  await using next = new DirectoryNamespace({ root, durability: "none" });
  expect(await versionsOf(next)).toEqual([4, 5, 6]);
  await next.cleanupTable({ id, olderThanMs: 0 });
  expect(await versionsOf(next)).toEqual([3, 6]);
  expect(valuesOf(await next.table(id, { tag: "late" }).scan().toArrow())).toEqual([3]);
  expect(valuesOf(tableFromIPC(await reference.readTable(root, "t", { tag: "late" })))).toEqual([3]);
});

it("a table that is recreated while its predecessor's versions are read keeps its own", async () => {
  await rm(root, { recursive: true });
  await cp(template, root, { recursive: true });
  const oldest = manifestName(1, "V2");
  let isReplaced = false;
  const watched = watchedDisk(disk, {
    async after({ verb, path }) {
      if (isReplaced || verb !== "open" || !path.endsWith(oldest)) return;
      isReplaced = true;
      expect(await rivalEngine.call(["dropTable", { id }])).toHaveProperty("ok");
      const rows = (value: number) => tableToIPC(rowsOf(value));
      expect(await rivalEngine.call(["createTable", { id }, rows(11)])).toHaveProperty("ok");
      for (const value of [12, 13, 14]) {
        const append = { id, mode: "Overwrite" };
        expect(await rivalEngine.call(["insertIntoTable", append, rows(value)])).toHaveProperty("ok");
      }
    },
  });
  await using ns = new DirectoryNamespace({ root, disk: watched } as { root: string });
  const outcome = await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true }).then(
    (response) => response,
    (error: Error) => error,
  );
  expect(isReplaced).toBe(true);
  if (outcome instanceof Error) expect(outcome).toMatchObject({ type: "ConcurrentModification" });
  else expect(outcome).toMatchObject({ versionsRemoved: 0, filesRemoved: 0 });
  expect(await versionsOf(ns)).toEqual([1, 2, 3, 4]);
  for (const version of [1, 2, 3, 4]) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow())).toEqual([10 + version]);
  }
});
