/**
 * Turns nested columns into events; assembleColumn.ts is the reverse. A leaf in lists and structs is stored
 * as a stream of events and the values of those events that have one. An event's repetition level says
 * which lists around it continue, its definition level which node is null or empty. `levels.ts` has the
 * numbers of levels.
 *
 *     rows of list<int32>           [1, 2]   null   []   [3]
 *     repetition, of depth 1         1  0     1     1     1        1: a row begins, 0: the list continues
 *     definition                     0  0     1     2     0        1: null list, 2: empty list
 *     values                         1  2                 3
 *
 * A fixed-size list of structs has no levels of its own except one for nulls; each of its items repeats the
 * levels of the nodes around it. A page of such lists counts items instead of rows.
 *
 * Columns are walked node by node from the outside. A node turns the events so far into as many or more.
 */

import type {
  Column,
  LeafColumn,
  ListColumn,
  ListLayout,
  SizedListLayout,
  StructLayout,
  Validity,
} from "../../arrow/columns/column.js";
import { dictionaryValidity } from "../../arrow/columns/dictionaries.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { eventsPerValue } from "../../arrow/columns/spine.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { TableSchemaValidationError, UnsupportedError } from "../../errors.js";
import { RepDefLayer } from "../../format/encodings.js";
import { describeLayers, type Layers, type PageLevels, slotValidity } from "./levels.js";
import { nodesOf, type SpineNode } from "./spineNodes.js";

export interface ShreddedColumn {
  /** Values of visible events; null if the definition level is not 0. */
  readonly values: LeafColumn;
  readonly levels: PageLevels;
}

/**
 * Events while a column is walked: the node that ended each, and the slots of those that have not ended. An
 * event has a slot in the node's column unless a null or empty list ended it.
 */
interface Events {
  count: number;
  /** 0 for an event that goes on, else 1 + 2 · node (null) or 2 + 2 · node (empty); null if all go on. */
  marks: Uint16Array | null;
  /** Repetition levels; null until the first list. */
  repetition: Uint16Array | null;
  /** Largest mark of events without a slot: the last list's mark for empty lists. */
  closed: number;
  /** The slot of each event that has one; null if the slots are consecutive. */
  positions: Uint32Array | null;
  /** The first of the consecutive slots; `slotCount` is their number. */
  firstSlot: number;
  slotCount: number;
}

/**
 * Splits a spine into its leaf values and levels.
 * @throws TableSchemaValidationError for a null that its layout forbids
 */
export function shredColumn(
  layout: ListLayout | SizedListLayout | StructLayout,
  column: Column,
  { nullable, path }: { readonly nullable: boolean; readonly path: string },
): ShreddedColumn {
  const nodes = nodesOf(layout, nullable);
  const listDepth = nodes.filter((node) => node.layout.kind === "list").length;
  const events: Events = {
    count: column.length,
    marks: null,
    repetition: null,
    closed: 0,
    positions: null,
    firstSlot: 0,
    slotCount: column.length,
  };
  const seen = new Uint8Array(1 + 2 * nodes.length);
  let node: Column = column;
  let depth = 0;
  for (let index = 0; ; index++) {
    markNulls(events, nodeValidity(node), 1 + 2 * index, seen);
    if (seen[1 + 2 * index] === 1 && !nodes[index].nullable) {
      throw new TableSchemaValidationError(`column ${path} is not nullable and the rows hold nulls`);
    }
    if (node.kind === "list") {
      openLists(events, node, 2 + 2 * index, listDepth, listDepth - ++depth, seen);
      node = node.items;
    } else if (node.kind === "struct") {
      node = node.children[0];
    } else if (node.kind === "sizedList") {
      repeatEvents(events, node.dimension);
      node = node.items;
    } else {
      break;
    }
  }

  allowMasked(nodes, seen);
  const { layers, levelOfMark } = numberLevels(nodes, seen);
  const described = describeLayers(layers, { path, byteOffset: 0 });
  const { marks } = events;
  let definition: Uint16Array | null = null;
  if (described.maximumDefinition > 0 && marks !== null) {
    definition = marks;
    for (let event = 0; event < events.count; event++) definition[event] = levelOfMark[definition[event]];
  }
  const values = visibleValues(node, events, definition, described);
  return {
    values,
    levels: {
      ...described,
      layers,
      rowCount: column.length * eventsPerValue(layout),
      eventCount: events.count,
      visibleCount: values.length,
      repetition: events.repetition,
      definition,
    },
  };
}

/** Validity of a node's values. A dictionary value is also null if its dictionary entry is null. */
function nodeValidity(node: Column): Validity | null {
  const { kind, length } = node;
  if (kind === "null") return { bytes: new Uint8Array((length + 7) >>> 3), bitOffset: 0, nullCount: length };
  return kind === "dictionary" ? dictionaryValidity(node) : node.validity;
}

