/**
 * Finds the events (events/shredColumn.ts) of a few rows of a mini-block page of lists: their levels, and the
 * positions of their values in the page. Decodes levels chunk by chunk. The repetition index tells which
 * chunks hold no wanted row. Slices of a page have no such index, so all their chunks are decoded.
 */

import { enlarged } from "../../bytes/growing.js";
import { bytesOf } from "../../bytes/view.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { PACK_UNIT } from "../compression/bitpack.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import { corruptPage, type KeptDictionary, type PageOrigin } from "../container/page.js";
import { type Layers, type Levels, levelDecoder } from "../events/levels.js";
import { MAXIMUM_CHUNK_LEVELS } from "../structural/chunkHeader.js";
import { expectLevels } from "../structural/miniBlock.js";
import { ChunkWalk } from "./chunkWalk.js";
import { type RowEnds, readRowEnds } from "./repetitionIndex.js";
import type { ValuePicker } from "./valuePickers.js";

/** The events of some rows. */
interface PickedEvents extends Levels {
  /** Positions in the page of the values of visible events, ascending. */
  readonly places: Uint32Array;
  /** The definition levels of these events; null where the page has none. */
  readonly placeLevels: Uint16Array | null;
}

/** Levels of a chunk, until the next chunk is read. */
class ChunkLevels {
  repetition = new Uint16Array(0);
  definition = new Uint16Array(0);
  /** Events that begin a row, and the number of events as the last entry. */
  begins = new Uint32Array(0);
  /** Number of visible events before each event, and the total as the last entry. */
  slots = new Uint32Array(0);

  /** Makes room for `count` levels, and for a unit of words after them. */
  reserve(count: number): void {
    if (this.begins.length > count) return;
    const size = Math.min(2 * count, MAXIMUM_CHUNK_LEVELS) + 1;
    this.repetition = new Uint16Array(size + PACK_UNIT);
    this.definition = new Uint16Array(size + PACK_UNIT);
    this.begins = new Uint32Array(size);
    this.slots = new Uint32Array(size);
  }
}

/** A mini-block page from which rows are picked. */
export interface PickedPage {
  readonly page: MiniBlockLayout;
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
  /** Dictionary that other reads of the page share; undefined if there is none. */
  readonly keptDictionary?: KeptDictionary | undefined;
}

/** Rows of a page of lists. */
interface ListRows {
  readonly rowCount: number;
  /** The repetition index; null if the page has none. */
  readonly index: Uint8Array | null;
  /** Chunks whose first event begins a row, whatever its repetition level. */
  readonly withinRow: readonly number[];
}

/**
 * @param values has as many value buffers as the page
 * @param positions of rows, ascending, each once
 */
export function pickEvents(
  { page, buffers, origin }: PickedPage,
  { listDepth, maximumVisible, maximumDefinition }: Layers,
  { rowCount, index, withinRow }: ListRows,
  values: ValuePicker,
  positions: Uint32Array,
): PickedEvents {
  const { repCompression, defCompression } = page;
  if (repCompression === undefined) throw corruptPage(origin, "lists without repetition levels");
  const repetitionDecoder = levelDecoder(repCompression, origin);
  const definitionDecoder = defCompression === undefined ? null : levelDecoder(defCompression, origin);
  const walk = new ChunkWalk(page, buffers, origin);
  const rowEnds = index === null ? null : readRowEnds(index, walk.chunkCount, rowCount, origin);
  const events = new EventList(2 * positions.length, definitionDecoder !== null);
  const isAnyInvisible = definitionDecoder !== null && maximumVisible < maximumDefinition;
  const levels = new ChunkLevels();
  /** Number of rows that begin before the chunk. */
  let firstRow = 0;
  /** Number of wanted rows before the next one, whose last events may be missing. */
  let next = 0;
  let nextWithin = 0;
  /** Levels and bytes of the chunks that were read. */
  let levelCount = 0;
  let byteCount = 0;

  while (next < positions.length && walk.next()) {
    const chunk = walk.index;
    const isCut = withinRow[nextWithin] === chunk;
    if (isCut) nextWithin++;
    if (rowEnds !== null) {
      if (rowEnds.isWithin[chunk] === 0 && positions[next] < firstRow) next++;
      const begun = rowsBegun(rowEnds, chunk + 1);
      if (next === positions.length || positions[next] >= begun) {
        firstRow = begun;
        continue;
      }
    }
    walk.open();
    const count = walk.header.levelCount;
    levelCount += count;
    byteCount += walk.byteLength;
    expectLevels(levelCount, byteCount, origin);
    values.expectValues(walk);
    levels.reserve(count);
    decodeLevels(repetitionDecoder, walk.header.repetition(), count, levels.repetition);
    if (definitionDecoder !== null) {
      decodeLevels(definitionDecoder, walk.header.definition(), count, levels.definition);
    }
    if (isCut && count > 0) levels.repetition[0] = listDepth;
    const begins = findBegins(levels, count, listDepth);
    const slots = isAnyInvisible ? levels.slots : null;
    const slotCount = slots === null ? count : countSlots(levels, count, maximumVisible);
    if (slotCount !== walk.count) {
      throw corruptPage(origin, `${slotCount} values for the levels of a chunk of ${walk.count}`);
    }
    if (rowEnds !== null && firstRow + begins !== rowsBegun(rowEnds, chunk + 1)) {
      throw corruptPage(origin, `a repetition index that does not fit the levels of chunk ${chunk}`);
    }
    if (positions[next] < firstRow) {
      events.add(levels, 0, levels.begins[0], walk.firstValue, slots);
      if (begins === 0) continue;
      next++;
    }
    next = events.addRows(levels, positions, next, firstRow, begins, walk.firstValue, slots);
    firstRow += begins;
  }
  // This event ends the last row of the page.
  if (next < positions.length && !(next === positions.length - 1 && positions[next] === firstRow - 1)) {
    throw corruptPage(origin, `${firstRow} lists in a page with a row ${positions[next]}`);
  }
  return events.finish();
}

