/**
 * Decodes Zstandard frames (frame.ts has the picture).
 *
 * Decoders of the package registry write what the sequences ask for before they check for room. A frame of 17
 * bytes keeps them busy for a minute. This decoder checks every length before a byte moves, so the sizes of
 * frame and output bound time and memory.
 */

import { runSync } from "../../async/eventLoop.js";
import { decompressZstd } from "../../platform/native.js";
import { readUint32 } from "../littleEndian.js";
import { bitsOfStream, MalformedZstd } from "./bitReader.js";
import { MAXIMUM_BLOCK_BYTES } from "./frame.js";
import type { FseTable } from "./fse.js";
import { decodeHuffman, type HuffmanTable, readHuffmanTable } from "./huffman.js";
import {
  LITERAL_LENGTHS,
  MATCH_LENGTHS,
  MATCH_OFFSETS,
  readSequenceTable,
  type SequenceCode,
} from "./sequences.js";

/** Largest offset code of a 32-bit output. */
const MAXIMUM_OFFSET_CODE = 30;

/** Minimum bytes of content for the runtime's own decoder: a call costs some microseconds. */
const NATIVE_BYTES = 4096;

/**
 * Decodes a frame that {@link zstdFrameBound} accepted; false unless it fills `output` exactly.
 */
export function decodeZstdFrame(frame: Uint8Array, output: Uint8Array): boolean {
  const content = output.length < NATIVE_BYTES ? null : decompressZstd?.(frame, output.length);
  if (content?.length === output.length) {
    output.set(content);
    return true;
  }
  return runSync(decodingZstdFrame(frame, output));
}

/** {@link decodeZstdFrame}, in steps. */
export function* decodingZstdFrame(frame: Uint8Array, output: Uint8Array): Generator<void, boolean> {
  try {
    return (yield* new FrameDecoder(frame, output).decode()) === output.length;
  } catch (error) {
    if (error instanceof MalformedZstd) return false;
    throw error;
  }
}

/** The sequences of a block, and the number of its literals. */
interface SequenceStream {
  /** Bytes of the block that hold the stream. */
  readonly start: number;
  readonly end: number;
  readonly count: number;
  readonly literalCount: number;
}

/** Minimum bytes of a copy by the runtime; a loop copies fewer bytes sooner. */
const BLOCK_COPY_BYTES = 96;
/** Bytes after its end that a copy may overwrite. */
const SLACK_BYTES = 4;

/** Returns `count` ≤ 25 bits of a stream. @param left number of bits before them */
const bitsAt = (stream: DataView, start: number, left: number, count: number): number =>
  (stream.getUint32(start + (left >>> 3), true) >>> (left & 7)) & ((1 << count) - 1);

/** {@link bitsAt} for up to 30 bits. */
const longBitsAt = (stream: DataView, start: number, left: number, count: number): number =>
  count <= 16
    ? bitsAt(stream, start, left, count)
    : bitsAt(stream, start, left, 16) + (bitsAt(stream, start, left + 16, count - 16) << 16);

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

