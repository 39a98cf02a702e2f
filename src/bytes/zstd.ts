/**
 * Zstandard frames (RFC 8878), decoding, without dictionaries; zstdEncoder.ts writes them.
 *
 *     magic           28 B5 2F FD
 *     descriptor      bits 6–7 size of the content size (0, 2, 4, 8; 0 is 1 byte in a single segment),
 *                     bit 5 single segment, bit 3 reserved, bit 2 checksum, bits 0–1 size of a dictionary id
 *     window          1 byte, absent in a single segment
 *     content size
 *     blocks          3 bytes: bit 0 last, bits 1–2 kind (0 raw, 1 run of one byte, 2 compressed), then size
 *     checksum        4 bytes, where the descriptor says so; not verified
 *
 * A compressed block is a section of literals (Huffman-coded or plain) and one of sequences (three interleaved
 * FSE streams: literal length, match offset, match length), read from the back.
 *
 * The decoder is our own because those of the package registry write what the sequences ask for before they check for
 * room: a frame of 17 bytes keeps them busy for a minute. Here every length is checked before a byte moves, so time and
 * memory are bounded by the sizes of frame and output.
 */

import { atOnce } from "../async/eventLoop.js";

export const MAXIMUM_BLOCK_BYTES = 128 * 1024;

export interface ZstdFrameBound {
  /** Bytes the frame says it holds; null where it does not say. */
  readonly contentSize: number | null;
  /** Bytes it can hold at most, by its blocks. */
  readonly maximumSize: number;
}

/** Walks the blocks of a frame; null where `frame` is not exactly one frame without dictionary. */
export function zstdFrameBound(frame: Uint8Array): ZstdFrameBound | null {
  if (frame.length < 9) return null;
  if (frame[0] !== 0x28 || frame[1] !== 0xb5 || frame[2] !== 0x2f || frame[3] !== 0xfd) return null;
  const descriptor = frame[4];
  const singleSegment = (descriptor & 0x20) !== 0;
  if ((descriptor & 0x0b) !== 0) return null;
  let position = singleSegment ? 5 : 6;
  const sizeBytes = descriptor >>> 6 === 0 ? (singleSegment ? 1 : 0) : 1 << (descriptor >>> 6);
  if (position + sizeBytes > frame.length) return null;
  let contentSize: number | null = null;
  if (sizeBytes > 0) {
    contentSize = sizeBytes === 2 ? 256 : 0;
    for (let byte = sizeBytes - 1, scale = 256 ** byte; byte >= 0; byte--, scale /= 256) {
      contentSize += frame[position + byte] * scale;
    }
  }
  position += sizeBytes;
  let maximumSize = 0;
  for (let last = false; !last; ) {
    if (position + 3 > frame.length) return null;
    const header = frame[position] | (frame[position + 1] << 8) | (frame[position + 2] << 16);
    position += 3;
    last = (header & 1) !== 0;
    const kind = (header >>> 1) & 3;
    const size = header >>> 3;
    if (size > MAXIMUM_BLOCK_BYTES || kind === 3) return null;
    position += kind === 1 ? 1 : size;
    maximumSize += kind === 2 ? MAXIMUM_BLOCK_BYTES : size;
  }
  if ((descriptor & 0x04) !== 0) position += 4;
  if (position !== frame.length) return null;
  return { contentSize, maximumSize };
}

/** Thrown and caught in this file: the frame is malformed. */
class Malformed extends Error {}

/** Decodes a frame that {@link zstdFrameBound} accepted; false where it is not exactly `output.length` bytes. */
export function decodeZstdFrame(frame: Uint8Array, output: Uint8Array): boolean {
  return atOnce(decodingZstdFrame(frame, output));
}

