/** The pool with simulated threads: when they start, which work they get, and what ends them. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { GREETING, type TaskOrder } from "../../src/async/threadMessages.js";
import { type Task, WorkerPool } from "../../src/async/workerPool.js";

interface Played {
  readonly received: TaskOrder[];
  isKeeping: boolean;
  isEnded: boolean;
  say(message: unknown): void;
  die(reason: unknown): void;
}

const played = vi.hoisted(() => ({ threads: [] as Played[], mode: "start" as "start" | "none" | "throw" }));

/** The engine waits by the host's timers; here it waits by fake timers. */
vi.mock(import("../../src/async/timers.js"), async (original) => ({
  ...(await original()),
  setTimeout: ((callback: () => void, ms: number) => setTimeout(callback, ms)) as typeof setTimeout,
  clearTimeout: (timer) => clearTimeout(timer),
}));

vi.mock(import("../../src/platform/native.js"), async (original) => ({
  ...(await original()),
  startThread: (onMessage, onEnd) => {
    if (played.mode === "none") return null;
    if (played.mode === "throw") throw new Error("no threads here");
    const thread: Played = {
      received: [],
      isKeeping: true,
      isEnded: false,
      say: onMessage,
      die: onEnd,
    };
    played.threads.push(thread);
    return {
      post(message) {
        structuredClone(message);
        thread.received.push(message as TaskOrder);
      },
      keepsAlive: (isBusy) => void (thread.isKeeping = isBusy),
      end: () => void (thread.isEnded = true),
    };
  },
}));

const inLine = vi.fn((input: number) => {
  if (input < 0) throw new RangeError("negative");
  return input * 2;
});
const DOUBLE: Task<number, number> = { name: "double", run: inLine, memoryOf: () => [] };
const errorOf = (failure: unknown) => new Error(`told: ${(failure as Error).message}`);
const open = (size: number, idleMs?: number) => new WorkerPool({ size, idleMs, errorOf });

afterEach(() => {
  played.threads.splice(0);
  played.mode = "start";
  inLine.mockClear();
  vi.useRealTimers();
});

