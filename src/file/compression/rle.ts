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
import type { Rle } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
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
