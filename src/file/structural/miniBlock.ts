/**
 * The mini-block layout: small values, in chunks that are compressed one by one.
 *
 * Buffers of a page: chunk words, chunk data, the dictionary if there is one, the repetition index if there are
 * lists. Chunks lie back to back; a chunk word is a u16, or a u32 when the page has large chunks (2.2):
 *
 *     bits 0–3    log2 of the chunk's values; 0 in the last chunk, which holds the rest
 *     bits 4 …    size of the chunk in units of 8 bytes, less 1
 *
 * A chunk, every part from `levels` on padded to a multiple of 8 from the chunk's start:
 *
 *     u16            number of levels (events), 0 where the page has neither kind
 *     u16            bytes of the repetition levels, if the page has them
 *     u16            bytes of the definition levels, if the page has them
 *     u16 or u32     bytes of each value buffer, as wide as the chunk words
 *     padding
 *     repetition levels, definition levels, value buffers
 */

import type { Column, Layout } from "../../arrow/column.js";
import { type CompressiveEncoding, MiniBlockLayout, RepDefLayer } from "../../format/encodings.js";
import { fixedDecoder } from "../compression/fixed.js";
import {
  describeOutOfLineBitpacking,
  encodeOutOfLineBitpacking,
} from "../compression/outOfLineBitpacking.js";
import { type Layers, type Levels, levelDecoder } from "../levels.js";
import { corruptPage, type EncodedPage, type StructuralVersion, type PageOrigin } from "../page.js";
import { type ChunkValues, chunkValues, FixedChunks } from "./chunkValues.js";
import { decodeDictionary, resolveDictionary } from "./dictionary.js";

/** The values of a page, a slot per visible event, and the levels that say what they mean. */
export interface PageEvents {
  /** Without validity. */
  readonly values: Column;
  readonly levels: Levels;
}

/** Decodes a page whose layout says how many values it has; the caller knows whether that can be right. */
export function decodeMiniBlock(
  layout: Layout,
  page: MiniBlockLayout,
  layers: Layers,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): PageEvents {
  const hasDictionary = page.dictionary !== undefined;
  const bufferCount = 2 + (hasDictionary ? 1 : 0) + (page.repetitionIndexDepth > 0 ? 1 : 0);
  if (buffers.length < bufferCount) {
    throw corruptPage(origin, `mini-block page with ${buffers.length} of ${bufferCount} buffers`);
  }
  const data = buffers[1];
  const chunks = planChunks(page, buffers[0], data, origin);
  const values = hasDictionary
    ? indexChunks(page, data.length, origin)
    : chunkValues(layout, page.valueCompression, page.itemCount, data.length, origin);
  if (values.bufferCount !== page.bufferCount) {
    throw corruptPage(origin, `${page.bufferCount} value buffers where ${values.bufferCount} are read`);
  }
  const levels = decodeChunks(page, chunks, data, layers, values, origin);
  if (page.dictionary === undefined) return { values: values.finish(), levels };
  const dictionary = decodeDictionary(layout, page.dictionary, buffers[2], page.dictionaryItemCount, origin);
  const indices = values.finish();
  if (indices.kind !== "fixed") throw corruptPage(origin, "dictionary indices of variable width");
  return { values: resolveDictionary(layout, indices, dictionary, levels.definition, origin), levels };
}

function indexChunks(page: MiniBlockLayout, pageBytes: number, origin: PageOrigin): ChunkValues {
  const decoder = fixedDecoder(page.valueCompression, "chunk", origin);
  const bits = decoder.bitsPerValue;
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
    throw corruptPage(origin, `dictionary indices of ${bits} bits`);
  }
  return new FixedChunks(decoder, bits / 8, page.itemCount, pageBytes, origin);
}

interface ChunkPlan {
  /** Byte offsets of the chunks in the data, and the end of the last one. */
  readonly offsets: Float64Array;
  /** Values of each chunk. */
  readonly counts: Float64Array;
  /** Levels of all chunks. */
  readonly levelCount: number;
}

