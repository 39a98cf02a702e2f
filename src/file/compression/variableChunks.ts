/** Variable-width values in the chunks of a page (variable.ts): gathers all, or picks a few. */

import type { VariableColumn, VariableLayout } from "../../arrow/columns/column.js";
import { lazyTextColumn } from "../../arrow/columns/lazyColumn.js";
import type { CodeSymbols, DecodedValues } from "../../arrow/columns/lazyValues.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { type AllocateTexts, decodeFsstPieces } from "./fsst.js";
import { decompress } from "./general.js";
import { wordMemory } from "./pickBitpacked.js";
import { areFewInOrder, eachChunk } from "./pickedRows.js";
import { PickedValues } from "./pickVariable.js";
import {
  codesOf,
  finishVariable,
  gatherOffsets,
  MAXIMUM_POSITION,
  type VariableEncoding,
} from "./variable.js";

export class VariableChunks {
  private readonly buffers: Uint8Array[] = [];
  private readonly counts: number[] = [];
  private valueCount = 0;
  private byteCount = 0;

  constructor(
    private readonly encoding: VariableEncoding,
    private readonly origin: PageOrigin,
  ) {}

  append(buffer: Uint8Array, count: number): void {
    const { decompressor, offsetBits } = this.encoding;
    const width = offsetBits / 8;
    const plain = alignedBytes(decompressor === null ? buffer : decompress(decompressor, buffer), 4);
    if (plain.length < (count + 1) * width) {
      throw corruptPage(this.origin, `${count + 1} offsets in a buffer of ${plain.length} bytes`);
    }
    const words = new Uint32Array(plain.buffer, plain.byteOffset, plain.length >>> 2);
    const size = words[(count * width) >>> 2] - words[0];
    if (!(size >= 0 && size <= plain.length)) {
      throw corruptPage(this.origin, "offsets of variable-width values do not ascend");
    }
    this.buffers.push(plain);
    this.counts.push(count);
    this.valueCount += count;
    this.byteCount += size;
  }

  /**
   * Returns the values of all chunks, as a column without validity.
   * @param allocate makes the memory of the chunks' content. If given, values are gathered, and codes
   *   decoded, when they are first read
   * @param allocateTexts makes the memory of texts that are decoded now
   */
  finish(
    layout: VariableLayout,
    allocate?: (byteLength: number) => Uint8Array,
    allocateTexts?: AllocateTexts,
  ): VariableColumn {
    if (this.byteCount > MAXIMUM_POSITION) throw unsupportedPage(this.origin, "more than 2 GiB of values");
    const { buffers, counts } = this;
    const { symbols, offsetBits } = this.encoding;
    if (allocate === undefined || offsetBits !== 32 || layout.offsetBits !== 32) {
      return allocate === undefined && symbols !== null
        ? this.decode(layout, symbols, allocateTexts)
        : this.gather(layout, allocate);
    }
    let gathered: VariableColumn | null = null;
    const gather = (): VariableColumn => {
      gathered ??= this.gather(layout, allocate);
      return gathered;
    };
    const pick = (rows: Uint32Array) => this.pick(layout, rows);
    return lazyTextColumn({ kind: "chunks", chunks: buffers, counts, symbols, gather, pick }, null);
  }

  private pick(layout: VariableLayout, rows: Uint32Array): DecodedValues | null {
    if (!areFewInOrder(rows, this.valueCount)) return null;
    const values = new PickedValues(layout, this.encoding, rows.length, this.origin);
    eachChunk(rows, this.counts, (chunk, first, end, firstRow) => {
      const data = wordMemory(this.buffers[chunk]);
      const stored = { data, start: 0, size: data.bytes.length, count: this.counts[chunk], firstRow };
      values.pick(stored, rows, first, end, null);
    });
    const { offsets, bytes } = values.finish();
    return { offsets, bytes };
  }

  private gather(layout: VariableLayout, allocate?: (byteLength: number) => Uint8Array): VariableColumn {
    const { symbols } = this.encoding;
    const offsetBytes = 4 * (this.valueCount + 1);
    const memory = alignedBytes(allocate?.(offsetBytes + this.byteCount) ?? new Uint8Array(offsetBytes), 4);
    const offsets = new Int32Array(memory.buffer, memory.byteOffset, this.valueCount + 1);
    const bytes = allocate === undefined ? new Uint8Array(this.byteCount) : memory.subarray(offsetBytes);
    this.eachChunk(offsets, (stored, position) => bytes.set(stored, position));
    return symbols === null
      ? finishVariable(layout, symbols, offsets, bytes, this.origin)
      : codesOf(layout, symbols, offsets, bytes, this.origin);
  }

  /** Decodes the codes of all chunks where they lie. */
  private decode(
    layout: VariableLayout,
    symbols: CodeSymbols,
    allocateTexts: AllocateTexts | undefined,
  ): VariableColumn {
    const offsets = new Int32Array(this.valueCount + 1);
    const pieces: Uint8Array[] = [];
    this.eachChunk(offsets, (codes) => pieces.push(codes));
    const bytes = decodeFsstPieces(symbols, offsets, pieces, this.origin, allocateTexts);
    return finishVariable(layout, null, offsets, bytes, this.origin);
  }

  /**
   * Gathers the offsets of all chunks.
   * @param use gets the bytes of each chunk's values, and the number of bytes in the chunks before it
   */
  private eachChunk(offsets: Int32Array, use: (stored: Uint8Array, position: number) => void): void {
    const stride = this.encoding.offsetBits / 32;
    let value = 0;
    let position = 0;
    for (let chunk = 0; chunk < this.buffers.length; chunk++) {
      const buffer = this.buffers[chunk];
      const count = this.counts[chunk];
      const words = new Uint32Array(buffer.buffer, buffer.byteOffset, buffer.length >>> 2);
      const start = words[0];
      const end = gatherOffsets(words, stride, count, offsets, value, position);
      if (end < 0 || end > buffer.length || start < (count + 1) * stride * 4) {
        throw corruptPage(this.origin, "offsets of variable-width values do not ascend inside their buffer");
      }
      use(buffer.subarray(start, end), position);
      value += count;
      position += end - start;
    }
  }
}
