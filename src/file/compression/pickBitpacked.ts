/**
 * Reads single values from a bit-packed unit (bitpack.ts) by their positions. A value lies in one lane, in
 * one or two of its words, so it costs two loads rather than the whole unit.
 */

import { lowBits, PACK_UNIT } from "./bitpack.js";

/** Group of eight rows of a lane that holds the values from 16·index on; its own inverse. */
const ROW_GROUPS = Uint8Array.of(0, 4, 2, 6, 1, 5, 3, 7);

/** Bytes at an address that is a multiple of 4, also as words: making a view for every unit is expensive. */
export interface WordMemory {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

export const wordMemory = (bytes: Uint8Array): WordMemory => ({
  bytes,
  words: new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2),
});

/** Values to take, and their source. */
interface PackedValues {
  readonly data: WordMemory;
  /** Offset of the unit's words in the data; a multiple of the width of a value. */
  readonly start: number;
  readonly bits: number;
  /** Ascending positions of values. Those at `first` to `end - 1` are taken, each minus `origin`. */
  readonly places: Uint32Array;
  readonly first: number;
  readonly end: number;
  readonly origin: number;
}

/**
 * Writes values of `byteWidth` 1, 2, 4 or 8 bytes from value number `outputIndex` on.
 * @param output zero there
 */
export function pickBitpacked(
  values: PackedValues,
  byteWidth: number,
  output: WordMemory,
  outputIndex: number,
): void {
  if (values.bits === 0) return;
  if (byteWidth === 8) pickFrom64(values, output, outputIndex);
  else if (byteWidth === 4) pickFrom32(values, output, outputIndex);
  else pickFromNarrow(values, byteWidth, output, outputIndex);
}

function pickFrom64(
  { data: { words }, start, bits, places, first, end, origin }: PackedValues,
  { words: target }: WordMemory,
  outputIndex: number,
): void {
  const lanes = PACK_UNIT / 64;
  const base = start >>> 2;
  const lowMask = lowBits(bits);
  const highMask = bits > 32 ? lowBits(bits - 32) : 0;
  for (let index = first, write = 2 * outputIndex; index < end; index++, write += 2) {
    const offset = places[index] - origin;
    const lane = offset & (lanes - 1);
    const bit = (ROW_GROUPS[((offset & 127) - lane) >>> 4] * 8 + (offset >>> 7)) * bits;
    const shift = bit & 31;
    // Halves of words: the second of one is followed by the first of the lane's next word.
    const half = bit >>> 5;
    const slot = base + 2 * ((half >>> 1) * lanes + lane) + (half & 1);
    const next = (half & 1) === 0 ? slot + 1 : slot + 2 * lanes - 1;
    const middle = shift + bits > 32 ? words[next] : 0;
    if (shift === 0) {
      target[write] = words[slot] & lowMask;
      target[write + 1] = middle & highMask;
      continue;
    }
    target[write] = ((words[slot] >>> shift) | (middle << (32 - shift))) & lowMask;
    let high = middle >>> shift;
    if (shift + bits > 64) high |= words[slot + 2 * lanes] << (32 - shift);
    target[write + 1] = high & highMask;
  }
}

function pickFrom32(
  { data: { words }, start, bits, places, first, end, origin }: PackedValues,
  { words: target }: WordMemory,
  outputIndex: number,
): void {
  const lanes = PACK_UNIT / 32;
  const base = start >>> 2;
  const mask = lowBits(bits);
  for (let index = first, write = outputIndex; index < end; index++, write++) {
    const offset = places[index] - origin;
    const lane = offset & (lanes - 1);
    const bit = (ROW_GROUPS[((offset & 127) - lane) >>> 4] * 8 + (offset >>> 7)) * bits;
    const shift = bit & 31;
    const slot = base + (bit >>> 5) * lanes + lane;
    let value = words[slot] >>> shift;
    if (shift + bits > 32) value |= words[slot + lanes] << (32 - shift);
    target[write] = value & mask;
  }
}

function pickFromNarrow(
  { data: { bytes: data }, start, bits, places, first, end, origin }: PackedValues,
  byteWidth: number,
  { bytes: output }: WordMemory,
  outputIndex: number,
): void {
  const wordBits = 8 * byteWidth;
  const lanes = PACK_UNIT / wordBits;
  const mask = lowBits(bits);
  for (let index = first, write = outputIndex * byteWidth; index < end; index++, write += byteWidth) {
    const byteOffset = places[index] - origin;
    const lane = byteOffset & (lanes - 1);
    const bit = (ROW_GROUPS[((byteOffset & 127) - lane) >>> 4] * 8 + (byteOffset >>> 7)) * bits;
    const shift = bit % wordBits;
    const offset = start + (Math.floor(bit / wordBits) * lanes + lane) * byteWidth;
    const stride = lanes * byteWidth;
    let value = data[offset] >>> shift;
    if (byteWidth === 1) {
      if (shift + bits > 8) value |= data[offset + stride] << (8 - shift);
    } else {
      value = (data[offset] | (data[offset + 1] << 8)) >>> shift;
      if (shift + bits > 16)
        value |= (data[offset + stride] | (data[offset + stride + 1] << 8)) << (16 - shift);
      output[write + 1] = (value & mask) >>> 8;
    }
    output[write] = value & mask;
  }
}
