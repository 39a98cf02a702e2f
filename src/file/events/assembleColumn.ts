/** Builds nested columns from events: levels become offsets and validity. Reverses shredColumn.ts. */

import type {
  Column,
  Layout,
  LeafColumn,
  LeafLayout,
  ListLayout,
  SizedListLayout,
  StructLayout,
  Validity,
} from "../../arrow/columns/column.js";
import { withValidity } from "../../arrow/columns/lazyColumn.js";
import { eventsPerValue } from "../../arrow/columns/spine.js";
import { RepDefLayer } from "../../format/encodings.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import {
  checkMaximum,
  isListLayer,
  type Layers,
  type Levels,
  slotValidity,
  validityOfEvents,
} from "./levels.js";
import { nodesOf } from "./spineNodes.js";

/** A node of a page's spine, with the levels that its layer uses. */
interface PageNode {
  readonly layout: Layout;
  /** 0 if the layer has no level for nulls. */
  readonly nullLevel: number;
  readonly emptyLevel: number;
  /** Largest definition level of events that stand for a value of the node, null structs' values included. */
  readonly maximumLevel: number;
  /** Smallest repetition level of events that begin a value of the node. */
  readonly begins: number;
  /** Number of events of a value that holds no lists; more than one around fixed-size lists of structs. */
  readonly stride: number;
}

/** Matches the layers of a page with the nodes of a spine, outermost first. */
function pageNodes(
  layout: Layout,
  kinds: readonly number[],
  listDepth: number,
  origin: PageOrigin,
): PageNode[] {
  const nodes = nodesOf(layout, true);
  if (nodes.length !== kinds.length) {
    throw corruptPage(origin, `${kinds.length} layers in a column of ${nodes.length}`);
  }
  const described: PageNode[] = [];
  let level = 0;
  // `kinds` begins at the leaf.
  let lists = listDepth;
  for (const [index, kind] of kinds.entries()) {
    const node = nodes[nodes.length - 1 - index];
    const isList = node.layout.kind === "list";
    if (isList !== isListLayer(kind)) throw corruptPage(origin, `layer ${kind} for a ${node.layout.kind}`);
    const hasNull =
      kind === RepDefLayer.NULLABLE_ITEM ||
      kind === RepDefLayer.NULLABLE_LIST ||
      kind === RepDefLayer.NULL_AND_EMPTY_LIST;
    const hasEmpty = kind === RepDefLayer.EMPTYABLE_LIST || kind === RepDefLayer.NULL_AND_EMPTY_LIST;
    if (isList) lists--;
    const nullLevel = hasNull ? ++level : 0;
    const emptyLevel = hasEmpty ? ++level : 0;
    described.unshift({
      layout: node.layout,
      nullLevel,
      emptyLevel,
      maximumLevel: level,
      begins: listDepth - lists,
      stride: eventsPerValue(node.layout),
    });
  }
  // A null struct still has members: an event that ends at the struct counts as one value of each member.
  for (let index = 1; index < described.length; index++) {
    const parent = described[index - 1];
    if (parent.layout.kind === "struct" || parent.layout.kind === "sizedList")
      described[index] = { ...described[index], maximumLevel: parent.maximumLevel };
  }
  return described;
}

/** Events of a page, and the layers that give meaning to their levels. */
export interface SpineEvents {
  /** Layers of the page, innermost first. */
  readonly kinds: readonly number[];
  readonly layers: Layers;
  readonly levels: Levels;
  /** Values of visible events, without validity. */
  readonly values: Column;
  /** True if every value is null, whatever the levels say. Default false. */
  readonly allNull?: boolean;
}

/**
 * Builds the column of a spine.
 * @throws CorruptFileError if levels, values and rows contradict each other
 */
export function assembleColumn(
  layout: ListLayout | SizedListLayout | StructLayout,
  { kinds, layers, levels, values, allNull = false }: SpineEvents,
  rowCount: number,
  origin: PageOrigin,
): Column {
  const { repetition, definition, rowStarts } = levels;
  const nodes = pageNodes(layout, kinds, layers.listDepth, origin);
  const flatCount = rowCount * eventsPerValue(layout);
  const eventCount = repetition?.length ?? definition?.length ?? rowStarts?.[rowCount] ?? values.length;
  if (definition !== null && definition.length !== eventCount) {
    throw corruptPage(origin, `${eventCount} repetition and ${definition.length} definition levels`);
  }
  if (layers.listDepth === 0) {
    if (repetition !== null) throw corruptPage(origin, "repetition levels in a page without lists");
    if (eventCount !== flatCount)
      throw corruptPage(origin, `${eventCount} events in a page of ${flatCount} rows`);
  }
  if (rowStarts === undefined) checkLevels(nodes, layers, repetition, definition, eventCount, origin);

  const build = (index: number, length: number): Column => {
    const node = nodes[index];
    if (node.layout.kind === "struct") {
      const validity = validityOf(node, levels, length);
      return { kind: "struct", length, validity, children: [build(index + 1, length)] };
    }
    if (node.layout.kind === "sizedList") {
      const { dimension } = node.layout;
      const validity = validityOf(node, levels, length);
      return { kind: "sizedList", length, validity, dimension, items: build(index + 1, length * dimension) };
    }
    if (node.layout.kind === "list") {
      const validity = validityOf(node, levels, length);
      // If `rowStarts` is set, each row is one list, and no other lists are around the values.
      const offsets = rowStarts ?? listOffsets(node, nodes[index + 1], levels, eventCount, length, origin);
      const items = build(index + 1, offsets[length]);
      return {
        kind: "list",
        length,
        validity,
        offsets: node.layout.offsetBits === 32 ? offsets : BigInt64Array.from(offsets, BigInt),
        items,
      };
    }
    if (length !== values.length) throw corruptPage(origin, `${values.length} values for ${length} events`);
    return withLeafValidity(values as LeafColumn, node.layout, definition, layers.maximumVisible, allNull);
  };
  return build(0, rowCount);
}

