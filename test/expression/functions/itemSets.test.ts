/** Compares functions on the items of lists with plain loops over all pairs of items. */

import { beforeAll, describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bindExpression } from "../../../src/expression/expression.js";
import { RowHash } from "../../../src/expression/kernels/rowHash.js";
import { RowOrder } from "../../../src/expression/kernels/rowOrder.js";
import { columnOfScalars, type Scalar, scalarReader } from "../../../src/expression/values/scalars.js";
import {
  BINARY,
  BOOL,
  FLOAT64,
  INT64,
  listTypeOf,
  STRING,
  type TypedField,
  type ValueType,
} from "../../../src/expression/values/types.js";
import { Random } from "../../support/generators.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

/** Returns a key that only equal values share. */
function keyOf(value: Scalar): string {
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : String(value + 0);
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return `[${value.map(keyOf).join()}]`;
  return JSON.stringify(value);
}

type List = readonly Scalar[];
const distinct = (items: List): List => {
  const keys = items.map(keyOf);
  return items.filter((_, index) => keys.indexOf(keys[index]) === index);
};
const keysOf = (items: List): ReadonlySet<string> => new Set(items.map(keyOf));

/** The result of each function on two lists and a value, by definition. */
const EXPECTED: Readonly<Record<string, (left: List, right: List, value: Scalar) => Scalar>> = {
  "array_distinct(l)": (left) => distinct(left),
  "array_union(l, m)": (left, right) => distinct([...left, ...right]),
  "array_intersect(l, m)": (left, right) => {
    const [longer, shorter] = right.length > left.length ? [right, left] : [left, right];
    const keys = keysOf(shorter);
    return distinct(longer.filter((item) => keys.has(keyOf(item))));
  },
  "array_except(l, m)": (left, right) => {
    const keys = keysOf(right);
    return distinct(left.filter((item) => !keys.has(keyOf(item))));
  },
  "array_has_any(l, m)": (left, right) => {
    const keys = keysOf(left);
    return right.some((item) => keys.has(keyOf(item)));
  },
  "array_has_all(l, m)": (left, right) => {
    const keys = keysOf(left);
    return right.every((item) => keys.has(keyOf(item)));
  },
  "array_remove_all(l, value)": (left, _, value) => left.filter((item) => keyOf(item) !== keyOf(value)),
};

const PAIR: ValueType = {
  kind: "struct",
  members: [
    { name: "a", type: INT64 },
    { name: "b", type: STRING },
  ],
};

const field = (name: string, type: ValueType): TypedField => {
  switch (type.kind) {
    case "list":
      return { name, type: parseType("list"), children: [field("item", type.item)] };
    case "struct":
      return {
        name,
        type: parseType("struct"),
        children: type.members.map((member) => field(member.name, member.type)),
      };
    case "int":
      return { name, type: parseType("int64"), children: [] };
    case "float":
      return { name, type: parseType("double"), children: [] };
    default:
      return { name, type: parseType(type.kind), children: [] };
  }
};

const long = (middle: string, size: number): string => `${"a".repeat(size)}${middle}${"z".repeat(size)}`;

/** Values of each type for the lists. Some differ only in bytes far from both ends. */
const VALUES: readonly (readonly [name: string, type: ValueType, values: List])[] = [
  [
    "whole numbers",
    INT64,
    [null, 0n, 1n, -1n, 2n ** 32n, 2n ** 62n, ...Array.from({ length: 40 }, (_, i) => BigInt(i * 7919))],
  ],
  [
    "floats",
    FLOAT64,
    [null, Number.NaN, 0, -0, 1.5, Number.POSITIVE_INFINITY, ...Array.from({ length: 40 }, (_, i) => i / 7)],
  ],
  ["truths", BOOL, [null, true, false]],
  [
    "short texts",
    STRING,
    [null, "", "a", "ä", "abcd", "abcde", ...Array.from({ length: 40 }, (_, i) => `text ${i}`)],
  ],
  [
    "long texts",
    STRING,
    [null, "", "a", long("b", 3000), long("c", 3000), long("b", 3001), long("b", 4000), long("c", 4000)],
  ],
  [
    "bytes",
    BINARY,
    [
      null,
      new Uint8Array(0),
      new Uint8Array([0]),
      new Uint8Array([0, 0]),
      new Uint8Array(5000),
      new Uint8Array(5000).fill(1, 2500, 2501),
    ],
  ],
  [
    "structs",
    PAIR,
    [
      null,
      [null, null],
      [1n, null],
      [null, "a"],
      [1n, "a"],
      [1n, "b"],
      [2n, long("b", 3000)],
      [2n, long("c", 3000)],
    ],
  ],
  [
    "lists",
    listTypeOf(FLOAT64),
    [
      null,
      [],
      [null],
      [0],
      [-0],
      [Number.NaN],
      [1, 2],
      [1, 2, 3],
      Array.from({ length: 700 }, (_, i) => i),
      Array.from({ length: 700 }, (_, i) => (i === 690 ? 0 : i)),
    ],
  ],
  [
    "lists of texts",
    listTypeOf(STRING),
    [null, [], [""], ["", ""], ["a", null], [null, "a"], [long("b", 3000)], [long("c", 3000)]],
  ],
];

