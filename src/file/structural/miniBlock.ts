/**
 * The mini-block layout: small values, in chunks that are compressed one by one.
 *
 * Buffers of a page: chunk words (chunkWords.ts), chunk data, the dictionary if there is one, the repetition
 * index if there are lists. A chunk, every part from `levels` on padded to a multiple of 8 from the chunk's
 * start:
 *
 *     u16            number of levels (events), 0 if the page has neither kind
 *     u16            bytes of the repetition levels, if the page has them
 *     u16            bytes of the definition levels, if the page has them
 *     u16 or u32     bytes of each value buffer, as wide as the chunk words
 *     padding
 *     repetition levels, definition levels, value buffers
 */

import type { Column, LeafLayout } from "../../arrow/columns/column.js";
import { bytesOf } from "../../bytes/view.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { PACK_UNIT } from "../compression/bitpack.js";
import { fixedDecoder } from "../compression/fixed.js";
import type { AllocateTexts } from "../compression/fsst.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { type Levels, levelDecoder, type StructuralPage } from "../events/levels.js";
import { RowStarts } from "../events/rowStarts.js";
import { ChunkHeader, MAXIMUM_CHUNK_LEVELS } from "./chunkHeader.js";
import { ChunksInPlace } from "./chunksInPlace.js";
import { type AllocateValues, type ChunkValues, chunkValues } from "./chunkValues.js";
import { ChunkWords } from "./chunkWords.js";
import { type DictionaryValues, decodeDictionaryValues, resolveDictionary } from "./dictionary.js";

/** Values of a page, a slot per visible event, and their levels. */
export interface PageEvents {
  /** Without validity. */
  readonly values: Column;
  readonly levels: Levels;
}

export interface DecodeOptions {
  /**
   * Makes the memory of values in mini-block pages; default: fresh memory. If given, coded, packed and plain
   * values are decoded when they are first read.
   */
  readonly allocate?: AllocateValues;
  /** Makes the memory of texts that are decoded from codes at once. Default: fresh memory. */
  readonly allocateTexts?: AllocateTexts;
  /** Chunks of a mini-block page to decode. Default: all. */
  readonly chunks?: ChunkPlan;
  /** Chunks whose first event begins a row, whatever its repetition level says. Default: none. */
  readonly withinRow?: readonly number[];
  /**
   * True if values that the page stores once stay in a dictionary, though the layout has none: for a layout
   * of single values, or of lists of them. Default false.
   */
  readonly keepsDictionary?: boolean;
  /** Dictionary of the page, if it was decoded before. */
  readonly dictionary?: DictionaryValues;
}

/**
 * Decodes a page. Its layout states the number of values; without lists, the caller has checked that number.
 * @param listCount checked number of lists that are one deep, around values that are one event each; null for
 *   all else
 */
export function decodeMiniBlock(
  layout: LeafLayout,
  structural: StructuralPage<MiniBlockLayout>,
  listCount: number | null,
  options: DecodeOptions = {},
): PageEvents {
  const { page, buffers, origin } = structural;
  const { allocate, chunks: planned, keepsDictionary = false } = options;
  const hasDictionary = page.dictionary !== undefined;
  const bufferCount = 2 + (hasDictionary ? 1 : 0) + (page.repetitionIndexDepth > 0 ? 1 : 0);
  if (buffers.length < bufferCount) {
    throw corruptPage(origin, `mini-block page with ${buffers.length} of ${bufferCount} buffers`);
  }
  const data = buffers[1];
  const chunks = planned ?? planChunks(page, buffers[0], data, origin);
  const { valueCompression, itemCount } = page;
  const stored = hasDictionary ? indexLayout(page, origin) : layout;
  const sizes = { counts: chunks.counts, itemCount, pageBytes: data.length };
  const values =
    (allocate !== undefined && (!hasDictionary || keepsDictionary)
      ? ChunksInPlace.of(stored, valueCompression, sizes, origin, allocate)
      : null) ??
    chunkValues(stored, valueCompression, {
      count: itemCount,
      pageBytes: data.length,
      origin,
      allocate: hasDictionary ? undefined : allocate,
      allocateTexts: options.allocateTexts,
    });
  if (values.bufferCount !== page.bufferCount) {
    throw corruptPage(origin, `${page.bufferCount} value buffers where ${values.bufferCount} are read`);
  }
  const isPlain = page.repCompression !== undefined && page.defCompression === undefined;
  const lists = isPlain && listCount !== null ? new RowStarts(listCount, allocate) : null;
  const levels = decodeChunks(structural, chunks, lists, values, options.withinRow);
  if (page.dictionary === undefined) return { values: values.finish(), levels };
  const dictionary = options.dictionary ?? decodePageDictionary(layout, page, buffers, origin);
  const indices = values.finish();
  if (indices.kind !== "fixed") throw corruptPage(origin, "dictionary indices of variable width");
  const { definition } = levels;
  return {
    values: resolveDictionary(layout, indices, dictionary, definition, keepsDictionary, origin),
    levels,
  };
}

/**
 * Returns the values of a page's dictionary, in memory of their own: columns with the dictionary may outlive
 * the page.
 * @param buffers all buffers of the page
 */
export function decodePageDictionary(
  layout: LeafLayout,
  { dictionary, dictionaryItemCount }: MiniBlockLayout,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
): DictionaryValues {
  if (dictionary === undefined) throw corruptPage(origin, "missing dictionary");
  const values = decodeDictionaryValues(layout, dictionary, buffers[2], dictionaryItemCount, origin);
  const isView = values.kind === "variable" && values.bytes.buffer === buffers[2].buffer;
  return isView ? { ...values, bytes: values.bytes.slice() } : values;
}

