/**
 * Decodes a few rows of a mini-block page: only the wanted values, and only of the chunks with such values. A
 * row then does not cost the thousand or more rows of its chunk. Rows in lists or structs need all levels of
 * these chunks. Chunks without wanted rows are skipped if the page tells which these are. Checks what it
 * reads as strictly as the decoder of whole pages does. The rest stays unchecked.
 */

import type { Column, FixedColumn, Layout, LeafColumn, LeafLayout } from "../../arrow/columns/column.js";
import { eventsPerValue, isNested, leafOf } from "../../arrow/columns/spine.js";
import { bytesOf } from "../../bytes/view.js";
import { InternalError } from "../../errors.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import { corruptPage, type PageEncoding, type PageOrigin } from "../container/page.js";
import { assembleColumn } from "../events/assembleColumn.js";
import { describeLayers, isListLayer, levelDecoder, validityOfLevels } from "../events/levels.js";
import { compactDictionary, type DictionaryValues, resolveDictionary } from "../structural/dictionary.js";
import { decodePageDictionary } from "../structural/miniBlock.js";
import { ChunkWalk } from "./chunkWalk.js";
import { type PickedPage, pickEvents } from "./pickEvents.js";
import { FixedPicker, type ValuePicker, VariablePicker } from "./valuePickers.js";

/** Fraction of a page's rows above which decoding all rows is as fast as picking. */
const MOST = 0.25;
/** Maximum values of a page of lists: positions have 32 bits. */
const MAXIMUM_PLACES = 2 ** 32;

/** True if `count` rows of a page of `rowCount` are worth picking. */
export function worthPicking(count: number, rowCount: number): boolean {
  return count <= rowCount * MOST;
}

/** True if rows of a page with these numbers of rows and buffers can be picked. */
export function pickable(
  layout: Layout,
  { miniBlock: page }: PageEncoding,
  rowCount: number,
  bufferCount: number,
): boolean {
  if (page === undefined) return false;
  if (page.layers.some(isListLayer)) {
    if (page.repCompression === undefined || !isNested(layout)) return false;
    if (page.itemCount > MAXIMUM_PLACES) return false;
    if (page.repetitionIndexDepth > 1 || bufferCount < 2 + repetitionIndexPlace(page)) return false;
  } else {
    if (page.itemCount !== rowCount || eventsPerValue(layout) !== 1) return false;
    if (page.repCompression !== undefined || page.repetitionIndexDepth > 0) return false;
    if (!isNested(layout) && page.layers.length !== 1) return false;
  }
  if (page.dictionary !== undefined) return bufferCount >= 3;
  const { kind } = leafOf(layout);
  return bufferCount >= 2 && (kind === "variable" || kind === "fixed" || kind === "bits");
}

/**
 * Returns the rows at ascending `positions` of a {@link pickable} page, in memory of their own.
 * @param rowCount of the page
 * @param positions in the page, each once
 */
export function pickRows(
  layout: Layout,
  { miniBlock: page, withinRow = [], keptDictionary }: PageEncoding,
  rowCount: number,
  buffers: readonly Uint8Array[],
  positions: Uint32Array,
  origin: PageOrigin,
): Column {
  if (page === undefined) {
    throw new InternalError(`rows can't be picked out of the page at ${origin.byteOffset} of ${origin.path}`);
  }
  const source: PickedPage = { page, buffers, origin, keptDictionary };
  const layers = describeLayers(page.layers, origin);
  const leaf = leafOf(layout);
  const picker = pickerOf(leaf, source);
  if (!isNested(layout)) {
    const { values, definition } = pickValues(leaf, source, picker, positions, null);
    const validity = validityOfLevels(definition, layers.maximumDefinition, origin);
    return validity === null ? values : { ...values, validity };
  }
  const picked = positions.length;
  if (layers.listDepth === 0) {
    const { values, definition } = pickValues(leaf, source, picker, positions, null);
    const levels = { repetition: null, definition };
    return assembleColumn(layout, { kinds: page.layers, layers, levels, values }, picked, origin);
  }
  const index = page.repetitionIndexDepth === 0 ? null : buffers[1 + repetitionIndexPlace(page)];
  const events = pickEvents(source, layers, { rowCount, index, withinRow }, picker, positions);
  const { values } = pickValues(leaf, source, picker, events.places, events.placeLevels);
  return assembleColumn(layout, { kinds: page.layers, layers, levels: events, values }, picked, origin);
}

/** Returns the index of the repetition index among the buffers after the chunks. */
const repetitionIndexPlace = ({ dictionary, repetitionIndexDepth }: MiniBlockLayout): number =>
  repetitionIndexDepth === 0 ? 0 : dictionary === undefined ? 1 : 2;

