/** Sets the clock back, ahead, and before 1970 while tables are in use. */

import { existsSync } from "node:fs";
import { mkdir, readdir, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { afterEach, expect, vi } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { UnchangedDirectories } from "../../src/io/disk/unchangedDirectories.js";
import { newOwnerName } from "../../src/io/lock/lockOwner.js";
import { lookAtLock } from "../../src/io/lock/staleLocks.js";
import { it } from "../support/fixtures.js";
import { foreignOwner, putInLock } from "../support/lockEntries.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const id = ["t"];

afterEach(() => {
  vi.useRealTimers();
});

/** Sets the clock of `Date`, which continues from there. */
function setClock(toMs: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: toMs });
}

async function tableIn(root: string): Promise<DirectoryNamespace> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, [
    { id: 1, s: "a" },
    { id: 2, s: "b" },
  ]);
  return ns;
}

it.each([
  -1e9,
  -1,
  -1e9 - 1,
])("before 1970 (%d ms) all works, and the reference reads it", async (clockMs) => {
  setClock(clockMs);
  const root = await makeTempDir();
  await using ns = await tableIn(root);
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["n", "u"] }, [{ id: 1 }]);
  await ns.insertIntoTable({ id }, [{ id: 3, s: "c" }]);
  await ns.createTableTag({ id, tag: "first", version: 1 });
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, [{ id: 4, s: "d" }]);
  expect(await ns.countTableRows({ id, branch: "dev" })).toBe(4);
  expect(Object.keys((await ns.listTableBranches({ id })).branches)).toEqual(["dev"]);
  const { jobId } = await ns.createTableScalarIndex({ id, column: "id", indexType: "BTREE" });
  expect(await ns.waitForJob({ jobId })).toMatchObject({
    state: "Succeeded",
    createdAt: new Date(clockMs).toISOString(),
    finishedAt: new Date(clockMs).toISOString(),
  });
  expect(await ns.countTableRows({ id, predicate: "id >= 2" })).toBe(2);
  const { versions } = await ns.listTableVersions({ id });
  const times = versions.map(({ timestampMillis }) => timestampMillis);
  expect(times).toEqual(times.map(() => 0));
  await ns.batchCommitTables({ operations: [{ declareTable: { id: ["declared"] } }] });
  expect(await reference.countRows(root, "t", "id >= 2")).toBe(2);
  const told = await reference.listVersions(root, "t");
  expect(told.map(({ version }) => version).sort()).toEqual(versions.map(({ version }) => version).sort());
  expect(Object.keys(await reference.listTags(root, "t"))).toEqual(["first"]);
  expect(Object.keys(await reference.listBranches(root, "t"))).toEqual(["dev"]);
  await ns.deleteTableTag({ id, tag: "first" });
  await ns.deleteTableBranch({ id, name: "dev" });
  const { versionsRemoved } = await ns.cleanupTable({ id, olderThanMs: 0 });
  expect(versionsRemoved).toBe(versions.length - 1);
  await ns.dropTable({ id });
  expect((await ns.listTables({ id: [] })).tables).not.toContain("t");
});

it("a cleanup of any age removes versions from before the clock was set back", async () => {
  await using ns = await tableIn(await makeTempDir());
  await ns.insertIntoTable({ id }, [{ id: 3, s: "c" }]);
  setClock(Date.now() - YEAR_MS);
  await ns.insertIntoTable({ id }, [{ id: 4, s: "d" }]);
  expect(await ns.cleanupTable({ id, olderThanMs: 60_000 })).toMatchObject({ versionsRemoved: 0 });
  expect(await ns.cleanupTable({ id, olderThanMs: 0 })).toMatchObject({ versionsRemoved: 2 });
});

it("a cleanup keeps uncommitted files after the clock was set ahead, and removes old ones", async () => {
  const root = await makeTempDir();
  await using ns = await tableIn(root);
  await ns.insertIntoTable({ id }, [{ id: 3, s: "c" }]);
  const data = join(root, "t.lance", "data");
  const [young, old] = [join(data, "young.lance"), join(data, "old.lance")];
  for (const file of [young, old]) await writeFile(file, "x");
  const past = new Date(Date.now() - 8 * 24 * 60 * 60 * 1000);
  await utimes(old, past, past);
  setClock(Date.now() + YEAR_MS);
  await ns.cleanupTable({ id });
  expect([existsSync(young), existsSync(old)]).toEqual([true, false]);
});

it("listJobs shows finished jobs after the clock was set ahead and back", async ({ root }) => {
  const ns = await tableIn(root);
  const jobIds: (string | undefined)[] = [];
  for (const [column, indexType] of [
    ["id", "BTREE"],
    ["s", "BITMAP"],
  ] as const) {
    const { jobId } = await ns.createTableScalarIndex({ id, column, indexType });
    await ns.waitForJob({ jobId: jobId ?? "" });
    jobIds.push(jobId);
    setClock(Date.now() + YEAR_MS);
  }
  setClock(Date.now() - 3 * YEAR_MS);
  await ns.close();
  await using next = new DirectoryNamespace({ root });
  const { jobId } = await next.createTableScalarIndex({
    id,
    column: "id",
    indexType: "ZONEMAP",
    name: "other",
  });
  expect(await next.waitForJob({ jobId: jobId ?? "" })).toMatchObject({ state: "Succeeded" });
  const told = (await next.listJobs({})).jobs.map((job) => job.jobId);
  expect(told.sort()).toEqual([...jobIds, jobId].sort());
});

it("a clock that was set ahead does not make a live process's lock stale", async () => {
  for (const owner of [newOwnerName(), foreignOwner()]) {
    const directory = await makeTempDir();
    await putInLock(directory, owner);
    setClock(Date.now() + YEAR_MS);
    expect(await lookAtLock(directory, 2000)).toBe("held");
    vi.useRealTimers();
  }
});

it("a cached listing of a recently changed directory expires under a clock that was set ahead", async () => {
  const root = await makeTempDir();
  const disk = new NodeDisk({ durability: "none" });
  const names = new UnchangedDirectories(disk, async (path) => (await readdir(path)).sort().join());
  setClock(Date.now() + YEAR_MS);
  for (let count = 0; count < 50; count++) {
    const directory = join(root, `d${count}`);
    await mkdir(directory);
    expect(await names.find(directory)).toBe("");
    await mkdir(join(directory, "x"));
    expect(await names.find(directory)).toBe("x");
    await rename(join(directory, "x"), join(directory, "y"));
    expect(await names.find(directory)).toBe("y");
  }
});

it("a cleanup keeps an orphan of a possibly running creation after the clock was set ahead", async () => {
  const root = await makeTempDir();
  await using ns = await tableIn(root);
  await ns.createNamespace({ id: ["n"] });
  const orphan = join(root, "0123abcd_n$new");
  await mkdir(join(orphan, "_versions"), { recursive: true });
  setClock(Date.now() + YEAR_MS);
  await ns.cleanupTable({ id });
  await ns.dropTable({ id });
  expect(existsSync(orphan)).toBe(true);
});
