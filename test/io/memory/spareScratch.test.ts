/** Memory that a closed namespace leaves to the next. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { takeScratch } from "../../../src/io/memory/spareScratch.js";

/** The engine waits by the host's own timers; here it waits by those that the tests move. */
vi.mock(import("../../../src/async/timers.js"), async (original) => ({
  ...(await original()),
  setTimeout: ((callback: () => void, ms: number) => setTimeout(callback, ms)) as typeof setTimeout,
  clearTimeout: (timer) => clearTimeout(timer),
}));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

const use = (scratch: ScratchMemory): void => scratch.giveBack(scratch.lend(100_000));

it("spare memory goes to one namespace, and is dropped after a while", () => {
  const first = takeScratch();
  use(first.scratch);
  first.leave(true);
  const second = takeScratch();
  expect(second.scratch).toBe(first.scratch);
  expect(takeScratch().scratch).not.toBe(first.scratch);
  vi.advanceTimersByTime(60_000);
  expect(second.scratch.weight).toBeGreaterThan(0);
  second.leave(true);
  vi.advanceTimersByTime(60_000);
  expect(second.scratch.weight).toBe(0);
  expect(takeScratch().scratch).not.toBe(second.scratch);
});

it("only the memory of the last namespace stays", () => {
  const [first, second] = [takeScratch(), takeScratch()];
  for (const { scratch } of [first, second]) use(scratch);
  first.leave(true);
  vi.advanceTimersByTime(3000);
  second.leave(true);
  expect(first.scratch.weight).toBe(0);
  // It begins to wait when it is left.
  vi.advanceTimersByTime(3000);
  expect(takeScratch().scratch).toBe(second.scratch);
  expect(second.scratch.weight).toBeGreaterThan(0);
});

it("a namespace leaves its memory once, even if another has it already", () => {
  const first = takeScratch();
  first.leave(true);
  const second = takeScratch();
  expect(second.scratch).toBe(first.scratch);
  use(second.scratch);
  first.leave(true);
  expect(takeScratch().scratch).not.toBe(second.scratch);
  first.leave(false);
  expect(second.scratch.weight).toBeGreaterThan(0);
});

it("nobody gets memory that a thread may still write into", () => {
  const first = takeScratch();
  use(first.scratch);
  first.leave(false);
  expect(first.scratch.weight).toBe(0);
  expect(takeScratch().scratch).not.toBe(first.scratch);
});
