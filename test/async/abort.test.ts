import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { untilAborted, whenAborted } from "../../src/async/abort.js";

it("a signal has one listener for any number of waits", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: number[] = [];
  const ends = Array.from({ length: 30 }, (_, index) => whenAborted(signal, () => called.push(index)));
  expect(getEventListeners(signal, "abort").length).toBe(1);
  for (const end of ends.slice(3)) end();
  controller.abort();
  expect(called).toEqual([0, 1, 2]);
  expect(getEventListeners(signal, "abort").length).toBe(0);
  whenAborted(signal, () => called.push(3));
  expect(called).toEqual([0, 1, 2, 3]);
});

it("a signal loses its listener with the last wait, and gets it back with the next", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  const end = whenAborted(signal, () => called.push("first"));
  end();
  expect(getEventListeners(signal, "abort").length).toBe(0);
  whenAborted(signal, () => called.push("second"));
  // A second call changes nothing, and ends no other wait.
  end();
  expect(getEventListeners(signal, "abort").length).toBe(1);
  controller.abort();
  expect(called).toEqual(["second"]);
});

it("untilAborted settles as the value does, or rejects with the signal's reason", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  expect(await untilAborted(5, signal)).toBe(5);
  await expect(untilAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  const waits = untilAborted(new Promise(() => undefined), signal);
  controller.abort(new Error("enough"));
  await expect(waits).rejects.toThrow("enough");
  await expect(untilAborted(5, signal)).rejects.toThrow("enough");
  expect(getEventListeners(signal, "abort").length).toBe(0);
});
