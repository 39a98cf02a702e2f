/**
 * Sums of a query's values over the set bits of codes. Four values have 16 sums, one for each half byte of a
 * code. LanceDB's kernels round these to whole steps, from the least sum of all at 0 to the greatest at 255.
 * It rounds only for rows in whole blocks of 32, and adds in 32 bits. Estimates of both engines are equal
 * because this file does the same.
 */

import { codeSumsInKernel } from "./codeSumsKernel.js";
import { BLOCK_ROWS } from "./signBlocks.js";

const HALF_BYTE = 16;
const STEPS = 255;

export interface SignSums {
  /**
   * Fills in the sums of a partition's rows from `start`.
   * @param signs codes of these rows, row by row
   * @param rowCount of the partition
   */
  fill(signs: Uint8Array, start: number, rowCount: number, sums: Float32Array): void;
}

/** @param values of the query; their number is a multiple of 8 */
export function signSums(values: Float32Array): SignSums {
  const halves = sumsOfHalves(values);
  const { least, step, numbers } = roundedSums(halves);
  const steps = byteTable(numbers);
  const base = Math.fround((halves.length / HALF_BYTE) * least);
  const codeBytes = values.length / 8;
  return {
    fill(signs, start, rowCount, sums) {
      const blockRows = rowCount - (rowCount % BLOCK_ROWS);
      const inBlocks = Math.max(0, Math.min(sums.length, blockRows - start));
      const rounded = sums.subarray(0, inBlocks);
      const codes = signs.subarray(0, inBlocks * codeBytes);
      if (step > 0) {
        // Sums of steps are whole numbers, which 32 bits hold exactly.
        if (!codeSumsInKernel(steps, codes, false, rounded)) addUp(numbers, codes, rounded);
        for (let row = 0; row < inBlocks; row++) rounded[row] = Math.fround(rounded[row] * step) + base;
      }
      const exact = step > 0 ? inBlocks : 0;
      addUp(halves, signs.subarray(exact * codeBytes), sums.subarray(exact));
    },
  };
}

/** Returns the 16 sums of each four values. */
function sumsOfHalves(values: Float32Array): Float32Array {
  const sums = new Float32Array((values.length / 4) * HALF_BYTE);
  for (let first = 0; first < sums.length; first += HALF_BYTE) {
    for (let code = 1; code < HALF_BYTE; code++) {
      const lowest = 31 - Math.clz32(code & -code);
      sums[first + code] = sums[first + (code & (code - 1))] + values[first / 4 + lowest];
    }
  }
  return sums;
}

/** Rounds sums to steps. @returns a step of 0 if 32 bits cannot hold it; then exact sums serve */
function roundedSums(sums: Float32Array): { least: number; step: number; numbers: Float32Array } {
  let [least, most] = [sums[0], sums[0]];
  for (const sum of sums) {
    if (sum < least) least = sum;
    if (sum > most) most = sum;
  }
  const range = Math.fround(most - least);
  const perStep = Math.fround(STEPS / range);
  const numbers = new Float32Array(sums.length);
  if (!Number.isFinite(range) || !Number.isFinite(perStep)) return { least, step: 0, numbers };
  for (let index = 0; index < sums.length; index++) {
    const number = roundedToEven(Math.fround(Math.fround(sums[index] - least) * perStep));
    numbers[index] = Math.min(STEPS, number);
  }
  return { least, step: Math.fround(range / STEPS), numbers };
}

/** Rounds to the nearest whole number, and to the even one of two. */
function roundedToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** Returns 256 sums for each byte of a code, of two half bytes each. */
function byteTable(halves: Float32Array): Float32Array {
  const table = new Float32Array(halves.length * (HALF_BYTE / 2));
  for (let byte = 0, index = 0; index < table.length; byte++) {
    const first = byte * 2 * HALF_BYTE;
    for (let code = 0; code < 256; code++)
      table[index++] = halves[first + (code & 15)] + halves[first + HALF_BYTE + (code >>> 4)];
  }
  return table;
}

/** @param table 16 numbers for each half byte of a code */
function addUp(table: Float32Array, codes: Uint8Array, sums: Float32Array): void {
  const tableBytes = 2 * HALF_BYTE;
  for (let row = 0, offset = 0; row < sums.length; row++) {
    let sum = 0;
    for (let first = 0; first < table.length; first += tableBytes) {
      const code = codes[offset++];
      const entry = Math.fround(table[first + (code & 15)] + table[first + HALF_BYTE + (code >>> 4)]);
      sum = Math.fround(sum + entry);
    }
    sums[row] = sum;
  }
}
