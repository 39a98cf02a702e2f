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
import { alignTo8 } from "../../bytes/aligned.js";
import { enlarged } from "../../bytes/growing.js";
import { bytesOf } from "../../bytes/view.js";
import { UnsupportedError } from "../../errors.js";
import { type CompressiveEncoding, MiniBlockLayout } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "../compression/bitpack.js";
import { fixedDecoder } from "../compression/fixed.js";
import { corruptPage, type EncodedPage, type PageOrigin, type StructuralVersion } from "../container/page.js";
import {
  type Layers,
  type Levels,
  levelBits,
  levelDecoder,
  type PageLevels,
  type StructuralPage,
} from "../events/levels.js";
import { RowStarts } from "../events/rowStarts.js";
import { ChunkHeader } from "./chunkHeader.js";
import { ChunksInPlace } from "./chunksInPlace.js";
import { type AllocateValues, type ChunkValues, chunkValues } from "./chunkValues.js";
import { ChunkWords, encodeChunkWords } from "./chunkWords.js";
import { type DictionaryValues, decodeDictionaryValues, resolveDictionary } from "./dictionary.js";
import { type LevelEncoder, levelEncoder, MAXIMUM_CHUNK_LEVELS } from "./levelEncoder.js";

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

/** Maximum values of a chunk: its log2 has four bits. */
export const MAXIMUM_CHUNK_VALUES = 32_768;

/** A page's record of its values besides the chunks. */
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

/**
 * Lays out the chunks of a page; the caller writes the values to the returned positions. A chunk has the
 * events of its values and the events without a value before them; the last chunk has all remaining events.
 */
export class MiniBlockEncoder {
  /** Chunk data so far; its address is a multiple of 8. Replaced by `beginChunk` when it grows. */
  data: Uint8Array;
  private position = 0;
  private readonly sizes: number[] = [];
  private readonly counts: number[] = [];
  /** Two numbers per chunk: rows that end in it; its events of a row that continues in the next chunk. */
  private readonly rowEnds: number[] = [];
  private valueCount = 0;
  private eventCount = 0;
  /** Last result of `eventsEnd`. */
  private lastEndValue = -1;
  private lastEndEvent = 0;
  private readonly repetitionEncoder: LevelEncoder | null;
  private readonly definitionEncoder: LevelEncoder | null;

  /** @param expectedBytes estimated size of the chunk data; too low an estimate costs a copy */
  constructor(
    readonly version: StructuralVersion,
    private readonly levels: PageLevels,
    expectedBytes: number,
  ) {
    this.data = new Uint8Array(alignTo8(expectedBytes));
    const { repetition, definition, listDepth, maximumDefinition } = levels;
    this.repetitionEncoder =
      repetition === null ? null : levelEncoder(repetition, levelBits(listDepth), version);
    this.definitionEncoder =
      definition === null ? null : levelEncoder(definition, levelBits(maximumDefinition), version);
  }

  /**
   * Adds a chunk of `count` values, a power of two except in the last chunk. Returns the position of its
   * value buffers in `data`, which is zero there; each begins at the next multiple of 8 after the one before.
   * @throws UnsupportedError if the chunk would exceed the limits of the format
   */
  beginChunk(count: number, bufferSizes: readonly number[]): number {
    const repetition = this.repetitionEncoder;
    const definition = this.definitionEncoder;
    const firstEvent = this.eventCount;
    const lastEvent = this.eventsEnd(count);
    const events = lastEvent - firstEvent;
    const repetitionBytes = repetition === null ? 0 : repetition.measure(firstEvent, lastEvent);
    const definitionBytes = definition === null ? 0 : definition.measure(firstEvent, lastEvent);
    const levelCount = repetition === null && definition === null ? 0 : events;
    const sizeBytes = this.version === "2.1" ? 2 : 4;
    const headerBytes = alignTo8(
      2 + (repetition === null ? 0 : 2) + (definition === null ? 0 : 2) + bufferSizes.length * sizeBytes,
    );
    const start = this.position;
    let size = headerBytes + alignTo8(repetitionBytes) + alignTo8(definitionBytes);
    const valuesStart = start + size;
    for (const bufferSize of bufferSizes) size += alignTo8(bufferSize);
    this.checkLimits(levelCount, size, Math.max(repetitionBytes, definitionBytes));
    this.reserve(size);

    const { data } = this;
    let header = start;
    data[header++] = levelCount;
    data[header++] = levelCount >>> 8;
    if (repetition !== null) {
      data[header++] = repetitionBytes;
      data[header++] = repetitionBytes >>> 8;
      repetition.write(data, start + headerBytes);
    }
    if (definition !== null) {
      data[header++] = definitionBytes;
      data[header++] = definitionBytes >>> 8;
      definition.write(data, start + headerBytes + alignTo8(repetitionBytes));
    }
    for (const bufferSize of bufferSizes) {
      data[header++] = bufferSize;
      data[header++] = bufferSize >>> 8;
      if (sizeBytes === 2) continue;
      data[header++] = bufferSize >>> 16;
      data[header++] = bufferSize >>> 24;
    }
    this.noteRows(firstEvent, lastEvent);
    this.position += size;
    this.valueCount += count;
    this.eventCount = lastEvent;
    this.sizes.push(size);
    this.counts.push(count);
    return valuesStart;
  }

  /** {@link beginChunk} for a chunk whose value buffers are there; copies them. */
  addChunk(count: number, buffers: readonly Uint8Array[]): void {
    let offset = this.beginChunk(
      count,
      buffers.map(({ length }) => length),
    );
    for (const buffer of buffers) {
      this.data.set(buffer, offset);
      offset += alignTo8(buffer.length);
    }
  }

