/** Concurrent merges share the memory for their keys. */

import { expect, it } from "vitest";
import { withKeyMemory } from "../../../src/write/merge/keyMemory.js";

const MIB = 1024 * 1024;

it("each merge gets half of the rest, at least the minimum, and returns it", async () => {
  const shares: number[] = [];
  const nest = (depth: number): Promise<void> =>
    withKeyMemory(async (bytes) => {
      shares.push(bytes);
      if (depth > 1) await nest(depth - 1);
    });
  await nest(256);
  expect(shares.slice(0, 4).map((bytes) => bytes / MIB)).toEqual([256, 128, 64, 32]);
  expect(shares.at(-1)).toBe(MIB);
  expect(shares.reduce((sum, bytes) => sum + bytes)).toBeLessThan(768 * MIB);
  await expect(withKeyMemory(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await withKeyMemory(async (bytes) => expect(bytes).toBe(256 * MIB));
});
