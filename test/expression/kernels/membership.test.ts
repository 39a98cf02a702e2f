/** IN with constants finds the same rows as comparing each row with every constant. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { membership } from "../../../src/expression/kernels/membership.js";
import { madeBy } from "../../../src/expression/values/operands.js";
import { columnOfScalars, type Scalar } from "../../../src/expression/values/scalars.js";
import { FLOAT64, type ValueType } from "../../../src/expression/values/types.js";

const int = (bits: 8 | 16 | 32 | 64, signed: boolean): ValueType => ({ kind: "int", bits, signed });

/** Values that lie close together, and values from the whole range of a type. */
function integers(bits: 8 | 16 | 32 | 64, signed: boolean): fc.Arbitrary<bigint> {
  const least = signed ? -(2n ** BigInt(bits - 1)) : 0n;
  const most = least + 2n ** BigInt(bits) - 1n;
  const near = (base: bigint) =>
    fc.bigInt({ min: -40n, max: 40n }).map((step) => {
      const value = base + step;
      return value < least ? least : value > most ? most : value;
    });
  return fc.oneof(
    near(0n),
    near(least),
    near(most),
    near(1n << BigInt(bits / 2)),
    fc.bigInt({ min: least, max: most }),
  );
}

const TYPES = [
  ...([8, 16, 32, 64] as const).flatMap((bits) =>
    [true, false].map((signed) => ({
      name: `${signed ? "" : "u"}int${bits}`,
      type: int(bits, signed),
      values: integers(bits, signed).map((value): Scalar => (bits === 64 ? value : Number(value))),
    })),
  ),
  {
    name: "double",
    type: FLOAT64,
    values: fc.oneof(
      fc.constantFrom(0, -0, 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY),
      fc.double(),
    ) as fc.Arbitrary<Scalar>,
  },
];

const isSame = (left: Scalar, right: Scalar): boolean =>
  left === right || (Number.isNaN(left) && Number.isNaN(right));

it.each(TYPES)("IN with $name finds the rows that equal a value of the list", ({ type, values }) => {
  const orNull = fc.option(values, { nil: null, freq: 6 });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(values, orNull), { maxLength: 40 }),
      fc.array(orNull, { maxLength: 60 }),
      fc.boolean(),
      fc.array(fc.nat({ max: 39 }), { maxLength: 10 }),
      (listed, others, isNegated, repeated) => {
        const hasNull = listed.includes(null);
        const kernel = runSync(membership(columnOfScalars(type, listed), type, hasNull, isNegated));
        const rowValues = [
          ...others,
          ...repeated.flatMap((index) => (index < listed.length ? [listed[index]] : [])),
        ];
        const column = columnOfScalars(type, rowValues);
        const valid = column.kind === "null" ? null : column.validity;
        const result = runSync(madeBy(kernel([{ column, step: 1 }], rowValues.length, valid)));
        if (result.kind !== "bits") throw new Error(result.kind);
        for (const [row, value] of rowValues.entries()) {
          if (value === null) continue;
          const isListed = listed.some((item) => item !== null && isSame(item, value));
          const isKnown = isListed || !hasNull;
          const validity = result.validity;
          if (validity !== null) expect((validity.bytes[row >>> 3] >>> (row & 7)) & 1).toBe(Number(isKnown));
          else expect(isKnown).toBe(true);
          if (isKnown)
            expect((result.bits[row >>> 3] >>> (row & 7)) & 1).toBe(Number(isListed !== isNegated));
        }
      },
    ),
  );
});

it("IN looks a constant up once for all rows", () => {
  const kernel = runSync(
    membership(columnOfScalars(int(32, true), [3, 70_000_000]), int(32, true), false, false),
  );
  const [three, four] = [3, 4].map((value) => {
    const result = runSync(
      madeBy(kernel([{ column: columnOfScalars(int(32, true), [value]), step: 0 }], 20, null)),
    );
    return result.kind === "bits" ? result.bits : null;
  });
  expect(three).toEqual(Uint8Array.of(0xff, 0xff, 0xff));
  expect(four).toEqual(new Uint8Array(3));
});
