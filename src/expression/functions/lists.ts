/** Functions of lists. Positions count from 1; negative positions count from the end. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { sliceAround } from "../../arrow/columns/sliceAround.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { upperBound } from "../../bytes/search.js";
import type { ColumnTest } from "../evaluate/bound.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { takeWhere } from "../kernels/choice.js";
import { comparison } from "../kernels/compare.js";
import { membership } from "../kernels/membership.js";
import { RowOrder } from "../kernels/rowOrder.js";
import { bitsColumn, bitsOf, madeBy, type Operand, type ValueKernel, without } from "../values/operands.js";
import { listLane, scalarReader } from "../values/scalars.js";
import { BOOL, INT64, UINT64, type ValueType } from "../values/types.js";
import { withComparedItems } from "./commonItems.js";
import { type Functions, listNames, takingList } from "./form.js";
import { type ItemRange, ListPair, STEP_ITEMS } from "./itemSets.js";

/** The items of some lists, and the offsets of the lists among them. */
interface ItemsOfLists {
  readonly items: Column;
  /** Offset of the first of these items in the column. */
  readonly first: number;
  readonly offsets: Int32Array | Float64Array;
}

/** Cuts off the items of other lists. The items of a page belong to the lists of many batches. */
function itemsOf(lists: Operand, length: number): ItemsOfLists {
  const { items, offsets } = listLane(lists);
  const { column, first } = sliceAround(items, offsets[0], offsets[lists.step === 1 ? length : 1]);
  return { items: column, first, offsets };
}

/** Returns the rows with an item whose bit is set. @param bits a bit for each of the items */
function* anyItem(
  bits: Uint8Array,
  { first, offsets }: ItemsOfLists,
  step: number,
  length: number,
): Steps<Uint8Array> {
  const foundBits = new Uint8Array((length + 7) >>> 3);
  const lists = step === 1 ? length : 1;
  const end = offsets[lists];
  const firstByte = first >>> 3;
  // Skips eight items without bits at a time, and all their rows.
  const pace = new Pace(ITEMS_AT_ONCE);
  for (let item = offsets[0], row = 0; item < end; ) {
    if (pace.isStep()) yield;
    const left = bits[(item >>> 3) - firstByte] >>> (item & 7);
    if (left === 0) {
      item += 8 - (item & 7);
      continue;
    }
    item += 31 - Math.clz32(left & -left);
    if (item >= end) break;
    row = rowOf(item, offsets, row, lists);
    foundBits[row >>> 3] |= 1 << (row & 7);
    item = offsets[++row];
  }
  return step === 1 ? foundBits : foundBits.fill(-(foundBits[0] & 1));
}

/**
 * Returns the row whose list has an item. The strides of the search double, because the row is mostly near.
 * @param first a row at or before it
 */
function rowOf(item: number, offsets: Int32Array | Float64Array, first: number, lists: number): number {
  let low = first;
  let stride = 1;
  for (; low + stride < lists && offsets[low + stride] <= item; stride *= 2) low += stride;
  return upperBound(offsets, item, low + 1, Math.min(low + stride, lists)) - 1;
}

function setNulls(bits: Uint8Array, { validity, length }: Column, isSet: boolean): void {
  if (validity === null) return;
  for (let item = 0; item < length; item++) {
    if (isValid(validity, item)) continue;
    if (isSet) bits[item >>> 3] |= 1 << (item & 7);
    else bits[item >>> 3] &= ~(1 << (item & 7));
  }
}

const isNested = (item: ValueType): boolean => item.kind === "list" || item.kind === "struct";

/**
 * Tests for items of a constant list. The table is made once, not for each batch of rows.
 * @param isUnknownBesideNull true if a null in the list makes the result null for a value that is not in it
 */
function keptMembership(
  item: ValueType,
  isUnknownBesideNull: boolean,
): (list: Operand) => Steps<ValueKernel> {
  let cached: { readonly list: Column; readonly member: ValueKernel } | null = null;
  return function* of(list) {
    if (cached?.list !== list.column) {
      const { items, offsets } = listLane(list);
      const rowItems = sliceColumn(items, offsets[0], offsets[1] - offsets[0]);
      const hasNull =
        isUnknownBesideNull && (rowItems.kind === "null" || (rowItems.validity?.nullCount ?? 0) > 0);
      cached = { list: list.column, member: yield* membership(rowItems, item, hasNull, false) };
    }
    return cached.member;
  };
}

