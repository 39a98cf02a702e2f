/** Every caller that may see a table can start, list, await and cancel its jobs. */

import { Int32, Table, vectorFromArray } from "apache-arrow";
import {
  DirectoryNamespace,
  type DirectoryNamespaceOptions,
  InvalidInputError,
  PermissionDeniedError,
  type Progress,
  TransactionNotFoundError,
  UnsupportedError,
} from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const rows = (start: number) =>
  new Table({
    v: vectorFromArray(
      Array.from({ length: 100 }, (_, row) => start + row),
      new Int32(),
    ),
  });

let root: string;
let ns: DirectoryNamespace;
const opened: DirectoryNamespace[] = [];
function open(options: Partial<DirectoryNamespaceOptions> = {}): DirectoryNamespace {
  const made = new DirectoryNamespace({ root, durability: "none", workers: 0, ...options });
  opened.push(made);
  return made;
}

async function fill(name: string): Promise<void> {
  await ns.createTable({ id: [name] }, rows(0));
  for (let round = 1; round < 5; round++) await ns.insertIntoTable({ id: [name] }, rows(100 * round));
}

beforeEach(async () => {
  root = await makeTempDir();
  ns = open();
  await fill("t");
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

describe("optimizeTable and cleanupTable", () => {
  it("optimizeTable and cleanupTable report their progress", async () => {
    const told: Progress[] = [];
    const onProgress = (progress: Progress) => told.push(progress);
    const { version, fragmentsRemoved } = await ns.optimizeTable({ id: ["t"], onProgress });
    expect([fragmentsRemoved, told.at(-1)]).toEqual([5, { done: 500, total: 500, unit: "rows" }]);
    expect(told[0]).toEqual({ done: 0, total: 500, unit: "rows" });
    told.splice(0);
    expect((await ns.table("t").cleanup({ olderThanMs: 0, onProgress })).versionsRemoved).toBe(version - 1);
    expect(told.at(-1)).toEqual({ done: version, total: version, unit: "versions" });
    const refused = ns.optimizeTable({ id: ["t"], onProgress: 7 as never });
    await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
  });

  it("background work runs as a job that other namespaces see and transactions describe", async () => {
    const told: Progress[] = [];
    const { jobId } = await ns.optimizeTable({
      id: ["t"],
      background: true,
      onProgress: (progress) => told.push(progress),
    });
    const observer = open();
    const ended = { kind: "optimize", table: ["t"], state: "Succeeded", done: 500, unit: "rows" };
    expect(await observer.waitForJob({ jobId })).toMatchObject({ ...ended, result: { fragmentsRemoved: 5 } });
    expect(told.at(-1)).toEqual({ done: 500, total: 500, unit: "rows" });
    expect(await observer.countTableRows({ id: ["t"] })).toBe(500);
    const cleanup = await observer.cleanupTable({ id: ["t"], background: true, olderThanMs: 0 });
    expect(await ns.waitForJob({ jobId: cleanup.jobId })).toMatchObject({
      kind: "cleanup",
      unit: "versions",
    });
    expect((await ns.listJobs({ id: ["t"] })).jobs.map((job) => job.jobId).sort()).toEqual(
      [jobId, cleanup.jobId].sort(),
    );
    expect((await ns.listJobs({ id: ["none"] })).jobs).toEqual([]);
    expect((await ns.listJobs({ state: "Failed" })).jobs).toEqual([]);
    await expect(ns.listJobs({ state: "Gone" as never })).rejects.toBeInstanceOf(InvalidInputError);
    for (const id of [[jobId], ["t", jobId]]) {
      expect(await ns.describeTransaction({ id })).toMatchObject({
        status: "Succeeded",
        properties: { uuid: jobId, table: "t", operation: "optimize", done: "500", total: "500" },
      });
    }
    await expect(ns.describeTransaction({ id: ["u", jobId] })).rejects.toMatchObject({ code: 4 });
  });

  it("two concurrent starts of the same work are one job", async () => {
    const started = await Promise.all(
      [ns, open(), ns].map((each) => each.optimizeTable({ id: ["t"], background: true })),
    );
    const ids = [...new Set(started.map(({ jobId }) => jobId))];
    for (const jobId of ids) await ns.waitForJob({ jobId });
    const { jobs } = await ns.listJobs();
    const removed = jobs.map(({ result }) => (result as { fragmentsRemoved: number }).fragmentsRemoved);
    expect(removed.reduce((a, b) => a + b)).toBe(5);
  });

  it("nobody sees the job records of a dropped table", async () => {
    const { jobId } = await ns.optimizeTable({ id: ["t"], background: true });
    await ns.waitForJob({ jobId });
    await ns.dropTable({ id: ["t"] });
    await expect(ns.describeJob({ jobId })).rejects.toBeInstanceOf(TransactionNotFoundError);
  });
});

describe("alterTransaction", () => {
  it("alterTransaction cancels a job and changes nothing else", async () => {
    const { jobId } = await ns.optimizeTable({ id: ["t"], background: true });
    await ns.waitForJob({ jobId });
    const canceled = { setStatusAction: { status: "Canceled" } };
    await expect(ns.alterTransaction({ id: [jobId], actions: [canceled] })).rejects.toMatchObject({
      code: 14,
    });
    for (const action of [{ setStatusAction: { status: "Running" } }, { setPropertyAction: { key: "a" } }]) {
      const refused = ns.alterTransaction({ id: [jobId], actions: [action] });
      await expect(refused).rejects.toBeInstanceOf(UnsupportedError);
    }
    for (const actions of [
      [],
      [{}],
      [{ ...canceled, setPropertyAction: {} }],
      [{ setStatusAction: { status: "x" } }],
    ]) {
      await expect(ns.alterTransaction({ id: [jobId], actions })).rejects.toBeInstanceOf(InvalidInputError);
    }
    const { transactionId } = await ns.insertIntoTable({ id: ["t"] }, rows(0));
    const committed = ns.alterTransaction({ id: [transactionId as string], actions: [canceled] });
    await expect(committed).rejects.toBeInstanceOf(UnsupportedError);
    const unknown = ns.alterTransaction({ id: [crypto.randomUUID()], actions: [canceled] });
    await expect(unknown).rejects.toBeInstanceOf(TransactionNotFoundError);
  });
});

describe("a caller that may not see a table", () => {
  it("the caller sees none of its jobs", async () => {
    const { jobId } = await ns.optimizeTable({ id: ["t"], background: true });
    await ns.waitForJob({ jobId });
    await fill("u");
    const visible = await ns.optimizeTable({ id: ["u"], background: true });
    await ns.waitForJob({ jobId: visible.jobId });
    const asked: string[] = [];
    const guarded = open({
      authorize({ operation, id }) {
        asked.push(`${operation} ${id.join("/")}`);
        if (id[0] === "t") throw new Error("not yours");
      },
    });
    const absent = expect.objectContaining({ constructor: TransactionNotFoundError });
    await expect(guarded.describeJob({ jobId })).rejects.toEqual(absent);
    await expect(guarded.cancelJob({ jobId })).rejects.toEqual(absent);
    await expect(guarded.waitForJob({ jobId })).rejects.toEqual(absent);
    await expect(guarded.describeTransaction({ id: [jobId] })).rejects.toEqual(absent);
    await expect(guarded.optimizeTable({ id: ["t"], background: true })).rejects.toBeInstanceOf(
      PermissionDeniedError,
    );
    expect((await guarded.listJobs()).jobs.map((job) => job.jobId)).toEqual([visible.jobId]);
    asked.splice(0);
    await guarded.cancelJob({ jobId: visible.jobId });
    expect(asked).toEqual(["tableExists u", "cancelJob u"]);
  });
});