describe("a pool", () => {
  it("without threads works in line", async () => {
    const pool = open(0);
    expect(await pool.run(DOUBLE, 4)).toBe(8);
    await expect(pool.run(DOUBLE, -1)).rejects.toThrow(RangeError);
    expect([pool.size, played.threads.length]).toEqual([0, 0]);
  });

  it("starts threads on demand, gives each one task at a time, and keeps the order of the others", async () => {
    const pool = open(2);
    const results = [1, 2, 3].map((input) => pool.run(DOUBLE, input));
    const [first, second] = played.threads;
    expect([first.received, second.received].map((each) => each.map(({ input }) => input))).toEqual([
      [1],
      [2],
    ]);
    for (const each of played.threads) each.say(GREETING);
    second.say({ output: "b" });
    expect(second.received.map(({ input }) => input)).toEqual([2, 3]);
    second.say({ output: "c" });
    first.say({ failure: new RangeError("one") });
    await expect(results[0]).rejects.toThrow("told: one");
    expect(await Promise.all(results.slice(1))).toEqual(["b", "c"]);
    expect(played.threads.map(({ isKeeping }) => isKeeping)).toEqual([false, false]);
    expect(inLine).not.toHaveBeenCalled();
    expect(pool.threadCount).toBe(2);
  });

  it("stops idle threads, and starts new ones", async () => {
    vi.useFakeTimers();
    const pool = open(1, 1000);
    const one = pool.run(DOUBLE, 1);
    played.threads[0].say(GREETING);
    vi.advanceTimersByTime(5000);
    expect(played.threads[0].isEnded).toBe(false);
    played.threads[0].say({ output: 2 });
    expect(await one).toBe(2);
    vi.advanceTimersByTime(999);
    expect(pool.threadCount).toBe(1);
    vi.advanceTimersByTime(1);
    expect([pool.threadCount, played.threads[0].isEnded]).toEqual([0, true]);
    void pool.run(DOUBLE, 2);
    expect(played.threads.length).toBe(2);
  });

  it("recommends a thread once one runs, or enough was done in line", () => {
    const mebibytes = 2 ** 20;
    expect(open(0).isWorth(100 * mebibytes)).toBe(false);
    const pool = open(1);
    expect([pool.isWorth(20 * mebibytes), pool.isWorth(11 * mebibytes)]).toEqual([false, false]);
    expect(pool.isWorth(mebibytes)).toBe(true);
    const used = open(1);
    void used.run(DOUBLE, 1);
    expect(used.isWorth(1)).toBe(true);
  });

  it.each(["none", "throw"] as const)("works in line if no thread can be started: %s", async (mode) => {
    played.mode = mode;
    const pool = open(2);
    expect(await Promise.all([pool.run(DOUBLE, 1), pool.run(DOUBLE, 2)])).toEqual([2, 4]);
    expect(pool.size).toBe(0);
  });

  it("works in line if the script is missing or a different one", async () => {
    for (const fail of [
      (thread: Played) => thread.die(new Error("cannot find module")),
      (thread: Played) => thread.say("hello"),
    ]) {
      played.threads.splice(0);
      const pool = open(1);
      const results = [pool.run(DOUBLE, 1), pool.run(DOUBLE, 2)];
      fail(played.threads[0]);
      expect(await Promise.all(results)).toEqual([2, 4]);
      expect(await pool.run(DOUBLE, 3)).toBe(6);
      expect([pool.size, played.threads.length, played.threads[0].isEnded]).toEqual([0, 1, true]);
    }
  });

  it("retries a failed start with growing delays", async () => {
    let nowMs = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const pool = open(1);
    for (const pauseMs of [1000, 2000, 4000]) {
      const inTime = pool.run(DOUBLE, 1);
      expect(pool.threadCount).toBe(1);
      played.threads.at(-1)?.die(new Error("EMFILE: too many open files"));
      expect(await inTime).toBe(2);
      nowMs += pauseMs - 1;
      expect([pool.size, await pool.run(DOUBLE, 2), pool.threadCount]).toEqual([0, 4, 0]);
      nowMs += 1;
      expect(pool.size).toBe(1);
    }
    const done = pool.run(DOUBLE, 3);
    played.threads.at(-1)?.say(GREETING);
    played.threads.at(-1)?.say({ output: "from a thread" });
    expect(await done).toBe("from a thread");
  });

  it("reports a thread that died at work, and starts another one", async () => {
    const pool = open(1);
    const [one, two] = [pool.run(DOUBLE, 1), pool.run(DOUBLE, 2)];
    played.threads[0].say(GREETING);
    played.threads[0].die(new Error("out of memory"));
    await expect(one).rejects.toThrow("told: out of memory");
    played.threads[1].say(GREETING);
    played.threads[1].say({ output: 4 });
    expect(await two).toBe(4);
    // The exit after the failure changes nothing.
    played.threads[0].die(new Error("exit"));
    expect(pool.threadCount).toBe(1);
  });

  it("runs tasks in line that can't be sent to a thread", async () => {
    const pool = open(1);
    const task: Task<() => number, number> = { name: "call", run: (input) => input(), memoryOf: () => [] };
    expect(await pool.run(task, () => 7)).toBe(7);
  });

  it("that is closed finishes in line", async () => {
    const pool = open(1);
    const results = [pool.run(DOUBLE, 1), pool.run(DOUBLE, 2)];
    played.threads[0].say(GREETING);
    pool.close();
    expect(await Promise.all(results)).toEqual([2, 4]);
    expect(played.threads[0].isEnded).toBe(true);
    expect(await pool.run(DOUBLE, 3)).toBe(6);
  });

  it("that is closed leaves its idle thread to the next pool for a while", async () => {
    vi.useFakeTimers();
    const pool = open(1, 1000);
    const one = pool.run(DOUBLE, 1);
    const [thread] = played.threads;
    thread.say(GREETING);
    thread.say({ output: 2 });
    await one;
    pool.close();
    expect([pool.threadCount, thread.isKeeping, thread.isEnded]).toEqual([0, false, false]);
    vi.advanceTimersByTime(999);
    const next = open(1, 1000);
    expect([open(0).isWorth(1), next.isWorth(1)]).toEqual([false, true]);
    const two = next.run(DOUBLE, 2);
    expect(thread.received.map(({ input }) => input)).toEqual([1, 2]);
    vi.advanceTimersByTime(5000);
    thread.say({ output: 4 });
    expect([await two, thread.isEnded, played.threads.length]).toEqual([4, false, 1]);
    next.close();
    vi.advanceTimersByTime(1000);
    expect(thread.isEnded).toBe(true);
    const later = open(1);
    expect(later.isWorth(1)).toBe(false);
    void later.run(DOUBLE, 3);
    expect(played.threads.length).toBe(2);
  });

  it("takes no dead thread of a closed pool", async () => {
    const pool = open(1);
    const one = pool.run(DOUBLE, 1);
    played.threads[0].say(GREETING);
    played.threads[0].say({ output: 2 });
    await one;
    pool.close();
    played.threads[0].die(new Error("exit"));
    void open(1).run(DOUBLE, 2);
    expect(played.threads.map(({ received }) => received.length)).toEqual([1, 1]);
  });
});