const arrayHas = takingList("lv", (list, _, constants) => {
  const { item } = list;
  const isConstant = constants[1] !== undefined;
  const equal = comparison("=", item);
  const isListed = constants[0] !== undefined && !isNested(item);
  // The reference turns this into IN with a constant list.
  const memberOf = keptMembership(item, true);
  const kernel: ValueKernel = function* run([lists, needle], length, valid) {
    // One list serves all rows, so each value is looked up in it.
    if (isListed && lists.step === 0) {
      const member = yield* memberOf(lists);
      return yield* madeBy(member([needle], length, valid));
    }
    if (isConstant) {
      const listItems = itemsOf(lists, length);
      const bits = yield* bitsOfItems(listItems.items, (part) =>
        equal([{ column: part, step: 1 }, needle], part.length, part.validity),
      );
      setNulls(bits, listItems.items, false);
      return bitsColumn(yield* anyItem(bits, listItems, lists.step, length), length, valid);
    }
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, needle.column, item);
    const foundBits = new Uint8Array((length + 7) >>> 3);
    const pace = new Pace(STEP_ITEMS);
    for (let row = 0; row < length; row++) {
      if (!isValid(valid, row)) continue;
      const start = offsets[row * lists.step];
      const end = offsets[row * lists.step + 1];
      if (pace.isStep(1 + ((end - start) >>> 1))) yield;
      const search = firstEqual(rows, start, end, row * needle.step, pace);
      const position = typeof search === "number" ? search : yield* search;
      if (position < end) foundBits[row >>> 3] |= 1 << (row & 7);
    }
    return bitsColumn(foundBits, length, valid);
  };
  return {
    operands: [list, item],
    type: BOOL,
    kernel,
    test: ([values]) => ({ kind: "hasAny", values }),
  };
});

const ITEMS_AT_ONCE = 2 ** 18;

function* bitsOfItems(items: Column, test: (part: Column) => ReturnType<ValueKernel>): Steps<Uint8Array> {
  const bits = new Uint8Array((items.length + 7) >>> 3);
  for (let first = 0; first < items.length; first += ITEMS_AT_ONCE) {
    const part = sliceColumn(items, first, Math.min(ITEMS_AT_ONCE, items.length - first));
    const truth = yield* madeBy(test(part));
    bits.set(
      bitsOf({ column: truth, step: 1 }, part.length).subarray(0, (part.length + 7) >>> 3),
      first >>> 3,
    );
    if (first + ITEMS_AT_ONCE < items.length) yield;
  }
  return bits;
}

/** Returns the first item of a list that equals a value; the end of the list if none does. */
function firstEqual(
  rows: RowOrder,
  start: number,
  end: number,
  value: number,
  pace: Pace,
): number | Steps<number> {
  if (end - start > STEP_ITEMS || !rows.isSmall) return firstInSteps(rows, start, end, value, pace);
  let position = start;
  while (position < end && rows.compare(position, value) !== 0) position++;
  return position;
}

function* firstInSteps(rows: RowOrder, start: number, end: number, value: number, pace: Pace): Steps<number> {
  for (let position = start; position < end; position++) {
    const order = rows.isLong(position, value)
      ? yield* rows.inSteps(position, value)
      : rows.compare(position, value);
    if (order === 0) return position;
    if (pace.isStep(rows.work(position, value))) yield;
  }
  return end;
}

/** Returns the test of a column of lists for any, or all, items of a constant list. */
function itemsTest(kind: "hasAny" | "hasAll", list: Column): ColumnTest | null {
  const { items, offsets } = listLane({ column: list, step: 0 });
  const values = sliceColumn(items, offsets[0], offsets[1] - offsets[0]);
  return values.length === 0 || (values.validity?.nullCount ?? 0) > 0 ? null : { kind, values };
}

/** Casts a list of another type to a list of these items. */
const listOf = (item: ValueType, type: ValueType): ValueType => ({ ...type, item }) as ValueType;

const STEP_PAIRS = 2 ** 14;

const rangeAt = (offsets: Int32Array | Float64Array, index: number): ItemRange => ({
  start: offsets[index],
  end: offsets[index + 1],
});

const arrayHasAny = takingList("ll", (list, [, second], constants) => {
  const { item } = list;
  const memberOf = keptMembership(item, false);
  const isListed = constants[1] !== undefined && !isNested(item);
  return {
    operands: [list, listOf(item, second)],
    type: BOOL,
    *kernel([lists, others], length, valid) {
      if (!isListed) return yield* comparePairs(false, [lists, others], item, length, valid);
      const listItems = itemsOf(lists, length);
      const { items } = listItems;
      const member = yield* memberOf(others);
      const bits = yield* bitsOfItems(items, (part) =>
        member([{ column: part, step: 1 }], part.length, part.validity),
      );
      // A null among the items equals one among the others.
      setNulls(bits, items, listLane(others).items.validity !== null);
      return bitsColumn(yield* anyItem(bits, listItems, lists.step, length), length, valid);
    },
    test: ([values]) => itemsTest("hasAny", values),
  };
});