function markNulls(events: Events, validity: Validity | null, mark: number, seen: Uint8Array): void {
  if (validity === null) return;
  const { count, positions, closed, firstSlot } = events;
  const { bytes, bitOffset } = validity;
  events.marks ??= new Uint16Array(count);
  const { marks } = events;
  let slot = firstSlot;
  for (let event = 0; event < count; event++) {
    const earlier = marks[event];
    if (earlier !== 0) {
      if (earlier > closed) slot++;
      continue;
    }
    const bit = bitOffset + (positions === null ? slot++ : positions[event]);
    if (((bytes[bit >>> 3] >>> (bit & 7)) & 1) === 1) continue;
    marks[event] = mark;
    seen[mark] = 1;
  }
}

/** Returns offsets as numbers. Offsets of 2^31 and more are refused: no column can count that many items. */
function numbersOf(offsets: Int32Array | BigInt64Array): Int32Array {
  if (areNarrow(offsets)) return offsets;
  const words = new Int32Array(offsets.buffer, offsets.byteOffset, 2 * offsets.length);
  const numbers = new Int32Array(offsets.length);
  for (let index = 0; index < numbers.length; index++) {
    if (words[2 * index + 1] !== 0 || words[2 * index] < 0) {
      throw new UnsupportedError("the lists of one batch cannot hold more than 2^31 items");
    }
    numbers[index] = words[2 * index];
  }
  return numbers;
}

/**
 * Replaces the event of each list with the events of its items.
 * @param rowStart repetition level of events that are in no list yet
 * @param next repetition level of items that are not the first of their list
 */
function openLists(
  events: Events,
  { offsets: source }: ListColumn,
  emptyMark: number,
  rowStart: number,
  next: number,
  seen: Uint8Array,
): void {
  const offsets = numbersOf(source);
  if (events.positions !== null || !openAdjoining(events, offsets, emptyMark, rowStart, next, seen)) {
    openScattered(events, offsets, emptyMark, rowStart, next, seen);
  }
  events.closed = emptyMark;
}

/**
 * Handles lists that are in order and whose items are consecutive. Does nothing, and returns false, for
 * others.
 */
function openAdjoining(
  events: Events,
  offsets: Int32Array,
  emptyMark: number,
  rowStart: number,
  next: number,
  seen: Uint8Array,
): boolean {
  const { count, marks, repetition, closed, firstSlot, slotCount } = events;
  let empties = 0;
  for (let slot = firstSlot; slot < firstSlot + slotCount; slot++) {
    empties += +(offsets[slot + 1] === offsets[slot]);
  }
  let ended = 0;
  if (marks !== null) {
    let slot = firstSlot;
    for (let event = 0; event < count; event++) {
      const mark = marks[event];
      if (mark === 0) {
        slot++;
        continue;
      }
      ended++;
      if (mark <= closed) continue;
      if (offsets[slot + 1] !== offsets[slot]) return false;
      empties--;
      slot++;
    }
  }
  const firstItem = offsets[firstSlot];
  const itemCount = offsets[firstSlot + slotCount] - firstItem;
  const total = itemCount + empties + ended;
  if (empties > 0) seen[emptyMark] = 1;
  const newMarks = empties === 0 && ended === 0 ? null : new Uint16Array(total);
  const newRepetition = new Uint16Array(total);
  if (next !== 0) newRepetition.fill(next);
  let write = 0;
  let slot = firstSlot;
  for (let event = 0; event < count; event++) {
    newRepetition[write] = repetition === null ? rowStart : repetition[event];
    const mark = marks === null ? 0 : marks[event];
    if (mark !== 0 && newMarks !== null) {
      newMarks[write++] = mark;
      if (mark > closed) slot++;
      continue;
    }
    const length = offsets[slot + 1] - offsets[slot];
    slot++;
    if (length === 0 && newMarks !== null) newMarks[write++] = emptyMark;
    else write += length;
  }
  events.count = total;
  events.marks = newMarks;
  events.repetition = newRepetition;
  events.firstSlot = firstItem;
  events.slotCount = itemCount;
  return true;
}

/** Handles lists at any positions. */
function openScattered(
  events: Events,
  offsets: Int32Array,
  emptyMark: number,
  rowStart: number,
  next: number,
  seen: Uint8Array,
): void {
  const { count, marks, repetition } = events;
  const positions = events.positions ?? positionsOf(events);
  let total = 0;
  let anyEmpty = 0;
  for (let event = 0; event < count; event++) {
    const index = positions[event];
    const length = marks !== null && marks[event] !== 0 ? 1 : offsets[index + 1] - offsets[index];
    total += length;
    if (length === 0) anyEmpty++;
  }
  total += anyEmpty;
  if (anyEmpty > 0) seen[emptyMark] = 1;
  const newMarks = marks === null && anyEmpty === 0 ? null : new Uint16Array(total);
  const newRepetition = new Uint16Array(total);
  if (next !== 0) newRepetition.fill(next);
  const newPositions = new Uint32Array(total);
  let write = 0;
  for (let event = 0; event < count; event++) {
    newRepetition[write] = repetition === null ? rowStart : repetition[event];
    if (newMarks !== null && marks !== null && marks[event] !== 0) {
      newMarks[write++] = marks[event];
      continue;
    }
    const list = positions[event];
    let slot = offsets[list];
    const end = offsets[list + 1];
    if (slot === end) {
      if (newMarks !== null) newMarks[write] = emptyMark;
      write++;
      continue;
    }
    while (slot < end) newPositions[write++] = slot++;
  }
  events.count = total;
  events.marks = newMarks;
  events.repetition = newRepetition;
  events.positions = newPositions;
}