  /** One past the last event of the next chunk. */
  private eventsEnd(count: number): number {
    const { definition, eventCount, visibleCount, maximumVisible } = this.levels;
    if (this.valueCount + count === visibleCount) return eventCount;
    if (definition === null || visibleCount === eventCount) return this.eventCount + count;
    const endValue = this.valueCount + count;
    if (endValue === this.lastEndValue) return this.lastEndEvent;
    let event = this.eventCount;
    // Each round takes as many events as values are missing, which are all certain to be in the chunk.
    for (let left = count; left > 0; ) {
      let visible = 0;
      for (const end = event + left; event < end; event++) visible += +(definition[event] <= maximumVisible);
      left -= visible;
    }
    this.lastEndValue = endValue;
    this.lastEndEvent = event;
    return event;
  }

  /** Number of the next `count` values, all or a power of two, that fit into a chunk with their levels. */
  fittingValues(count: number): number {
    const limit = maximumChunkEvents(this.version, this.levels);
    let fitting = count;
    while (fitting > 2 && this.eventsEnd(fitting) - this.eventCount > limit) {
      fitting = 2 ** (31 - Math.clz32(fitting - 1));
    }
    return fitting;
  }

  private checkLimits(levelCount: number, size: number, levelBytes: number): void {
    if (levelCount > MAXIMUM_CHUNK_LEVELS || levelBytes > MAXIMUM_CHUNK_LEVELS) {
      throw new UnsupportedError(
        `${levelCount} null or empty lists in one row, between two values, are more than a file can hold`,
      );
    }
    if (this.version === "2.1" && size > MAXIMUM_SMALL_CHUNK_BYTES) {
      throw new UnsupportedError(
        `${size} bytes of values that must lie together are too many for a file of version 2.1`,
      );
    }
  }

  private noteRows(firstEvent: number, lastEvent: number): void {
    const { repetition } = this.levels;
    if (repetition === null) return;
    const rowStart = this.levels.listDepth;
    let starts = 0;
    for (let event = firstEvent; event < lastEvent; event++) starts += +(repetition[event] === rowStart);
    let lastStart = starts === 0 ? firstEvent : lastEvent - 1;
    while (lastStart > firstEvent && repetition[lastStart] !== rowStart) lastStart--;
    const complete = lastEvent === this.levels.eventCount || repetition[lastEvent] === rowStart;
    const continues = firstEvent < lastEvent && repetition[firstEvent] !== rowStart;
    // A row that began in an earlier chunk ends here too, unless it continues in the next one.
    const ended = starts + (continues ? 1 : 0) - (complete ? 0 : 1);
    this.rowEnds.push(Math.max(ended, 0), complete ? 0 : lastEvent - lastStart);
  }

  private reserve(byteCount: number): void {
    if (this.position + byteCount <= this.data.length) return;
    this.data = enlarged(this.data, alignTo8(this.position + byteCount));
  }

  /** Returns the page, after all its values were added. */
  finish(values: MiniBlockValues): EncodedPage {
    const { dictionary } = values;
    const { levels } = this;
    const repetition = this.repetitionEncoder;
    const definition = this.definitionEncoder;
    const hasLists = repetition !== null;
    const hasLargeChunk = this.version !== "2.1";
    const miniBlock = MiniBlockLayout.create({
      repCompression: repetition?.encoding,
      defCompression: definition?.encoding,
      valueCompression: values.encoding,
      dictionary: dictionary?.encoding,
      dictionaryItemCount: dictionary?.itemCount ?? 0,
      layers: [...levels.layers],
      bufferCount: values.bufferCount,
      repetitionIndexDepth: hasLists ? 1 : 0,
      itemCount: this.valueCount,
      hasLargeChunk,
    });
    const words = encodeChunkWords(this.sizes, this.counts, hasLargeChunk);
    const buffers = [[words], [this.data.subarray(0, this.position)]];
    if (dictionary !== undefined) buffers.push([dictionary.block]);
    if (hasLists) buffers.push([this.encodeRepetitionIndex()]);
    return { encoding: { miniBlock }, buffers, rowCount: levels.rowCount };
  }

  /** Writes two u64 per chunk: rows that end in it; events at its end whose row continues in the next one. */
  private encodeRepetitionIndex(): Uint8Array {
    const words = new Uint32Array(this.rowEnds.length * 2);
    for (let index = 0; index < this.rowEnds.length; index++) words[2 * index] = this.rowEnds[index];
    return new Uint8Array(words.buffer);
  }
}

/** Largest chunk of version 2.1. */
const MAXIMUM_SMALL_CHUNK_BYTES = 32_768;
/** Maximum bytes of levels in a chunk of version 2.1; the rest is for the values. */
const SMALL_CHUNK_LEVEL_BYTES = 8_064;

/** Maximum number of events whose levels fit into a chunk in every case. */
export function maximumChunkEvents(
  version: StructuralVersion,
  { listDepth, maximumDefinition }: Layers,
): number {
  const repetitionBits = levelBits(listDepth);
  const definitionBits = levelBits(maximumDefinition);
  const units =
    version === "2.1"
      ? Math.floor(SMALL_CHUNK_LEVEL_BYTES / packedUnitBytes(repetitionBits + definitionBits))
      : Math.floor(MAXIMUM_CHUNK_LEVELS / packedUnitBytes(Math.max(repetitionBits, definitionBits)));
  return Math.min(MAXIMUM_CHUNK_LEVELS, Math.max(1, units) * PACK_UNIT);
}
