/** Encodes runs of equal values (rle.ts). */

import { alignedBytes } from "../../bytes/aligned.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import type { WordBits } from "./bitpackKernel.js";

export const describeRle = (wordBits: WordBits): CompressiveEncoding => ({
  rle: {
    values: { flat: { bitsPerValue: wordBits, data: undefined } },
    runLengths: { flat: { bitsPerValue: 8, data: undefined } },
  },
});

/** Counts the runs, of any length, among `count` values of 1, 2, 4, 8 or 16 bytes at `byteOffset`. */
export function countRuns(byteWidth: number, bytes: Uint8Array, byteOffset: number, count: number): number {
  const values = alignedBytes(
    bytes.subarray(byteOffset, byteOffset + count * byteWidth),
    Math.min(byteWidth, 4),
  );
  let runs = count === 0 ? 0 : 1;
  if (byteWidth === 1) {
    for (let index = 1; index < count; index++) if (values[index] !== values[index - 1]) runs++;
  } else if (byteWidth === 2) {
    const words = new Uint16Array(values.buffer, values.byteOffset, count);
    for (let index = 1; index < count; index++) if (words[index] !== words[index - 1]) runs++;
  } else {
    const stride = byteWidth / 4;
    const words = new Int32Array(values.buffer, values.byteOffset, count * stride);
    for (let index = stride; index < words.length; index += stride) {
      let different = 0;
      for (let word = index; word < index + stride; word++) different |= words[word] ^ words[word - stride];
      if (different !== 0) runs++;
    }
  }
  return runs;
}

/** Longest run that one length byte holds. */
export const MAXIMUM_RUN = 255;

/** Memory for the runs of one chunk, reused for the next. */
export class RleRuns {
  /** Run values, `runCount` words of them, at an address that is a multiple of 8. */
  readonly values: Uint8Array;
  readonly lengths: Uint8Array;
  runCount = 0;

  constructor(
    private readonly wordBits: WordBits,
    maximumCount: number,
  ) {
    this.values = new Uint8Array((wordBits / 8) * maximumCount);
    this.lengths = new Uint8Array(maximumCount);
  }

  /** Finds the runs of `count` words at `byteOffset`; `count` is at most the constructor's `maximumCount`. */
  encode(words: Uint8Array, byteOffset: number, count: number): void {
    const wordBits = this.wordBits;
    const lengths = this.lengths;
    const wordBytes = wordBits / 8;
    const source = alignedBytes(
      words.subarray(byteOffset, byteOffset + count * wordBytes),
      Math.min(wordBytes, 4),
    );
    if (wordBits === 64) {
      const from = new Int32Array(source.buffer, source.byteOffset, 2 * count);
      this.runCount = encodeRuns64(from, count, new Int32Array(this.values.buffer), lengths);
    } else if (wordBits === 32) {
      const from = new Int32Array(source.buffer, source.byteOffset, count);
      this.runCount = encodeRuns32(from, count, new Int32Array(this.values.buffer), lengths);
    } else if (wordBits === 16) {
      const from = new Uint16Array(source.buffer, source.byteOffset, count);
      this.runCount = encodeRuns16(from, count, new Uint16Array(this.values.buffer), lengths);
    } else {
      this.runCount = encodeRuns8(source, count, this.values, lengths);
    }
  }
}

/** Runs as one block, of any size. */
export class RleBlock {
  private runs: RleRuns | null = null;
  private capacity = 0;

  constructor(private readonly wordBits: WordBits) {}

  /** Finds the runs of `count` words at `byteOffset`; returns the bytes of their block. */
  encode(words: Uint8Array, byteOffset: number, count: number): number {
    if (this.runs === null || count > this.capacity) {
      this.capacity = Math.max(count, 2 * this.capacity);
      this.runs = new RleRuns(this.wordBits, this.capacity);
    }
    this.runs.encode(words, byteOffset, count);
    return 8 + this.runs.runCount * (this.wordBits / 8 + 1);
  }

  /** Writes the block of the runs found last. */
  write(output: Uint8Array, outputOffset: number): void {
    if (this.runs === null) return;
    const { runCount, values, lengths } = this.runs;
    const valueBytes = (runCount * this.wordBits) / 8;
    const view = new DataView(output.buffer, output.byteOffset, output.byteLength);
    view.setUint32(outputOffset, valueBytes, true);
    view.setUint32(outputOffset + 4, 0, true);
    output.set(values.subarray(0, valueBytes), outputOffset + 8);
    output.set(lengths.subarray(0, runCount), outputOffset + 8 + valueBytes);
  }
}

// One function per word width, though alike: a loop over two kinds of typed array is several times slower.

function encodeRuns64(from: Int32Array, count: number, values: Int32Array, lengths: Uint8Array): number {
  let run = 0;
  for (let index = 0; index < count; run++) {
    const low = from[2 * index];
    const high = from[2 * index + 1];
    const start = index;
    const limit = Math.min(count, start + MAXIMUM_RUN);
    do index++;
    while (index < limit && from[2 * index] === low && from[2 * index + 1] === high);
    values[2 * run] = low;
    values[2 * run + 1] = high;
    lengths[run] = index - start;
  }
  return run;
}

function encodeRuns32(from: Int32Array, count: number, values: Int32Array, lengths: Uint8Array): number {
  let run = 0;
  for (let index = 0; index < count; run++) {
    const value = from[index];
    const start = index;
    const limit = Math.min(count, start + MAXIMUM_RUN);
    do index++;
    while (index < limit && from[index] === value);
    values[run] = value;
    lengths[run] = index - start;
  }
  return run;
}

function encodeRuns16(from: Uint16Array, count: number, values: Uint16Array, lengths: Uint8Array): number {
  let run = 0;
  for (let index = 0; index < count; run++) {
    const value = from[index];
    const start = index;
    const limit = Math.min(count, start + MAXIMUM_RUN);
    do index++;
    while (index < limit && from[index] === value);
    values[run] = value;
    lengths[run] = index - start;
  }
  return run;
}

function encodeRuns8(from: Uint8Array, count: number, values: Uint8Array, lengths: Uint8Array): number {
  let run = 0;
  for (let index = 0; index < count; run++) {
    const value = from[index];
    const start = index;
    const limit = Math.min(count, start + MAXIMUM_RUN);
    do index++;
    while (index < limit && from[index] === value);
    values[run] = value;
    lengths[run] = index - start;
  }
  return run;
}
