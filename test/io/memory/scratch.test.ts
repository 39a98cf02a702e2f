import { expect, test } from "vitest";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";

test("what was given back is lent again, to one borrower at a time", () => {
  const scratch = new ScratchMemory(1 << 20);
  const first = scratch.lend(100_000);
  expect([first.length, first.byteOffset]).toEqual([100_000, 0]);
  const second = scratch.lend(100_000);
  expect(second.buffer).not.toBe(first.buffer);
  scratch.giveBack(first);
  const third = scratch.lend(70_000);
  expect([third.length, third.buffer]).toEqual([70_000, first.buffer]);
  expect(scratch.lend(70_000).buffer).not.toBe(first.buffer);
  expect(scratch.weight).toBe(0);
});

test("no more than the bound is kept, the larger rather than the smaller", () => {
  const scratch = new ScratchMemory(256 * 1024);
  const [small, large, huge] = [64, 192, 320].map((kib) => scratch.lend(kib * 1024));
  for (const lent of [small, large, huge, scratch.lend(128 * 1024)]) {
    scratch.giveBack(lent);
    expect(scratch.weight).toBeLessThanOrEqual(256 * 1024);
  }
  expect(scratch.lend(190 * 1024).buffer).toBe(large.buffer);
  scratch.clear();
  expect(scratch.weight).toBe(0);
});
