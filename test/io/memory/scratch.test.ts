import { expect, test } from "vitest";
import { Loan, ScratchMemory } from "../../../src/io/memory/scratch.js";

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

test("memory that threads share is lent by itself, and a loan is given back as a whole", () => {
  const scratch = new ScratchMemory(1 << 20);
  const loan = new Loan(scratch.shared);
  const lent = [loan.lend(70_000), loan.lend(10)];
  expect(lent.map(({ buffer, length }) => [buffer instanceof SharedArrayBuffer, length])).toEqual([
    [true, 70_000],
    [true, 10],
  ]);
  loan.giveBack();
  loan.giveBack();
  expect([scratch.weight, scratch.shared.weight]).toEqual([0, 192 * 1024]);
  expect(scratch.lend(10).buffer).toBeInstanceOf(ArrayBuffer);
  expect(scratch.shared.lend(70_000).buffer).toBe(lent[0].buffer);
  scratch.clear();
  expect(scratch.shared.weight).toBe(0);
});
