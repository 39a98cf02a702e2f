/**
 * Decodes posting lists (postingEncoder.ts encodes them): ascending documents and their frequencies, in
 * blocks of 128 or 256 and a shorter tail. All numbers are little-endian:
 *
 *     block of 128    f32 maximum score; u32 first document; u8 width; packed deltas;
 *                     u8 width; packed frequencies
 *     block of 256    u32 first document; u8 width; packed deltas;
 *                     u8 width; u8 exceptionCount; packed low bits of frequencies;
 *                     exceptionCount times { u8 index; varint of the high bits }
 *     tail            f32 maximum score (only with blocks of 128);
 *                     varint_delta_v1: first document and deltas, then frequencies, as varints
 *                     fixed32_v1: documents, then frequencies, as u32
 *
 * Packed numbers of w bits: value i belongs to lane i mod L (L = count / 32). Each lane is a stream of 32
 * numbers, low bits first, in w words; word k of lane l is word k · L + l.
 */

import { CorruptFileError } from "../../errors.js";

/** Documents of a token, ascending. */
export interface Postings {
  readonly documents: Uint32Array;
  readonly frequencies: Uint32Array;
}

export type TailCodec = "varint_delta_v1" | "fixed32_v1";

export interface PostingForm {
  readonly blockSize: number;
  readonly tail: TailCodec;
}

/** Reads numbers from untrusted bytes. */
class ByteReader {
  readonly #view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly path: string,
    public offset = 0,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.bytes.length - this.offset;
  }

  fail(reason: string): never {
    throw new CorruptFileError(this.path, 0, `postings: ${reason}`);
  }

  need(length: number): number {
    const start = this.offset;
    if (length > this.left) this.fail("the bytes end too early");
    this.offset += length;
    return start;
  }

  byte(): number {
    return this.bytes[this.need(1)];
  }

  word(): number {
    return this.#view.getUint32(this.need(4), true);
  }

  float(): number {
    return this.#view.getFloat32(this.need(4), true);
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) {
        if (value > 0xffffffff) break;
        return value;
      }
    }
    return this.fail("a number has too many bits");
  }

  /** Unpacks 32 numbers per lane. */
  packed(lanes: number, width: number, out: Uint32Array, start: number): void {
    if (width > 32) this.fail(`packed numbers have ${width} bits`);
    const count = 32 * lanes;
    if (width === 0) {
      out.fill(0, start, start + count);
      return;
    }
    const byteLength = 4 * lanes * width;
    const offset = this.need(byteLength);
    const words = WORDS;
    WORD_BYTES.set(this.bytes.subarray(offset, offset + byteLength));
    const mask = width === 32 ? 0xffffffff : 2 ** width - 1;
    for (let lane = 0; lane < lanes; lane++) {
      let position = lane;
      let shift = 0;
      for (let to = start + lane; to < start + count; to += lanes) {
        let value = words[position] >>> shift;
        shift += width;
        if (shift >= 32) {
          shift -= 32;
          position += lanes;
          if (shift > 0) value |= words[position] << (width - shift);
        }
        out[to] = value & mask;
      }
    }
  }
}

/** Scratch words for packed numbers: at most 32 bits in 8 lanes, plus one word read beyond. */
const WORDS = new Uint32Array(32 * 8 + 8);
const WORD_BYTES = new Uint8Array(WORDS.buffer);

/** Documents of a block, in `[start, end)` of the arrays. */
export interface BlockView extends Postings {
  readonly start: number;
  readonly end: number;
}

/** Returns the first document and the maximum score of a block without unpacking it. */
export function blockHead(
  block: Uint8Array,
  isTail: boolean,
  { blockSize, tail }: PostingForm,
  path: string,
): { readonly first: number; readonly score: number } {
  const reader = new ByteReader(block, path);
  const score = blockSize === 128 ? reader.float() : Number.POSITIVE_INFINITY;
  const first = isTail && tail === "varint_delta_v1" ? reader.varint() : reader.word();
  return { first, score: Number.isNaN(score) ? Number.POSITIVE_INFINITY : score };
}

/**
 * Unpacks a block.
 * @param count documents of the block, fewer in the tail
 * @throws CorruptFileError if documents do not ascend, or exceed `documentCount`
 */