/** {@link decodeZstdFrame}, with breaks. */
export function* decodingZstdFrame(frame: Uint8Array, output: Uint8Array): Generator<void, boolean> {
  try {
    return (yield* new FrameDecoder(frame, output).decode()) === output.length;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

class FrameDecoder {
  readonly #frame: Uint8Array;
  readonly #output: Uint8Array;
  /** The block that is being decoded. Bit readers load whole words, so there is room behind its last byte. */
  readonly #input: Uint8Array;
  readonly #literals = new Uint8Array(MAXIMUM_BLOCK_BYTES);
  /** The last three match offsets, most recent first. */
  readonly #offsets = [1, 4, 8];
  #written = 0;
  #huffman: HuffmanTable | null = null;
  #lengthTable: FseTable | null = null;
  #offsetTable: FseTable | null = null;
  #matchTable: FseTable | null = null;

  constructor(frame: Uint8Array, output: Uint8Array) {
    this.#frame = frame;
    this.#output = output;
    this.#input = new Uint8Array(Math.min(frame.length, MAXIMUM_BLOCK_BYTES) + 8);
  }

  /** Returns the number of bytes written. */
  *decode(): Generator<void, number> {
    const frame = this.#frame;
    const descriptor = frame[4];
    const singleSegment = (descriptor & 0x20) !== 0;
    const sizeBytes = descriptor >>> 6 === 0 ? (singleSegment ? 1 : 0) : 1 << (descriptor >>> 6);
    let position = (singleSegment ? 5 : 6) + sizeBytes;
    let broken = 0;
    for (let last = false; !last; ) {
      const header = frame[position] | (frame[position + 1] << 8) | (frame[position + 2] << 16);
      position += 3;
      last = (header & 1) !== 0;
      const size = header >>> 3;
      switch ((header >>> 1) & 3) {
        case 0:
          this.#claim(size);
          this.#output.set(frame.subarray(position, position + size), this.#written - size);
          position += size;
          break;
        case 1:
          this.#claim(size);
          this.#output.fill(frame[position], this.#written - size, this.#written);
          position += 1;
          break;
        default:
          this.#input.set(frame.subarray(position, position + size));
          this.#decodeBlock(0, size);
          position += size;
      }
      // A break comes after a whole block's worth of bytes read and written, not after each block: some have no bytes.
      if (this.#written + position - broken < MAXIMUM_BLOCK_BYTES) continue;
      broken = this.#written + position;
      yield;
    }
    return this.#written;
  }

  /** Takes the next `size` bytes of the output. */
  #claim(size: number): void {
    if (size > this.#output.length - this.#written) throw new Malformed();
    this.#written += size;
  }

  #decodeBlock(start: number, end: number): void {
    const { position, literalCount } = this.#readLiterals(start, end);
    this.#runSequences(position, end, literalCount);
  }

  // ------------------------------------------------------------------------------------------- literals

  /** Fills `#literals`; returns their number and the position behind the section. */
  #readLiterals(start: number, end: number): { position: number; literalCount: number } {
    const input = this.#input;
    if (start >= end) throw new Malformed();
    const kind = input[start] & 3;
    const format = (input[start] >>> 2) & 3;
    const low =
      (input[start] | (input[start + 1] << 8) | (input[start + 2] << 16) | (input[start + 3] << 24)) >>> 0;
    if (kind < 2) {
      const headerBytes = format === 1 ? 2 : format === 3 ? 3 : 1;
      const count =
        (format & 1) === 0 ? (low & 0xff) >>> 3 : (low & (headerBytes === 2 ? 0xffff : 0xffffff)) >>> 4;
      const position = start + headerBytes;
      const bytes = kind === 0 ? count : 1;
      if (count > MAXIMUM_BLOCK_BYTES || position + bytes > end) throw new Malformed();
      if (kind === 0) this.#literals.set(input.subarray(position, position + count));
      else this.#literals.fill(input[position], 0, count);
      return { position: position + bytes, literalCount: count };
    }
    const headerBytes = format < 2 ? 3 : format + 2;
    const sizeBits = format < 2 ? 10 : format === 2 ? 14 : 18;
    const mask = (1 << sizeBits) - 1;
    const count = (low >>> 4) & mask;
    const compressed =
      sizeBits === 18 ? ((low >>> 22) | (input[start + 4] << 10)) & mask : (low >>> (4 + sizeBits)) & mask;
    let position = start + headerBytes;
    const sectionEnd = position + compressed;
    if (count > MAXIMUM_BLOCK_BYTES || sectionEnd > end) throw new Malformed();
    if (kind === 2) {
      const table = readHuffmanTable(input, position, sectionEnd);
      this.#huffman = table.table;
      position = table.position;
    }
    const huffman = this.#huffman;
    if (huffman === null) throw new Malformed();
    if (format === 0) {
      decodeHuffman(huffman, input, position, sectionEnd, this.#literals, 0, count);
    } else {
      this.#readFourStreams(huffman, position, sectionEnd, count);
    }
    return { position: sectionEnd, literalCount: count };
  }

  #readFourStreams(huffman: HuffmanTable, start: number, end: number, count: number): void {
    const input = this.#input;
    const perStream = (count + 3) >>> 2;
    if (start + 6 > end || perStream * 3 > count) throw new Malformed();
    let position = start + 6;
    for (let stream = 0; stream < 4; stream++) {
      const at = start + 2 * stream;
      const streamEnd = stream < 3 ? position + (input[at] | (input[at + 1] << 8)) : end;
      if (streamEnd > end) throw new Malformed();
      const from = stream * perStream;
      const to = stream < 3 ? from + perStream : count;
      decodeHuffman(huffman, input, position, streamEnd, this.#literals, from, to);
      position = streamEnd;
    }
  }

  // ------------------------------------------------------------------------------------------ sequences

  #runSequences(start: number, end: number, literalCount: number): void {
    const input = this.#input;
    if (start >= end) throw new Malformed();
    let position = start;
    let count = input[position++];
    if (count === 255) {
      count = (input[position] | (input[position + 1] << 8)) + 0x7f00;
      position += 2;
    } else if (count >= 128) {
      count = ((count - 128) << 8) | input[position++];
    }
    if (count === 0) {
      if (position !== end) throw new Malformed();
      this.#copyLiterals(0, literalCount);
      return;
    }
    if (position >= end) throw new Malformed();
    const modes = input[position++];
    if ((modes & 3) !== 0) throw new Malformed();
    const lengths = readSequenceTable(modes >>> 6, input, position, end, LITERAL_LENGTHS, this.#lengthTable);
    const offsets = readSequenceTable(
      (modes >>> 4) & 3,
      input,
      lengths.position,
      end,
      MATCH_OFFSETS,
      this.#offsetTable,
    );
    const matches = readSequenceTable(
      (modes >>> 2) & 3,
      input,
      offsets.position,
      end,
      MATCH_LENGTHS,
      this.#matchTable,
    );
    this.#lengthTable = lengths.table;
    this.#offsetTable = offsets.table;
    this.#matchTable = matches.table;
    const reader = new BackwardBits(input, matches.position, end);
    this.#execute(reader, count, lengths.table, offsets.table, matches.table, literalCount);
  }

  #execute(
    reader: BackwardBits,
    count: number,
    lengths: FseTable,
    offsets: FseTable,
    matches: FseTable,
    literalCount: number,
  ): void {
    const output = this.#output;
    let literalsUsed = 0;
    let lengthState = reader.read(lengths.log);
    let offsetState = reader.read(offsets.log);
    let matchState = reader.read(matches.log);
    for (let sequence = 0; sequence < count; sequence++) {
      const offsetCode = offsets.symbols[offsetState];
      const matchCode = matches.symbols[matchState];
      const lengthCode = lengths.symbols[lengthState];
      if (offsetCode > MAXIMUM_OFFSET_CODE) throw new Malformed();
      const offsetValue = 2 ** offsetCode + reader.read(offsetCode);
      const matchLength = MATCH_LENGTHS.base[matchCode] + reader.read(MATCH_LENGTHS.bits[matchCode]);
      const literals = LITERAL_LENGTHS.base[lengthCode] + reader.read(LITERAL_LENGTHS.bits[lengthCode]);
      const distance = this.#resolveOffset(offsetValue, literals);
      if (literals > literalCount - literalsUsed) throw new Malformed();
      this.#copyLiterals(literalsUsed, literals);
      literalsUsed += literals;

      let write = this.#written;
      if (distance > write) throw new Malformed();
      this.#claim(matchLength);
      if (distance >= matchLength && matchLength >= 32) {
        output.copyWithin(write, write - distance, write - distance + matchLength);
      } else {
        for (const until = write + matchLength; write < until; write++)
          output[write] = output[write - distance];
      }
      if (sequence === count - 1) break;
      lengthState = lengths.base[lengthState] + reader.read(lengths.bits[lengthState]);
      matchState = matches.base[matchState] + reader.read(matches.bits[matchState]);
      offsetState = offsets.base[offsetState] + reader.read(offsets.bits[offsetState]);
    }
    if (!reader.atStart) throw new Malformed();
    this.#copyLiterals(literalsUsed, literalCount - literalsUsed);
  }

  /** Values 1 to 3 name recent offsets, shifted by one where there are no literals in between. */
  #resolveOffset(value: number, literals: number): number {
    const recent = this.#offsets;
    let distance: number;
    if (value > 3) {
      distance = value - 3;
      recent[2] = recent[1];
      recent[1] = recent[0];
    } else {
      const index = value - 1 + (literals === 0 ? 1 : 0);
      if (index === 0) return recent[0];
      distance = index === 3 ? recent[0] - 1 : recent[index];
      if (distance === 0) throw new Malformed();
      if (index > 1) recent[2] = recent[1];
      recent[1] = recent[0];
    }
    recent[0] = distance;
    return distance;
  }

  #copyLiterals(from: number, count: number): void {
    let write = this.#written;
    this.#claim(count);
    if (count >= 32) {
      this.#output.set(this.#literals.subarray(from, from + count), write);
    } else {
      for (let read = from, end = from + count; read < end; ) this.#output[write++] = this.#literals[read++];
    }
  }
}

