/** Threads of a page, with simulated workers. */

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { webThreads } from "../../src/async/webThread.js";

/** The engine waits by the host's timers; here it waits by fake timers. */
vi.mock(import("../../src/async/timers.js"), async (original) => ({
  ...(await original()),
  setTimeout: ((callback: () => void, ms: number) => setTimeout(callback, ms)) as typeof setTimeout,
  clearTimeout: (timer) => clearTimeout(timer),
}));

type Listener = (event: unknown) => void;

/** A worker whose events the test makes. */
function playedWorker() {
  const listeners = new Map<string, Listener>();
  const sent: [message: unknown, moved: ArrayBuffer[]][] = [];
  let isEnded = false;
  return {
    sent,
    isEnded: () => isEnded,
    make: (type: string, event: unknown) => listeners.get(type)?.(event),
    worker: {
      postMessage: (message: unknown, moved: ArrayBuffer[]) => void sent.push([message, moved]),
      terminate: () => void (isEnded = true),
      addEventListener: (type: string, listener: Listener) => void listeners.set(type, listener),
    },
  };
}

function start() {
  const played = playedWorker();
  const messages: unknown[] = [];
  const ends: unknown[] = [];
  const thread = webThreads(() => played.worker)(
    (message) => messages.push(message),
    (reason) => ends.push(reason),
  );
  if (thread === null) throw new Error("no thread has started");
  return { ...played, messages, ends, thread };
}

describe("a thread of a page", () => {
  it("gets messages once its script runs, in their order", () => {
    const { thread, sent, make, messages } = start();
    const moved = new ArrayBuffer(8);
    thread.post("first", [moved]);
    thread.post("second");
    expect(sent).toEqual([]);
    make("message", { data: "greeting" });
    thread.post("third");
    expect(sent).toEqual([
      ["first", [moved]],
      ["second", []],
      ["third", []],
    ]);
    expect(messages).toEqual(["greeting"]);
  });

  it("reports a script that fails or cannot be loaded, and a message that cannot be read", () => {
    const { make, ends } = start();
    make("error", { message: "boom" });
    make("error", {});
    make("messageerror", {});
    expect(ends.map((reason) => (reason as Error).message)).toEqual([
      "boom",
      "the script of the worker could not be loaded",
      "a message could not be read",
    ]);
  });

  it("reports a script that never answers, and no other", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const silent = start();
    const late = start();
    const ended = start();
    vi.advanceTimersByTime(20_000);
    late.make("message", { data: "greeting" });
    ended.thread.end();
    vi.advanceTimersByTime(60_000);
    expect([silent.ends.length, late.ends.length, ended.ends.length]).toEqual([1, 0, 0]);
    expect((silent.ends[0] as Error).message).toContain("tiltyard/worker");
  });

  it("ends its worker", () => {
    const { thread, isEnded } = start();
    thread.keepsAlive(false);
    expect(isEnded()).toBe(false);
    thread.end();
    expect(isEnded()).toBe(true);
  });
});
