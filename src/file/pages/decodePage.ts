/**
 * Decodes one page of a data file to a column in Arrow's physical form. The rest of this comment is about
 * versions 2.1 and 2.2; arrays of 2.0 are in ../v20.
 *
 * A structural layout (mini-block, full-zip, constant, blob) says where values and levels are in the page's
 * buffers. A chain of compressions says how each of them is stored. Decoding yields the values of all visible
 * events, and the levels. The levels then become validity, and the lists and structs around a leaf.
 *
 * Pages are untrusted. For any bytes, the result is an error, or a column whose offsets and indices are in
 * range. The size of the page and `rowCount` bound the memory.
 */

import { type Column, isEmptyStruct, type Layout, type LeafLayout } from "../../arrow/columns/column.js";
import { withValidity } from "../../arrow/columns/lazyColumn.js";
import { eventsPerValue, isNested, leafOf } from "../../arrow/columns/spine.js";
import { corruptPage, type PageEncoding, type PageOrigin, unsupportedPage } from "../container/page.js";
import { assembleColumn, type SpineEvents } from "../events/assembleColumn.js";
import { describeLayers, type Layers, validityOfLevels } from "../events/levels.js";
import { decodeEmptyStructs } from "../structural/emptyStruct.js";
import { type DecodeOptions, decodeMiniBlock, type PageEvents } from "../structural/miniBlock.js";
import { arrayDecoder, blobDecoder, constantDecoder, fullZipDecoder, legacyDecoder } from "./decoders.js";

/**
 * Decodes a page into the spine that `layout` describes. The column may be a view of `buffers`, into which
 * nobody may write afterwards.
 * @param rowCount top-level rows of the page, checked against the manifest: it sizes the result
 * The decoders of the page must be loaded (decoders.ts).
 * @throws CorruptFileError if the buffers are not as `page` says
 * @throws UnsupportedError for an encoding that this release does not read
 */
export function decodePage(
  layout: Layout,
  page: PageEncoding,
  rowCount: number,
  buffers: readonly Uint8Array[],
  origin: PageOrigin,
  options: DecodeOptions = {},
): Column {
  if (page.legacy !== undefined)
    return legacyDecoder.made.decodeLegacyPages(layout, page.legacy, buffers, origin);
  if (page.array !== undefined) {
    return arrayDecoder.made.ARRAY_PAGES.decodeArrayPage(layout, page.array, rowCount, buffers, origin);
  }
  if (page.nested !== undefined) {
    return arrayDecoder.made.ARRAY_PAGES.decodeNestedArrays(layout, page.nested, buffers, origin);
  }
  const leaf = leafOf(layout);
  if (isEmptyStruct(leaf)) return decodeEmptyStructs(layout, page, rowCount, buffers, origin);
  const flatCount = rowCount * eventsPerValue(layout);
  if (page.miniBlock !== undefined) {
    const { layers: kinds, itemCount } = page.miniBlock;
    const layers = pageLayers(layout, kinds, origin);
    if (layers.listDepth === 0) expectRows(itemCount, flatCount, origin);
    const lists = isPlainList(layout) ? rowCount : null;
    const cut = page.withinRow === undefined ? options : { ...options, withinRow: page.withinRow };
    const events = decodeMiniBlock(leaf, { page: page.miniBlock, layers, buffers, origin }, lists, cut);
    return columnOf(layout, kinds, layers, events, rowCount, origin);
  }
  if (page.fullZip !== undefined) {
    const { layers: kinds, itemCount, visibleItemCount } = page.fullZip;
    const layers = pageLayers(layout, kinds, origin);
    if (layers.listDepth === 0) {
      expectRows(itemCount, flatCount, origin);
      expectRows(visibleItemCount, flatCount, origin);
    }
    const structural = { page: page.fullZip, layers, buffers, origin };
    const events = fullZipDecoder.made.decodeFullZip(leaf, structural, options.allocateTexts);
    return columnOf(layout, kinds, layers, events, rowCount, origin);
  }
  if (page.constant !== undefined) {
    const { layers: kinds } = page.constant;
    const layers = pageLayers(layout, kinds, origin);
    const keepsOne = options.keepsDictionary === true && layers.listDepth === 0;
    const structural = { page: page.constant, layers, buffers, origin };
    const events = constantDecoder.made.decodeConstant(leaf, structural, flatCount, keepsOne);
    return columnOf(layout, kinds, layers, events, rowCount, origin);
  }
  if (page.blob !== undefined) {
    const { layers: kinds } = page.blob;
    const layers = pageLayers(layout, kinds, origin);
    const { blobEvents, descriptorLayout } = blobDecoder.made;
    const inner = descriptorLayout(leaf, page.blob, origin);
    const events = blobEvents(decodePage(leaf, inner, rowCount, buffers, origin), layers, origin);
    return columnOf(layout, kinds, layers, events, rowCount, origin);
  }
  // The only other layout is the sparse one.
  throw unsupportedPage(origin, `a layout that files have from version 2.3 on, for ${layoutName(leaf)}`);
}

