/**
 * Bit-packing of 1024 unsigned words in FastLanes order, the unit of every bit-packed buffer.
 *
 * 1024 values of a T-bit word (T = 8, 16, 32, 64) at W bits each (0 ≤ W ≤ T) become 128·W bytes. They are
 * dealt to L = 1024/T lanes of T rows; value number of lane ℓ, row r:
 *
 *     FL[r div 8]·16 + (r mod 8)·128 + ℓ,   FL = [0, 4, 2, 6, 1, 5, 3, 7]
 *
 * Row r of a lane takes bits r·W … r·W + W − 1 of the lane's string of T·W bits, least significant first;
 * word w of that string is word w·L + ℓ of the output, little-endian. W = 0 takes no bytes, all values 0.
 *
 * All lanes of a row share word and shift. The outer loop therefore runs over rows and the inner one over
 * lanes, in kernels (bitpackKernel.ts), or here if the runtime has none. 64-bit words are handled as two
 * 32-bit halves.
 */

import { unpackKernels, type WordBits } from "./bitpackKernel.js";

/** Values in one packed unit. */
export const PACK_UNIT = 1024;

/** Bytes of one packed unit at `packedBits` bits per value. */
export const packedUnitBytes = (packedBits: number): number => packedBits * (PACK_UNIT / 8);

const ROW_ORDER = [0, 4, 2, 6, 1, 5, 3, 7];

/** Index of the value in lane 0 of each row. */
export const ROW_START = Int32Array.from(
  { length: 64 },
  (_, row) => ROW_ORDER[row >> 3] * 16 + (row & 7) * 128,
);

export const bitUnpackers = unpackKernels(ROW_START);

type Words = Uint8Array | Int32Array;
export type UnitCode = (
  wordBits: WordBits,
  packedBits: number,
  input: Uint8Array,
  inputOffset: number,
  output: Uint8Array,
  outputOffset: number,
) => void;

/** Units that are unpacked without a kernel at first: making the first kernel takes several times as long. */
export const UNITS_BEFORE_KERNELS = 24;
let plainUnits = 0;

const scratchIn = new ArrayBuffer(8192);
const scratchOut = new ArrayBuffer(8192);

/**
 * Unpacks one unit: reads `128 · packedBits` bytes of `input` at `inputOffset` and writes 1024 words at
 * `outputOffset`. The caller has checked that both fit and that `packedBits` ≤ `wordBits`.
 */
export const unpackBits: UnitCode = (wordBits, packedBits, input, inputOffset, output, outputOffset) => {
  if (packedBits === 0) {
    output.fill(0, outputOffset, outputOffset + wordBits * (PACK_UNIT / 8));
    return;
  }
  const kernel = plainUnits < UNITS_BEFORE_KERNELS ? null : bitUnpackers[wordBits].get();
  if (kernel === null) {
    plainUnits++;
    unpackBitsPlainly(wordBits, packedBits, input, inputOffset, output, outputOffset);
  } else {
    const packed = input.subarray(inputOffset, inputOffset + packedUnitBytes(packedBits));
    kernel.unpack(packedBits, packed, output, outputOffset);
  }
};

/** {@link unpackBits} for at least one bit, in runtimes without kernels. */
export const unpackBitsPlainly: UnitCode = (
  wordBits,
  packedBits,
  input,
  inputOffset,
  output,
  outputOffset,
) => {
  const outputBytes = wordBits * (PACK_UNIT / 8);
  const source = alignedInput(wordBits, input, inputOffset, packedUnitBytes(packedBits));
  const direct = ((output.byteOffset + outputOffset) & viewMask(wordBits)) === 0;
  const buffer = direct ? output.buffer : scratchOut;
  const index = direct ? output.byteOffset + outputOffset : 0;
  if (wordBits === 64)
    unpack64(packedBits, source as Int32Array, new Int32Array(buffer, index, 2 * PACK_UNIT));
  else if (wordBits === 32)
    unpack32(packedBits, source as Int32Array, new Int32Array(buffer, index, PACK_UNIT));
  else if (wordBits === 16)
    unpack16(packedBits, source as Int32Array, new Int32Array(buffer, index, PACK_UNIT / 2));
  else unpack8(packedBits, source as Uint8Array, new Uint8Array(buffer, index, PACK_UNIT));
  if (!direct) output.set(new Uint8Array(scratchOut, 0, outputBytes), outputOffset);
};

/** Bits that must be zero in the address of a unit: words other than bytes are handled as 32-bit words. */
export const viewMask = (wordBits: WordBits): number => (wordBits === 8 ? 0 : 3);