/** Values of a page, without validity, and their definition levels. */
interface PickedLeaves {
  readonly values: LeafColumn;
  /** Null if the page has none. */
  readonly definition: Uint16Array | null;
}

/**
 * Returns the picker for the values of a page. Throws if the page's encoding does not suit the layout; checks
 * nothing else.
 */
function pickerOf(layout: LeafLayout, { page, buffers, origin }: PickedPage): ValuePicker {
  const hasDictionary = page.dictionary !== undefined;
  const picker =
    layout.kind === "variable" && !hasDictionary
      ? new VariablePicker(layout, page.valueCompression, origin)
      : new FixedPicker(page.valueCompression, page.itemCount, buffers[1].length, origin);
  if (picker instanceof FixedPicker) {
    const bits = picker.bitsPerValue;
    const width = layout.kind === "fixed" ? layout.byteWidth * 8 : 1;
    if (hasDictionary ? bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64 : bits !== width) {
      const column = hasDictionary ? "dictionary indices" : `a column of ${width}-bit values`;
      throw corruptPage(origin, `${bits}-bit values in ${column}`);
    }
  }
  if (picker.bufferCount !== page.bufferCount) {
    throw corruptPage(origin, `${page.bufferCount} value buffers where ${picker.bufferCount} are read`);
  }
  return picker;
}

/**
 * @param values picks the values
 * @param places of values in the page, ascending, each once
 * @param listLevels definition levels in a page of lists; null if it has none, or no lists
 */
function pickValues(
  layout: LeafLayout,
  source: PickedPage,
  values: ValuePicker,
  places: Uint32Array,
  listLevels: Uint16Array | null,
): PickedLeaves {
  const { page, buffers, origin } = source;
  values.reserve(places.length);
  const definition = pickChunks(source, places, values, listLevels);
  if (page.dictionary === undefined) return { values: values.finish(), definition };
  // A column of few rows gets a dictionary of its own values, so that it does not refer to the page's.
  const isCompact = worthPicking(places.length, page.dictionaryItemCount);
  const isShared = isCompact || layout.kind !== "dictionary";
  const dictionary = isShared
    ? sharedDictionary(layout, source)
    : decodePageDictionary(layout, page, buffers, origin);
  const indices = values.finish() as FixedColumn;
  const resolved = resolveDictionary(layout, indices, dictionary, definition, false, origin);
  const leaf =
    isCompact && resolved.kind === "dictionary" ? compactDictionary(resolved, definition) : resolved;
  return { values: leaf as LeafColumn, definition };
}

/** Returns the dictionary of a page, decoded before if other rows of it were read. */
function sharedDictionary(
  layout: LeafLayout,
  { page, buffers, origin, keptDictionary }: PickedPage,
): DictionaryValues {
  const values = keptDictionary?.values ?? decodePageDictionary(layout, page, buffers, origin);
  if (keptDictionary !== undefined) keptDictionary.values = values;
  return values;
}

/** Walks the chunks that hold the positions. Returns the definition levels there; null if there are none. */
function pickChunks(
  { page, buffers, origin }: PickedPage,
  places: Uint32Array,
  values: ValuePicker,
  listLevels: Uint16Array | null,
): Uint16Array | null {
  const walk = new ChunkWalk(page, buffers, origin);
  const { defCompression } = page;
  const ownLevels = page.repCompression === undefined && defCompression !== undefined;
  const definition = ownLevels ? new Uint16Array(places.length) : listLevels;
  const decoder = ownLevels ? levelDecoder(defCompression, origin) : null;
  let decoded = new Uint16Array(0);
  let next = 0;
  while (next < places.length && walk.next()) {
    const end = walk.endValue;
    if (places[next] >= end) continue;
    let last = next + 1;
    while (last < places.length && places[last] < end) last++;
    walk.open();
    // Without lists, every value has a level if any has.
    const { levelCount } = walk.header;
    if (page.repCompression === undefined && levelCount !== (ownLevels ? walk.count : 0)) {
      throw corruptPage(origin, `${levelCount} levels for the ${walk.count} values of a chunk`);
    }
    if (decoder !== null && definition !== null) {
      if (decoded.length < levelCount) decoded = new Uint16Array(levelCount);
      else decoded.fill(0);
      decoder.decode([walk.header.definition()], 0, levelCount, bytesOf(decoded), 0);
      for (let index = next; index < last; index++)
        definition[index] = decoded[places[index] - walk.firstValue];
    }
    values.pick(walk, places, next, last, definition);
    next = last;
  }
  if (next < places.length) throw corruptPage(origin, `${page.itemCount} values in too few chunks`);
  return definition;
}
