/** Lays out the chunks of mini-block pages (miniBlock.ts). */

import { alignTo8 } from "../../bytes/aligned.js";
import { enlarged } from "../../bytes/growing.js";
import { UnsupportedError } from "../../errors.js";
import { type CompressiveEncoding, MiniBlockLayout } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "../compression/bitpack.js";
import type { EncodedPage, StructuralVersion } from "../container/page.js";
import { type Layers, levelBits, type PageLevels } from "../events/levels.js";
import { MAXIMUM_CHUNK_LEVELS } from "./chunkHeader.js";
import { encodeChunkWords } from "./chunkWords.js";
import { type LevelEncoder, levelEncoder } from "./levelEncoder.js";

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

  /** @param expectedBytes estimated size of the chunk data; see {@link expect} */
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

  /** True if no value has levels: a chunk then holds any number of values up to the maximum. */
  get isPlain(): boolean {
    return this.levels.definition === null && this.levels.repetition === null;
  }

  /** Makes room for about `byteCount` bytes of chunk data. Too low an estimate costs a copy. */
  expect(byteCount: number): void {
    if (this.position === 0 && this.data.length < byteCount) this.data = new Uint8Array(alignTo8(byteCount));
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
