/** Jobs in one process, or in several namespaces of it: records, states, progress, checkpoints and ends. */

import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ConcurrentModificationError, InvalidInputError, type Job, TransactionNotFoundError } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jobDirectory, jobsDirectory } from "../../src/jobs/jobFiles.js";
import { JobTable, until } from "../support/jobTable.js";

let table: JobTable;
beforeEach(async () => {
  table = await JobTable.make();
});
afterEach(() => table.close());

/** Makes work that waits until the test releases it. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve());
  });

describe("a job", () => {
  it("runs to its end, and every namespace sees it", async () => {
    const jobs = table.open();
    const held = gate();
    const { jobId } = await jobs.start(
      table.spec("k", async (control) => {
        control.progress(2, 4);
        await held.opened;
        control.progress(4, 4);
        return { made: 4 };
      }),
    );
    const secondEngine = table.open();
    await until(async () => (await secondEngine.describe(jobId)).state === "Running");
    await until(async () => (await secondEngine.describe(jobId)).done === 2);
    expect(await secondEngine.describe(jobId)).toMatchObject({
      ...{ jobId, kind: "backfill", table: ["t"], state: "Running", done: 2, total: 4, unit: "rows" },
      ...{ createdAt: expect.stringMatching(/Z$/), startedAt: expect.stringMatching(/Z$/) },
    });
    expect((await secondEngine.list({ state: "Running" })).map((job) => job.jobId)).toEqual([jobId]);
    const waiting = secondEngine.wait({ jobId });
    held.open();
    const ended = { state: "Succeeded", done: 4, total: 4, result: { made: 4 } };
    expect(await waiting).toMatchObject(ended);
    expect(await jobs.wait({ jobId })).toMatchObject(ended);
    expect(await jobs.list({ state: "Running" })).toEqual([]);
  });

  it("that throws fails with its error, typed, in every namespace", async () => {
    const jobs = table.open();
    const { jobId } = await jobs.start(
      table.spec("k", async () => {
        throw new InvalidInputError("row 7: no");
      }),
    );
    for (const each of [jobs, table.open()]) {
      await expect(each.wait({ jobId })).rejects.toThrowError(
        expect.objectContaining({ constructor: InvalidInputError, message: "row 7: no" }),
      );
      const error = { code: 13, type: "InvalidInput", message: "row 7: no" };
      expect(await each.describe(jobId)).toMatchObject({ state: "Failed", error });
    }
  });

  it("is shared by requests for the same work until it ends", async () => {
    const jobs = table.open();
    const secondEngine = table.open();
    const held = gate();
    let runs = 0;
    const spec = table.spec("k", async () => {
      runs++;
      await held.opened;
      return undefined;
    });
    const started = await Promise.all([jobs.start(spec), secondEngine.start(spec), jobs.start(spec)]);
    expect(new Set(started.map(({ jobId }) => jobId)).size).toBe(1);
    const [{ jobId }] = started;
    const elsewhere = await jobs.start({ ...spec, key: "l" });
    expect(elsewhere.jobId).not.toBe(jobId);
    held.open();
    await jobs.wait({ jobId });
    await jobs.wait({ jobId: elsewhere.jobId });
    expect(runs).toBe(2);
    const again = await secondEngine.start(spec);
    expect(again.jobId).not.toBe(jobId);
    await secondEngine.wait({ jobId: again.jobId });
    expect(runs).toBe(3);
  });

  it("waits while many others run, and can be cancelled meanwhile", async () => {
    const jobs = table.open();
    const held = gate();
    const specs = Array.from({ length: 6 }, (_, index) =>
      table.spec(`k${index}`, async () => {
        await held.opened;
        return undefined;
      }),
    );
    const ids: string[] = [];
    for (const spec of specs) ids.push((await jobs.start(spec)).jobId);
    await until(async () => (await jobs.list({ state: "Running" })).length === 4);
    // Another engine reads the list from the disk, where a started job appears a moment later.
    await until(async () => (await table.open().list({ state: "Queued" })).length === 2);
    expect((await jobs.cancel(ids[4])).state).toBe("Cancelled");
    held.open();
    const states = await Promise.all(ids.map(async (jobId) => (await jobs.wait({ jobId })).state));
    expect(states.filter((state) => state === "Succeeded").length).toBe(5);
  });

  it("reports its progress", async () => {
    const jobs = table.open();
    const secondEngine = table.open();
    const seen: Record<string, Job[]> = { localJob: [], secondEngine: [] };
    const hasRate = (told: readonly Job[]) =>
      told.some(({ state, rate = 0 }) => state === "Running" && rate > 0);
    const { jobId } = await jobs.start(
      table.spec("k", async (control) => {
        for (let done = 0; done <= 30; done++) {
          control.progress(done, 30);
          await new Promise((resolve) => setTimeout(resolve, 50));
          // On a busy machine, another engine polls rarely.
          if (done === 20) await until(async () => Object.values(seen).every(hasRate));
        }
        return undefined;
      }),
    );
    const [localJob] = await Promise.all([
      jobs.wait({ jobId, onProgress: (job) => seen.localJob.push(job) }),
      secondEngine.wait({ jobId, onProgress: (job) => seen.secondEngine.push(job) }),
    ]);
    expect(localJob).toMatchObject({ state: "Succeeded", done: 30 });
    for (const told of Object.values(seen)) {
      const amounts = told.map(({ done }) => done);
      expect(amounts).toEqual([...amounts].sort((a, b) => a - b));
      expect(amounts.at(-1)).toBe(30);
      expect(hasRate(told)).toBe(true);
    }
    expect(seen.localJob.length).toBeGreaterThan(4);
    expect(seen.localJob.some(({ estimatedEnd }) => estimatedEnd !== undefined)).toBe(true);
  });

  it("of an unknown id is not found", async () => {
    const jobs = table.open();
    const unknown = crypto.randomUUID();
    for (const jobId of [unknown, "", "..", "../../t.lance", `${unknown}/..`, "a\0b"]) {
      await expect(jobs.describe(jobId)).rejects.toBeInstanceOf(TransactionNotFoundError);
      await expect(jobs.wait({ jobId })).rejects.toBeInstanceOf(TransactionNotFoundError);
      await expect(jobs.cancel(jobId)).rejects.toBeInstanceOf(TransactionNotFoundError);
    }
  });

  it("is awaited no longer than requested", async () => {
    const jobs = table.open();
    const held = gate();
    const { jobId } = await jobs.start(
      table.spec("k", async () => {
        await held.opened;
        return undefined;
      }),
    );
    expect((await jobs.wait({ jobId, timeoutMs: 20 })).state).toMatch(/Queued|Running/);
    expect((await table.open().wait({ jobId, timeoutMs: 20 })).state).toMatch(/Queued|Running/);
    const abort = new AbortController();
    const waiting = jobs.wait({ jobId, signal: abort.signal });
    abort.abort(new Error("no more"));
    await expect(waiting).rejects.toThrow("no more");
    held.open();
  });
});

describe("cancelling", () => {
  it("ends the work, from any namespace, and for good", async () => {
    for (const from of ["own", "other"]) {
      const jobs = table.open();
      let reason: unknown;
      const spec = table.spec(`k-${from}`, async ({ signal, saveCheckpoint }) => {
        await saveCheckpoint(1);
        await aborted(signal);
        reason = signal.reason;
        throw reason;
      });
      const { jobId } = await jobs.start(spec);
      await until(async () => (await jobs.describe(jobId)).state === "Running");
      const cancelled = await (from === "own" ? jobs : table.open()).cancel(jobId);
      expect(cancelled).toMatchObject({ jobId, state: "Cancelled" });
      expect(cancelled.isInterrupted).toBeUndefined();
      expect(reason).toMatchObject({ message: "the job was cancelled" });
      const again = await jobs.start(table.spec(`k-${from}`, async ({ checkpoint }) => checkpoint));
      expect(again.jobId).not.toBe(jobId);
      const done = await jobs.wait({ jobId: again.jobId });
      expect(done.result).toBe(null);
      // An ended job stays as it is.
      expect(await jobs.cancel(again.jobId)).toMatchObject({ state: "Succeeded" });
    }
  });

  it("lets work end that ignores its signal", async () => {
    const jobs = table.open();
    const { jobId } = await jobs.start(
      table.spec("k", async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return 7;
      }),
    );
    expect(await jobs.cancel(jobId)).toMatchObject({ state: "Succeeded", result: 7 });
  });
});

describe("closing", () => {
  it("leaves a job that the next caller resumes from its checkpoint", async () => {
    const jobs = table.open();
    const spec = table.spec("k", async ({ signal, saveCheckpoint, checkpoint, progress }) => {
      if (checkpoint !== null) return checkpoint;
      await saveCheckpoint({ half: true });
      progress(5, 10);
      await aborted(signal);
      signal.throwIfAborted();
      return undefined;
    });
    const { jobId } = await jobs.start(spec);
    await until(async () => (await jobs.describe(jobId)).done === 5);
    await jobs.close("cancel");
    const secondEngine = table.open();
    expect(await secondEngine.describe(jobId)).toMatchObject({
      state: "Cancelled",
      isInterrupted: true,
      done: 5,
    });
    expect(await secondEngine.start(spec)).toEqual({ jobId });
    const done = await secondEngine.wait({ jobId });
    expect(done).toMatchObject({ state: "Succeeded", result: { half: true } });
    expect(done.isInterrupted).toBeUndefined();
    await expect(jobs.start(spec)).rejects.toThrow("closed");
  });

  it("waits for jobs on request", async () => {
    const jobs = table.open();
    const { jobId } = await jobs.start(
      table.spec("k", async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return 1;
      }),
    );
    await jobs.close("wait");
    expect(await table.open().describe(jobId)).toMatchObject({ state: "Succeeded", result: 1 });
  });

  it("refuses a job that is about to begin, and leaves no record of it", async () => {
    const jobs = table.open();
    const rename = table.disk.rename.bind(table.disk);
    let closing: Promise<void> | undefined;
    const publishing = vi.spyOn(table.disk, "rename").mockImplementationOnce(async (from, to) => {
      await rename(from, to);
      closing = jobs.close("cancel");
    });
    try {
      await expect(jobs.start(table.spec("k", async () => 1))).rejects.toThrow("closed");
    } finally {
      publishing.mockRestore();
    }
    await closing;
    expect(await table.open().list()).toEqual([]);
    expect((await readdir(jobsDirectory(table.root))).filter((name) => !name.startsWith("."))).toEqual([]);
  });
});

describe("records that can't be removed", () => {
  it("do not block new jobs", async () => {
    const first = table.open();
    const { jobId } = await first.start(table.spec("k", async () => 1));
    await first.wait({ jobId });
    await first.close("wait");
    const ended = join(jobDirectory(table.root, jobId), "outcome.json");
    await writeFile(ended, JSON.stringify({ ...JSON.parse(await readFile(ended, "utf8")), finishedMs: 1 }));
    for (let n = 0; n < 70; n++)
      await cp(jobDirectory(table.root, jobId), jobDirectory(table.root, crypto.randomUUID()), {
        recursive: true,
      });
    const { disk } = table;
    const rename = disk.rename.bind(disk);
    let refused = 0;
    const renaming = vi.spyOn(disk, "rename").mockImplementation(async (from, to) => {
      // A removal renames first.
      if (dirname(from) === jobsDirectory(table.root) && !basename(from).startsWith(".")) {
        refused++;
        throw Object.assign(new Error("not permitted"), { code: "EACCES" });
      }
      await rename(from, to);
    });
    try {
      const jobs = table.open();
      const job = await jobs.start(table.spec("k", async () => 1));
      expect(await jobs.wait(job)).toMatchObject({ state: "Succeeded" });
      expect(refused).toBeGreaterThan(0);
    } finally {
      renaming.mockRestore();
    }
  });
});

describe("a table that is dropped", () => {
  it("ends its job, which leaves a new table of the same name alone", async () => {
    const jobs = table.open();
    const replaced = gate();
    let published = false;
    const spec = table.spec("k", async ({ hold }) => {
      await replaced.opened;
      await hold();
      published = true;
      return undefined;
    });
    const { jobId } = await jobs.start(spec);
    await table.dropTable();
    await table.createTable();
    // The same work on the new table is another job.
    const fresh = await jobs.start(
      table.spec("k", async ({ hold }) => {
        await hold();
        return 3;
      }),
    );
    expect(fresh.jobId).not.toBe(jobId);
    expect(await jobs.wait({ jobId: fresh.jobId })).toMatchObject({ result: 3 });
    replaced.open();
    await expect(jobs.wait({ jobId })).rejects.toBeInstanceOf(ConcurrentModificationError);
    expect(published).toBe(false);
    await table.dropTable();
    await expect(jobs.start(spec)).rejects.toBeInstanceOf(ConcurrentModificationError);
  });

  it("ends the interrupted job, so that a new table gets a new job", async () => {
    const jobs = table.open();
    const spec = table.spec("k", async ({ signal, checkpoint, saveCheckpoint }) => {
      if (checkpoint !== null) return checkpoint;
      await saveCheckpoint("old");
      await aborted(signal);
      signal.throwIfAborted();
      return undefined;
    });
    const { jobId } = await jobs.start(spec);
    await until(async () => (await readdir(jobDirectory(table.root, jobId))).includes("checkpoint.json"));
    await jobs.close("cancel");
    // Acts like another engine.
    await rm(table.directory, { recursive: true });
    await table.createTable();
    const secondEngine = table.open();
    const fresh = await secondEngine.start(table.spec("k", async ({ checkpoint }) => checkpoint));
    expect(fresh.jobId).not.toBe(jobId);
    expect((await secondEngine.wait({ jobId: fresh.jobId })).result).toBe(null);
    expect(await secondEngine.describe(jobId)).toMatchObject({
      state: "Failed",
      error: { type: "ConcurrentModification" },
    });
  });
});

/** JSON that `JSON.parse` accepts, and that overflows a recursive walk. */
const deep = "[".repeat(5000) + "]".repeat(5000);

