/** Large batches are checked, joined and encoded in steps that yield to the event loop. */

import { LargeUtf8, makeData, Utf8 } from "apache-arrow";
import { describe, expect, it } from "vitest";
import type { Column, Layout } from "../../../src/arrow/columns/column.js";
import { ByteQueue } from "../../../src/arrow/exchange/ipcMessages.js";
import { validateColumn } from "../../../src/arrow/exchange/validate.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import type { Steps } from "../../../src/async/eventLoop.js";
import { InvalidInputError } from "../../../src/errors.js";
import { encodeFsst, encodeFsstInSteps } from "../../../src/file/compression/fsstEncoder.js";
import { findDictionary } from "../../../src/file/structural/findDictionary.js";

const ROWS = 200_000;
/** Bytes of a value: six characters. */
const VALUE = new TextEncoder().encode("é€bé€b");

function steps<Result>(work: Steps<Result>): { count: number; result: Result } {
  for (let count = 1; ; count++) {
    const { done, value } = work.next();
    if (done === true) return { count, result: value };
  }
}

function texts(change: (bytes: Uint8Array, offsets: Int32Array) => void = () => undefined): {
  column: Column;
  layout: Layout;
} {
  const bytes = new Uint8Array(Buffer.alloc(ROWS * VALUE.length, VALUE));
  const offsets = Int32Array.from({ length: ROWS + 1 }, (_, row) => row * VALUE.length);
  change(bytes, offsets);
  const data = makeData({ type: new Utf8(), length: ROWS, nullCount: 0, valueOffsets: offsets, data: bytes });
  const layout = layoutOf(data.type, "c");
  return { column: columnFromData(data, layout), layout };
}

describe("a column of many rows", () => {
  it("is validated in steps", () => {
    const { column, layout } = texts();
    expect(steps(validateColumn(column, layout, "c")).count).toBeGreaterThan(6);
    const wide = makeData({
      type: new LargeUtf8(),
      length: ROWS,
      nullCount: 0,
      valueOffsets: BigInt64Array.from({ length: ROWS + 1 }, (_, row) => BigInt(row)),
      data: new Uint8Array(ROWS).fill(0x61),
    });
    const wideLayout = layoutOf(wide.type, "c");
    expect(
      steps(validateColumn(columnFromData(wide, wideLayout), wideLayout, "c")).count,
    ).toBeGreaterThanOrEqual(4);
  });

  it.each([
    // Near the ends of steps, and far from them.
    ...[0, 1, 65_535, 65_536, 65_537, 174_761, 174_762, 174_763, 199_999],
  ])("is refused for one byte in row %d that is not UTF-8", (row) => {
    const { column, layout } = texts((bytes) => {
      bytes[row * VALUE.length + 1] = 0x61;
    });
    expect(() => steps(validateColumn(column, layout, "c"))).toThrow(`not UTF-8 in row ${row}`);
  });

  it.each([1, 65_535, 65_536, 65_537, 199_999])("is refused for offset %d, whatever step it is in", (row) => {
    const split = texts((_, offsets) => {
      offsets[row]++;
    });
    expect(() => steps(validateColumn(split.column, split.layout, "c"))).toThrow("not UTF-8");
    const back = texts((_, offsets) => {
      offsets[row] = -1;
    });
    expect(() => steps(validateColumn(back.column, back.layout, "c"))).toThrow(InvalidInputError);
  });
});

describe("values of a page", () => {
  it("are encoded by FSST in steps, to the bytes that come without interruption of other pages", () => {
    const page = (seed: number) => {
      const words = Array.from({ length: 100_000 }, (_, row) => `value ${(row * seed) % 100_003} of a page `);
      const bytes = new TextEncoder().encode(words.join(""));
      const offsets = new Int32Array(words.length + 1);
      for (const [row, word] of words.entries()) offsets[row + 1] = offsets[row] + word.length;
      return { offsets, bytes };
    };
    const pages = [page(7), page(7919)];
    const expected = pages.map(({ offsets, bytes }) => encodeFsst(offsets, bytes));
    const running = pages.map(({ offsets, bytes }) => encodeFsstInSteps(offsets, bytes));
    const results = running.map(() => null as ReturnType<typeof encodeFsst>);
    let count = 0;
    for (let left = running.length; left > 0; ) {
      for (const [index, work] of running.entries()) {
        const { done, value } = work.next();
        count++;
        if (done !== true || results[index] !== null) continue;
        results[index] = value;
        left--;
      }
    }
    for (const [index, result] of results.entries()) {
      const { bytes, offsets } = expected[index] ?? {};
      expect(Buffer.compare(Buffer.from(result?.bytes ?? []), Buffer.from(bytes ?? []))).toBe(0);
      expect(result?.offsets.join()).toBe(offsets?.join());
    }
    expect(results[0]?.bytes.length).toBeGreaterThan(0);
    expect(count).toBeGreaterThan(8);
  });

  it("are looked up for a dictionary in steps, nulls at their ends included", () => {
    const rows = 300_000;
    const offsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * 8);
    const bytes = new Uint8Array(rows * 8);
    for (let row = 0; row < rows; row++) bytes[row * 8] = row % 100;
    const definition = Uint16Array.from({ length: rows }, (_, row) => Number(row % 65_536 < 2 && row > 0));
    const { count, result } = steps(findDictionary(offsets, bytes, definition));
    expect(count).toBe(5);
    const indices = result?.indices ?? new Uint32Array(0);
    const dictionary = result?.bytes ?? new Uint8Array(0);
    const wrong = Array.from({ length: rows }, (_, row) => row).filter((row) =>
      definition[row] === 0 ? dictionary[indices[row] * 8] !== row % 100 : indices[row] !== indices[row - 1],
    );
    expect(wrong).toEqual([]);
  });
});

it("A body that came in pieces keeps the order of its bytes", async () => {
  const pieces = Array.from({ length: 5 }, (_, piece) => new Uint8Array(2 ** 21 + piece).fill(piece + 1));
  const queue = new ByteQueue(
    (async function* () {
      yield* pieces;
    })(),
  );
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = await queue.take(size);
  expect(Buffer.compare(bytes, Buffer.concat(pieces))).toBe(0);
});