/** Numbers of items, by the type of the items: around those at which the algorithm changes. */
const SIZES: Partial<Record<ValueType["kind"], readonly number[]>> = {
  int: [0, 1, 5, 15, 16, 17, 40, 1100],
  float: [0, 1, 5, 15, 16, 17, 40, 1100],
};

describe.each(VALUES)("items that are %s", (_, type, values) => {
  const random = new Random(38);
  const draw = (): Scalar => values[random.below(values.length)];
  const list = (size: number): List => Array.from({ length: size }, draw);
  const sizes = SIZES[type.kind] ?? [0, 1, 5, 17, 40];
  const rows = sizes.flatMap((left) =>
    sizes.map((right) => ({ left: list(left), right: list(right), value: draw() })),
  );
  const listType = listTypeOf(type);
  const fields = [field("l", listType), field("m", listType), field("value", type)];
  const columns = new Map<string, Column>([
    [
      "l",
      columnOfScalars(
        listType,
        rows.map(({ left }) => left),
      ),
    ],
    [
      "m",
      columnOfScalars(
        listType,
        rows.map(({ right }) => right),
      ),
    ],
    [
      "value",
      columnOfScalars(
        type,
        rows.map(({ value }) => value),
      ),
    ],
  ]);

  it.each(Object.keys(EXPECTED))("%s equals the result of plain loops", (call) => {
    const bound = runSync(bindExpression(call, {}, fields, "columns"));
    const inputs = bound.paths.map(([name]) => columns.get(name) as Column);
    const result = runSync(bound.evaluate(inputs, rows.length));
    const read = scalarReader({ column: result, step: 1 }, bound.type);
    for (const [row, { left, right, value }] of rows.entries()) {
      // Removing a null gives null.
      if (call.includes("value") && value === null) continue;
      expect(keyOf(read(row)), `row ${row}`).toBe(keyOf(EXPECTED[call](left, right, value)));
    }
  });

  it("equal values have equal hashes", () => {
    const all = columnOfScalars(type, [...values, ...values]);
    const hash = new RowHash(all, type);
    const order = new RowOrder(all, all, type);
    for (let left = 0; left < all.length; left++) {
      for (let right = 0; right < all.length; right++) {
        const isSame = order.compare(left, right) === 0;
        expect(isSame).toBe(keyOf([...values, ...values][left]) === keyOf([...values, ...values][right]));
        if (isSame) expect(hash.of(left)).toBe(hash.of(right));
      }
    }
  });
});

it("items with equal hashes are compared in many steps", () => {
  // The texts have one length, and the same bytes where hashes look.
  const texts = Array.from({ length: 40 }, (_, index) => long(String(index).padStart(4, "0"), 40_000));
  const column = columnOfScalars(listTypeOf(STRING), [[...texts, ...texts]]);
  const bound = runSync(bindExpression("array_distinct(l)", {}, [field("l", listTypeOf(STRING))], "columns"));
  const steps = bound.evaluate([column], 1);
  let count = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) count++;
  const { offsets } = next.value as Extract<Column, { kind: "list" }>;
  expect(Number(offsets[1])).toBe(40);
  // Each of 40 texts is compared with those before it, in steps of at most half a megabyte.
  expect(count).toBeGreaterThan((40 * 39 * 40_000) / 2 ** 19);
});
