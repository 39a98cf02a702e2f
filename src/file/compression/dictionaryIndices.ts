/** Reads indices into dictionaries as plain numbers. They are 1, 2, 4 or 8 bytes wide, at any address. */

import { alignedBytes } from "../../bytes/aligned.js";

export type IndexNumbers = Uint8Array | Uint16Array | Uint32Array;

/** Returns indices as numbers. One beyond 32 bits becomes the largest 32-bit number, which is never valid. */
export function indexNumbers(values: Uint8Array, byteWidth: number, count: number): IndexNumbers {
  if (byteWidth === 1) return values;
  const { buffer, byteOffset } = alignedBytes(values, Math.min(byteWidth, 4));
  if (byteWidth === 2) return new Uint16Array(buffer, byteOffset, count);
  if (byteWidth === 4) return new Uint32Array(buffer, byteOffset, count);
  const halves = new Uint32Array(buffer, byteOffset, 2 * count);
  const numbers = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    numbers[row] = halves[2 * row + 1] === 0 ? halves[2 * row] : 0xffffffff;
  }
  return numbers;
}

/** Returns the largest index, read as unsigned: a negative index is then larger than any dictionary. */
export function largestIndex(indices: Uint8Array, byteWidth: number): number {
  let largest = 0;
  if (byteWidth === 1) {
    for (let row = 0; row < indices.length; row++) if (indices[row] > largest) largest = indices[row];
    return largest;
  }
  const { buffer, byteOffset, length } = alignedBytes(indices, Math.min(byteWidth, 4));
  if (byteWidth === 2) {
    const words = new Uint16Array(buffer, byteOffset, length / 2);
    for (let row = 0; row < words.length; row++) if (words[row] > largest) largest = words[row];
    return largest;
  }
  const words = new Uint32Array(buffer, byteOffset, length / 4);
  const stride = byteWidth / 4;
  for (let row = 0; row < words.length; row += stride) {
    const index = stride === 1 ? words[row] : words[row] + words[row + 1] * 2 ** 32;
    if (index > largest) largest = index;
  }
  return largest;
}