function decodeLevels(decoder: FixedDecoder, encoded: Uint8Array, count: number, levels: Uint16Array): void {
  levels.fill(0, 0, count);
  decoder.decode([encoded], 0, count, bytesOf(levels), 0);
}

/** Finds the events of the chunk that begin rows. Returns their number. */
function findBegins({ repetition, begins }: ChunkLevels, count: number, listDepth: number): number {
  let rows = 0;
  // A processor cannot predict levels. So every event writes, and the next one overwrites an event that
  // begins no row.
  for (let event = 0; event < count; event++) {
    begins[rows] = event;
    rows += 1 + ((repetition[event] - listDepth) >> 31);
  }
  begins[rows] = count;
  return rows;
}

/** Counts the visible events of the chunk. */
function countSlots({ definition, slots }: ChunkLevels, count: number, maximumVisible: number): number {
  let visible = 0;
  for (let event = 0; event < count; event++) {
    slots[event] = visible;
    visible += 1 + ((maximumVisible - definition[event]) >> 31);
  }
  slots[count] = visible;
  return visible;
}

/** Returns the number of rows that begin before a chunk. */
const rowsBegun = ({ before, isWithin }: RowEnds, chunk: number): number => before[chunk] + isWithin[chunk];

/** List of events that grows. */
class EventList {
  #repetition: Uint16Array;
  #definition: Uint16Array | null;
  #places: Uint32Array;
  #placeLevels: Uint16Array | null;
  #count = 0;
  #placeCount = 0;

  /** @param expected number of events that the list has room for at first */
  constructor(expected: number, hasDefinition: boolean) {
    this.#repetition = new Uint16Array(expected);
    this.#definition = hasDefinition ? new Uint16Array(expected) : null;
    this.#places = new Uint32Array(expected);
    this.#placeLevels = hasDefinition ? new Uint16Array(expected) : null;
  }

  /**
   * Adds events of the chunk.
   * @param firstValue of the chunk
   * @param slots number of visible events before each event; null if all are visible
   */
  add(
    { repetition: chunkRepetition, definition: chunkDefinition }: ChunkLevels,
    start: number,
    end: number,
    firstValue: number,
    slots: Uint32Array | null,
  ): void {
    const first = this.#count - start;
    if (first + end > this.#repetition.length) this.#grow(first + end);
    const repetition = this.#repetition;
    const definition = this.#definition;
    const places = this.#places;
    let visible = this.#placeCount;
    for (let event = start; event < end; event++) {
      repetition[first + event] = chunkRepetition[event];
      if (definition !== null) definition[first + event] = chunkDefinition[event];
      if (slots !== null && slots[event] === slots[event + 1]) continue;
      places[visible] = firstValue + (slots === null ? event : slots[event]);
      if (this.#placeLevels !== null) this.#placeLevels[visible] = chunkDefinition[event];
      visible++;
    }
    this.#count = first + end;
    this.#placeCount = visible;
  }

  /**
   * Adds the events of the wanted rows that begin in the chunk. A method, because engines compile a short
   * loop that is entered for each chunk sooner than a long loop that is entered once.
   * @param next index of the first position that is not below `firstRow`
   * @param begins number of rows that begin in the chunk
   * @returns the index of the first position that lacks events: it lies after the chunk, or is the chunk's
   *   last row, which may go on
   */
  addRows(
    levels: ChunkLevels,
    positions: Uint32Array,
    next: number,
    firstRow: number,
    begins: number,
    firstValue: number,
    slots: Uint32Array | null,
  ): number {
    const rowBegins = levels.begins;
    let index = next;
    for (; index < positions.length && positions[index] < firstRow + begins; index++) {
      const position = positions[index] - firstRow;
      this.add(levels, rowBegins[position], rowBegins[position + 1], firstValue, slots);
      if (position === begins - 1) break;
    }
    return index;
  }

  #grow(count: number): void {
    this.#repetition = enlarged(this.#repetition, count);
    this.#places = enlarged(this.#places, count);
    this.#definition &&= enlarged(this.#definition, count);
    this.#placeLevels &&= enlarged(this.#placeLevels, count);
  }

  finish(): PickedEvents {
    return {
      repetition: this.#repetition.subarray(0, this.#count),
      definition: this.#definition?.subarray(0, this.#count) ?? null,
      places: this.#places.subarray(0, this.#placeCount),
      placeLevels: this.#placeLevels?.subarray(0, this.#placeCount) ?? null,
    };
  }
}