/** Bits of a stream that is read from its end to its start; the highest bit set in its last byte marks its end. */
class BackwardBits {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  /** Bits not read yet. */
  #left: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    if (start >= end || bytes[end - 1] === 0) throw new Malformed();
    this.#bytes = bytes;
    this.#start = start;
    this.#left = (end - start) * 8 - 8 + highestBit(bytes[end - 1]);
  }

  get atStart(): boolean {
    return this.#left === 0;
  }

  /** The next `count` ≤ 30 bits. */
  read(count: number): number {
    if (count > 16) return this.read(count - 16) * 65536 + this.read(16);
    const left = this.#left - count;
    if (left < 0) throw new Malformed();
    this.#left = left;
    const at = this.#start + (left >>> 3);
    const bytes = this.#bytes;
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    return (word >>> (left & 7)) & ((1 << count) - 1);
  }

  /** The next `count` bits, or null where fewer are left. */
  readIfLeft(count: number): number | null {
    return count > this.#left ? null : this.read(count);
  }
}

const highestBit = (value: number): number => 31 - Math.clz32(value);

// ------------------------------------------------------------------------------------------------- FSE

export interface FseTable {
  readonly log: number;
  /** By state: the symbol it stands for, the bits to read for the next state, and what to add to them. */
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
  readonly base: Uint16Array;
}

