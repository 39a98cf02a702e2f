import { afterEach, expect, it } from "vitest";
import {
  arrangeWords,
  codebookKernelUse,
  fillSquaresInKernel,
} from "../../../../src/indexes/vector/codes/codebookKernel.js";
import { randomNumbers } from "../../../support/vectorTables.js";

afterEach(() => {
  codebookKernelUse.isOn = true;
});

it.each([
  [8, 1, 4],
  [8, 4, 4],
  [8, 16, 128],
  [4, 2, 6],
  [8, 3, 99],
  [4, 8, 8],
] as const)("of %i bits, in %i parts of %i values", (bits, parts, dimension) => {
  const next = randomNumbers(dimension + bits);
  const words = Float32Array.from({ length: 2 ** bits * dimension }, () => next() * 4 - 2);
  const codebook = { bits, parts, dimension, words, isTransposed: false, isInSettings: false };
  const arranged = arrangeWords(codebook);
  if (arranged === null) throw new Error("too many codewords");
  const width = dimension / parts;
  for (let round = 0; round < 3; round++) {
    const vector = Float64Array.from({ length: dimension }, () => next() * 4 - 2);
    const table = new Float32Array(parts * 2 ** bits);
    expect(fillSquaresInKernel(codebook, arranged, vector, table)).toBe(true);
    for (const [entry, distance] of table.entries()) {
      const part = Math.floor(entry / 2 ** bits);
      let sum = 0;
      for (let index = 0; index < width; index++)
        sum += (vector[part * width + index] - words[entry * width + index]) ** 2;
      expect(Math.abs(distance - sum)).toBeLessThan(1e-5 * (1 + sum));
    }
  }
  codebookKernelUse.isOn = false;
  expect(fillSquaresInKernel(codebook, arranged, new Float64Array(dimension), new Float32Array(8))).toBe(
    false,
  );
});
