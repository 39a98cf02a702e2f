/** Functions of lists of lists, down to the innermost items. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { fixedColumn, perRow } from "../kernels/arithmetic.js";
import { castItems, castKernel } from "../kernels/casts.js";
import { TextLane, textRows } from "../kernels/textRows.js";
import type { GrowingTexts } from "../values/growing.js";
import type { ValueKernel } from "../values/operands.js";
import { type ListLane, listLane } from "../values/scalars.js";
import { STRING, UINT64, type ValueType } from "../values/types.js";
import { type Functions, listNames, takingList } from "./form.js";

const STEP_LISTS = 2 ** 12;

const dimensions = (type: ValueType): number => (type.kind === "list" ? 1 + dimensions(type.item) : 0);

const innermost = (type: ValueType): ValueType => (type.kind === "list" ? innermost(type.item) : type);

const dimensionCount = takingList("l", (list) => {
  const count = BigInt(dimensions(list));
  return {
    operands: [list],
    type: UINT64,
    kernel: (_, length, valid) => perRow(UINT64, length, valid, () => count),
  };
});

/** Maximum number of bytes, and of items, of a list that are written in one step. */
const MAX_AT_ONCE = 2 ** 12;

/** Returns the number of innermost items before each item; null if the items are the innermost. */
function* innermostBefore(column: Column, type: ValueType): Steps<Float64Array | null> {
  if (type.kind !== "list") return null;
  const { items, offsets } = listLane({ column, step: 1 });
  const within = yield* innermostBefore(items, type.item);
  const pace = new Pace(STEP_LISTS);
  const before = new Float64Array(column.length + 1);
  for (let index = 0; index < column.length; index++) {
    // A null list may have items in its column.
    const count = isValid(column.validity, index)
      ? itemsBetween(within, offsets[index], offsets[index + 1])
      : 0;
    before[index + 1] = before[index] + count;
    if (pace.isStep()) yield;
  }
  return before;
}

const itemsBetween = (before: Float64Array | null, start: number, end: number): number =>
  before === null ? end - start : before[end] - before[start];

/**
 * CARDINALITY(list): number of items of a list, or of all lists in a list of lists. The reference multiplies
 * the lengths of the first lists of each dimension, which differs if lists of one dimension have several
 * lengths.
 */
const cardinality = takingList("l", (list, types) => {
  const kernel: ValueKernel = function* run([lists], length, valid) {
    const { items, offsets } = listLane(lists);
    const before = yield* innermostBefore(items, list.item);
    const counts = new BigInt64Array(length);
    for (let row = 0, index = 0; row < length; row++, index += lists.step) {
      counts[row] = BigInt(itemsBetween(before, offsets[index], offsets[index + 1]));
    }
    return fixedColumn(counts, length, valid);
  };
  return { operands: types, type: UINT64, kernel };
});

/** Returns the columns of items from the outer lists to the innermost, which are not lists. */
function itemColumns(outer: ListLane, item: ValueType): { lanes: ListLane[]; innermost: Column } {
  const lanes = [outer];
  let { items } = outer;
  for (let type = item; type.kind === "list"; type = type.item) {
    const lane = listLane({ column: items, step: 1 });
    lanes.push(lane);
    items = lane.items;
  }
  return { lanes, innermost: items };
}

/**
 * ARRAY_TO_STRING(list, separator [, text for nulls]): the items as text, with those of inner lists in order.
 * Null items and null lists are left out, or written as the text for nulls.
 */
const toText = takingList("lt?t", (list, [, ...texts]) => {
  const castItem = castKernel(innermost(list.item), STRING, false);
  if (castItem === null) return "expected a list whose items can be cast to text";
  const kernel: ValueKernel = function* run([lists, separators, nulls], length, valid) {
    const { lanes, innermost: items } = itemColumns(listLane(lists), list.item);
    const cast = yield* castItems(castItem, items);
    const itemTexts = new TextLane({ column: cast, step: 1 });
    const separator = new TextLane(separators);
    const forNull = nulls === undefined ? null : new TextLane(nulls);
    const pace = new Pace(STEP_LISTS);
    const writeLong = function* write(row: number, output: GrowingTexts): Steps<void> {
      let isFirst = true;
      function* add(lane: TextLane, position: number): Steps<void> {
        if (!isFirst) yield* output.copy(separator.bytes, separator.start(row), separator.end(row));
        isFirst = false;
        yield* output.copy(lane.bytes, lane.start(position), lane.end(position));
      }
      function* addItems(depth: number, index: number): Steps<void> {
        const { items: within, offsets } = lanes[depth];
        const isInnermost = depth === lanes.length - 1;
        for (let position = offsets[index]; position < offsets[index + 1]; position++) {
          const before = output.size;
          const isNull = isInnermost ? itemTexts.isNull(position) : !isValid(within.validity, position);
          if (isNull) {
            if (forNull !== null && !forNull.isNull(row)) yield* add(forNull, row);
          } else if (isInnermost) yield* add(itemTexts, position);
          else yield* addItems(depth + 1, position);
          if (pace.isStep(1 + ((output.size - before) >>> 6))) yield;
        }
      }
      yield* addItems(0, row * lists.step);
    };
    const [{ offsets }] = lanes;
    return yield* textRows("array_to_string", [separator], length, valid, (row, output) => {
      const first = offsets[row * lists.step];
      const end = offsets[row * lists.step + 1];
      if (first === end) return undefined;
      const between = separator.size(row) + (forNull?.size(row) ?? 0);
      const size =
        lanes.length > 1 ? Number.POSITIVE_INFINITY : itemTexts.end(end - 1) - itemTexts.start(first);
      if (size + between * (end - first) > MAX_AT_ONCE || end - first > MAX_AT_ONCE) {
        return writeLong(row, output);
      }
      let isFirst = true;
      for (let position = first; position < end; position++) {
        const isNull = itemTexts.isNull(position);
        if (isNull && (forNull === null || forNull.isNull(row))) continue;
        if (!isFirst) output.put(separator.bytes, separator.start(row), separator.end(row));
        isFirst = false;
        if (isNull) (forNull as TextLane).putInto(row, output);
        else itemTexts.putInto(position, output);
      }
      return undefined;
    });
  };
  return { operands: [list, ...texts.map(() => STRING)], type: STRING, kernel };
});

export const NESTED_LIST_FUNCTIONS: Functions = {
  cardinality,
  ...listNames(dimensionCount, "ndims"),
  ...listNames(toText, "to_string", "join"),
};
