/** Values of concurrent tasks that wait to be saved or committed. */

import fc from "fast-check";
import { expect, it } from "vitest";
import type { FixedColumn } from "../../../src/arrow/columns/column.js";
import { type CheckpointFiles, CheckpointGoneError } from "../../../src/write/backfill/checkpointFiles.js";
import type { ComputedPart, ComputedRows } from "../../../src/write/backfill/computedRows.js";
import { ComputedValues } from "../../../src/write/backfill/computedValues.js";
import { until } from "../../support/jobTable.js";

const MIB = 1024 * 1024;
const MAX_UNSAVED_BYTES = 32 * MIB;

/** Makes rows of a total size, without memory. */
function computed(offsets: Uint32Array, byteCount = offsets.length): ComputedRows {
  const byteWidth = byteCount / offsets.length;
  const values = new Uint8Array(0);
  Object.defineProperty(values, "byteLength", { value: byteCount });
  Object.defineProperty(values, "length", { value: byteCount });
  const column: FixedColumn = { kind: "fixed", length: offsets.length, validity: null, byteWidth, values };
  return { offsets, column, memory: null };
}

/** Fake of files; awaits `before`, which may throw. */
class Files {
  readonly saved: (readonly ComputedRows[])[] = [];
  before: () => Promise<void> | void = () => undefined;

  async save(_: string, rows: readonly ComputedRows[]): Promise<ComputedPart> {
    await this.before();
    this.saved.push(rows);
    const offsets = rows.flatMap((each) => [...each.offsets]);
    return {
      ...{ first: offsets[0], last: offsets[offsets.length - 1], rowCount: offsets.length },
      async *rows() {
        yield* rows;
      },
    };
  }
}

function open({ flushMs = 3_600_000, rowCount = 1 } = {}) {
  const files = new Files();
  const failures: unknown[] = [];
  const values = new ComputedValues("content", rowCount, {
    ...{ checkpoints: files as unknown as CheckpointFiles, flushMs, maxUnsavedBytes: MAX_UNSAVED_BYTES },
    onFailure: (error) => failures.push(error),
  });
  return { files, failures, values };
}

const wantedOf = (count: number): Uint32Array => Uint32Array.from({ length: count }, (_, n) => n);

