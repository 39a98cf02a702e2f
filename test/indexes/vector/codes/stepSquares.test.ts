import { afterEach, expect, it } from "vitest";
import {
  stepSquaresInKernel,
  stepSquaresKernelUse,
} from "../../../../src/indexes/vector/codes/stepSquaresKernel.js";
import { randomNumbers } from "../../../support/vectorTables.js";

afterEach(() => {
  stepSquaresKernelUse.isOn = true;
});

it.each([
  [1, 1, 0],
  [16, 300, 0],
  [16, 300, 1],
  [100, 3000, 0],
  [128, 5000, 4],
  [1536, 400, 0],
  [16_384, 20, 3],
])("of %i values, %i rows, from byte %i on", (dimension, rowCount, offset) => {
  const next = randomNumbers(dimension + rowCount);
  const memory = new ArrayBuffer(offset + dimension * rowCount);
  const codes = new Uint8Array(memory, offset);
  for (let byteOffset = 0; byteOffset < codes.length; byteOffset++) codes[byteOffset] = next() * 256;
  // The largest possible sums.
  codes.fill(255, 0, dimension);
  const some = Uint32Array.from({ length: Math.min(90, 3 * rowCount) }, () => Math.floor(next() * rowCount));
  for (const query of [
    new Uint8Array(dimension),
    Uint8Array.from({ length: dimension }, () => next() * 256),
  ]) {
    const wanted = Array.from({ length: rowCount }, (_, row) => {
      let sum = 0;
      for (let offset = 0; offset < dimension; offset++)
        sum += (query[offset] - codes[row * dimension + offset]) ** 2;
      return sum;
    });
    const sums = new Float64Array(rowCount);
    expect(stepSquaresInKernel(query, codes, null, rowCount, sums)).toBe(true);
    expect([...sums]).toEqual(wanted);
    const ofSome = new Float64Array(some.length);
    expect(stepSquaresInKernel(query, codes, some, some.length, ofSome)).toBe(true);
    expect([...ofSome]).toEqual(Array.from(some, (row) => wanted[row]));
  }
});

it("the kernel refuses too many dimensions, and is absent without WebAssembly", () => {
  const sums = new Float64Array(1);
  const large = new Uint8Array(16_385);
  expect(stepSquaresInKernel(large, large, null, 1, sums)).toBe(false);
  stepSquaresKernelUse.isOn = false;
  expect(stepSquaresInKernel(new Uint8Array(4), new Uint8Array(4), null, 1, sums)).toBe(false);
});
