/** Rotations and codes of rotated vectors, by their definitions. */

import { describe, expect, it } from "vitest";
import { runSync } from "../../../../src/async/eventLoop.js";
import { encoderOf, encodingParts } from "../../../../src/indexes/vector/codes/encoders.js";
import { lowBitBytes, packLowBits, unpackLowBits } from "../../../../src/indexes/vector/codes/lowBits.js";
import { newRotation, rotate } from "../../../../src/indexes/vector/codes/rotation.js";
import { unpackSigns } from "../../../../src/indexes/vector/codes/signBlocks.js";
import { VectorWork } from "../../../../src/indexes/vector/codes/vectorWork.js";
import { randomNumbers } from "../../../support/vectorTables.js";

const next = randomNumbers(3);
const vectorOf = (dimension: number): Float32Array =>
  Float32Array.from({ length: dimension }, () => next() * 2 - 1);
const product = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, index) => sum + value * b[index], 0);

describe.each([8, 16, 24, 64, 72, 104, 256])("a rotation of %i values", (dimension) => {
  it("keeps lengths and products", () => {
    const rotation = newRotation(dimension, 9);
    const [a, b] = [vectorOf(dimension), vectorOf(dimension)];
    const [rotatedA, rotatedB] = [new Float64Array(dimension), new Float64Array(dimension)];
    rotate(rotation, a, rotatedA);
    rotate(rotation, b, rotatedB);
    expect(product(rotatedA, rotatedA)).toBeCloseTo(product(a, a), 8);
    expect(product(rotatedA, rotatedB)).toBeCloseTo(product(a, b), 8);
    expect(rotatedA[1]).not.toBeCloseTo(a[1], 3);
  });
});

it("a rotation by a matrix multiplies by its rows", () => {
  const matrix = Float32Array.from({ length: 64 }, (_, index) => (index % 9 === 0 ? index : 0));
  const rotated = new Float64Array(8);
  rotate({ kind: "matrix", dimension: 8, matrix }, Float32Array.of(1, 1, 1, 1, 1, 1, 1, 2), rotated);
  expect([...rotated]).toEqual([0, 9, 18, 27, 36, 45, 54, 126]);
});

describe.each([1, 2, 3, 4, 5, 6, 7, 8])("low bits: %i per value", (bits) => {
  it.each([64, 72, 128, 8])("keep all values of vectors of %i", (dimension) => {
    const values = Uint8Array.from({ length: dimension }, () => Math.floor(next() * 2 ** bits));
    const packed = new Uint8Array(lowBitBytes(dimension, bits));
    packLowBits(bits, values, packed);
    const unpacked = new Uint8Array(dimension);
    unpackLowBits(bits, packed, unpacked);
    expect(unpacked).toEqual(values);
  });

  it("fill a block without a gap", () => {
    const packed = new Uint8Array(lowBitBytes(64, bits));
    packLowBits(bits, new Uint8Array(64).fill(2 ** bits - 1), packed);
    expect(packed).toEqual(new Uint8Array(8 * bits).fill(255));
  });
});

it("sign bits in blocks of 32 rows, and those after them, are unpacked", () => {
  const codeBytes = 3;
  const codes = Uint8Array.from({ length: 71 * codeBytes }, () => Math.floor(next() * 256));
  const packed: number[] = [];
  const order = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15];
  const at = (row: number, byte: number): number => codes[row * codeBytes + byte];
  for (const start of [0, 32]) {
    for (let byte = 0; byte < codeBytes; byte++) {
      for (const row of order)
        packed.push((at(start + row, byte) & 15) | ((at(start + row + 16, byte) & 15) << 4));
      for (const row of order)
        packed.push((at(start + row, byte) >>> 4) | (at(start + row + 16, byte) & 0xf0));
    }
  }
  for (let byte = 0; byte < codeBytes; byte++) for (let row = 64; row < 71; row++) packed.push(at(row, byte));
  expect(runSync(unpackSigns(Uint8Array.from(packed), codeBytes))).toEqual(codes);
});

it("more bits give codes whose numbers point more nearly in the direction of the vector", () => {
  const dimension = 64;
  const indexed = { item: "float32", dimension, metric: "l2" } as const;
  const vectors = vectorOf(dimension * 20);
  const errors = [1, 2, 4, 8].map((bits) => {
    const rotation = newRotation(dimension, 1);
    const model = { kind: "RQ", rotation, bits, isPacked: false } as const;
    const parts = encodingParts(model, indexed, new Float32Array(dimension), new VectorWork());
    const encoder = encoderOf(parts);
    const codes = encoder.encode(vectors, new Uint32Array(20));
    expect(codes.length).toBe(20 * encoder.codeBytes);
    let worst = 0;
    for (let row = 0; row < 20; row++) {
      // By the factors, the distance of a vector from the centroid is its length.
      const start = row * encoder.codeBytes + (bits === 1 ? 8 : encoder.codeBytes - 8);
      const view = new DataView(codes.buffer, start);
      const vector = vectors.subarray(row * dimension, (row + 1) * dimension);
      worst = Math.max(worst, Math.abs(view.getFloat32(0, true) - product(vector, vector)));
      expect(view.getFloat32(4, true)).toBeLessThan(0);
    }
    expect(worst).toBeLessThan(1e-4);
    return new DataView(codes.buffer, bits === 1 ? 8 : encoder.codeBytes - 8).getFloat32(4, true);
  });
  // Numbers of twice the size have half the scale.
  for (const [index, scale] of errors.entries())
    if (index > 0) expect(scale).toBeGreaterThan(errors[index - 1]);
});
