/** Concurrent merges share the memory for their keys. */

import { expect, it } from "vitest";
import { withKeyMemory } from "../../../src/write/merge/keyMemory.js";

const MIB = 1024 * 1024;

it("gives each half of what is left, and a little in any case, and takes it back", async () => {
  const given: number[] = [];
  const nest = (depth: number): Promise<void> =>
    withKeyMemory(async (bytes) => {
      given.push(bytes);
      if (depth > 1) await nest(depth - 1);
    });
  await nest(256);
  expect(given.slice(0, 4).map((bytes) => bytes / MIB)).toEqual([256, 128, 64, 32]);
  expect(given.at(-1)).toBe(MIB);
  expect(given.reduce((sum, bytes) => sum + bytes)).toBeLessThan(768 * MIB);
  await expect(withKeyMemory(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await withKeyMemory(async (bytes) => expect(bytes).toBe(256 * MIB));
});