/** Reads the chunk words; all chunks are inside the data and their counts add up to the page's. */
function planChunks(
  page: MiniBlockLayout,
  chunkWords: Uint8Array,
  data: Uint8Array,
  origin: PageOrigin,
): ChunkPlan {
  const wordBytes = page.hasLargeChunk ? 4 : 2;
  const chunkCount = chunkWords.length / wordBytes;
  if (!Number.isInteger(chunkCount)) throw corruptPage(origin, `${chunkWords.length} bytes of chunk words`);
  const view = new DataView(chunkWords.buffer, chunkWords.byteOffset, chunkWords.byteLength);
  const offsets = new Float64Array(chunkCount + 1);
  const counts = new Float64Array(chunkCount);
  let position = 0;
  let left = page.itemCount;
  let levelCount = 0;
  for (let chunk = 0; chunk < chunkCount; chunk++) {
    const word = page.hasLargeChunk ? view.getUint32(chunk * 4, true) : view.getUint16(chunk * 2, true);
    const count = chunk === chunkCount - 1 ? left : 2 ** (word & 15);
    left -= count;
    if (left < 0) throw corruptPage(origin, `chunks hold more than the ${page.itemCount} values of the page`);
    offsets[chunk] = position;
    counts[chunk] = count;
    if (position + 2 > data.length) throw corruptPage(origin, `chunk ${chunk} starts behind the page's data`);
    levelCount += data[position] | (data[position + 1] << 8);
    position += ((word >>> 4) + 1) * 8;
  }
  offsets[chunkCount] = position;
  if (left !== 0) throw corruptPage(origin, `${page.itemCount} values in a page without chunks`);
  if (position > data.length) throw corruptPage(origin, `chunks of ${position} bytes in ${data.length}`);
  return { offsets, counts, levelCount };
}

/** Walks all chunks; hands their values to `values` and returns their levels. */
function decodeChunks(
  page: MiniBlockLayout,
  { offsets, counts, levelCount }: ChunkPlan,
  data: Uint8Array,
  layers: Layers,
  values: ChunkValues,
  origin: PageOrigin,
): Levels {
  const repetition = page.repCompression === undefined ? null : new Uint16Array(levelCount);
  const definition = page.defCompression === undefined ? null : new Uint16Array(levelCount);
  const repetitionBytes = repetition === null ? null : new Uint8Array(repetition.buffer);
  const definitionBytes = definition === null ? null : new Uint8Array(definition.buffer);
  const repetitionDecoder =
    page.repCompression === undefined ? null : levelDecoder(page.repCompression, origin);
  const definitionDecoder =
    page.defCompression === undefined ? null : levelDecoder(page.defCompression, origin);
  const sizeBytes = page.hasLargeChunk ? 4 : 2;
  const bufferCount = page.bufferCount;
  const headerBytes =
    2 + (repetition === null ? 0 : 2) + (definition === null ? 0 : 2) + bufferCount * sizeBytes;
  const valueBuffers: Uint8Array[] = new Array(bufferCount);
  const levelBuffer: Uint8Array[] = new Array(1);
  const hasLevels = repetition !== null || definition !== null;
  let levelsRead = 0;

  for (let chunk = 0; chunk < counts.length; chunk++) {
    const start = offsets[chunk];
    const end = offsets[chunk + 1];
    const count = counts[chunk];
    if (start + headerBytes > end) throw corruptPage(origin, `chunk ${chunk} shorter than its header`);
    const levels = data[start] | (data[start + 1] << 8);
    // Without lists every event has a value slot; with them only a caller that reads the levels can tell.
    if (hasLevels ? layers.listDepth === 0 && levels !== count : levels !== 0) {
      throw corruptPage(origin, `${levels} levels for the ${count} values of chunk ${chunk}`);
    }
    let header = start + 2;
    let position = start + alignTo8(headerBytes);
    if (repetitionDecoder !== null && repetitionBytes !== null) {
      const size = data[header] | (data[header + 1] << 8);
      header += 2;
      if (position + size > end) throw corruptPage(origin, `repetition levels leave chunk ${chunk}`);
      levelBuffer[0] = data.subarray(position, position + size);
      repetitionDecoder.decode(levelBuffer, 0, levels, repetitionBytes, levelsRead);
      position += alignTo8(size);
    }
    if (definitionDecoder !== null && definitionBytes !== null) {
      const size = data[header] | (data[header + 1] << 8);
      header += 2;
      if (position + size > end) throw corruptPage(origin, `definition levels leave chunk ${chunk}`);
      levelBuffer[0] = data.subarray(position, position + size);
      definitionDecoder.decode(levelBuffer, 0, levels, definitionBytes, levelsRead);
      position += alignTo8(size);
    }
    for (let buffer = 0; buffer < bufferCount; buffer++, header += sizeBytes) {
      let size = data[header] | (data[header + 1] << 8);
      if (sizeBytes === 4) size = (size | (data[header + 2] << 16) | (data[header + 3] << 24)) >>> 0;
      if (position + size > end) throw corruptPage(origin, `value buffer ${buffer} leaves chunk ${chunk}`);
      valueBuffers[buffer] = data.subarray(position, position + size);
      position += alignTo8(size);
    }
    values.append(valueBuffers, count);
    levelsRead += levels;
  }
  return { repetition, definition };
}