/**
 * Checks that a leaf without lists around it is in no list. A leaf may be read without the structs around it;
 * it is then null where one of them is null.
 */
function pageLayers(layout: Layout, kinds: readonly number[], origin: PageOrigin): Layers {
  const layers = describeLayers(kinds, origin);
  if (layers.listDepth > 0 && !isNested(layout)) {
    throw unsupportedPage(origin, `${layers.listDepth} list layers around ${layoutName(layout)}`);
  }
  return layers;
}

/** True if a row is one list, maybe in structs, whose items are one event each. */
function isPlainList(layout: Layout): boolean {
  let lists = 0;
  for (let node = layout; ; ) {
    if (node.kind === "struct") node = node.children[0].layout;
    else if (node.kind === "list") {
      node = node.item;
      lists++;
    } else return lists === 1 && node.kind !== "sizedList";
  }
}

function expectRows(count: number, rowCount: number, origin: PageOrigin): void {
  if (count !== rowCount) throw corruptPage(origin, `${count} values in a page of ${rowCount} rows`);
}

function columnOf(
  layout: Layout,
  kinds: readonly number[],
  layers: Layers,
  events: PageEvents & Pick<SpineEvents, "allNull">,
  rowCount: number,
  origin: PageOrigin,
): Column {
  if (isNested(layout)) return assembleColumn(layout, { kinds, layers, ...events }, rowCount, origin);
  return events.allNull === true ? allNull(events.values) : withLevels(events, layers, rowCount, origin);
}

function withLevels(
  { values, levels }: PageEvents,
  layers: Layers,
  rowCount: number,
  origin: PageOrigin,
): Column {
  const { repetition, definition } = levels;
  if (repetition !== null) throw corruptPage(origin, "repetition levels in a page without lists");
  if (values.length !== rowCount || (definition !== null && definition.length !== rowCount)) {
    throw corruptPage(origin, `${definition?.length ?? values.length} events in a page of ${rowCount} rows`);
  }
  const validity = validityOfLevels(definition, layers.maximumDefinition, origin);
  return validity === null || values.kind === "null" ? values : withValidity(values, validity);
}

function allNull(values: Column): Column {
  const count = values.length;
  if (count === 0 || values.kind === "null") return values;
  return withValidity(values, {
    bytes: new Uint8Array(Math.ceil(count / 8)),
    bitOffset: 0,
    nullCount: count,
  });
}

/** Name of a layout, for messages. */
function layoutName(layout: LeafLayout): string {
  switch (layout.kind) {
    case "fixed":
      return `values of ${layout.byteWidth} bytes`;
    case "bits":
      return "booleans";
    case "variable":
      return layout.text ? "strings" : "binaries";
    case "fixedSizeList":
      return `lists of ${layout.dimension} ${layoutName(layout.item)}`;
    case "dictionary":
      return `a dictionary of ${layoutName(layout.value)}`;
    case "packedStruct":
      return "packed structs";
    case "null":
      return "nulls";
  }
}