it("bounds the bytes of a fragment for any number of tasks", async () => {
  const wanted = wantedOf(100);
  const { files, values } = open({ rowCount: wanted.length });
  let most = 0;
  const added: ComputedRows[] = [];
  for (let row = 0; row < wanted.length; row++) {
    added.push(computed(wanted.subarray(row, row + 1), 3 * MIB));
    await values.add(added[row]);
    most = Math.max(most, (added.length - files.saved.flat().length) * 3 * MIB);
  }
  expect(most).toBeGreaterThan(MAX_UNSAVED_BYTES / 4);
  expect(most).toBeLessThanOrEqual(MAX_UNSAVED_BYTES + 6 * MIB);
  const parts = await values.parts();
  expect(parts.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(wanted.length);
  // Tasks of one row each share files.
  expect(files.saved.length).toBeLessThan(20);
});

it("makes parts that do not overlap, for any order of tasks, and keeps all values", async () => {
  const steps = fc.record({
    // For each offset: true if it is wanted.
    isWanted: fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
    taskRows: fc.integer({ min: 1, max: 9 }),
    batchRows: fc.integer({ min: 1, max: 4 }),
    lanes: fc.integer({ min: 1, max: 4 }),
    choices: fc.array(fc.nat(1000), { minLength: 1, maxLength: 80 }),
    isFlushed: fc.boolean(),
    savesAll: fc.boolean(),
    failsAt: fc.option(fc.nat(6)),
  });
  await fc.assert(
    fc.asyncProperty(steps, async (step) => {
      const offsets = step.isWanted.flatMap((isWanted, offset) => (isWanted ? [offset] : []));
      const wanted = Uint32Array.from(offsets);
      const { files, failures, values } = open({
        ...{ flushMs: step.isFlushed ? 0 : 3_600_000, rowCount: Math.max(1, wanted.length) },
      });
      let saves = 0;
      files.before = async () => {
        await new Promise((resolve) => setImmediate(resolve));
        if (saves++ === step.failsAt) throw new Error("no space");
      };
      // Lanes of tasks, each of which adds its batches in order.
      const tasks: Uint32Array[] = [];
      for (let index = 0; index < wanted.length; index += step.taskRows)
        tasks.push(wanted.subarray(index, index + step.taskRows));
      let choice = 0;
      const lane = async (): Promise<void> => {
        for (;;) {
          const next = step.choices[choice++ % step.choices.length] % Math.max(1, tasks.length);
          const [task] = tasks.splice(next, 1);
          if (task === undefined) return;
          for (let index = 0; index < task.length; index += step.batchRows) {
            await values.add(computed(task.subarray(index, index + step.batchRows)));
            if (step.choices[choice++ % step.choices.length] % 2 === 0) await Promise.resolve();
          }
        }
      };
      let parts: readonly ComputedPart[];
      try {
        const ends = await Promise.allSettled(Array.from({ length: step.lanes }, lane));
        for (const end of ends) if (end.status === "rejected") throw end.reason;
        if (step.savesAll) await values.saveAll();
        parts = await values.parts();
        expect(failures).toEqual([]);
      } catch (error) {
        expect(error).toMatchObject({ message: "no space" });
        expect(failures[0]).toBe(error);
        await values.rescue();
        // All values are saved in the end: one save fails, the next succeeds.
        const kept = files.saved.flat().flatMap((each) => [...each.offsets]);
        expect(new Set(kept).size).toBe(kept.length);
        return;
      }
      if (step.savesAll)
        expect(files.saved.flat().reduce((n, each) => n + each.offsets.length, 0)).toBe(wanted.length);
      const partValues: number[] = [];
      let end = -1;
      for (const part of parts) {
        expect(part.first).toBeGreaterThan(end);
        end = part.last;
        const taskValues: number[] = [];
        for await (const rows of part.rows()) taskValues.push(...rows.offsets);
        expect([taskValues[0], taskValues.at(-1), taskValues.length]).toEqual([
          part.first,
          part.last,
          part.rowCount,
        ]);
        partValues.push(...taskValues);
      }
      expect(partValues).toEqual(offsets);
    }),
    { numRuns: 300 },
  );
});

it("saves the remaining values after a failure", async () => {
  const wanted = wantedOf(4);
  const { files, values } = open();
  const added = [0, 1, 3].map((row) => computed(wanted.subarray(row, row + 1)));
  for (const rows of added) await values.add(rows);
  await values.rescue();
  expect(files.saved.map((part) => part.flatMap(({ offsets }) => [...offsets]))).toEqual([[0, 1], [3]]);
});

it("releases the memory of values that can't be saved", async () => {
  const { files, values } = open();
  const rows = computed(wantedOf(4));
  await values.add(rows);
  files.before = () => {
    throw new Error("no space");
  };
  await values.rescue();
  expect([files.saved, await values.parts()]).toEqual([[], []]);
});

it("saves old values even if no others follow", async () => {
  const { files, values } = open({ flushMs: 20 });
  const rows = computed(wantedOf(4));
  await values.add(rows);
  expect(files.saved).toEqual([]);
  await until(() => files.saved.length === 1);
  const [part, ...others] = await values.parts();
  expect([part.rowCount, others, files.saved]).toEqual([4, [], [[rows]]]);
});

it("keeps values in memory until their release", async () => {
  const { files, values } = open();
  const rows = computed(wantedOf(4));
  await values.add(rows);
  expect((await values.parts()).map(({ rowCount }) => rowCount)).toEqual([4]);
  expect(files.saved).toEqual([]);
  // The commit has failed.
  await values.rescue();
  expect(files.saved).toEqual([[rows]]);
});

it("starts no save after a failure, and waits for the running one", async () => {
  const { files, values } = open({ flushMs: 5 });
  const wanted = wantedOf(4);
  let saves = 0;
  files.before = async () => {
    saves++;
    await new Promise((resolve) => setTimeout(resolve, 30));
  };
  const added = [wanted.subarray(0, 1), wanted.subarray(1, 2)].map((offsets) => computed(offsets));
  await values.add(added[0]);
  await until(() => saves === 1);
  // Its timer fires while the first save runs.
  await values.add(added[1]);
  await values.rescue();
  expect(files.saved).toEqual(added.map((rows) => [rows]));
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(saves).toBe(2);
});

it("keeps very many rows after a failed save", async () => {
  const count = 130_000;
  const { files, values } = open({ rowCount: count });
  const wanted = wantedOf(2 * count);
  for (let row = 0; row < count; row++) await values.add(computed(wanted.subarray(2 * row, 2 * row + 1)));
  const error = new Error("no space");
  files.before = () => {
    throw error;
  };
  await expect(values.saveAll()).rejects.toBe(error);
  files.before = () => undefined;
  await values.rescue();
  expect(files.saved.length).toBe(count);
}, 30_000);

it("reports a failure at once, but not a missing file", async () => {
  for (const [error, told] of [
    [new Error("no space"), 1],
    [new CheckpointGoneError("gone"), 0],
  ] as const) {
    const { files, failures, values } = open({ flushMs: 0 });
    files.before = () => {
      throw error;
    };
    await expect(values.add(computed(wantedOf(1)))).rejects.toBe(error);
    expect(failures).toEqual(told === 1 ? [error] : []);
  }
});
