/** Packs units of words, as bitpack.ts describes them. */

import { halfStart, PACK_UNIT, packedUnitBytes, ROW_START, type UnitCode, viewMask } from "./bitpack.js";
import { packKernels, type WordBits } from "./bitpackKernel.js";

export const bitPackers = packKernels(ROW_START);

const scratchIn = new ArrayBuffer(8192);
const scratchOut = new ArrayBuffer(8192);

/**
 * Packs one unit: reads 1024 words of `input` at `inputOffset` and writes `128 · packedBits` bytes at
 * `outputOffset`. Bits of a value above `packedBits` must be zero.
 */
export const packBits: UnitCode = (wordBits, packedBits, input, inputOffset, output, outputOffset) => {
  if (packedBits === 0) return;
  const kernel = bitPackers[wordBits].get();
  if (kernel === null) {
    packBitsPlainly(wordBits, packedBits, input, inputOffset, output, outputOffset);
  } else {
    const words = input.subarray(inputOffset, inputOffset + wordBits * (PACK_UNIT / 8));
    kernel.pack(packedBits, words, output, outputOffset);
  }
};

/** {@link packBits} for at least one bit, in runtimes without kernels. */
export const packBitsPlainly: UnitCode = (wordBits, packedBits, input, inputOffset, output, outputOffset) => {
  const inputBytes = wordBits * (PACK_UNIT / 8);
  const outputBytes = packedUnitBytes(packedBits);
  const alignment = viewMask(wordBits);
  let buffer = input.buffer;
  let from = input.byteOffset + inputOffset;
  if ((from & alignment) !== 0) {
    new Uint8Array(scratchIn).set(input.subarray(inputOffset, inputOffset + inputBytes));
    buffer = scratchIn;
    from = 0;
  }
  const direct = ((output.byteOffset + outputOffset) & alignment) === 0;
  const target = direct ? output.buffer : scratchOut;
  const to = direct ? output.byteOffset + outputOffset : 0;
  if (wordBits === 8) {
    const words = new Uint8Array(target, to, outputBytes);
    words.fill(0);
    pack8(packedBits, new Uint8Array(buffer, from, PACK_UNIT), words);
  } else {
    const words = new Int32Array(target, to, outputBytes >> 2);
    const source = new Int32Array(buffer, from, inputBytes >> 2);
    if (wordBits === 64) pack64(packedBits, source, words);
    else if (wordBits === 32) pack32(packedBits, source, words);
    else pack16(packedBits, source, words);
  }
  if (!direct) output.set(new Uint8Array(scratchOut, 0, outputBytes), outputOffset);
};

/** Smallest W that holds each of `count` words at `byteOffset`, which must be a multiple of the word. */
export function requiredBits(
  wordBits: WordBits,
  bytes: Uint8Array,
  byteOffset: number,
  count: number,
): number {
  const slot = bytes.byteOffset + byteOffset;
  if ((slot & alignmentMask(wordBits)) !== 0) {
    let bits = 0;
    const unitBytes = PACK_UNIT * (wordBits >> 3);
    const end = byteOffset + count * (wordBits >> 3);
    const scratch = new Uint8Array(scratchIn);
    for (let position = byteOffset; position < end; position += unitBytes) {
      const piece = bytes.subarray(position, Math.min(end, position + unitBytes));
      scratch.set(piece);
      bits = Math.max(bits, requiredBits(wordBits, scratch, 0, piece.length / (wordBits >> 3)));
    }
    return bits;
  }
  if (wordBits === 64) {
    const halves = new Int32Array(bytes.buffer, slot, 2 * count);
    let low = 0;
    let high = 0;
    for (let index = 0; index < halves.length; index += 2) {
      low |= halves[index];
      high |= halves[index + 1];
    }
    return high !== 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(low);
  }
  let all = 0;
  if (wordBits === 32) {
    const words = new Int32Array(bytes.buffer, slot, count);
    for (let index = 0; index < count; index++) all |= words[index];
  } else if (wordBits === 16) {
    const words = new Uint16Array(bytes.buffer, slot, count);
    for (let index = 0; index < count; index++) all |= words[index];
  } else {
    const words = new Uint8Array(bytes.buffer, slot, count);
    for (let index = 0; index < count; index++) all |= words[index];
  }
  return 32 - Math.clz32(all);
}

/** Bits that must be zero in the address of single words; 64-bit words are read in halves. */
const alignmentMask = (wordBits: WordBits): number => (wordBits === 8 ? 0 : wordBits === 16 ? 1 : 3);

function pack8(packedBits: number, input: Uint8Array, output: Uint8Array): void {
  for (let row = 0, bit = 0; row < 8; row++, bit += packedBits) {
    const start = ROW_START[row];
    const word = (bit >> 3) * 128;
    const shift = bit & 7;
    for (let lane = 0; lane < 128; lane++) output[word + lane] |= input[start + lane] << shift;
    if (shift + packedBits > 8) {
      const rest = 8 - shift;
      for (let lane = 0; lane < 128; lane++) output[word + 128 + lane] = input[start + lane] >>> rest;
    }
  }
}

/** Words are handled in pairs here too. */
function pack16(packedBits: number, input: Int32Array, output: Int32Array): void {
  output.fill(0);
  for (let row = 0, bit = 0; row < 16; row++, bit += packedBits) {
    const start = ROW_START[row] >> 1;
    const word = (bit >> 4) * 32;
    const shift = bit & 15;
    const rest = 16 - shift;
    if (packedBits <= rest) {
      for (let pair = 0; pair < 32; pair++) output[word + pair] |= input[start + pair] << shift;
    } else {
      const lower = ((1 << rest) - 1) * 0x10001;
      const upper = ((1 << (packedBits - rest)) - 1) * 0x10001;
      for (let pair = 0; pair < 32; pair++) {
        const values = input[start + pair];
        output[word + pair] |= (values & lower) << shift;
        output[word + 32 + pair] = (values >>> rest) & upper;
      }
    }
  }
}

function pack32(packedBits: number, input: Int32Array, output: Int32Array): void {
  output.fill(0);
  for (let row = 0, bit = 0; row < 32; row++, bit += packedBits) {
    const start = ROW_START[row];
    const word = bit & ~31;
    const shift = bit & 31;
    for (let lane = 0; lane < 32; lane++) output[word + lane] |= input[start + lane] << shift;
    if (shift + packedBits <= 32) continue;
    const rest = 32 - shift;
    for (let lane = 0; lane < 32; lane++) output[word + 32 + lane] = input[start + lane] >>> rest;
  }
}

function pack64(packedBits: number, input: Int32Array, output: Int32Array): void {
  output.fill(0);
  for (let row = 0, bit = 0; row < 64; row++, bit += packedBits) {
    const start = ROW_START[row] * 2;
    const half = bit >> 5;
    const shift = bit & 31;
    const first = halfStart(half);
    const second = halfStart(half + 1);
    const third = halfStart(half + 2);
    for (let index = 0; index < 32; index += 2) output[first + index] |= input[start + index] << shift;
    if (shift + packedBits <= 32) continue;
    for (let index = 0; index < 32; index += 2) {
      // A shift by 32 would not change a value, hence two shifts.
      const carried = (input[start + index] >>> 1) >>> (31 - shift);
      output[second + index] = carried | (input[start + index + 1] << shift);
    }
    if (shift + packedBits <= 64) continue;
    for (let index = 0; index < 32; index += 2) {
      output[third + index] = input[start + index + 1] >>> (32 - shift);
    }
  }
}