/** Largest offset a 32-bit output can have; longer codes can't be right. */
const MAXIMUM_OFFSET_CODE = 30;

export interface SequenceCode {
  readonly maximumSymbol: number;
  readonly maximumLog: number;
  /** By code: the smallest value, and the bits that are added to it. */
  readonly base: Int32Array;
  readonly bits: Uint8Array;
  readonly standard: FseTable;
}

/** `bits` in runs of [count, bits]; each code begins where the one before ends. */
function sequenceCode(
  first: number,
  runs: readonly (readonly [count: number, bits: number])[],
  maximumLog: number,
  standardLog: number,
  standard: readonly number[],
): SequenceCode {
  const bits = Uint8Array.from(runs.flatMap(([count, width]) => new Array<number>(count).fill(width)));
  const base = new Int32Array(bits.length);
  for (let code = 0, value = first; code < bits.length; value += 2 ** bits[code], code++) base[code] = value;
  const table = buildFseTable(Int16Array.from(standard), standard.length, standardLog);
  return { maximumSymbol: bits.length - 1, maximumLog, base, bits, standard: table };
}

function repeated(...runs: readonly (readonly [count: number, value: number])[]): number[] {
  return runs.flatMap(([count, value]) => new Array<number>(count).fill(value));
}

export const LITERAL_LENGTHS = sequenceCode(
  0,
  [
    [16, 0],
    [4, 1],
    [2, 2],
    [2, 3],
    [1, 4],
    ...[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map((n) => [1, n] as const),
  ],
  9,
  6,
  [4, 3, ...repeated([11, 2], [3, 1], [9, 2]), 3, 2, ...repeated([5, 1], [4, -1])],
);
export const MATCH_LENGTHS = sequenceCode(
  3,
  [
    [32, 0],
    [4, 1],
    [2, 2],
    [2, 3],
    [2, 4],
    [1, 5],
    ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map((n) => [1, n] as const),
  ],
  9,
  6,
  [1, 4, 3, ...repeated([6, 2], [37, 1], [7, -1])],
);
/** An offset's code is its number of bits. */
export const MATCH_OFFSETS = sequenceCode(0, [[32, 0]], 8, 5, repeated([6, 1], [3, 2], [15, 1], [5, -1]));

/** Reads the table of one stream. Modes: 0 the standard table, 1 one symbol, 2 in the block, 3 the previous table. */
function readSequenceTable(
  mode: number,
  input: Uint8Array,
  position: number,
  end: number,
  code: SequenceCode,
  previous: FseTable | null,
): { table: FseTable; position: number } {
  switch (mode) {
    case 0:
      return { table: code.standard, position };
    case 1: {
      if (position >= end || input[position] > code.maximumSymbol) throw new Malformed();
      const symbols = input.slice(position, position + 1);
      return {
        table: { log: 0, symbols, bits: new Uint8Array(1), base: new Uint16Array(1) },
        position: position + 1,
      };
    }
    case 2:
      return readFseTable(input, position, end, code.maximumSymbol, code.maximumLog);
    default:
      if (previous === null) throw new Malformed();
      return { table: previous, position };
  }
}

/** Reads the probabilities of a table: numbers of as many bits as the rest of the sum needs. */
function readFseTable(
  input: Uint8Array,
  start: number,
  end: number,
  maximumSymbol: number,
  maximumLog: number,
): { table: FseTable; position: number } {
  if (start >= end) throw new Malformed();
  const log = (input[start] & 15) + 5;
  if (log > maximumLog) throw new Malformed();
  const endBit = end * 8;
  let bit = start * 8 + 4;
  const peek = (count: number): number => {
    if (bit >= endBit) throw new Malformed();
    const at = bit >>> 3;
    const word = input[at] | (input[at + 1] << 8) | (input[at + 2] << 16);
    return (word >>> (bit & 7)) & ((1 << count) - 1);
  };
  const probabilities = new Int16Array(maximumSymbol + 1);
  let symbol = 0;
  let rest = 1 << log;
  while (rest > 0) {
    if (symbol > maximumSymbol) throw new Malformed();
    // Values 0 … rest + 1 are possible; the lowest of them that fit are stored in one bit less.
    const bits = highestBit(rest + 1) + 1;
    const short = (1 << bits) - 1 - (rest + 1);
    let value = peek(bits - 1);
    if (value < short) {
      bit += bits - 1;
    } else {
      value = peek(bits);
      if (value >= 1 << (bits - 1)) value -= short;
      bit += bits;
    }
    const probability = value - 1;
    rest -= Math.abs(probability);
    probabilities[symbol++] = probability;
    if (probability === 0) {
      for (let zeros = 3; zeros === 3; ) {
        zeros = peek(2);
        bit += 2;
        symbol += zeros;
        if (symbol > maximumSymbol + 1) throw new Malformed();
      }
    }
  }
  if (rest < 0 || bit > endBit) throw new Malformed();
  return { table: buildFseTable(probabilities, symbol, log), position: Math.ceil(bit / 8) };
}

/** @param probabilities add up to 2^log, −1 counting as 1: it stands for "less than 1" */
export function buildFseTable(probabilities: Int16Array, symbolCount: number, log: number): FseTable {
  const size = 1 << log;
  const symbols = new Uint8Array(size);
  const next = new Uint16Array(symbolCount);
  let high = size - 1;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    if (probabilities[symbol] === -1) {
      symbols[high--] = symbol;
      next[symbol] = 1;
    } else {
      next[symbol] = probabilities[symbol];
    }
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let position = 0;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    for (let index = 0; index < probabilities[symbol]; index++) {
      symbols[position] = symbol;
      do position = (position + step) & (size - 1);
      while (position > high);
    }
  }
  const bits = new Uint8Array(size);
  const base = new Uint16Array(size);
  for (let state = 0; state < size; state++) {
    const rank = next[symbols[state]]++;
    bits[state] = log - highestBit(rank);
    base[state] = (rank << bits[state]) - size;
  }
  return { log, symbols, bits, base };
}

