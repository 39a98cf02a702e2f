import fc from "fast-check";
import { expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { comparison } from "../../../src/expression/kernels/compare.js";
import { compareKernels } from "../../../src/expression/kernels/compareKernel.js";
import { compareNumber, type NumberRelation } from "../../../src/expression/kernels/compareNumber.js";
import { madeBy } from "../../../src/expression/values/operands.js";

const RELATED: Readonly<Record<NumberRelation, (value: number, number: number) => boolean>> = {
  less: (value, number) => value < number,
  atMost: (value, number) => value <= number,
  equal: (value, number) => value === number,
};
const EDGES = [0, -0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1];
const edge = fc.constantFrom(...EDGES, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5);

it.each(["less", "atMost", "equal"] as const)("the loop sets a bit for each value that is %s", (relation) => {
  const values = fc.array(fc.oneof(edge, fc.double()), { maxLength: 40 });
  fc.assert(
    fc.property(values, fc.oneof(fc.constantFrom(...EDGES), fc.double({ noNaN: true })), (all, number) => {
      for (const lane of [Float64Array.from(all), Float32Array.from(all), Int32Array.from(all)]) {
        for (const length of [lane.length, lane.length >>> 1]) {
          const bits = compareNumber(relation, lane, number, length);
          expect(bits).toHaveLength((length + 7) >>> 3);
          const indices = Array.from(
            { length: bits.length * 8 },
            (_, row) => (bits[row >>> 3] >>> (row & 7)) & 1,
          );
          const wanted = indices.map((_, row) =>
            row < length && RELATED[relation](lane[row], number) ? 1 : 0,
          );
          expect(indices).toEqual(wanted);
        }
      }
    }),
  );
});

const forEachKernel = (act: (use: { isOn: boolean }) => void) => {
  for (const uses of Object.values(compareKernels)) for (const use of Object.values(uses)) act(use);
};

/** More values than a kernel takes in one call, and a rest. */
const many = fc
  .tuple(
    fc.array(fc.oneof(edge, fc.double()), { minLength: 1, maxLength: 60 }),
    fc.integer({ min: 250, max: 5000 }),
  )
  .map(([some, count]) => Array.from({ length: count }, (_, row) => some[(row * 7) % some.length]));

it.each(["less", "atMost", "equal"] as const)("the kernel finds the same values that are %s", (relation) => {
  fc.assert(
    fc.property(many, fc.oneof(edge, fc.double()), (all, picked) => {
      const number = Number.isNaN(picked) ? 0 : picked;
      for (const lane of [Float64Array.from(all), Float32Array.from(all), Int32Array.from(all)]) {
        const bits = compareNumber(relation, lane, number, lane.length);
        forEachKernel((use) => (use.isOn = false));
        const plain = compareNumber(relation, lane, number, lane.length);
        forEachKernel((use) => (use.isOn = true));
        expect(bits).toEqual(plain);
      }
    }),
    { numRuns: 60 },
  );
});

it.each(["=", "!=", "<", "<=", ">", ">="] as const)("64-bit integers compare by %s", (operator) => {
  const word = fc.oneof(
    fc.constantFrom(0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n),
    fc.bigInt(-9n, 9n),
  );
  const words = fc.tuple(fc.array(word, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 3000 }));
  const holds = {
    "=": (a: bigint, b: bigint) => a === b,
    "!=": (a: bigint, b: bigint) => a !== b,
    "<": (a: bigint, b: bigint) => a < b,
    "<=": (a: bigint, b: bigint) => a <= b,
    ">": (a: bigint, b: bigint) => a > b,
    ">=": (a: bigint, b: bigint) => a >= b,
  }[operator];
  fc.assert(
    fc.property(words, word, fc.boolean(), fc.boolean(), ([some, count], number, signed, isRight) => {
      const Words = signed ? BigInt64Array : BigUint64Array;
      const lane = Words.from(
        Array.from({ length: count }, (_, row) => some[(row * 7) % some.length]) as never,
      );
      const operand = (values: BigInt64Array | BigUint64Array, step: 0 | 1) => ({
        column: {
          kind: "fixed" as const,
          length: values.length,
          validity: null,
          byteWidth: 8,
          values: new Uint8Array(values.buffer),
        },
        step,
      });
      const one = Words.from([number] as never);
      const operands = [operand(lane, 1), operand(one, 0)];
      if (!isRight) operands.reverse();
      const compared = runSync(
        madeBy(comparison(operator, { kind: "int", bits: 64, signed })(operands, count, null)),
      );
      const bits = (compared as { bits: Uint8Array }).bits;
      for (let row = 0; row < count; row++) {
        const expected = isRight ? holds(lane[row], one[0]) : holds(one[0], lane[row]);
        if (((bits[row >>> 3] >>> (row & 7)) & 1) !== Number(expected)) throw new Error(`row ${row}`);
      }
    }),
    { numRuns: 100 },
  );
});