/** Compares two lists of each row: true if the first has all, or any, items of the second. */
function* comparePairs(
  isAll: boolean,
  [lists, others]: readonly Operand[],
  item: ValueType,
  length: number,
  valid: Validity | null,
): Steps<Column> {
  const [left, right] = [listLane(lists), listLane(others)];
  const pair = new ListPair(left.items, right.items, item);
  const pace = new Pace(STEP_PAIRS);
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    if (!isValid(valid, row)) continue;
    const range = rangeAt(left.offsets, row * lists.step);
    const otherRange = rangeAt(right.offsets, row * others.step);
    const search = pair.some(range, otherRange, !isAll);
    const isSome = typeof search === "boolean" ? search : yield* search;
    if (isSome !== isAll) bits[row >>> 3] |= 1 << (row & 7);
    if (pace.isStep(1 + pair.work(range, otherRange))) yield;
  }
  return bitsColumn(bits, length, valid);
}

const arrayHasAll = takingList("ll", (list, [, second]) => ({
  operands: [list, listOf(list.item, second)],
  type: BOOL,
  kernel: (operands, length, valid) => comparePairs(true, operands, list.item, length, valid),
  test: ([values]) => itemsTest("hasAll", values),
}));

const arrayLength = takingList("l?v", (_, types, constants) => {
  const [, dimension] = types;
  if (dimension !== undefined && Number(constants[1]) !== 1) return "only the first dimension has a length";
  const kernel: ValueKernel = ([lists], length, valid) => {
    const { offsets } = listLane(lists);
    const lengths = new BigInt64Array(length);
    const words = new Int32Array(lengths.buffer);
    for (let row = 0, index = 0; row < length; row++, index += lists.step)
      words[2 * row] = offsets[index + 1] - offsets[index];
    return fixedColumn(lengths, length, valid);
  };
  return { operands: types, type: UINT64, kernel };
});

const isEmpty = takingList("l", (_, types) => {
  const kernel: ValueKernel = ([lists], length, valid) => {
    const { offsets } = listLane(lists);
    const bits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0, index = 0; row < length; row++, index += lists.step) {
      if (offsets[index + 1] === offsets[index]) bits[row >>> 3] |= 1 << (row & 7);
    }
    return bitsColumn(bits, length, valid);
  };
  return { operands: types, type: BOOL, kernel };
});

/** Returns one item; null if the list has none at the position. */
export const arrayElement = takingList("li", (list) => {
  const kernel: ValueKernel = ([lists, positions], length, valid) => {
    const { items, offsets } = listLane(lists);
    const read = scalarReader(positions, INT64);
    const indices = new Uint32Array(length);
    const validBits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      if (!isValid(valid, row)) continue;
      const wanted = Number(read(row) as bigint);
      const start = offsets[row * lists.step];
      const end = offsets[row * lists.step + 1];
      const index = wanted > 0 ? start + wanted - 1 : end + wanted;
      if (wanted === 0 || index < start || index >= end) continue;
      indices[row] = index;
      validBits[row >>> 3] |= 1 << (row & 7);
    }
    return takeWhere(items, indices, validBits, list.item);
  };
  return { operands: [list, INT64], type: list.item, kernel };
});

const arrayPosition = takingList("lv", (list) => {
  // A null finds a null in the list.
  const kernel: ValueKernel = function* run([lists, needle], length) {
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, needle.column, list.item);
    const pace = new Pace(STEP_ITEMS);
    const positions = new BigInt64Array(length);
    const missing = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      const list = row * lists.step;
      // A null list may have items in its column.
      const end = isValid(lists.column.validity, list) ? offsets[list + 1] : offsets[list];
      const start = offsets[list];
      if (pace.isStep(1 + ((end - start) >>> 1))) yield;
      const search = firstEqual(rows, start, end, row * needle.step, pace);
      const index = typeof search === "number" ? search : yield* search;
      if (index === end) missing[row >>> 3] |= 1 << (row & 7);
      else positions[row] = BigInt(index - start + 1);
    }
    return fixedColumn(positions, length, without(null, missing, length));
  };
  return { operands: [list, list.item], type: UINT64, kernel, isStrict: false };
});

export const LIST_FUNCTIONS: Functions = {
  ...listNames(withComparedItems(arrayHas), "has", "contains"),
  ...listNames(withComparedItems(arrayHasAny), "has_any"),
  arrays_overlap: withComparedItems(arrayHasAny),
  ...listNames(withComparedItems(arrayHasAll), "has_all"),
  ...listNames(arrayLength, "length"),
  ...listNames(arrayElement, "element", "extract"),
  ...listNames(withComparedItems(arrayPosition), "position"),
  array_indexof: withComparedItems(arrayPosition),
  empty: isEmpty,
  ...listNames(isEmpty, "empty"),
};
