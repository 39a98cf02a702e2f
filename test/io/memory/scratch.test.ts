import { expect, test } from "vitest";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";

test("a pool lends memory again, to one borrower at a time", () => {
  const scratch = new ScratchMemory(1 << 20);
  const first = scratch.lend(100_000);
  expect([first.length, first.byteOffset]).toEqual([100_000, 0]);
  const second = scratch.lend(100_000);
  expect(second.buffer).not.toBe(first.buffer);
  scratch.giveBack(first);
  expect(scratch.weight).toBe(128 * 1024);
  const third = scratch.lend(70_000);
  expect([third.length, third.buffer.byteLength, scratch.weight]).toEqual([70_000, 128 * 1024, 0]);
  expect(scratch.lend(70_000).buffer).not.toBe(third.buffer);
});

test("a pool keeps no more than its bound, and prefers large memory", () => {
  const scratch = new ScratchMemory(256 * 1024);
  const [small, large, huge] = [64, 192, 320].map((kib) => scratch.lend(kib * 1024));
  for (const lent of [small, large, huge, scratch.lend(128 * 1024)]) {
    scratch.giveBack(lent);
    expect(scratch.weight).toBeLessThanOrEqual(256 * 1024);
  }
  expect(scratch.lend(190 * 1024).buffer.byteLength).toBe(192 * 1024);
  scratch.clear();
  expect(scratch.weight).toBe(0);
});

test("a pool lends shared memory apart from other memory", () => {
  const scratch = new ScratchMemory(1 << 20);
  const shared = scratch.shared.lend(70_000);
  expect(shared.buffer).toBeInstanceOf(SharedArrayBuffer);
  scratch.shared.giveBack(shared);
  expect([scratch.weight, scratch.shared.weight]).toEqual([0, 128 * 1024]);
  expect(scratch.lend(10).buffer).toBeInstanceOf(ArrayBuffer);
  expect(scratch.shared.lend(70_000).buffer).toBe(shared.buffer);
  scratch.clear();
  expect(scratch.shared.weight).toBe(0);
});
