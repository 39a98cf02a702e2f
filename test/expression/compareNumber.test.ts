import fc from "fast-check";
import { expect, it } from "vitest";
import { compareNumber, type NumberRelation } from "../../src/expression/kernels/compareNumber.js";

const RELATED: Readonly<Record<NumberRelation, (value: number, number: number) => boolean>> = {
  less: (value, number) => value < number,
  atMost: (value, number) => value <= number,
  equal: (value, number) => value === number,
};
const EDGES = [0, -0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1];
const edge = fc.constantFrom(...EDGES, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5);

it.each(["less", "atMost", "equal"] as const)("sets a bit for each value that is %s", (relation) => {
  const values = fc.array(fc.oneof(edge, fc.double()), { maxLength: 40 });
  fc.assert(
    fc.property(values, fc.oneof(fc.constantFrom(...EDGES), fc.double({ noNaN: true })), (all, number) => {
      for (const lane of [Float64Array.from(all), Float32Array.from(all), Int32Array.from(all)]) {
        for (const length of [lane.length, lane.length >>> 1]) {
          const bits = compareNumber(relation, lane, number, length);
          expect(bits).toHaveLength((length + 7) >>> 3);
          const found = Array.from(
            { length: bits.length * 8 },
            (_, row) => (bits[row >>> 3] >>> (row & 7)) & 1,
          );
          const wanted = found.map((_, row) =>
            row < length && RELATED[relation](lane[row], number) ? 1 : 0,
          );
          expect(found).toEqual(wanted);
        }
      }
    }),
  );
});
