/** Merged tests of one column in an AND or OR select the same rows as single tests. */

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { columnOfScalars, type Scalar } from "../../../src/expression/values/scalars.js";
import { FLOAT64, INT32, INT64, STRING } from "../../../src/expression/values/types.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

const COLUMNS = [
  { name: "small", type: "int32", of: INT32, values: [null, -3, -1, 0, 1, 2, 3, 5] },
  { name: "wide", type: "int64", of: INT64, values: [null, -3n, -1n, 0n, 1n, 2n, 3n, 5n] },
  {
    name: "real",
    type: "double",
    of: FLOAT64,
    values: [null, -3, Number.NaN, 0, 1.5, 2, Number.POSITIVE_INFINITY, 5],
  },
  { name: "word", type: "string", of: STRING, values: [null, "", "-1", "0", "a", "b", "é", "\u{1f600}"] },
];
const ROWS = COLUMNS[0].values.length;
const LITERALS: Readonly<Record<string, readonly string[]>> = {
  int32: ["-2", "-1", "0", "1", "2", "5"],
  int64: ["-2", "-1", "0", "1", "2", "5"],
  double: ["-2", "1.5", "0", "-0.0", "2", "5", "CAST('NaN' AS DOUBLE)"],
  string: ["''", "'a'", "'b'", "'é'", "'z'", "'\u{1f600}'"],
};
const fields = COLUMNS.map(({ name, type }) => ({ name, type: parseType(type), children: [] }));

/** Returns the truth of a condition in each row. */
function truthsOf(text: string): (boolean | null)[] {
  const truths: (boolean | null)[] = new Array(ROWS).fill(null);
  for (const value of [true, false]) {
    const filter = runSync(bindFilter(`(${text}) is ${value}`, {}, fields, "filter"));
    const inputs = filter.paths.map(([name]) => {
      const { of, values } = COLUMNS.find((column) => column.name === name) as (typeof COLUMNS)[number];
      return columnOfScalars(of, values as Scalar[]);
    });
    const rows = runSync(filter.select(inputs, ROWS));
    for (let row = 0; row < ROWS; row++) if (rows === null || rows.includes(row)) truths[row] = value;
  }
  return truths;
}

const test = fc
  .constantFrom(...COLUMNS)
  .chain(({ name, type }) =>
    fc
      .tuple(
        fc.constantFrom("=", "!=", "<", "<=", ">", ">="),
        fc.constantFrom(...LITERALS[type]),
        fc.boolean(),
      )
      .map(([operator, literal, isTurned]) =>
        isTurned ? `${literal} ${operator} ${name}` : `${name} ${operator} ${literal}`,
      ),
  );

it("merged bounds and lists of values select the same rows", () => {
  fc.assert(
    fc.property(
      fc.array(test, { minLength: 1, maxLength: 40 }),
      fc.constantFrom("and", "or"),
      (tests, word) => {
        const whole = truthsOf(tests.join(` ${word} `));
        const each = tests.map(truthsOf);
        const decisive = word === "or";
        const expected = whole.map((_, row) => {
          const rowTruths = each.map((truths) => truths[row]);
          if (rowTruths.includes(decisive)) return decisive;
          return rowTruths.includes(null) ? null : !decisive;
        });
        expect(whole).toEqual(expected);
      },
    ),
    { numRuns: 600 },
  );
});

it("thousands of tests are bound and computed as one", () => {
  const many = Array.from({ length: 20_000 }, (_, value) => value + 3);
  const values = Array.from({ length: ROWS }, (_, row) => row);
  const column = columnOfScalars(INT32, values);
  for (const [text, rows] of [
    [many.map((value) => `small != ${value}`).join(" and "), [0, 1, 2]],
    [many.map((value) => `small > ${value - 20_000}`).join(" and "), [3, 4, 5, 6, 7]],
    [many.map((value) => `small < ${value}`).join(" and "), [0, 1, 2]],
    [many.map((value) => `small >= ${value}`).join(" or "), [3, 4, 5, 6, 7]],
    [many.map((value) => `small = ${value}`).join(" or "), [3, 4, 5, 6, 7]],
  ] as const) {
    const filter = runSync(bindFilter(text, {}, fields, "filter"));
    expect(filter.effort.size).toBeLessThan(40);
    expect(Array.from(runSync(filter.select([column], ROWS)) ?? values)).toEqual(rows);
  }
});