const alignTo8 = (size: number): number => Math.ceil(size / 8) * 8;

/** Most values of a chunk: its log2 has four bits. */
export const MAXIMUM_CHUNK_VALUES = 32_768;

/** Definition levels of one item layer take one bit, whether packed to it or not. */
const DEFINITION_BITS = 1;

/** What a page says about its values, next to its chunks. */
export interface MiniBlockValues {
  readonly encoding: CompressiveEncoding;
  /** Buffers of a chunk. */
  readonly bufferCount: number;
  readonly dictionary?: {
    readonly encoding: CompressiveEncoding;
    readonly block: Uint8Array;
    readonly itemCount: number;
  };
}

/** Lays out the chunks of a page without lists; the caller writes the values into the room it is given. */
export class MiniBlockEncoder {
  /** Chunk data so far; its address is a multiple of 8. Replaced by `beginChunk` when it grows. */
  data: Uint8Array;
  private position = 0;
  private readonly sizes: number[] = [];
  private readonly counts: number[] = [];
  private valueCount = 0;

  /**
   * @param definition levels of all values, or null where none is null
   * @param expectedBytes of chunk data; a bad guess costs a copy
   */
  constructor(
    private readonly version: StructuralVersion,
    private readonly definition: Uint16Array | null,
    expectedBytes: number,
  ) {
    this.data = new Uint8Array(expectedBytes);
  }

  /**
   * Adds a chunk of `count` values, a power of two except in the last one. Returns where its value buffers go in
   * `data`, which is zero there; each begins at the next multiple of 8 behind the one before.
   */
  beginChunk(count: number, bufferSizes: readonly number[]): number {
    const { definition } = this;
    const levels =
      definition === null
        ? null
        : encodeOutOfLineBitpacking(
            DEFINITION_BITS,
            definition.subarray(this.valueCount, this.valueCount + count),
          );
    const sizeBytes = this.version === "2.1" ? 2 : 4;
    const headerBytes = alignTo8(2 + (levels === null ? 0 : 2) + bufferSizes.length * sizeBytes);
    const start = this.position;
    let size = headerBytes + (levels === null ? 0 : alignTo8(levels.length));
    const valuesStart = start + size;
    for (const bufferSize of bufferSizes) size += alignTo8(bufferSize);
    this.reserve(size);

    const view = new DataView(this.data.buffer, this.data.byteOffset + start, headerBytes);
    let header = 2;
    if (levels !== null) {
      view.setUint16(0, count, true);
      view.setUint16(header, levels.length, true);
      header += 2;
      this.data.set(levels, start + headerBytes);
    }
    for (const bufferSize of bufferSizes) {
      if (sizeBytes === 2) view.setUint16(header, bufferSize, true);
      else view.setUint32(header, bufferSize, true);
      header += sizeBytes;
    }
    this.position += size;
    this.valueCount += count;
    this.sizes.push(size);
    this.counts.push(count);
    return valuesStart;
  }

  private reserve(byteCount: number): void {
    if (this.position + byteCount <= this.data.length) return;
    const grown = new Uint8Array(alignTo8(Math.max(this.position + byteCount, this.data.length * 1.5)));
    grown.set(this.data.subarray(0, this.position));
    this.data = grown;
  }

  /** The page, once all its values are in. */
  finish(values: MiniBlockValues): EncodedPage {
    const { dictionary } = values;
    const miniBlock = MiniBlockLayout.create({
      defCompression: this.definition === null ? undefined : describeOutOfLineBitpacking(16, DEFINITION_BITS),
      valueCompression: values.encoding,
      dictionary: dictionary?.encoding,
      dictionaryItemCount: dictionary?.itemCount ?? 0,
      layers: [this.definition === null ? RepDefLayer.ALL_VALID_ITEM : RepDefLayer.NULLABLE_ITEM],
      bufferCount: values.bufferCount,
      itemCount: this.valueCount,
      hasLargeChunk: this.version !== "2.1",
    });
    const buffers = [[this.encodeWords()], [this.data.subarray(0, this.position)]];
    if (dictionary !== undefined) buffers.push([dictionary.block]);
    return { encoding: { miniBlock }, buffers, rowCount: this.valueCount };
  }

  private encodeWords(): Uint8Array {
    const { sizes, counts } = this;
    const words = this.version === "2.1" ? new Uint16Array(sizes.length) : new Uint32Array(sizes.length);
    for (let chunk = 0; chunk < sizes.length; chunk++) {
      const log2 = chunk === sizes.length - 1 ? 0 : 31 - Math.clz32(counts[chunk]);
      words[chunk] = ((sizes[chunk] / 8 - 1) << 4) | log2;
    }
    return new Uint8Array(words.buffer);
  }
}
