/** The tables that number keys, beside a Map: while they grow, and frozen. */

import { describe, expect, it } from "vitest";
import { numbersColumn } from "../../../src/arrow/columns/numbersColumn.js";
import { validityFrom } from "../../../src/arrow/columns/validity.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { INT32, STRING } from "../../../src/expression/values/types.js";
import { ByteTable } from "../../../src/query/aggregate/byteTable.js";
import { DistinctValues } from "../../../src/query/aggregate/distinctValues.js";
import { Groups } from "../../../src/query/aggregate/groups.js";
import { MISSING, WordTable } from "../../../src/query/aggregate/wordTable.js";

const ROWS = 40_000;
/** Keys of rows: many come twice, and many more than a table has slots for at first. */
const keyOf = (row: number): number => Math.imul(row % 25_000, 2_654_435_761) | 0;

/** Numbers keys in the order in which they first come. */
function numbered(
  keys: readonly (string | number | null)[],
  known = new Map<string | number | null, number>(),
) {
  return keys.map((key) => {
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key) as number;
  });
}

const rows = (count: number) => Array.from({ length: count }, (_, row) => row);

describe.each([false, true])("a table of words, of which two make a key: %s", (isWide) => {
  const wordsOf = (keys: readonly number[]) => ({
    low: Int32Array.from(keys, (key) => (isWide ? key & 0xff : key)),
    high: isWide ? Int32Array.from(keys, (key) => key >> 8) : null,
  });

  it("numbers keys in the order of their first rows", () => {
    const table = new WordTable(isWide);
    const keys = rows(ROWS).map(keyOf);
    const numbers = new Uint32Array(ROWS);
    runSync(table.find(wordsOf(keys), ROWS, { numbers, isFrozen: false, skipped: null }));
    expect([...numbers]).toEqual(numbered(keys));
    expect(table.count).toBe(25_000);
    const first = keys.slice(0, 25_000);
    expect(runSync(table.keys())).toEqual(wordsOf(first));
  });

  it("adds no key while it is frozen, and passes over skipped rows", () => {
    const table = new WordTable(isWide);
    const numbers = new Uint32Array(4);
    runSync(table.find(wordsOf([7, 8]), 2, { numbers, isFrozen: false, skipped: null }));
    numbers.fill(99);
    const skipped = Uint8Array.of(0, 1, 0, 0);
    runSync(table.find(wordsOf([8, 7, 9, 7]), 4, { numbers, isFrozen: true, skipped }));
    expect([...numbers]).toEqual([1, 99, MISSING, 0]);
    expect(table.count).toBe(2);
  });
});

describe("a table of bytes", () => {
  const laneOf = (texts: readonly string[]) => {
    const parts = texts.map((text) => new TextEncoder().encode(text));
    const offsets = new Int32Array(texts.length + 1);
    for (const [index, { length }] of parts.entries()) offsets[index + 1] = offsets[index] + length;
    return { bytes: new Uint8Array(Buffer.concat(parts)), offsets };
  };
  /** Short and long texts, and the empty one. */
  const textOf = (row: number): string => (row % 9 === 0 ? "" : `${keyOf(row)}`.repeat(1 + (row % 7)));

  it("numbers texts in the order of their first rows, and returns them", () => {
    const table = new ByteTable();
    const texts = rows(ROWS).map(textOf);
    const numbers = new Uint32Array(ROWS);
    runSync(table.find(laneOf(texts), ROWS, { numbers, isFrozen: false, skipped: null }));
    expect([...numbers]).toEqual(numbered(texts));
    const column = table.column(Uint32Array.of(numbers[5], MISSING, numbers[9], numbers[20]), STRING);
    const expected = laneOf([texts[5], "", texts[9], texts[20]]);
    expect(column).toMatchObject({ kind: "variable", length: 4, bytes: expected.bytes });
    expect("offsets" in column && column.offsets).toEqual(expected.offsets);
  });

  it("takes a text that is larger than its room", () => {
    const table = new ByteTable();
    const texts = ["a", "b".repeat(2 ** 22), "c".repeat(2 ** 13), "b".repeat(2 ** 22), "a"];
    const numbers = new Uint32Array(5);
    runSync(table.find(laneOf(texts), 5, { numbers, isFrozen: false, skipped: null }));
    expect([...numbers]).toEqual([0, 1, 2, 1, 0]);
  });

  it("neither adds nor makes room while it is frozen", () => {
    const table = new ByteTable();
    const numbers = new Uint32Array(3);
    runSync(table.find(laneOf(["a"]), 1, { numbers, isFrozen: false, skipped: null }));
    const { byteLength } = table;
    const texts = ["b".repeat(2 ** 22), "c".repeat(2 ** 22), "a"];
    runSync(table.find(laneOf(texts), 3, { numbers, isFrozen: true, skipped: null }));
    expect([...numbers]).toEqual([MISSING, MISSING, 0]);
    expect(table.byteLength).toBe(byteLength);
  });
});

const ints = (values: readonly (number | null)[]) => {
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (const [row, value] of values.entries()) if (value !== null) bits[row >>> 3] |= 1 << (row & 7);
  const column = numbersColumn(Int32Array.from(values, (value) => value ?? 0));
  return { ...column, validity: validityFrom(bits, 0, values.length) };
};

describe("distinct values and groups", () => {
  it("number null apart from all values, whichever comes first", () => {
    const values = new DistinctValues(INT32);
    const known = new Map<string | number | null, number>();
    for (const batch of [
      [5, 6],
      [6, null, null],
      [7, 5, null],
    ]) {
      const numbers = runSync(values.numbersOf(ints(batch), batch.length, false));
      expect([...numbers]).toEqual(numbered(batch, known));
    }
    const numbers = runSync(values.numbersOf(ints([null, 8, 7]), 3, true));
    expect([...numbers]).toEqual([2, MISSING, 3]);
    const column = runSync(values.reader())(Uint32Array.of(3, 2, 0));
    expect(column).toMatchObject(ints([7, null, 5]));
  });

  it("join keys: equal rows are in one group", () => {
    const groups = new Groups([INT32, INT32, INT32]);
    const keys = rows(500).map((row) => [row % 3, row % 5 === 0 ? null : row % 5, row % 2]);
    const columns = [0, 1, 2].map((key) => ints(keys.map((each) => each[key])));
    const numbers = runSync(groups.groupsOf(columns, 500, false));
    expect([...numbers]).toEqual(numbered(keys.map((each) => JSON.stringify(each))));
    expect(groups.count).toBe(30);
    const [first, second, third] = runSync(groups.reader())(3, 5);
    expect([first, second, third]).toMatchObject([0, 1, 2].map((key) => ints([keys[3][key], keys[4][key]])));
    const more = [ints([0, 9]), ints([null, null]), ints([0, 0])];
    expect([...runSync(groups.groupsOf(more, 2, true))]).toEqual([0, MISSING]);
  });
});
