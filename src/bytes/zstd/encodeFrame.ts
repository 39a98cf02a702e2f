/**
 * Writes Zstandard frames (frame.ts has the picture), for runtimes whose zlib has no encoder.
 *
 * Literals are Huffman-coded, and sequences get tables of their block, if that is shorter than the plain
 * form.
 */

import { BitWriter } from "./bitWriter.js";
import { MAXIMUM_BLOCK_BYTES } from "./frame.js";
import { codeLiterals, ONE_STREAM_LITERALS } from "./huffman.js";
import { MatchFinder, type Sequences, WINDOW_BYTES, WINDOW_LOG } from "./matches.js";
import { encodeSequences } from "./sequences.js";

export function encodeZstdFrame(input: Uint8Array): Uint8Array {
  const length = input.length;
  // A block takes at most three bytes more than its content.
  const blocks = Math.max(1, Math.ceil(length / MAXIMUM_BLOCK_BYTES));
  const output = new Uint8Array(18 + length + 4 * blocks);
  let write = writeFrameHeader(output, length);
  const finder = new MatchFinder(input);
  for (let block = 0; block < blocks; block++) {
    const start = block * MAXIMUM_BLOCK_BYTES;
    const end = Math.min(length, start + MAXIMUM_BLOCK_BYTES);
    write = writeBlock({ input, start, end, isLast: end === length }, finder, output, write);
  }
  return output.subarray(0, write);
}

/** Writes magic, descriptor, window (only if the content exceeds it) and the content size in 4 bytes. */
function writeFrameHeader(output: Uint8Array, length: number): number {
  const single = length <= WINDOW_BYTES;
  output.set([0x28, 0xb5, 0x2f, 0xfd, single ? 0xa0 : 0x80]);
  let write = 5;
  if (!single) output[write++] = (WINDOW_LOG - 10) << 3;
  new DataView(output.buffer).setUint32(write, length, true);
  return write + 4;
}

interface PlainBlock {
  readonly input: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly isLast: boolean;
}

function writeBlock(
  { input, start, end, isLast }: PlainBlock,
  finder: MatchFinder,
  output: Uint8Array,
  outputOffset: number,
): number {
  const size = end - start;
  const head = (kind: number, blockSize: number) => {
    const header = +isLast | (kind << 1) | (blockSize << 3);
    output[outputOffset] = header;
    output[outputOffset + 1] = header >>> 8;
    output[outputOffset + 2] = header >>> 16;
    return outputOffset + 3;
  };
  if (size > 1 && isRun(input, start, end)) {
    finder.skip(end);
    const offset = head(1, size);
    output[offset] = input[start];
    return offset + 1;
  }
  const recent = finder.recentOffsets.slice();
  const encoded = size < 16 ? null : encodeBlock(input, finder.find(start, end), size);
  if (encoded !== null) {
    const byteOffset = head(2, encoded.length);
    output.set(encoded, byteOffset);
    return byteOffset + encoded.length;
  }
  // A reader sees no offsets in a block that is stored as it is, so the last ones are those before the block.
  finder.recentOffsets.set(recent);
  finder.skip(end);
  const position = head(0, size);
  output.set(input.subarray(start, end), position);
  return position + size;
}

function isRun(input: Uint8Array, start: number, end: number): boolean {
  const first = input[start];
  for (let offset = start + 1; offset < end; offset++) if (input[offset] !== first) return false;
  return true;
}

/** Encodes a block as literals and sequences; null if that would not be shorter. */
function encodeBlock(input: Uint8Array, sequences: Sequences, size: number): Uint8Array | null {
  const limit = size - 1;
  const output = new BitWriter(size + 64);
  encodeLiterals(sequences.literals.subarray(0, sequences.literalCount), output);
  if (output.length >= limit || input.length === 0) return null;
  encodeSequences(sequences, output);
  return output.length < limit ? output.bytes() : null;
}

const LEAST_CODED_LITERALS = 64;

function encodeLiterals(literals: Uint8Array, output: BitWriter): void {
  const counts = new Uint32Array(256);
  for (let offset = 0; offset < literals.length; offset++) counts[literals[offset]]++;
  const used = counts.reduce((sum, count) => sum + +(count > 0), 0);
  if (used === 1 && literals.length > 3) {
    writeLiteralsHead(1, literals.length, output);
    output.append(literals.subarray(0, 1));
    return;
  }
  const coded = used > 1 && literals.length >= LEAST_CODED_LITERALS ? codeLiterals(literals, counts) : null;
  if (coded === null) {
    writeLiteralsHead(0, literals.length, output);
    output.append(literals);
    return;
  }
  // Kind 2; one stream of up to 1023 bytes, or four under sizes of 10, 14 or 18 bits.
  const isOne = literals.length < ONE_STREAM_LITERALS;
  const sizeBits = literals.length < 1024 ? 10 : literals.length < 16_384 ? 14 : 18;
  output.add(2 | ((isOne ? 0 : (sizeBits - 6) / 4) << 2), 4);
  output.add(literals.length, sizeBits);
  output.add(coded.length, sizeBits);
  output.append(coded);
}

/** Writes the head of literals as they are (0), or of one literal that is repeated (1). */
function writeLiteralsHead(kind: number, count: number, output: BitWriter): void {
  if (count < 32) {
    output.add(kind | (count << 3), 8);
  } else if (count < 4096) {
    output.add(kind | (1 << 2) | (count << 4), 16);
  } else {
    output.add(kind | (3 << 2) | (count << 4), 24);
  }
}