// --------------------------------------------------------------------------------------------- Huffman

interface HuffmanTable {
  /** Length of the longest code. */
  readonly bits: number;
  /** By the next `bits` bits: the symbol in the low byte, and the length of its code above it. */
  readonly entries: Uint16Array;
}

const MAXIMUM_HUFFMAN_BITS = 11;

function readHuffmanTable(
  input: Uint8Array,
  start: number,
  end: number,
): { table: HuffmanTable; position: number } {
  if (start >= end) throw new Malformed();
  const header = input[start];
  const weights = new Uint8Array(256);
  let count: number;
  let position: number;
  if (header >= 128) {
    count = header - 127;
    position = start + 1 + ((count + 1) >>> 1);
    if (position > end) throw new Malformed();
    for (let index = 0; index < count; index++) {
      const byte = input[start + 1 + (index >>> 1)];
      weights[index] = (index & 1) === 0 ? byte >>> 4 : byte & 15;
    }
  } else {
    position = start + 1 + header;
    if (position > end) throw new Malformed();
    count = readWeights(input, start + 1, position, weights);
  }
  return { table: buildHuffmanTable(weights, count), position };
}

/** Weights come from two states of one table that take turns until the bits are used up. */
function readWeights(input: Uint8Array, start: number, end: number, weights: Uint8Array): number {
  const { table, position } = readFseTable(input, start, end, 12, 6);
  const reader = new BackwardBits(input, position, end);
  let state = reader.read(table.log);
  let other = reader.read(table.log);
  let count = 0;
  for (;;) {
    if (count >= 254) throw new Malformed();
    weights[count++] = table.symbols[state];
    const bits = reader.readIfLeft(table.bits[state]);
    if (bits === null) {
      weights[count++] = table.symbols[other];
      return count;
    }
    const advanced = table.base[state] + bits;
    state = other;
    other = advanced;
  }
}

