/** No SQL function blocks the event loop: the tests count the steps of each, also within one long value. */

import { beforeAll, describe, expect, it } from "vitest";
import { callsOf, HOLD_CASES, type HoldCase } from "../../../bench/holdCases.js";
import type { Column } from "../../../src/arrow/columns/column.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync, type Steps } from "../../../src/async/eventLoop.js";
import { bindExpression } from "../../../src/expression/expression.js";
import { LIST_FUNCTIONS } from "../../../src/expression/functions/lists.js";
import { MORE_FUNCTIONS } from "../../../src/expression/functions/moreFunctions.js";
import { STRUCT_FUNCTIONS } from "../../../src/expression/functions/structs.js";
import { loadFunctions } from "../../support/loadFunctions.js";

const item = (type: string) => [{ name: "item", type: parseType(type), children: [] }];
const FIELDS = [
  { name: "s", type: parseType("string"), children: [] },
  { name: "t", type: parseType("string"), children: [] },
  { name: "l", type: parseType("list"), children: item("int64") },
  { name: "m", type: parseType("list"), children: item("int64") },
  {
    name: "k",
    type: parseType("list"),
    children: [{ name: "item", type: parseType("list"), children: item("int64") }],
  },
  { name: "v", type: parseType("list"), children: item("double") },
  { name: "n", type: parseType("int64"), children: [] },
  { name: "f", type: parseType("double"), children: [] },
  { name: "d", type: parseType("timestamp:us:-"), children: [] },
];
const SCALE = Number(process.env.SOAK_SCALE ?? 1);
/** Bytes of one long value, and number of rows with short values. */
const ONE_VALUE = 2 ** (SCALE > 1 ? 22 : 20);
const MANY_ROWS = SCALE > 1 ? 100_000 : 25_000;

/** Writes a number as seven letters from a to f, which are hexadecimal digits. */
function writeDigits(bytes: Uint8Array, start: number, number: number): void {
  for (let digit = 0, left = number; digit < 7; digit++, left = Math.floor(left / 6)) {
    bytes[start + digit] = 0x61 + (left % 6);
  }
}

const texts = (count: number, size: number, byte: string, last: string): Column => {
  const bytes = new Uint8Array(count * size).fill(byte.charCodeAt(0));
  const offsets = Int32Array.from({ length: count + 1 }, (_, row) => row * size);
  for (let row = 1; row <= count; row++) bytes[row * size - 1] = last.charCodeAt(0);
  // Each row has another text, so that no function computes one for all.
  if (count > 1) for (let row = 0; row < count; row++) writeDigits(bytes, row * size, row);
  return { kind: "variable", length: count, validity: null, offsets, bytes };
};
const lists = (count: number, size: number, items: Column): Column => ({
  kind: "list",
  length: count,
  validity: null,
  offsets: Int32Array.from({ length: count + 1 }, (_, row) => row * size),
  items,
});
const fixed = (values: BigInt64Array | Float64Array): Column => ({
  kind: "fixed",
  length: values.length,
  validity: null,
  byteWidth: 8,
  values: new Uint8Array(values.buffer),
});
const integers = (count: number, of: (index: number) => number): Column =>
  fixed(BigInt64Array.from({ length: count }, (_, index) => BigInt(of(index))));

/** Columns with this many rows, with texts of `size` bytes, and lists of an eighth as many items. */
function columnsOf(rows: number, size: number): ReadonlyMap<string, Column> {
  const length = Math.max(2, size / 8);
  const all = rows * length;
  const items = integers(all, (index) => (index * 7919) % 1_000_003);
  return new Map<string, Column>([
    ["s", texts(rows, size, "a", "a")],
    ["t", texts(rows, size / 2, "a", "b")],
    ["l", lists(rows, length, items)],
    [
      "m",
      lists(
        rows,
        length,
        integers(all, (index) => (index * 104_729) % 1_000_003),
      ),
    ],
    ["k", lists(rows, length / 2, lists(all / 2, 2, items))],
    ["v", lists(rows, length, fixed(Float64Array.from({ length: all }, (_, index) => index % 97)))],
    ["n", integers(rows, (index) => 1 + (index % 3))],
    ["f", fixed(Float64Array.from({ length: rows }, (_, index) => (index % 1000) / 7))],
    ["d", integers(rows, (index) => 1_600_000_000_000_000 + index * 1_000_000_007)],
  ]);
}

/** Counts the steps of work. */
function countSteps(steps: Steps<unknown>): number {
  for (let count = 0; ; count++) if (steps.next().done === true) return count;
}

function stepsOf(call: string, columns: ReadonlyMap<string, Column>, rows: number): number {
  const bound = runSync(bindExpression(call, {}, FIELDS, "columns"));
  const inputs = bound.paths.map(([name]) => columns.get(name) as Column);
  return countSteps(bound.evaluate(inputs, rows));
}

beforeAll(loadFunctions);

const FUNCTIONS = new Map([
  ...Object.entries(LIST_FUNCTIONS),
  ...Object.entries(STRUCT_FUNCTIONS),
  ...MORE_FUNCTIONS,
]);

it("the table of calls has every function of SQL", () => {
  const called = HOLD_CASES.flatMap(({ names }) => names);
  expect([...FUNCTIONS.keys()].filter((name) => !called.includes(name))).toEqual([]);
  expect(called.filter((name) => !FUNCTIONS.has(name))).toEqual([]);
});

/** The calls of some cases, one for each function with several names. */
function callsWith(...works: readonly HoldCase["work"][]): readonly string[] {
  const seen = new Set<unknown>();
  return HOLD_CASES.filter(({ work }) => works.includes(work)).flatMap((holdCase) =>
    callsOf(holdCase).filter((_, index) => {
      const definition = FUNCTIONS.get(holdCase.names[index]) ?? holdCase;
      return !seen.has(definition) && seen.add(definition);
    }),
  );
}

/** Minimum number of steps for such a value: each is at most half a megabyte. */
const FEWEST_OF_BYTES = ONE_VALUE / 2 ** 19;
/** Minimum number of steps for such rows. */
const FEWEST_OF_ROWS = Math.floor(MANY_ROWS / 12_500);

describe("one long value takes steps", () => {
  const columns = columnsOf(1, ONE_VALUE);
  it.each(callsWith("bytes"))("%s", (call) => {
    expect(stepsOf(call, columns, 1)).toBeGreaterThanOrEqual(FEWEST_OF_BYTES);
  });
});

describe("many rows take steps", () => {
  const columns = columnsOf(MANY_ROWS, 16);
  const few = (call: string) => call.replace(/\d{6,}/g, "4").replaceAll("4000", "4");
  it.each(callsWith("bytes", "copy"))("%s", (call) => {
    expect(stepsOf(few(call), columns, MANY_ROWS)).toBeGreaterThanOrEqual(FEWEST_OF_ROWS);
  });
  it.each(callsWith("value", "number"))("%s, which takes little", (call) => {
    const isConstant = /^(pi|now|current|today)/.test(call);
    expect(stepsOf(call, columns, MANY_ROWS)).toBeGreaterThanOrEqual(isConstant ? 0 : 1);
  });
});

it("LIKE patterns that differ per row are compiled a few per step", () => {
  const rows = 2000;
  const columns = columnsOf(rows, 16);
  for (const call of ["s LIKE t", "s ILIKE t", "s LIKE '%a_' || t"])
    expect(stepsOf(call, columns, rows), call).toBeGreaterThan(rows / 16);
});
