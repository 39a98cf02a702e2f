/**
 * Repetition and definition levels: they store which values of a leaf column, and which lists and structs
 * around them, are null or empty.
 *
 * `layers` names the nodes from the leaf outwards. Definition level 0 is a value; each layer takes the next
 * numbers, innermost first:
 *
 *     ALL_VALID_ITEM, ALL_VALID_LIST   none
 *     NULLABLE_ITEM, NULLABLE_LIST     1: null
 *     EMPTYABLE_LIST                   1: empty
 *     NULL_AND_EMPTY_LIST              2: null, then empty
 *
 * An event is visible (has a value slot) when its level was taken by a layer before the first list, or is 0.
 * Both kinds of levels are 16-bit words under the block form of any encoding of fixed width.
 */

import type { Validity } from "../../arrow/columns/column.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { type CompressiveEncoding, RepDefLayer } from "../../format/encodings.js";
import { fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import { corruptPage, type PageOrigin } from "../container/page.js";

/** Properties of a page's levels that follow from its layers. */
export interface Layers {
  /** Number of list layers: the repetition level that starts a row. */
  readonly listDepth: number;
  readonly maximumDefinition: number;
  /** Largest definition level of an event that has a value slot. */
  readonly maximumVisible: number;
}

export function describeLayers(layers: readonly number[], origin: PageOrigin): Layers {
  if (layers.length === 0) throw corruptPage(origin, "page without layers");
  let listDepth = 0;
  let maximumDefinition = 0;
  let maximumVisible = 0;
  for (const layer of layers) {
    if (layer < RepDefLayer.ALL_VALID_ITEM || layer > RepDefLayer.NULL_AND_EMPTY_LIST) {
      throw corruptPage(origin, `layer of unknown kind ${layer}`);
    }
    if (isListLayer(layer)) listDepth++;
    if (layer === RepDefLayer.NULL_AND_EMPTY_LIST) maximumDefinition += 2;
    else if (layer !== RepDefLayer.ALL_VALID_ITEM && layer !== RepDefLayer.ALL_VALID_LIST)
      maximumDefinition++;
    if (listDepth === 0) maximumVisible = maximumDefinition;
  }
  return { listDepth, maximumDefinition, maximumVisible };
}

/** The levels of a page, in event order. A stream that the page lacks is null: its levels are all 0. */
export interface Levels {
  readonly repetition: Uint16Array | null;
  readonly definition: Uint16Array | null;
  /** Replaces both streams: first event of each row, and the number of events (rowStarts.ts). */
  readonly rowStarts?: Int32Array;
}

/** A page of a structural layout, to be decoded. */
export interface StructuralPage<Description> {
  readonly page: Description;
  readonly layers: Layers;
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
}

/** Levels of a page to be written, and the layers that number them. */
export interface PageLevels extends Layers, Levels {
  /** Layers, innermost first, with no more levels than the page needs. */
  readonly layers: readonly number[];
  readonly rowCount: number;
  readonly eventCount: number;
  /** Events that have a value slot. */
  readonly visibleCount: number;
}

/** Makes the levels of a page of a leaf with no lists or structs around it: 0 for a value, 1 for a null. */
export function leafLevels(definition: Uint16Array | null, rowCount: number): PageLevels {
  const maximum = definition === null ? 0 : 1;
  return {
    layers: [definition === null ? RepDefLayer.ALL_VALID_ITEM : RepDefLayer.NULLABLE_ITEM],
    listDepth: 0,
    maximumDefinition: maximum,
    maximumVisible: maximum,
    rowCount,
    eventCount: rowCount,
    visibleCount: rowCount,
    repetition: null,
    definition,
  };
}

export const isListLayer = (layer: number): boolean =>
  layer !== RepDefLayer.ALL_VALID_ITEM && layer !== RepDefLayer.NULLABLE_ITEM;

/** Number of bits that hold every level up to `maximum`. */
export const levelBits = (maximum: number): number => 32 - Math.clz32(maximum);

export function levelDecoder(encoding: CompressiveEncoding, origin: PageOrigin): FixedDecoder {
  const decoder = fixedDecoder(encoding, "block", origin);
  if (decoder.bitsPerValue !== 16) throw corruptPage(origin, `levels of ${decoder.bitsPerValue} bits`);
  return decoder;
}

/**
 * Computes the validity of a leaf in one item layer within any number of struct layers: level 0 is valid.
 * @throws CorruptFileError for a level beyond `maximum`
 */
export function validityOfLevels(
  definition: Uint16Array | null,
  maximum: number,
  origin: PageOrigin,
): Validity | null {
  if (definition === null) return null;
  const count = definition.length;
  const bytes = new Uint8Array((count + 7) >>> 3);
  const wholeEnd = count & ~7;
  let seen = 0;
  for (let index = 0, byte = 0; index < wholeEnd; index += 8, byte++) {
    const d0 = definition[index];
    const d1 = definition[index + 1];
    const d2 = definition[index + 2];
    const d3 = definition[index + 3];
    const d4 = definition[index + 4];
    const d5 = definition[index + 5];
    const d6 = definition[index + 6];
    const d7 = definition[index + 7];
    const any = d0 | d1 | d2 | d3 | d4 | d5 | d6 | d7;
    if (any === 0) {
      bytes[byte] = 0xff;
      continue;
    }
    // (d − 1) >>> 31 is 1 for level 0 and 0 for all others.
    let bits = (d0 - 1) >>> 31;
    bits |= ((d1 - 1) >>> 31) << 1;
    bits |= ((d2 - 1) >>> 31) << 2;
    bits |= ((d3 - 1) >>> 31) << 3;
    bits |= ((d4 - 1) >>> 31) << 4;
    bits |= ((d5 - 1) >>> 31) << 5;
    bits |= ((d6 - 1) >>> 31) << 6;
    bits |= ((d7 - 1) >>> 31) << 7;
    bytes[byte] = bits;
    seen |= any;
  }
  for (let index = wholeEnd; index < count; index++) {
    if (definition[index] === 0) bytes[index >>> 3] |= 1 << (index & 7);
    seen |= definition[index];
  }
  // `seen` is an upper bound of the levels met, exact when it is within `maximum`.
  if (seen > maximum) checkMaximum(definition, maximum, origin);
  return validityFrom(bytes, 0, count);
}

/** @throws CorruptFileError for a level beyond `maximum` */
export function checkMaximum(levels: Uint16Array, maximum: number, origin: PageOrigin): void {
  for (let index = 0; index < levels.length; index++) {
    if (levels[index] > maximum) {
      throw corruptPage(origin, `level ${levels[index]} where ${maximum} is the largest`);
    }
  }
}

/** Definition levels of an item layer: 1 for each null of `count` values, whose validity starts at bit 0. */
export function levelsOfValidity(validity: Uint8Array, count: number): Uint16Array {
  const levels = new Uint16Array(count);
  for (let start = 0, byte = 0; start < count; start += 8, byte++) {
    const nulls = ~validity[byte] & 0xff;
    if (nulls === 0) continue;
    const end = Math.min(count, start + 8);
    for (let index = start; index < end; index++) levels[index] = (nulls >>> (index - start)) & 1;
  }
  return levels;
}

/**
 * Computes the validity of the values of a node. The levels tell which events begin a value.
 * @param begins smallest repetition level of such an event
 * @param maximumLevel largest definition level of such an event
 * @param firstNull first definition level that means null; `lastNull` is the last one
 * @param count number of values
 */
export function validityOfEvents(
  { repetition, definition }: Levels,
  { begins, maximumLevel }: { readonly begins: number; readonly maximumLevel: number },
  firstNull: number,
  lastNull: number,
  count: number,
): Validity | null {
  if (definition === null) return null;
  // No level is below 0, so without repetition levels every event begins a value.
  const repeats = repetition ?? definition;
  const smallest = repetition === null ? 0 : begins;
  const eventCount = definition.length;
  // Bits are written one position too far, at that of the next value.
  const bytes = new Uint8Array((count >>> 3) + 1);
  let value = 0;
  let nullCount = 0;
  // A processor cannot predict the order of levels, so there is arithmetic on signs instead of branches.
  for (let event = 0; event < eventCount; event++) {
    const level = definition[event];
    const isValue = ~((repeats[event] - smallest) | (maximumLevel - level)) >>> 31;
    const isValid = ((level - firstNull) | (lastNull - level)) >>> 31;
    bytes[value >>> 3] |= (isValue & isValid) << (value & 7);
    nullCount += isValue & ~isValid;
    value += isValue;
  }
  return nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount };
}

const MAXIMUM_LEVEL = 0xffff;

export const slotValidity = (
  definition: Uint16Array | null,
  maximumVisible: number,
  slotCount: number,
): Validity | null =>
  maximumVisible === 0
    ? null
    : validityOfEvents(
        { repetition: null, definition },
        { begins: 0, maximumLevel: maximumVisible },
        1,
        MAXIMUM_LEVEL,
        slotCount,
      );
