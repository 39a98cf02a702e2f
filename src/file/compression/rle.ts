/**
 * Run-length encoding of words of 8, 16, 32 or 64 bits. Two buffers:
 *
 *     run values   one word per run
 *     run lengths  one byte per run; a longer run repeats its value
 *
 * In a block the two lie in one buffer: u64 byte length of the run values, run values, run lengths.
 */

import type { Rle } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../page.js";
import { alignedBytes } from "./aligned.js";
import type { EncodingContext, FixedDecoder } from "./fixedDecoder.js";
import { wordBitsOf } from "./inlineBitpacking.js";

export function rleDecoder(encoding: Rle, context: EncodingContext, origin: PageOrigin): FixedDecoder {
  const values = encoding.values?.flat;
  const lengths = encoding.runLengths?.flat;
  if (values === undefined || values.data !== undefined) {
    throw unsupportedPage(origin, "run-length encoding over compressed values");
  }
  if (lengths === undefined || lengths.data !== undefined || lengths.bitsPerValue !== 8) {
    throw unsupportedPage(origin, "run lengths that are not plain bytes");
  }
  const wordBits = wordBitsOf(values.bitsPerValue, origin);
  if (context === "block") {
    return {
      bitsPerValue: wordBits,
      bufferCount: 1,
      decode(buffers, first, count, output, outputIndex) {
        const block = buffers[first];
        const valueBytes = blockValueBytes(block, origin);
        const runValues = block.subarray(8, 8 + valueBytes);
        const runLengths = block.subarray(8 + valueBytes);
        expandRuns(wordBits, runValues, runLengths, count, output, outputIndex, origin);
      },
    };
  }
  return {
    bitsPerValue: wordBits,
    bufferCount: 2,
    decode(buffers, first, count, output, outputIndex) {
      expandRuns(wordBits, buffers[first], buffers[first + 1], count, output, outputIndex, origin);
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

function expandRuns(
  wordBits: 8 | 16 | 32 | 64,
  runValues: Uint8Array,
  runLengths: Uint8Array,
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
    for (let run = 0, at = 0; run < runs; run++) {
      const low = from[2 * run];
      const high = from[2 * run + 1];
      for (const end = at + 2 * runLengths[run]; at < end; ) {
        to[at++] = low;
        to[at++] = high;
      }
    }
    return;
  }
  const from = words(wordBits, values.buffer, values.byteOffset, runs);
  const to = words(wordBits, output.buffer, start, count);
  for (let run = 0, at = 0; run < runs; run++) {
    const value = from[run];
    const end = at + runLengths[run];
    if (end - at > 48) to.fill(value, at, end);
    else for (; at < end; at++) to[at] = value;
    at = end;
  }
}

function words(wordBits: 8 | 16 | 32, buffer: ArrayBufferLike, byteOffset: number, length: number) {
  if (wordBits === 8) return new Uint8Array(buffer, byteOffset, length);
  if (wordBits === 16) return new Uint16Array(buffer, byteOffset, length);
  return new Int32Array(buffer, byteOffset, length);
}
