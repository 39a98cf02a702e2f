import { expect, test } from "vitest";
import { InternalError } from "../../../src/errors.js";
import { Arena } from "../../../src/io/memory/arena.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";

const KIB = 1024;

test("an arena gives all its memory back after its last owner", () => {
  const scratch = new ScratchMemory(1 << 20);
  const arena = new Arena(scratch.shared);
  const lent = [arena.lend(70_000), arena.lend(10)];
  expect(lent.map(({ buffer, length }) => [buffer instanceof SharedArrayBuffer, length])).toEqual([
    [true, 70_000],
    [true, 10],
  ]);
  arena.share();
  arena.release();
  expect(scratch.shared.weight).toBe(0);
  arena.release();
  expect([scratch.weight, scratch.shared.weight]).toEqual([0, 192 * KIB]);
});

test("an arena refuses more releases than it has owners", () => {
  const arena = new Arena(new ScratchMemory(1 << 20));
  arena.release();
  expect(() => arena.release()).toThrow(InternalError);
});

test("an arena gives back single pieces, and ignores memory that it did not lend", () => {
  const scratch = new ScratchMemory(1 << 20);
  const arena = new Arena(scratch);
  const [first, second] = [arena.lend(10), arena.lend(10)];
  arena.giveBack(first);
  arena.giveBack(new Uint8Array(second.buffer));
  expect(scratch.weight).toBe(64 * KIB);
  arena.release();
  expect(scratch.weight).toBe(128 * KIB);
});

test("a view of an earlier generation of memory fails", () => {
  const scratch = new ScratchMemory(1 << 20);
  const arena = new Arena(scratch);
  const stale = arena.lend(100).fill(7);
  arena.recycle();
  const fresh = arena.lend(100);
  expect(fresh).toHaveLength(100);
  expect(stale).toHaveLength(0);
  expect(() => stale.subarray(0, 1)).toThrow(TypeError);
  expect(() => new Uint8Array(stale.buffer)).toThrow(TypeError);
});
