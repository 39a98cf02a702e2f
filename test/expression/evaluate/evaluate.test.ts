import { beforeAll, describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bindExpression } from "../../../src/expression/expression.js";
import { columnOfScalars, type Scalar, scalarReader } from "../../../src/expression/values/scalars.js";
import { INT64, STRING } from "../../../src/expression/values/types.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

const FIELDS = [
  { name: "n", type: parseType("int64"), children: [] },
  { name: "s", type: parseType("string"), children: [] },
];
const ROWS = Array.from({ length: 1000 }, (_, row) => ({
  n: row % 11 === 0 ? null : BigInt(row % 7),
  s: row % 5 === 0 ? null : `text ${row}`,
}));
type Row = (typeof ROWS)[number];

const CASES: Readonly<Record<string, (row: Row) => Scalar>> = {
  "CASE WHEN n = 1 THEN s WHEN n < 4 THEN 'few' WHEN n = 1 THEN 'never' ELSE s || '!' END": ({ n, s }) => {
    if (n === 1n) return s;
    if (n !== null && n < 4n) return "few";
    return s === null ? null : `${s}!`;
  },
  "CASE WHEN n = 1 THEN s WHEN s IS NULL THEN 'none' END": ({ n, s }) => {
    if (n === 1n) return s;
    return s === null ? "none" : null;
  },
  "CASE WHEN n > 100 THEN 1 ELSE n END": ({ n }) => n,
  "CASE WHEN n IS NULL OR n >= 0 THEN 10 / (coalesce(n, 0) + 1) ELSE 1 END": ({ n }) =>
    10n / ((n ?? 0n) + 1n),
  "CASE n WHEN 0 THEN 0 WHEN 2 THEN NULL ELSE 10 / n END": ({ n }) => {
    if (n === null || n === 2n) return null;
    return n === 0n ? 0n : 10n / n;
  },
};

describe("CASE", () => {
  const columns = new Map<string, Column>([
    [
      "n",
      columnOfScalars(
        INT64,
        ROWS.map(({ n }) => n),
      ),
    ],
    [
      "s",
      columnOfScalars(
        STRING,
        ROWS.map(({ s }) => s),
      ),
    ],
  ]);
  it.each(Object.keys(CASES))("%s gives each row the result of its first branch", (call) => {
    const bound = runSync(bindExpression(call, {}, FIELDS, "columns"));
    const inputs = bound.paths.map(([name]) => columns.get(name) as Column);
    const result = runSync(bound.evaluate(inputs, ROWS.length));
    const read = scalarReader({ column: result, step: 1 }, bound.type);
    expect(ROWS.map((_, row) => read(row))).toEqual(ROWS.map(CASES[call]));
  });
});
