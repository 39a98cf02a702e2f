/**
 * Run-length encoding of words of 8, 16, 32 or 64 bits. Two buffers:
 *
 *     run values   one word per run
 *     run lengths  one byte per run; a longer run repeats its value. From version 2.3 on also words of 16 or
 *                  32 bits
 *
 * In a block the two lie in one buffer: u64 byte length of the run values, run values, run lengths.
 */

import { alignedBytes } from "../../bytes/aligned.js";
import type { CompressiveEncoding, Rle } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import type { WordBits } from "./bitpackKernel.js";
import type { EncodingContext, FixedDecoder } from "./fixedDecoder.js";
import { checkWordBits } from "./inlineBitpacking.js";

export function rleDecoder(encoding: Rle, context: EncodingContext, origin: PageOrigin): FixedDecoder {
  const values = encoding.values?.flat;
  const lengths = encoding.runLengths?.flat;
  if (values === undefined || values.data !== undefined) {
    throw unsupportedPage(origin, "run-length encoding over compressed values");
  }
  const lengthBits = lengths?.bitsPerValue;
  if (lengths?.data !== undefined || (lengthBits !== 8 && lengthBits !== 16 && lengthBits !== 32)) {
    throw unsupportedPage(origin, "run lengths that are not plain words, as version 2.3 has them,");
  }
  const wordBits = checkWordBits(values.bitsPerValue, origin);
  if (context === "block") {
    return {
      bitsPerValue: wordBits,
      bufferCount: 1,
      decode(buffers, first, count, output, outputIndex) {
        const block = buffers[first];
        const valueBytes = blockValueBytes(block, origin);
        const runValues = block.subarray(8, 8 + valueBytes);
        const runLengths = lengthsOf(lengthBits, block.subarray(8 + valueBytes), origin);
        expandRuns({ wordBits, runValues, runLengths }, count, output, outputIndex, origin);
      },
    };
  }
  return {
    bitsPerValue: wordBits,
    bufferCount: 2,
    decode(buffers, first, count, output, outputIndex) {
      const runLengths = lengthsOf(lengthBits, buffers[first + 1], origin);
      expandRuns({ wordBits, runValues: buffers[first], runLengths }, count, output, outputIndex, origin);
    },
  };
}

function blockValueBytes(block: Uint8Array, origin: PageOrigin): number {
  if (block.length < 8) throw corruptPage(origin, "run-length block without size");
  const size = (block[0] | (block[1] << 8) | (block[2] << 16) | (block[3] << 24)) >>> 0;
  const high = block[4] | block[5] | block[6] | block[7];
  if (high !== 0 || size > block.length - 8) {
    throw corruptPage(origin, "run values longer than their block");
  }
  return size;
}

function lengthsOf(bits: 8 | 16 | 32, bytes: Uint8Array, origin: PageOrigin): RunLengths {
  if (bits === 8) return bytes;
  if (bytes.length % (bits / 8) !== 0) throw corruptPage(origin, `${bytes.length} bytes of run lengths`);
  const { buffer, byteOffset, length } = alignedBytes(bytes, bits / 8);
  return bits === 16
    ? new Uint16Array(buffer, byteOffset, length / 2)
    : new Uint32Array(buffer, byteOffset, length / 4);
}

type RunLengths = Uint8Array | Uint16Array | Uint32Array;

interface StoredRuns {
  readonly wordBits: 8 | 16 | 32 | 64;
  readonly runValues: Uint8Array;
  readonly runLengths: RunLengths;
}

function expandRuns(
  { wordBits, runValues, runLengths }: StoredRuns,
  count: number,
  output: Uint8Array,
  outputIndex: number,
  origin: PageOrigin,
): void {
  const wordBytes = wordBits / 8;
  const runs = runLengths.length;
  if (runValues.length !== runs * wordBytes) {
    throw corruptPage(origin, `${runValues.length} bytes of run values for ${runs} runs`);
  }
  let sum = 0;
  for (let run = 0; run < runs; run++) sum += runLengths[run];
  if (sum !== count) throw corruptPage(origin, `runs of ${sum} values where ${count} are expected`);

  const values = alignedBytes(runValues, wordBytes);
  const start = output.byteOffset + outputIndex * wordBytes;
  if (wordBits === 64) {
    const from = new Int32Array(values.buffer, values.byteOffset, 2 * runs);
    const to = new Int32Array(output.buffer, start, 2 * count);
    for (let run = 0, index = 0; run < runs; run++) {
      const low = from[2 * run];
      const high = from[2 * run + 1];
      for (const end = index + 2 * runLengths[run]; index < end; ) {
        to[index++] = low;
        to[index++] = high;
      }
    }
    return;
  }
  const from = words(wordBits, values.buffer, values.byteOffset, runs);
  const to = words(wordBits, output.buffer, start, count);
  for (let run = 0, slot = 0; run < runs; run++) {
    const value = from[run];
    const end = slot + runLengths[run];
    if (end - slot > 48) to.fill(value, slot, end);
    else for (; slot < end; slot++) to[slot] = value;
    slot = end;
  }
}

function words(wordBits: 8 | 16 | 32, buffer: ArrayBufferLike, byteOffset: number, length: number) {
  if (wordBits === 8) return new Uint8Array(buffer, byteOffset, length);
  if (wordBits === 16) return new Uint16Array(buffer, byteOffset, length);
  return new Int32Array(buffer, byteOffset, length);
}

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
