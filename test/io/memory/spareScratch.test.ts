/** Memory that a closed namespace leaves to the next. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { leaveScratch, takeScratch } from "../../../src/io/memory/spareScratch.js";

const BYTES = 1 << 20;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it("is taken by one, and dropped where nobody takes it for a while", () => {
  const first = takeScratch(BYTES);
  first.giveBack(first.lend(100_000));
  leaveScratch(first);
  expect(takeScratch(BYTES)).toBe(first);
  expect(takeScratch(BYTES)).not.toBe(first);
  expect(first.weight).toBeGreaterThan(0);
  vi.advanceTimersByTime(60_000);
  expect(first.weight).toBeGreaterThan(0);
  leaveScratch(first);
  vi.advanceTimersByTime(60_000);
  expect(first.weight).toBe(0);
  expect(takeScratch(BYTES)).not.toBe(first);
});

it("is that of one namespace", () => {
  const [first, second] = [takeScratch(BYTES), takeScratch(BYTES)];
  for (const scratch of [first, second]) scratch.giveBack(scratch.lend(100_000));
  leaveScratch(first);
  vi.advanceTimersByTime(3000);
  leaveScratch(second);
  expect(first.weight).toBe(0);
  // It begins to wait when it is left.
  vi.advanceTimersByTime(3000);
  expect(takeScratch(BYTES)).toBe(second);
  expect(second.weight).toBeGreaterThan(0);
});
