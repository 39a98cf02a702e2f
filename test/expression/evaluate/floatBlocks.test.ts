/** Float arithmetic in blocks gives what JavaScript computes row by row, in columns and in sums. */

import { Table } from "apache-arrow";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { float32s, float64s, int8s, int32s, int64s, uint64s } from "../../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";

/** More than two blocks. */
const ROWS = 5000;
const COLUMNS = {
  d: (row: number) => Math.sin(row) * 1000,
  f: (row: number) => (row % 7 === 3 ? null : row / 3 - 500),
  g: (row: number) => Math.fround(row / 9),
  i: (row: number) => (row % 11 === 5 ? null : Math.imul(row, 7919) % 100_003),
  t: (row: number) => (row % 200) - 100,
  w: (row: number) => BigInt(row - 2500) * 2n ** 41n + 12_345n,
  u: (row: number) => 2n ** 63n + BigInt(row) * 4097n,
} as const;
type Name = keyof typeof COLUMNS;

const namespace = sharedNamespace({ root: sharedDirectory() });
beforeAll(async () => {
  const values = (name: Name) => Array.from({ length: ROWS }, (_, row) => COLUMNS[name](row));
  const rows = new Table({
    ...{
      d: float64s(values("d")),
      f: float64s(values("f")),
      g: float32s(values("g")),
      i: int32s(values("i")),
    },
    ...{ t: int8s(values("t")), w: int64s(values("w")), u: uint64s(values("u")) },
  });
  await namespace.createTable({ id: ["t"] }, rows);
});

const leaf = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...(Object.keys(COLUMNS) as Name[])) },
  { weight: 1, arbitrary: fc.constantFrom(0.5, -3.25, 1e9) },
);
/** An expression that begins with a float, so that all its results are floats. */
const expressions = fc.record({
  first: fc.constantFrom<Name>("d", "f"),
  steps: fc.array(fc.tuple(fc.constantFrom("+", "-", "*", "/"), leaf, fc.boolean()), {
    minLength: 1,
    maxLength: 5,
  }),
});

function valueAt(name: Name | number, row: number): number | null {
  const value = typeof name === "number" ? name : COLUMNS[name](row);
  return value === null ? null : Number(value);
}

function computed(a: number | null, operator: string, b: number | null): number | null {
  if (a === null || b === null) return null;
  return operator === "+" ? a + b : operator === "-" ? a - b : operator === "*" ? a * b : a / b;
}

it("equals JavaScript's results, with nulls, filters and operands of all types", async () => {
  const table = namespace.table("t");
  await fc.assert(
    fc.asyncProperty(
      expressions,
      fc.constantFrom(null, "t < 50", "t = 7"),
      async ({ first, steps }, filter) => {
        let text: string = first;
        for (const [operator, operand, isSwapped] of steps)
          text = isSwapped ? `(${operand} ${operator} ${text})` : `(${text} ${operator} ${operand})`;
        const expected: (number | null)[] = [];
        for (let row = 0; row < ROWS; row++) {
          const t = COLUMNS.t(row);
          if ((filter === "t < 50" && t >= 50) || (filter === "t = 7" && t !== 7)) continue;
          let value = valueAt(first, row);
          for (const [operator, operand, isSwapped] of steps) {
            const other = valueAt(operand, row);
            value = isSwapped ? computed(other, operator, value) : computed(value, operator, other);
          }
          expected.push(value);
        }
        const where = filter === null ? {} : { filter };
        const rows = await table.scan({ columns: { columnAliases: { x: text } }, ...where }).toArray();
        expect(rows.map(({ x }) => x)).toEqual(expected);
        const present = expected.filter((value) => value !== null);
        const sum = present.reduce((total, value) => total + value, 0);
        const sizes = present.reduce((total, value) => total + Math.abs(value), 0);
        const values = { sum: `sum(${text})`, n: `count(${text})`, top: `max(${text})` };
        const [total] = await table.aggregate({ values, ...where }).toArray();
        expect(total.n).toBe(BigInt(present.length));
        if (Number.isFinite(sizes))
          expect(Math.abs((total.sum as number) - sum)).toBeLessThanOrEqual(sizes * 1e-12);
        else if (Number.isNaN(sum)) expect(total.sum).toBeNaN();
      },
    ),
    { numRuns: 40 },
  );
});
