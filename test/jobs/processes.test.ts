/** Jobs of several processes: one runs what two request; one resumes the job of a dead or suspended one. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { JobTable, until } from "../support/jobTable.js";

let table: JobTable;
beforeEach(async () => {
  table = await JobTable.make();
});
afterEach(() => table.close());

const done = (steps: readonly { readonly step: number }[]): number[] => steps.map(({ step }) => step);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("processes", () => {
  it("that request the same job get one id, and one of them runs it", async () => {
    const runners = await Promise.all([table.process(), table.process(), table.process()]);
    // Long enough for both requests to arrive.
    const job = { key: "k", steps: 5, stepMs: 200 };
    const ids = await Promise.all(runners.map((runner) => runner.start(table, job)));
    expect(new Set(ids).size).toBe(1);
    const ended = await Promise.all(runners.map((runner) => runner.wait(ids[0])));
    for (const each of ended)
      expect(each).toMatchObject({ state: "Succeeded", done: 5, result: { steps: 5 } });
    const steps = await table.steps();
    expect(done(steps)).toEqual(upTo(5));
    expect(new Set(steps.map(({ pid }) => pid)).size).toBe(1);
  });

  it("notice at once that the running process was killed, and resume from its checkpoint", async () => {
    const [first, second] = [await table.process(), await table.process()];
    const job = { key: "k", steps: 12, stepMs: 20 };
    const jobId = await first.start(table, job);
    await until(async () => (await table.steps()).length >= 4);
    await first.kill();
    const jobs = table.open();
    expect(await jobs.describe(jobId)).toMatchObject({
      ...{ state: "Failed", isInterrupted: true },
      error: {
        type: "ServiceUnavailable",
        message: expect.stringContaining("process that ran the job ended"),
      },
    });
    await expect(jobs.wait({ jobId })).rejects.toMatchObject({ type: "ServiceUnavailable" });
    expect(await second.start(table, job)).toBe(jobId);
    expect(await second.wait(jobId)).toMatchObject({ state: "Succeeded", done: 12 });
    const steps = await table.steps();
    const begun = steps.filter(({ pid }) => pid === first.pid).length;
    const again = steps.length - 12;
    // A step without a saved checkpoint runs again.
    expect(again === 0 || again === 1).toBe(true);
    expect(done(steps.slice(begun))).toEqual(upTo(12).slice(begun - again));
  });

  it("that were suspended during a takeover stop their work", async () => {
    const [first, second] = [await table.process(2000), await table.process(2000)];
    const job = { key: "k", steps: 8, stepMs: 50 };
    const jobId = await first.start(table, job);
    await until(async () => (await table.steps()).length >= 2);
    first.signal("SIGSTOP");
    const before = (await table.steps()).length;
    // The lock goes stale while a waiter polls it; until then the job counts as running.
    expect(await second.start(table, job)).toBe(jobId);
    await expect(second.wait(jobId)).rejects.toMatchObject({ type: "ServiceUnavailable" });
    expect(await second.start(table, job)).toBe(jobId);
    await until(async () => (await table.steps()).length > before);
    first.signal("SIGCONT");
    expect(await second.wait(jobId)).toMatchObject({ state: "Succeeded", done: 8 });
    expect(await first.wait(jobId, 5000)).toMatchObject({ state: "Succeeded", done: 8 });
    const steps = await table.steps();
    const ofFirst = steps.filter(({ pid }) => pid === first.pid);
    // One step may have checked the lock before the process was stopped.
    expect(ofFirst.length).toBeLessThanOrEqual(before + 1);
    expect([...new Set(done(steps))].sort((a, b) => a - b)).toEqual(upTo(8));
    expect(steps.length).toBeLessThanOrEqual(8 + 2);
  });

  it("cancel each other's jobs", async () => {
    const runner = await table.process();
    const jobId = await runner.start(table, { key: "k", steps: 10_000, stepMs: 10 });
    await until(async () => (await table.steps()).length >= 2);
    const jobs = table.open();
    expect(await jobs.cancel(jobId)).toMatchObject({ state: "Cancelled" });
    const { length } = await table.steps();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await table.steps()).length).toBe(length);
  });

  it("cancel a job of a dead process", async () => {
    const runner = await table.process();
    const job = { key: "k", steps: 10_000, stepMs: 10 };
    const jobId = await runner.start(table, job);
    await until(async () => (await table.steps()).length >= 2);
    await runner.kill();
    const jobs = table.open();
    expect(await jobs.cancel(jobId)).toMatchObject({ state: "Cancelled" });
    const next = await table.process();
    expect(await next.start(table, job)).not.toBe(jobId);
  });
});