/**
 * Checks that the first event begins a row, that every other event continues an open list, and that no level
 * is too large.
 * @throws CorruptFileError
 */
function checkLevels(
  nodes: readonly PageNode[],
  { listDepth, maximumDefinition }: Layers,
  repetition: Uint16Array | null,
  definition: Uint16Array | null,
  eventCount: number,
  origin: PageOrigin,
): void {
  // Largest definition level of an event in the continued list, by repetition level.
  const inside = new Int32Array(listDepth + 1).fill(maximumDefinition);
  for (const [index, node] of nodes.entries()) {
    if (node.layout.kind === "list") inside[node.begins - 1] = nodes[index + 1].maximumLevel;
  }
  if (repetition !== null && eventCount > 0 && repetition[0] !== listDepth) {
    throw corruptPage(origin, "the first event continues a list that is not open");
  }
  if (repetition === null) {
    if (definition !== null) checkMaximum(definition, maximumDefinition, origin);
    return;
  }
  // A negative number means a fault. Only then are the single events searched for it.
  let fault = 0;
  if (definition === null) {
    for (let event = 0; event < eventCount; event++) fault |= listDepth - repetition[event];
  } else {
    let last = 0;
    for (let event = 0; event < eventCount; event++) {
      const level = definition[event];
      const repeated = repetition[event];
      const most = inside[repeated];
      fault |= (most - level) | (most - last) | (listDepth - repeated);
      last = level;
    }
  }
  if (fault >= 0) return;
  checkMaximum(repetition, listDepth, origin);
  if (definition !== null) checkMaximum(definition, maximumDefinition, origin);
  throw corruptPage(origin, "an event continues a list that is not open");
}

function validityOf(node: PageNode, levels: Levels, length: number): Validity | null {
  const { nullLevel, stride } = node;
  if (nullLevel === 0) return null;
  const events = stride === 1 ? levels : firstEvents(levels, stride);
  return validityOfEvents(events, node, nullLevel, nullLevel, length);
}

/** First event of each value, whose level holds for all events of the value. The events are in no lists. */
const firstEvents = ({ definition }: Levels, stride: number): Levels => ({
  repetition: null,
  definition: definition?.filter((_, event) => event % stride === 0) ?? null,
});

/**
 * Computes the start of each list's items.
 * @param length number of the lists
 * @throws CorruptFileError if the events make up another number of lists
 */
function listOffsets(
  { begins: listBegins, maximumLevel: listMaximum }: PageNode,
  { begins: itemBegins, maximumLevel: itemMaximum }: PageNode,
  { repetition, definition }: Levels,
  eventCount: number,
  length: number,
  origin: PageOrigin,
): Int32Array {
  const offsets = new Int32Array(length + 1);
  let list = 0;
  let items = 0;
  // A processor cannot predict the order of levels, so the loops use arithmetic on signs instead of branches:
  // -1 for an event that begins no list, or no item. The next event overwrites the output of such an event.
  if (repetition === null) {
    // Every event is a row.
    for (let event = 0; event < eventCount; event++) {
      const level = definition === null ? 0 : definition[event];
      offsets[list] = items;
      list += 1 + ((listMaximum - level) >> 31);
      items += 1 + ((itemMaximum - level) >> 31);
    }
  } else if (definition === null) {
    for (let event = 0; event < eventCount; event++) {
      const repeated = repetition[event];
      offsets[list] = items;
      list += 1 + ((repeated - listBegins) >> 31);
      items += 1 + ((repeated - itemBegins) >> 31);
    }
  } else {
    for (let event = 0; event < eventCount; event++) {
      const repeated = repetition[event];
      const level = definition[event];
      offsets[list] = items;
      list += 1 + (((repeated - listBegins) | (listMaximum - level)) >> 31);
      items += 1 + (((repeated - itemBegins) | (itemMaximum - level)) >> 31);
    }
  }
  if (list !== length) throw corruptPage(origin, `${list} lists where there are ${length}`);
  offsets[length] = items;
  return offsets;
}

function withLeafValidity(
  values: LeafColumn,
  layout: LeafLayout,
  definition: Uint16Array | null,
  maximumVisible: number,
  allNull: boolean,
): Column {
  const { length } = values;
  if (layout.kind === "null" || values.kind === "null" || length === 0) return values;
  if (allNull) {
    const bytes = new Uint8Array((length + 7) >>> 3);
    return withValidity(values, { bytes, bitOffset: 0, nullCount: length });
  }
  const validity = slotValidity(definition, maximumVisible, length);
  return validity === null ? values : withValidity(values, validity);
}
