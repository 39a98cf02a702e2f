/**
 * Takes single values out of the chunks of a mini-block page: reads a bit-packed value inside its unit, and a
 * string by its offsets. Decodes the chunk if neither is possible.
 */

import type { BitsColumn, FixedColumn, LeafColumn, VariableLayout } from "../../arrow/columns/column.js";
import { alignedBytes, alignTo8 } from "../../bytes/aligned.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "../compression/bitpack.js";
import { fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import { decompress } from "../compression/general.js";
import { pickBitpacked, type WordMemory, wordMemory } from "../compression/pickBitpacked.js";
import { PickedValues } from "../compression/pickVariable.js";
import { resolveVariable, type VariableEncoding } from "../compression/variable.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { bytesOfValues } from "../structural/chunkValues.js";
import { type ChunkPlace, valueBuffer } from "./chunkWalk.js";

export interface ValuePicker {
  readonly bufferCount: number;
  /** Throws if an opened chunk is too small for its values, as far as this shows without decoding them. */
  expectValues(chunk: ChunkPlace): void;
  /** Makes room for `count` values over all chunks. Called once, before the first `pick`. */
  reserve(count: number): void;
  /**
   * Takes the values at `positions[first]` to `positions[end - 1]` of the page from the chunk that holds
   * them.
   * @param definition levels of the values at all positions; null if none is null
   */
  pick(
    chunk: ChunkPlace,
    positions: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array | null,
  ): void;
  /** Returns the picked values, without validity. */
  finish(): LeafColumn;
}

// ------------------------------------------------------------------------------------------- fixed width

/** Fraction of a bit-packed unit's values above which unpacking all of them is as fast as picking. */
const MOST_PICKED = 1 / 16;

/** Values of a whole number of bytes, or of one bit. */
export class FixedPicker implements ValuePicker {
  readonly bufferCount: number;
  readonly bitsPerValue: number;
  private readonly decoder: FixedDecoder;
  private readonly packed: boolean;
  private readonly flat: boolean;
  private count = 0;
  private values = wordMemory(new Uint8Array(0));
  private scratch = wordMemory(new Uint8Array(0));

  /**
   * @param itemCount values of the page
   * @param pageBytes bytes of its chunks; refused if far too few for these values
   */
  constructor(
    encoding: CompressiveEncoding | undefined,
    itemCount: number,
    pageBytes: number,
    private readonly origin: PageOrigin,
  ) {
    this.decoder = fixedDecoder(encoding, "chunk", origin);
    this.bitsPerValue = this.decoder.bitsPerValue;
    this.bufferCount = this.decoder.bufferCount;
    this.packed = encoding?.inlineBitpacking !== undefined;
    this.flat = encoding?.flat !== undefined && this.bitsPerValue >= 8;
    bytesOfValues(itemCount, this.bitsPerValue, pageBytes, origin);
  }

  expectValues({ data, starts: [start], sizes: [size], count }: ChunkPlace): void {
    this.decoder.inPlace?.packedBits(data, start, start + size, count);
  }

  reserve(count: number): void {
    this.count = count;
    this.values = wordMemory(new Uint8Array(Math.ceil((count * this.bitsPerValue) / 8)));
  }

  pick(chunk: ChunkPlace, positions: Uint32Array, first: number, end: number): void {
    const { firstValue, count } = chunk;
    const byteWidth = this.bitsPerValue / 8;
    if (this.packed && end - first < count * MOST_PICKED) {
      this.unpack(chunk, byteWidth, positions, first, end);
    } else if (this.flat) {
      if (chunk.sizes[0] < count * byteWidth) {
        throw corruptPage(this.origin, `${count} flat values in a buffer of ${chunk.sizes[0]} bytes`);
      }
      this.copy(chunk.memory, chunk.starts[0], positions, first, end, firstValue);
    } else if (byteWidth >= 1) {
      this.copy(this.decode(chunk), 0, positions, first, end, firstValue);
    } else {
      const plain = this.decode(chunk).bytes;
      const { bytes } = this.values;
      for (let index = first; index < end; index++) {
        const offset = positions[index] - firstValue;
        const bit = (plain[offset >>> 3] >>> (offset & 7)) & 1;
        bytes[index >>> 3] |= bit << (index & 7);
      }
    }
  }

  /** Copies values that lie back to back. The value of row `firstValue` is at `start`. */
  private copy(
    from: WordMemory,
    start: number,
    positions: Uint32Array,
    first: number,
    end: number,
    firstValue: number,
  ): void {
    const byteWidth = this.bitsPerValue / 8;
    if (byteWidth === 8 || byteWidth === 4) {
      // Value buffers begin at multiples of 8, and so does their memory.
      const { words } = from;
      const target = this.values.words;
      const base = start >>> 2;
      const width = byteWidth >>> 2;
      for (let index = first; index < end; index++) {
        const read = base + (positions[index] - firstValue) * width;
        target[index * width] = words[read];
        if (width === 2) target[index * 2 + 1] = words[read + 1];
      }
      return;
    }
    const { bytes } = from;
    const target = this.values.bytes;
    for (let index = first, write = first * byteWidth; index < end; index++) {
      const read = start + (positions[index] - firstValue) * byteWidth;
      for (let byte = 0; byte < byteWidth; byte++) target[write++] = bytes[read + byte];
    }
  }

  /** Decodes all values of a chunk into memory of the picker. */
  private decode(chunk: ChunkPlace): WordMemory {
    const byteLength = Math.ceil((chunk.count * this.bitsPerValue) / 8);
    if (this.scratch.bytes.length >= byteLength) this.scratch.bytes.fill(0);
    else this.scratch = wordMemory(new Uint8Array(alignTo8(byteLength)));
    const buffers = chunk.starts.map((_, buffer) => valueBuffer(chunk, buffer));
    this.decoder.decode(buffers, 0, chunk.count, this.scratch.bytes, 0);
    return this.scratch;
  }

  /** Takes values from a bit-packed unit (inlineBitpacking.ts). */
  private unpack(
    { memory, starts: [start], sizes: [size], count, firstValue }: ChunkPlace,
    byteWidth: number,
    places: Uint32Array,
    first: number,
    end: number,
  ): void {
    const bits = size === 0 ? 0 : memory.bytes[start];
    if (bits > this.bitsPerValue || count > PACK_UNIT || size !== byteWidth + packedUnitBytes(bits)) {
      throw corruptPage(this.origin, `bit-packed unit of ${size} bytes at ${bits} bits a value`);
    }
    const values = { data: memory, start: start + byteWidth, bits, places, first, end, origin: firstValue };
    pickBitpacked(values, byteWidth, this.values, first);
  }

  finish(): FixedColumn | BitsColumn {
    const length = this.count;
    const values = this.values.bytes;
    if (this.bitsPerValue === 1) return { kind: "bits", length, validity: null, bits: values, bitOffset: 0 };
    return { kind: "fixed", byteWidth: this.bitsPerValue / 8, length, validity: null, values };
  }
}

// ---------------------------------------------------------------------------------------- variable width

/** Strings and binaries. */
export class VariablePicker implements ValuePicker {
  readonly bufferCount = 1;
  private readonly encoding: VariableEncoding;
  private values: PickedValues;

  constructor(
    private readonly layout: VariableLayout,
    encoding: CompressiveEncoding | undefined,
    private readonly origin: PageOrigin,
  ) {
    this.encoding = resolveVariable(encoding, origin);
    this.values = new PickedValues(layout, this.encoding, 0, origin);
  }

  expectValues({ sizes: [size], count }: ChunkPlace): void {
    const { decompressor, offsetBits } = this.encoding;
    if (decompressor === null && size < (count + 1) * (offsetBits / 8)) {
      throw corruptPage(this.origin, `${count + 1} offsets in a buffer of ${size} bytes`);
    }
  }

  reserve(count: number): void {
    this.values = new PickedValues(this.layout, this.encoding, count, this.origin);
  }

  pick(
    chunk: ChunkPlace,
    positions: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array | null,
  ): void {
    const { decompressor } = this.encoding;
    const { count, firstValue, memory, starts, sizes } = chunk;
    if (decompressor === null) {
      const plain = { data: memory, start: starts[0], size: sizes[0], count, firstRow: firstValue };
      this.values.pick(plain, positions, first, end, definition);
      return;
    }
    const bytes = alignedBytes(decompress(decompressor, valueBuffer(chunk, 0)), 4);
    const plain = { data: wordMemory(bytes), start: 0, size: bytes.length, count, firstRow: firstValue };
    this.values.pick(plain, positions, first, end, definition);
  }

  finish(): LeafColumn {
    return this.values.finish();
  }
}
