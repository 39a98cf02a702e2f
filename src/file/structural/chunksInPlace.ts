/**
 * Values of a mini-block page that stay in its chunks: their positions are noted and checked, and the values
 * are decoded when they are first read.
 */

import type { FixedColumn, LeafLayout } from "../../arrow/columns/column.js";
import { lazyFixedColumn } from "../../arrow/columns/lazyColumn.js";
import { CHUNK_GRAIN, type ChunkedValues, PLAIN_CHUNK } from "../../arrow/columns/lazyValues.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder, ValuesInPlace } from "../compression/fixedDecoder.js";
import { pickBitpacked, wordMemory } from "../compression/pickBitpacked.js";
import { areFewInOrder, eachChunk } from "../compression/pickedRows.js";
import type { PageOrigin } from "../container/page.js";
import { type AllocateValues, allocateValues } from "./chunkValues.js";

/** Widths of values that are compared in place. */
const BYTE_WIDTHS: readonly number[] = [4, 8];

interface PageSizes {
  /** Values of each chunk. */
  readonly counts: Float64Array;
  /** Values of all chunks. */
  readonly itemCount: number;
  readonly pageBytes: number;
}

export class ChunksInPlace {
  readonly bufferCount = 1;
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #packedBits: Uint8Array;
  #appended = 0;

  private constructor(
    private readonly decoder: FixedDecoder,
    private readonly inPlace: ValuesInPlace,
    private readonly counts: Float64Array,
    private readonly count: number,
    private readonly allocate: () => Uint8Array,
  ) {
    this.#starts = new Float64Array(counts.length);
    this.#ends = new Float64Array(counts.length);
    this.#packedBits = new Uint8Array(counts.length);
  }

  /**
   * Returns null for values that can't stay in place.
   * @param allocate makes the memory of decoded values
   * @throws the errors of {@link fixedDecoder}
   */
  static of(
    layout: LeafLayout,
    encoding: CompressiveEncoding | undefined,
    { counts, itemCount, pageBytes }: PageSizes,
    origin: PageOrigin,
    allocate: AllocateValues,
  ): ChunksInPlace | null {
    if (layout.kind !== "fixed" || !BYTE_WIDTHS.includes(layout.byteWidth)) return null;
    const decoder = fixedDecoder(encoding, "chunk", origin);
    const { inPlace, bitsPerValue } = decoder;
    if (inPlace === undefined || bitsPerValue !== layout.byteWidth * 8) return null;
    for (let chunk = 0; chunk < counts.length - 1; chunk++)
      if (counts[chunk] % CHUNK_GRAIN !== 0) return null;
    const make = () => allocateValues(itemCount, bitsPerValue, pageBytes, origin, allocate);
    return new ChunksInPlace(decoder, inPlace, counts, itemCount, make);
  }

  /**
   * Notes the next chunk.
   * @param bytes the same for all chunks
   */
  append(bytes: Uint8Array, start: number, end: number, count: number): void {
    const chunk = this.#appended++;
    this.#bytes = bytes;
    this.#packedBits[chunk] = this.inPlace.packedBits(bytes, start, end, count);
    this.#starts[chunk] = start + this.inPlace.offset;
    this.#ends[chunk] = end;
  }

  finish(): FixedColumn {
    const chunks: ChunkedValues = {
      kind: "chunks",
      bytes: this.#bytes,
      starts: this.#starts,
      counts: this.counts,
      packedBits: this.#packedBits,
      decode: () => this.#decode(),
      pick: (rows: Uint32Array) => this.#pick(rows),
    };
    return lazyFixedColumn(chunks, this.decoder.bitsPerValue / 8, this.count, null);
  }

  #pick(rows: Uint32Array): Uint8Array | null {
    const bytes = this.#bytes;
    if (bytes.byteOffset % 4 !== 0 || !areFewInOrder(rows, this.count)) return null;
    const byteWidth = this.decoder.bitsPerValue / 8;
    const data = wordMemory(bytes);
    const picked = wordMemory(new Uint8Array(rows.length * byteWidth));
    eachChunk(rows, this.counts, (chunk, first, end, origin) => {
      const start = this.#starts[chunk];
      const bits = this.#packedBits[chunk];
      if (bits !== PLAIN_CHUNK) {
        pickBitpacked({ data, start, bits, places: rows, first, end, origin }, byteWidth, picked, first);
        return;
      }
      const width = byteWidth / 4;
      for (let index = first; index < end; index++) {
        const from = start / 4 + (rows[index] - origin) * width;
        for (let word = 0; word < width; word++) picked.words[index * width + word] = data.words[from + word];
      }
    });
    return picked.bytes;
  }

  #decode(): Uint8Array {
    const values = this.allocate();
    const buffers: Uint8Array[] = [];
    let made = 0;
    for (let chunk = 0; chunk < this.#starts.length; chunk++) {
      buffers[0] = this.#bytes.subarray(this.#starts[chunk] - this.inPlace.offset, this.#ends[chunk]);
      this.decoder.decode(buffers, 0, this.counts[chunk], values, made);
      made += this.counts[chunk];
    }
    return values;
  }
}
