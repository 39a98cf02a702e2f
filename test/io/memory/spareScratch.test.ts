/** Memory that a closed namespace leaves to the next. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { leaveScratch, takeScratch } from "../../../src/io/memory/spareScratch.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it("is taken by one, and dropped where nobody takes it for a while", () => {
  const first = takeScratch();
  first.giveBack(first.lend(100_000));
  leaveScratch(first, true);
  expect(takeScratch()).toBe(first);
  expect(takeScratch()).not.toBe(first);
  expect(first.weight).toBeGreaterThan(0);
  vi.advanceTimersByTime(60_000);
  expect(first.weight).toBeGreaterThan(0);
  leaveScratch(first, true);
  vi.advanceTimersByTime(60_000);
  expect(first.weight).toBe(0);
  expect(takeScratch()).not.toBe(first);
});

it("is that of one namespace", () => {
  const [first, second] = [takeScratch(), takeScratch()];
  for (const scratch of [first, second]) scratch.giveBack(scratch.lend(100_000));
  leaveScratch(first, true);
  vi.advanceTimersByTime(3000);
  leaveScratch(second, true);
  expect(first.weight).toBe(0);
  // It begins to wait when it is left.
  vi.advanceTimersByTime(3000);
  expect(takeScratch()).toBe(second);
  expect(second.weight).toBeGreaterThan(0);
});

it("is left once, and not where somebody may still write into it", () => {
  const first = takeScratch();
  leaveScratch(first, true);
  expect(takeScratch()).toBe(first);
  leaveScratch(first, true);
  leaveScratch(first, true);
  const second = takeScratch();
  expect(second).toBe(first);
  expect(takeScratch()).not.toBe(first);
  second.giveBack(second.lend(100_000));
  leaveScratch(second, false);
  expect(second.weight).toBe(0);
  expect(takeScratch()).not.toBe(second);
});