/** A weight of w > 0 is a code of `bits + 1 − w` bits; the weight of the last symbol completes the sum. */
function buildHuffmanTable(weights: Uint8Array, count: number): HuffmanTable {
  let sum = 0;
  for (let symbol = 0; symbol < count; symbol++) {
    if (weights[symbol] > MAXIMUM_HUFFMAN_BITS) throw new Malformed();
    if (weights[symbol] > 0) sum += 1 << (weights[symbol] - 1);
  }
  if (sum === 0) throw new Malformed();
  const bits = highestBit(sum) + 1;
  const rest = (1 << bits) - sum;
  if (bits > MAXIMUM_HUFFMAN_BITS || (rest & (rest - 1)) !== 0) throw new Malformed();
  weights[count] = highestBit(rest) + 1;
  const entries = new Uint16Array(1 << bits);
  let position = 0;
  for (let weight = 1; weight <= bits; weight++) {
    const span = 1 << (weight - 1);
    for (let symbol = 0; symbol <= count; symbol++) {
      if (weights[symbol] !== weight) continue;
      entries.fill(symbol | ((bits + 1 - weight) << 8), position, position + span);
      position += span;
    }
  }
  return { bits, entries };
}

/** Decodes `output[from … to)` from a stream that must hold exactly that. */
function decodeHuffman(
  { bits, entries }: HuffmanTable,
  input: Uint8Array,
  start: number,
  end: number,
  output: Uint8Array,
  from: number,
  to: number,
): void {
  if (start >= end || input[end - 1] === 0) throw new Malformed();
  const mask = (1 << bits) - 1;
  let left = (end - start) * 8 - 8 + highestBit(input[end - 1]);
  for (let write = from; write < to; write++) {
    const shift = left - bits;
    let code: number;
    if (shift >= 0) {
      const at = start + (shift >>> 3);
      code = ((input[at] | (input[at + 1] << 8) | (input[at + 2] << 16)) >>> (shift & 7)) & mask;
    } else {
      // Fewer bits are left than the longest code has: zeros stand in for the rest.
      if (left <= 0) throw new Malformed();
      const word = input[start] | (input[start + 1] << 8);
      code = (word & ((1 << left) - 1)) << -shift;
    }
    const entry = entries[code];
    output[write] = entry;
    left -= entry >>> 8;
  }
  if (left !== 0) throw new Malformed();
}