export function unpackBlock(
  block: Uint8Array,
  count: number,
  documentCount: number,
  { blockSize, tail }: PostingForm,
  path: string,
  { documents, frequencies }: Postings,
): void {
  const reader = new ByteReader(block, path);
  if (blockSize === 128) reader.float();
  if (count === blockSize) readBlock(reader, blockSize, documents, frequencies);
  else readTail(reader, tail, count, documents, frequencies);
  if (reader.left > 0) reader.fail("bytes follow the last number");
  for (let index = 0; index < count; index++) {
    if (frequencies[index] === 0) reader.fail("a document has a frequency of 0");
    if (index > 0 && documents[index] <= documents[index - 1]) failOrder(path);
  }
  if (count > 0 && documents[count - 1] >= documentCount) failOrder(path);
}

function failOrder(path: string): never {
  throw new CorruptFileError(path, 0, "postings: documents do not ascend, or do not exist");
}

function readBlock(
  reader: ByteReader,
  blockSize: number,
  documents: Uint32Array,
  frequencies: Uint32Array,
): void {
  const lanes = blockSize / 32;
  const first = reader.word();
  reader.packed(lanes, reader.byte(), documents, 0);
  documents[0] += first;
  for (let index = 1; index < blockSize; index++) documents[index] += documents[index - 1];
  const width = reader.byte();
  const exceptions = blockSize === 256 ? reader.byte() : 0;
  reader.packed(lanes, width, frequencies, 0);
  for (let exception = 0; exception < exceptions; exception++) {
    const index = reader.byte();
    frequencies[index] = (frequencies[index] + reader.varint() * 2 ** width) >>> 0;
  }
}

function readTail(
  reader: ByteReader,
  tail: TailCodec,
  count: number,
  documents: Uint32Array,
  frequencies: Uint32Array,
): void {
  const isFixed = tail === "fixed32_v1";
  for (let index = 0; index < count; index++) {
    if (isFixed) documents[index] = reader.word();
    else documents[index] = reader.varint() + (index === 0 ? 0 : documents[index - 1]);
  }
  for (let index = 0; index < count; index++) {
    frequencies[index] = isFixed ? reader.word() : reader.varint();
  }
}

/** Packed positions per group. */
export const GROUP = 128;
export const GROUP_LANES = 4;

/**
 * Decodes the positions of a token in one block's documents: the first of each document, then deltas.
 * @param frequencies of the documents of the block
 * @returns the positions, document by document
 * @throws CorruptFileError
 */
export function decodePositions(bytes: Uint8Array, frequencies: Uint32Array, path: string): Uint32Array {
  const reader = new ByteReader(bytes, path);
  let count = 0;
  for (const frequency of frequencies) count += frequency;
  // A packed group takes at least a byte.
  if (count > (reader.left + 1) * GROUP) reader.fail(`${reader.left} bytes cannot hold ${count} positions`);
  const positions = new Uint32Array(count);
  let slot = 0;
  for (; slot + GROUP <= count; slot += GROUP) reader.packed(GROUP_LANES, reader.byte(), positions, slot);
  for (; slot < count; slot++) positions[slot] = reader.varint();
  if (reader.left > 0) reader.fail("bytes follow the last number");
  let next = 0;
  for (const frequency of frequencies) {
    for (let index = 1; index < frequency; index++) positions[next + index] += positions[next + index - 1];
    next += frequency;
  }
  return positions;
}

/**
 * Decodes the positions of a token in one document, as LanceDB before 0.31 wrote: u32 count, blocks of 128
 * packed like documents, and a tail of u32.
 * @throws CorruptFileError
 */
export function decodeDocumentPositions(
  pieces: readonly Uint8Array[],
  count: number,
  path: string,
): Uint32Array {
  const [head = new Uint8Array(0), ...blocks] = pieces;
  const reader = new ByteReader(head, path);
  const full = Math.floor(count / GROUP);
  if (reader.word() !== count || reader.left > 0 || blocks.length !== Math.ceil(count / GROUP)) {
    reader.fail(`the number of positions is not ${count}`);
  }
  const positions = new Uint32Array(count);
  for (const [index, bytes] of blocks.entries()) {
    const block = new ByteReader(bytes, path);
    const start = index * GROUP;
    if (index < full) {
      const first = block.word();
      block.packed(GROUP_LANES, block.byte(), positions, start);
      positions[start] += first;
      for (let slot = start + 1; slot < start + GROUP; slot++) positions[slot] += positions[slot - 1];
    } else {
      for (let position = start; position < count; position++) positions[position] = block.word();
    }
    if (block.left > 0) block.fail("bytes follow the last number");
  }
  return positions;
}
