/** Batches of plain objects: which rows stay in memory while others are encoded. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { openObjects } from "../../../src/arrow/objects/objectBatches.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Code that V8 has not optimised yet may hold values that it no longer needs. */
const AGAIN = { retry: 5 };

/** Rows whose last column is null in the first ones. */
const rowAt = (index: number, knownFrom: number) => ({ k: index, late: index < knownFrom ? null : "x" });

/** Lets the garbage collector see what the last steps left. */
async function collected(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
}

describe("the first rows", () => {
  it.each([
    ["a group", true],
    ["an iterable", false],
  ])("of %s are freed while later ones are encoded", AGAIN, async (_, isGroups) => {
    const kept: WeakRef<object>[] = [];
    let index = 0;
    const next = async () => {
      if (index === 80_000) return { done: true, value: undefined } as const;
      const rows = Array.from({ length: isGroups ? 10_000 : 1 }, () => rowAt(index++, 30_000));
      if (index <= 30_000) kept.push(new WeakRef(rows[0]));
      return { value: isGroups ? rows : rows[0] };
    };
    const open = async () => openObjects({ first: (await next()).value, next, all: null, isGroups }, {});
    const { batches } = await open();
    let rowCount = 0;
    for await (const batch of batches) {
      rowCount += batch.rowCount;
      if (rowCount < 70_000) continue;
      await collected();
      expect(kept.filter((row) => row.deref() !== undefined)).toEqual([]);
    }
    expect(rowCount).toBe(80_000);
  });
});
