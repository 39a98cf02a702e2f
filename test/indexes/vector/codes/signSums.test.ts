/** Sums of a query's values over the set bits of codes, by their definition. */

import { afterEach, describe, expect, it } from "vitest";
import { codeSumsKernelUse } from "../../../../src/indexes/vector/codes/codeSumsKernel.js";
import { signSums } from "../../../../src/indexes/vector/codes/signSums.js";
import { randomNumbers } from "../../../support/vectorTables.js";

const next = randomNumbers(5);

afterEach(() => {
  codeSumsKernelUse.isOn = true;
});

/** Adds up the values whose bits are set. @param rounded applies to the sum of each four values */
function sumByBits(
  values: Float32Array,
  code: Uint8Array,
  rounded = (sum: number, _index: number): number => sum,
): number {
  let total = 0;
  for (let first = 0; first < values.length; first += 4) {
    let sum = 0;
    for (let index = first; index < first + 4; index++)
      if (((code[index >>> 3] >>> (index & 7)) & 1) === 1) sum += values[index];
    total += rounded(sum, first);
  }
  return total;
}

/** Least and greatest sums of four neighbouring values. */
function boundsOf(values: Float32Array): [number, number] {
  let [least, most] = [0, 0];
  for (let first = 0; first < values.length; first += 4) {
    const four = [...values.subarray(first, first + 4)];
    least = Math.min(
      least,
      four.filter((value) => value < 0).reduce((sum, value) => sum + value, 0),
    );
    most = Math.max(
      most,
      four.filter((value) => value > 0).reduce((sum, value) => sum + value, 0),
    );
  }
  return [least, most];
}

describe.each([true, false])("with the kernel: %s", (withKernel) => {
  it.each([
    [8, 31],
    [8, 32],
    [64, 100],
    [104, 64],
    [1536, 70],
  ])("of %i values and %i rows, blocks of 32 rows add whole steps and the others exact sums", (dimension, rowCount) => {
    codeSumsKernelUse.isOn = withKernel;
    const values = Float32Array.from({ length: dimension }, () => next() * 2 - 1);
    const codes = Uint8Array.from({ length: (rowCount * dimension) / 8 }, () => Math.floor(next() * 256));
    const sums = new Float32Array(rowCount);
    const filler = signSums(values);
    const middle = Math.floor(rowCount / 2);
    const codeBytes = dimension / 8;
    filler.fill(codes.subarray(0, middle * codeBytes), 0, rowCount, sums.subarray(0, middle));
    filler.fill(codes.subarray(middle * codeBytes), middle, rowCount, sums.subarray(middle));
    const [least, most] = boundsOf(values);
    const step = (most - least) / 255;
    for (let row = 0; row < rowCount; row++) {
      const code = codes.subarray(row * codeBytes, (row + 1) * codeBytes);
      const exact = sumByBits(values, code);
      const stepped = sumByBits(values, code, (sum) => Math.round((sum - least) / step) * step + least);
      const isInBlock = row < rowCount - (rowCount % 32);
      expect(Math.abs(sums[row] - (isInBlock ? stepped : exact))).toBeLessThan(isInBlock ? 1.1 * step : 1e-4);
    }
  });
});

it.each([
  ["no value", 0],
  ["values too small for steps", 1e-38],
])("a query of %s has exact sums", (_, value) => {
  const sums = new Float32Array(32);
  signSums(new Float32Array(8).fill(value)).fill(new Uint8Array(32).fill(3), 0, 32, sums);
  expect([...sums]).toEqual(new Array(32).fill(Math.fround(Math.fround(value) * 2)));
});