class FrameDecoder {
  readonly #frame: Uint8Array;
  readonly #output: Uint8Array;
  /** The block that is being decoded. Bit readers load whole words, so there is room after its last byte. */
  readonly #input: Uint8Array;
  readonly #inputView: DataView;
  readonly #outputView: DataView;
  /** Literals of the block, all of which end up in the output. Most frames have a few kilobytes. */
  readonly #literals: Uint8Array;
  readonly #literalView: DataView;
  readonly #maximumLiterals: number;
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
    this.#outputView = viewOf(output);
    this.#maximumLiterals = Math.min(output.length, MAXIMUM_BLOCK_BYTES);
    this.#literals = new Uint8Array(this.#maximumLiterals + SLACK_BYTES);
    this.#literalView = viewOf(this.#literals);
    this.#input = new Uint8Array(Math.min(frame.length, MAXIMUM_BLOCK_BYTES) + 8);
    this.#inputView = viewOf(this.#input);
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
          this.#runSequences(size, this.#readLiterals(size));
          position += size;
      }
      // A step ends after a block's worth of bytes read and written: some blocks are empty.
      if (this.#written + position - broken < MAXIMUM_BLOCK_BYTES) continue;
      broken = this.#written + position;
      yield;
    }
    return this.#written;
  }

  /** Takes the next `size` bytes of the output. */
  #claim(size: number): void {
    if (size > this.#output.length - this.#written) throw new MalformedZstd();
    this.#written += size;
  }

  // ------------------------------------------------------------------------------------------- literals

  /** Fills `#literals` from a block of `end` bytes; returns their number and the end of the section. */
  #readLiterals(end: number): { position: number; literalCount: number } {
    const input = this.#input;
    if (end === 0) throw new MalformedZstd();
    const kind = input[0] & 3;
    const format = (input[0] >>> 2) & 3;
    const low = readUint32(input, 0);
    if (kind < 2) {
      const headerBytes = format === 1 ? 2 : format === 3 ? 3 : 1;
      const count =
        (format & 1) === 0 ? (low & 0xff) >>> 3 : (low & (headerBytes === 2 ? 0xffff : 0xffffff)) >>> 4;
      const position = headerBytes;
      const bytes = kind === 0 ? count : 1;
      if (count > this.#maximumLiterals || position + bytes > end) throw new MalformedZstd();
      if (kind === 0) this.#literals.set(input.subarray(position, position + count));
      else this.#literals.fill(input[position], 0, count);
      return { position: position + bytes, literalCount: count };
    }
    const headerBytes = format < 2 ? 3 : format + 2;
    const sizeBits = format < 2 ? 10 : format === 2 ? 14 : 18;
    const mask = (1 << sizeBits) - 1;
    const count = (low >>> 4) & mask;
    const compressed =
      sizeBits === 18 ? ((low >>> 22) | (input[4] << 10)) & mask : (low >>> (4 + sizeBits)) & mask;
    let position = headerBytes;
    const sectionEnd = position + compressed;
    if (count > this.#maximumLiterals || sectionEnd > end) throw new MalformedZstd();
    if (kind === 2) {
      const table = readHuffmanTable(input, position, sectionEnd);
      this.#huffman = table.table;
      position = table.position;
    }
    const huffman = this.#huffman;
    if (huffman === null) throw new MalformedZstd();
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
    if (start + 6 > end || perStream * 3 > count) throw new MalformedZstd();
    let position = start + 6;
    for (let stream = 0; stream < 4; stream++) {
      const offset = start + 2 * stream;
      const streamEnd = stream < 3 ? position + (input[offset] | (input[offset + 1] << 8)) : end;
      if (streamEnd > end) throw new MalformedZstd();
      const from = stream * perStream;
      const to = stream < 3 ? from + perStream : count;
      decodeHuffman(huffman, input, position, streamEnd, this.#literals, from, to);
      position = streamEnd;
    }
  }

  // ------------------------------------------------------------------------------------------ sequences

  #runSequences(
    end: number,
    { position: start, literalCount }: { position: number; literalCount: number },
  ): void {
    const input = this.#input;
    if (start >= end) throw new MalformedZstd();
    let position = start;
    let count = input[position++];
    if (count === 255) {
      count = (input[position] | (input[position + 1] << 8)) + 0x7f00;
      position += 2;
    } else if (count >= 128) {
      count = ((count - 128) << 8) | input[position++];
    }
    if (count === 0) {
      if (position !== end) throw new MalformedZstd();
      this.#copyLiterals(0, literalCount);
      return;
    }
    if (position >= end) throw new MalformedZstd();
    const modes = input[position++];
    if ((modes & 3) !== 0) throw new MalformedZstd();
    // The table of a stream stays valid for later blocks that name no table.
    const read = (mode: number, code: SequenceCode, previous: FseTable | null): FseTable => {
      const { table, position: next } = readSequenceTable(mode & 3, input, position, end, code, previous);
      position = next;
      return table;
    };
    const lengths = (this.#lengthTable = read(modes >>> 6, LITERAL_LENGTHS, this.#lengthTable));
    const offsets = (this.#offsetTable = read(modes >>> 4, MATCH_OFFSETS, this.#offsetTable));
    const matches = (this.#matchTable = read(modes >>> 2, MATCH_LENGTHS, this.#matchTable));
    this.#execute({ start: position, end, count, literalCount }, lengths, offsets, matches);
  }

  /**
   * Decodes the sequences and copies their bytes. The loop keeps its state in local variables, and checks
   * each group of reads once. Copies go four bytes at a time, also beyond their end: the next copy overwrites
   * these bytes.
   */
  #execute(
    { start, end, count, literalCount }: SequenceStream,
    lengths: FseTable,
    offsets: FseTable,
    matches: FseTable,
  ): void {
    const input = this.#inputView;
    const output = this.#output;
    const outputView = this.#outputView;
    const literalView = this.#literalView;
    const outputLength = output.length;
    const { bits: lengthBits, base: lengthBase, symbols: lengthSymbols } = lengths;
    const { bits: offsetBits, base: offsetBase, symbols: offsetSymbols } = offsets;
    const { bits: matchBits, base: matchBase, symbols: matchSymbols } = matches;
    const { bits: literalExtra, base: literalValues } = LITERAL_LENGTHS;
    const { bits: matchExtra, base: matchValues } = MATCH_LENGTHS;
    /** Bits that are not read yet; the stream is read from its end. */
    let left = bitsOfStream(this.#input, start, end) - lengths.log - offsets.log - matches.log;
    if (left < 0) throw new MalformedZstd();
    let lengthState = bitsAt(input, start, left + offsets.log + matches.log, lengths.log);
    let offsetState = bitsAt(input, start, left + matches.log, offsets.log);
    let matchState = bitsAt(input, start, left, matches.log);
    let literalsUsed = 0;
    let write = this.#written;
    for (let sequence = 0; sequence < count; sequence++) {
      const offsetCode = offsetSymbols[offsetState];
      const matchCode = matchSymbols[matchState];
      const lengthCode = lengthSymbols[lengthState];
      if (offsetCode > MAXIMUM_OFFSET_CODE) throw new MalformedZstd();
      const matchExtraBits = matchExtra[matchCode];
      const literalExtraBits = literalExtra[lengthCode];
      left -= offsetCode + matchExtraBits + literalExtraBits;
      if (left < 0) throw new MalformedZstd();
      let offsetValue = 1 << offsetCode;
      let matchLength = matchValues[matchCode];
      let literals = literalValues[lengthCode];
      if (literalExtraBits > 0) literals += bitsAt(input, start, left, literalExtraBits);
      if (matchExtraBits > 0) matchLength += bitsAt(input, start, left + literalExtraBits, matchExtraBits);
      if (offsetCode > 0)
        offsetValue += longBitsAt(input, start, left + literalExtraBits + matchExtraBits, offsetCode);
      const distance = this.#resolveOffset(offsetValue, literals);
      const matchStart = write + literals;
      const matchEnd = matchStart + matchLength;
      if (literals > literalCount - literalsUsed || distance > matchStart || matchEnd > outputLength) {
        throw new MalformedZstd();
      }
      if (literals >= BLOCK_COPY_BYTES || matchStart + SLACK_BYTES > outputLength) {
        output.set(this.#literals.subarray(literalsUsed, literalsUsed + literals), write);
      } else {
        for (let from = literalsUsed, to = write; to < matchStart; from += 4, to += 4)
          outputView.setUint32(to, literalView.getUint32(from, true), true);
      }
      literalsUsed += literals;
      if (distance >= matchLength && matchLength >= BLOCK_COPY_BYTES) {
        output.copyWithin(matchStart, matchStart - distance, matchEnd - distance);
      } else if (distance >= 4 && matchEnd + SLACK_BYTES <= outputLength) {
        for (let to = matchStart; to < matchEnd; to += 4)
          outputView.setUint32(to, outputView.getUint32(to - distance, true), true);
      } else {
        for (let to = matchStart; to < matchEnd; to++) output[to] = output[to - distance];
      }
      write = matchEnd;
      if (sequence === count - 1) break;
      const lengthStep = lengthBits[lengthState];
      const offsetStep = offsetBits[offsetState];
      const matchStep = matchBits[matchState];
      left -= lengthStep + offsetStep + matchStep;
      if (left < 0) throw new MalformedZstd();
      lengthState = lengthBase[lengthState] + bitsAt(input, start, left + offsetStep + matchStep, lengthStep);
      matchState = matchBase[matchState] + bitsAt(input, start, left + offsetStep, matchStep);
      offsetState = offsetBase[offsetState] + bitsAt(input, start, left, offsetStep);
    }
    if (left !== 0) throw new MalformedZstd();
    this.#written = write;
    this.#copyLiterals(literalsUsed, literalCount - literalsUsed);
  }

  /** Values 1 to 3 name recent offsets, shifted by one if no literals precede the match. */
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
      if (distance === 0) throw new MalformedZstd();
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