describe("foreign records", () => {
  const valid = async () => {
    const jobs = table.open();
    const { jobId } = await jobs.start(table.spec("k", async () => 1));
    await jobs.wait({ jobId });
    const directory = jobDirectory(table.root, jobId);
    const text = await readFile(join(directory, "job.json"), "utf8");
    return { jobs, jobId, directory, record: JSON.parse(text) };
  };

  it("block no job", async () => {
    const { jobs, jobId, record } = await valid();
    const contents = [
      "",
      "{",
      "null",
      "[]",
      "\xff",
      JSON.stringify({ ...record, format: 2 }),
      JSON.stringify({ ...record, table: "t" }),
      JSON.stringify({ ...record, table: [7] }),
      JSON.stringify({ ...record, identity: {} }),
      JSON.stringify({ ...record, createdMs: 1e300 }),
      JSON.stringify({ ...record, kind: "__proto__" }),
      JSON.stringify({ ...record, location: "../../etc" }),
      JSON.stringify(record),
      JSON.stringify({ ...record, parameters: 0 }).replace('"parameters":0', `"parameters":${deep}`),
      deep,
      "x".repeat(1024 * 1024 + 1),
    ];
    const ids: string[] = [];
    for (const content of contents) {
      const id = crypto.randomUUID();
      await mkdir(jobDirectory(table.root, id));
      await writeFile(join(jobDirectory(table.root, id), "job.json"), content, "latin1");
      ids.push(id);
    }
    const empty = crypto.randomUUID();
    await mkdir(jobDirectory(table.root, empty));
    await mkdir(join(jobDirectory(table.root, crypto.randomUUID()), "job.json"), { recursive: true });
    await writeFile(jobDirectory(table.root, crypto.randomUUID()), "a file");
    await mkdir(join(jobsDirectory(table.root), "not-an-id"));
    const looped = crypto.randomUUID();
    await mkdir(jobDirectory(table.root, looped));
    await symlink("job.json", join(jobDirectory(table.root, looped), "job.json"));
    expect((await jobs.list()).map((job) => job.jobId)).toEqual([jobId]);
    for (const id of ids) await expect(jobs.describe(id)).rejects.toMatchObject({ name: "CorruptFileError" });
    await expect(jobs.describe(empty)).rejects.toBeInstanceOf(TransactionNotFoundError);
    const next = await jobs.start(table.spec("l", async () => 2));
    expect(await jobs.wait({ jobId: next.jobId })).toMatchObject({ result: 2 });
  });

  it("of progress, outcome and checkpoint count as absent if malformed", async () => {
    const { jobs, jobId, directory, record } = await valid();
    await rm(join(directory, "outcome.json"));
    for (const content of ["", "7", '{"done":-1}', '{"done":1e999}', "x".repeat(70_000)]) {
      await writeFile(join(directory, "progress.json"), content);
      expect(await jobs.describe(jobId)).toMatchObject({ state: "Failed", done: 0, isInterrupted: true });
    }
    const deepResult = `{"state":"Succeeded","finishedMs":1,"done":1,"result":${deep}}`;
    for (const content of ['{"state":"Done"}', '{"state":"Failed","finishedMs":1,"done":0}', deepResult]) {
      await writeFile(join(directory, "outcome.json"), content);
      expect(await jobs.describe(jobId)).toMatchObject({ state: "Failed", isInterrupted: true });
    }
    await rm(join(directory, "outcome.json"));
    await writeFile(join(directory, "checkpoint.json"), "{{");
    expect(record.key).toBe("k");
    // The process that saw the end remembers it.
    const others = table.open();
    expect(await others.start(table.spec("k", async ({ checkpoint }) => checkpoint))).toEqual({ jobId });
    expect((await others.wait({ jobId })).result).toBe(null);
  });

  it("that are too large to write are refused", async () => {
    const jobs = table.open();
    const spec = { ...table.spec("k", async () => 1), parameters: "x".repeat(2 * 1024 * 1024) };
    await expect(jobs.start(spec)).rejects.toBeInstanceOf(InvalidInputError);
    expect(await jobs.list()).toEqual([]);
    expect((await readdir(jobsDirectory(table.root))).filter((name) => name !== ".tiltyard.lock")).toEqual(
      [],
    );
  });
});