/** Returns the layout of the page's indices into its dictionary. */
function indexLayout({ valueCompression }: MiniBlockLayout, origin: PageOrigin): LeafLayout {
  const bits = fixedDecoder(valueCompression, "chunk", origin).bitsPerValue;
  if (bits === 8 || bits === 16 || bits === 32 || bits === 64) return { kind: "fixed", byteWidth: bits / 8 };
  throw corruptPage(origin, `dictionary indices of ${bits} bits`);
}

export interface ChunkPlan {
  /** Byte offsets of the chunks in the data, and the end of the last one. */
  readonly offsets: Float64Array;
  /** Values of each chunk. */
  readonly counts: Float64Array;
  /** Maximum number of levels of all chunks together. */
  readonly levelCount: number;
}

/** Maximum levels per byte of chunks with many levels: no encoding in use packs more densely. */
const MAXIMUM_LEVELS_PER_BYTE = 1024;

/** Throws if this many bytes of chunks are far too small to hold this many levels. */
export function expectLevels(levelCount: number, byteCount: number, origin: PageOrigin): void {
  if (levelCount > Math.max(MAXIMUM_CHUNK_LEVELS, byteCount * MAXIMUM_LEVELS_PER_BYTE)) {
    throw corruptPage(origin, `${levelCount} levels in ${byteCount} bytes`);
  }
}

/** Reads the chunk words; checks that all chunks lie in the data and have the page's values. */
export function planChunks(
  page: MiniBlockLayout,
  chunkWords: Uint8Array,
  data: Uint8Array,
  origin: PageOrigin,
): ChunkPlan {
  const words = new ChunkWords(chunkWords, page.hasLargeChunk, page.itemCount, data.length, origin);
  const offsets = new Float64Array(words.chunkCount + 1);
  const counts = new Float64Array(words.chunkCount);
  let levelCount = 0;
  while (words.next()) {
    const { index, start, end, count } = words;
    offsets[index + 1] = end;
    counts[index] = count;
    levelCount += data[start] | (data[start + 1] << 8);
  }
  expectLevels(levelCount, data.length, origin);
  return { offsets, counts, levelCount };
}

/** Levels of a chunk, read before the next is decoded; with room for a unit of words after them. */
const chunkLevels = new Uint16Array(MAXIMUM_CHUNK_LEVELS + 1 + PACK_UNIT);

/** Walks all chunks; hands their values to `values` and returns their levels. */
function decodeChunks(
  { page, layers, buffers: [, data], origin }: StructuralPage<MiniBlockLayout>,
  { offsets, counts, levelCount }: ChunkPlan,
  rowStarts: RowStarts | null,
  values: ChunkValues | ChunksInPlace,
  withinRow: readonly number[] = [],
): Levels {
  const hasRepetition = page.repCompression !== undefined;
  const repetition = hasRepetition && rowStarts === null ? new Uint16Array(levelCount) : null;
  const definition = page.defCompression === undefined ? null : new Uint16Array(levelCount);
  const repetitionBytes = rowStarts === null ? repetition && bytesOf(repetition) : bytesOf(chunkLevels);
  const definitionBytes = definition && bytesOf(definition);
  const repetitionDecoder =
    page.repCompression === undefined ? null : levelDecoder(page.repCompression, origin);
  const definitionDecoder =
    page.defCompression === undefined ? null : levelDecoder(page.defCompression, origin);
  const header = new ChunkHeader(page, data, origin);
  const { starts, sizes } = header;
  const valueBuffers: Uint8Array[] = new Array(page.bufferCount);
  const levelBuffer: Uint8Array[] = new Array(1);
  const hasLevels = hasRepetition || definition !== null;
  let levelsRead = 0;
  let nextWithin = 0;

  for (let chunk = 0; chunk < counts.length; chunk++) {
    const count = counts[chunk];
    header.read(offsets[chunk], offsets[chunk + 1]);
    const levels = header.levelCount;
    // Without lists every event has a value slot; with them only a caller that reads the levels can check.
    if (hasLevels ? layers.listDepth === 0 && levels !== count : levels !== 0) {
      throw corruptPage(origin, `${levels} levels for the ${count} values of chunk ${chunk}`);
    }
    if (repetitionDecoder !== null && repetitionBytes !== null) {
      levelBuffer[0] = header.repetition();
      if (rowStarts !== null) chunkLevels.fill(0, 0, levels);
      repetitionDecoder.decode(levelBuffer, 0, levels, repetitionBytes, rowStarts === null ? levelsRead : 0);
      if (withinRow[nextWithin] === chunk) {
        nextWithin++;
        if (levels > 0) (repetition ?? chunkLevels)[repetition === null ? 0 : levelsRead] = layers.listDepth;
      }
      rowStarts?.add(chunkLevels, levels);
    }
    if (definitionDecoder !== null && definitionBytes !== null) {
      levelBuffer[0] = header.definition();
      definitionDecoder.decode(levelBuffer, 0, levels, definitionBytes, levelsRead);
    }
    if (values instanceof ChunksInPlace) {
      values.append(data, starts[0], starts[0] + sizes[0], count);
    } else {
      for (let buffer = 0; buffer < starts.length; buffer++) {
        valueBuffers[buffer] = data.subarray(starts[buffer], starts[buffer] + sizes[buffer]);
      }
      values.append(valueBuffers, count);
    }
    levelsRead += levels;
  }
  return { repetition, definition, ...(rowStarts && { rowStarts: rowStarts.finish(origin) }) };
}
