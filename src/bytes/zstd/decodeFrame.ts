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
import { BackwardBits, MalformedZstd } from "./bitReader.js";
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

class FrameDecoder {
  readonly #frame: Uint8Array;
  readonly #output: Uint8Array;
  /** The block that is being decoded. Bit readers load whole words, so there is room after its last byte. */
  readonly #input: Uint8Array;
  /** Literals of the block, all of which end up in the output. Most frames have a few kilobytes. */
  readonly #literals: Uint8Array;
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
    this.#literals = new Uint8Array(Math.min(output.length, MAXIMUM_BLOCK_BYTES));
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
      if (count > this.#literals.length || position + bytes > end) throw new MalformedZstd();
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
    if (count > this.#literals.length || sectionEnd > end) throw new MalformedZstd();
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
    const reader = new BackwardBits(input, position, end);
    this.#execute(reader, count, lengths, offsets, matches, literalCount);
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
      if (offsetCode > MAXIMUM_OFFSET_CODE) throw new MalformedZstd();
      const offsetValue = 2 ** offsetCode + reader.read(offsetCode);
      const matchLength = MATCH_LENGTHS.base[matchCode] + reader.read(MATCH_LENGTHS.bits[matchCode]);
      const literals = LITERAL_LENGTHS.base[lengthCode] + reader.read(LITERAL_LENGTHS.bits[lengthCode]);
      const distance = this.#resolveOffset(offsetValue, literals);
      if (literals > literalCount - literalsUsed) throw new MalformedZstd();
      this.#copyLiterals(literalsUsed, literals);
      literalsUsed += literals;

      let write = this.#written;
      if (distance > write) throw new MalformedZstd();
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
    if (!reader.atStart) throw new MalformedZstd();
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