/** Spells out the positions of consecutive slots. */
function positionsOf({ count, marks, closed, firstSlot }: Events): Uint32Array {
  const positions = new Uint32Array(count);
  let slot = firstSlot;
  for (let event = 0; event < count; event++) {
    if (marks === null || marks[event] === 0 || marks[event] > closed) positions[event] = slot++;
  }
  return positions;
}

/**
 * Replaces each event with one per item; a mark that ended an event ends all of them. No lists are around:
 * the format has no fixed-size lists of structs in lists.
 */
function repeatEvents(events: Events, dimension: number): void {
  const { count, marks, repetition } = events;
  if (repetition !== null) {
    throw new UnsupportedError("fixed-size lists of structs in lists are not supported by this release");
  }
  events.count = count * dimension;
  events.firstSlot *= dimension;
  events.slotCount *= dimension;
  if (marks === null) return;
  events.marks = new Uint16Array(events.count);
  for (let event = 0; event < count; event++) {
    events.marks.fill(marks[event], event * dimension, (event + 1) * dimension);
  }
}

/**
 * Makes everything in a null struct nullable, down to the next list, whatever the schema says. The reference
 * writes it so, and reads values in null structs under a layer that says that all are valid.
 */
function allowMasked(nodes: readonly SpineNode[], seen: Uint8Array): void {
  let inNull = false;
  for (const [index, { layout }] of nodes.entries()) {
    if (inNull) seen[1 + 2 * index] = 1;
    inNull = layout.kind !== "list" && seen[1 + 2 * index] === 1;
  }
}

/** Finds the layers that the seen marks need, innermost first, and the level of each mark. */
function numberLevels(
  nodes: readonly SpineNode[],
  seen: Uint8Array,
): { layers: number[]; levelOfMark: Uint16Array } {
  const layers: number[] = [];
  const levelOfMark = new Uint16Array(seen.length);
  let level = 0;
  for (let index = nodes.length - 1; index >= 0; index--) {
    const hasNull = seen[1 + 2 * index] === 1;
    const hasEmpty = seen[2 + 2 * index] === 1;
    if (hasNull) levelOfMark[1 + 2 * index] = ++level;
    if (hasEmpty) levelOfMark[2 + 2 * index] = ++level;
    if (nodes[index].layout.kind !== "list") {
      layers.push(hasNull ? RepDefLayer.NULLABLE_ITEM : RepDefLayer.ALL_VALID_ITEM);
    } else if (hasNull) {
      layers.push(hasEmpty ? RepDefLayer.NULL_AND_EMPTY_LIST : RepDefLayer.NULLABLE_LIST);
    } else {
      layers.push(hasEmpty ? RepDefLayer.EMPTYABLE_LIST : RepDefLayer.ALL_VALID_LIST);
    }
  }
  return { layers, levelOfMark };
}

function visibleValues(
  leaf: LeafColumn,
  { count, positions, firstSlot, slotCount }: Events,
  definition: Uint16Array | null,
  { maximumVisible, maximumDefinition }: Layers,
): LeafColumn {
  let values: LeafColumn;
  if (positions === null) {
    values = sliceColumn(leaf, firstSlot, slotCount);
  } else {
    let visible = positions;
    let visibleCount = count;
    if (definition !== null && maximumVisible < maximumDefinition) {
      visible = new Uint32Array(count);
      visibleCount = 0;
      for (let event = 0; event < count; event++) {
        if (definition[event] <= maximumVisible) visible[visibleCount++] = positions[event];
      }
    }
    values = pickValues(leaf, visible, visibleCount);
  }
  return values.kind === "null"
    ? values
    : { ...values, validity: slotValidity(definition, maximumVisible, values.length) };
}

/** Takes the values at the first `count` positions: a view if the positions are consecutive. */
function pickValues(leaf: LeafColumn, positions: Uint32Array, count: number): LeafColumn {
  if (count === 0) return sliceColumn(leaf, 0, 0);
  const first = positions[0];
  let next = 0;
  while (next < count && positions[next] === first + next) next++;
  return next === count ? sliceColumn(leaf, first, count) : takeColumn(leaf, positions.subarray(0, count));
}