function alignedInput(wordBits: WordBits, input: Uint8Array, inputOffset: number, byteLength: number): Words {
  let buffer = input.buffer;
  let index = input.byteOffset + inputOffset;
  if ((index & viewMask(wordBits)) !== 0) {
    new Uint8Array(scratchIn).set(input.subarray(inputOffset, inputOffset + byteLength));
    buffer = scratchIn;
    index = 0;
  }
  if (wordBits === 8) return new Uint8Array(buffer, index, byteLength);
  return new Int32Array(buffer, index, byteLength >> 2);
}

// One function per word width, though alike: a loop over two kinds of typed array is several times slower.

function unpack8(packedBits: number, input: Uint8Array, output: Uint8Array): void {
  const mask = (1 << packedBits) - 1;
  for (let row = 0, bit = 0; row < 8; row++, bit += packedBits) {
    const start = ROW_START[row];
    const word = (bit >> 3) * 128;
    const shift = bit & 7;
    if (shift + packedBits <= 8) {
      for (let lane = 0; lane < 128; lane++) output[start + lane] = (input[word + lane] >>> shift) & mask;
    } else {
      const rest = 8 - shift;
      for (let lane = 0; lane < 128; lane++) {
        output[start + lane] = ((input[word + lane] >>> shift) | (input[word + 128 + lane] << rest)) & mask;
      }
    }
  }
}

/** Words are handled in pairs, as the halves of 32-bit words: lanes 2p and 2p + 1 at index p. */
function unpack16(packedBits: number, input: Int32Array, output: Int32Array): void {
  const mask = ((1 << packedBits) - 1) * 0x10001;
  for (let row = 0, bit = 0; row < 16; row++, bit += packedBits) {
    const start = ROW_START[row] >> 1;
    const word = (bit >> 4) * 32;
    const shift = bit & 15;
    const rest = 16 - shift;
    if (packedBits <= rest) {
      for (let pair = 0; pair < 32; pair++) output[start + pair] = (input[word + pair] >>> shift) & mask;
    } else {
      const lower = ((1 << rest) - 1) * 0x10001;
      const upper = mask & ~lower;
      for (let pair = 0; pair < 32; pair++) {
        output[start + pair] =
          ((input[word + pair] >>> shift) & lower) | ((input[word + 32 + pair] << rest) & upper);
      }
    }
  }
}

/** All ones in the low `bits` of a 32-bit word. */
export const lowBits = (bits: number): number => (bits >= 32 ? -1 : (1 << bits) - 1);

function unpack32(packedBits: number, input: Int32Array, output: Int32Array): void {
  const mask = lowBits(packedBits);
  for (let row = 0, bit = 0; row < 32; row++, bit += packedBits) {
    const start = ROW_START[row];
    const word = bit & ~31;
    const shift = bit & 31;
    if (shift + packedBits <= 32) {
      for (let lane = 0; lane < 32; lane++) output[start + lane] = (input[word + lane] >>> shift) & mask;
    } else {
      const rest = 32 - shift;
      for (let lane = 0; lane < 32; lane++) {
        output[start + lane] = ((input[word + lane] >>> shift) | (input[word + 32 + lane] << rest)) & mask;
      }
    }
  }
}

/** Position, in 32-bit halves, of lane 0's half `half`: halves alternate inside 16 lanes of 64 bits. */
export const halfStart = (half: number): number => (half >> 1) * 32 + (half & 1);

function unpack64(packedBits: number, input: Int32Array, output: Int32Array): void {
  const lowMask = lowBits(packedBits);
  const highMask = packedBits > 32 ? lowBits(packedBits - 32) : 0;
  for (let row = 0, bit = 0; row < 64; row++, bit += packedBits) {
    const start = ROW_START[row] * 2;
    const half = bit >> 5;
    const shift = bit & 31;
    const first = halfStart(half);
    if (shift + packedBits <= 32) {
      for (let index = 0; index < 32; index += 2) {
        output[start + index] = (input[first + index] >>> shift) & lowMask;
        output[start + index + 1] = 0;
      }
      continue;
    }
    const second = halfStart(half + 1);
    // A third half without bits may be missing.
    const third = shift + packedBits > 64 ? halfStart(half + 2) : second;
    for (let index = 0; index < 32; index += 2) {
      const middle = input[second + index];
      const last = (input[third + index] << 1) << (31 - shift);
      output[start + index] = ((input[first + index] >>> shift) | ((middle << 1) << (31 - shift))) & lowMask;
      output[start + index + 1] = ((middle >>> shift) | last) & highMask;
    }
  }
}
