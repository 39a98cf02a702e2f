/**
 * Functions that make lists of the items of others, and those that pick one item. Each finds the places of the items
 * that it wants, row by row, and takes them at once. Nulls among the items equal each other.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { takeWhere } from "../kernels/choice.js";
import { RowOrder } from "../kernels/rowOrder.js";
import { takeBounded } from "../values/boundedTake.js";
import { GrowingNumbers } from "../values/growing.js";
import { madeBy, type Operand, type ValueKernel } from "../values/operands.js";
import { listLane, nullsOf, type Scalar, scalarReader } from "../values/scalars.js";
import { INT64, listTypeOf, STRING, UINT64, type ValueType } from "../values/types.js";
import { withCommonItems, withComparedItems } from "./commonItems.js";
import {
  type FunctionDefinition,
  type FunctionForm,
  type Functions,
  operandCount,
  wantsInteger,
} from "./form.js";
import { ComparedItems, checkCompared, type ItemRange, STEP_ITEMS } from "./itemSets.js";

const listOperands = "a list is expected";
/** Maximum items that a function makes for one batch. */
const MAX_ITEMS = 2 ** 26;

function checkItems(count: number): void {
  if (count > MAX_ITEMS) throw new InvalidInputError(`lists of a batch have more than ${MAX_ITEMS} items`);
}

/** The items of all operands in one column, and where those of an operand begin in it. */
interface Pool {
  readonly items: Column;
  readonly starts: readonly number[];
}

function* poolOf(parts: readonly Column[]): Steps<Pool> {
  const starts: number[] = [];
  let base = 0;
  for (const part of parts) {
    starts.push(base);
    base += part.length;
  }
  return { items: yield* concatInSteps(parts), starts };
}

/** Places in the pool of the items of an operand: of its list, or the value itself. */
type Places = (row: number) => ItemRange;

function placesOf(operand: Operand, isList: boolean, base: number): Places {
  if (!isList) return (row) => ({ start: base + row * operand.step, end: base + row * operand.step + 1 });
  const { offsets } = listLane(operand);
  const { column, step } = operand;
  return (row) => {
    const at = row * step;
    if (column.kind !== "null" && !isValid(column.validity, at)) return { start: base, end: base };
    return { start: base + offsets[at], end: base + offsets[at + 1] };
  };
}

/** Adds the places of a row's items: at once, or where there are many in steps. */
type Arrange = (
  places: readonly ItemRange[],
  items: ComparedItems,
  taken: TakenItems,
  numbers: readonly number[],
) => Steps<void> | undefined;

/** The places of items that lists are made of. */
export class TakenItems {
  readonly #places = new GrowingNumbers();
  readonly #ends = new GrowingNumbers();
  readonly pace = new Pace(STEP_PLACES);
  /** Counts items that are compared or looked up. */
  readonly itemPace = new Pace(STEP_ITEMS);

  add(place: number): void {
    this.#places.push(place);
  }

  /** Adds the places from one to another, in that order or the opposite one. */
  addAll(range: ItemRange, isReversed = false): Steps<void> | undefined {
    const { start, end } = range;
    if (end - start > STEP_PLACES) return this.#addInSteps(range, isReversed);
    if (isReversed) for (let place = end - 1; place >= start; place--) this.#places.push(place);
    else for (let place = start; place < end; place++) this.#places.push(place);
    return undefined;
  }

  *#addInSteps({ start, end }: ItemRange, isReversed: boolean): Steps<void> {
    for (let place = start; place < end; place++) {
      this.#places.push(isReversed ? start + end - 1 - place : place);
      if (this.pace.isStep()) yield;
    }
  }

  /** Finishes a list. @throws InvalidInputError for too many items */
  endList(): void {
    checkItems(this.#places.length);
    this.#ends.push(this.#places.length);
  }

  *finish(items: Column, item: ValueType, length: number, valid: Validity | null): Steps<Column> {
    const offsets = new Int32Array(length + 1);
    offsets.set(yield* this.#ends.finish(), 1);
    const places = yield* this.#places.finish();
    const all = places.length === 0 ? nullsOf(item, 0) : yield* takeBounded(items, places);
    return { kind: "list", length, validity: valid, offsets, items: all };
  }
}

/** Items that are taken from one step to the next. */
const STEP_PLACES = 2 ** 14;

/**
 * A kernel that makes a list for each row.
 * @param kinds of the operands: l list, v value, n whole number
 */
function arranged(
  kinds: string,
  item: ValueType,
  arrange: Arrange,
  types: readonly ValueType[],
): ValueKernel {
  return function* run(operands, length, valid) {
    const sources = operands.flatMap((operand, index) => (kinds[index] === "n" ? [] : [{ operand, index }]));
    const columns = sources.map(({ operand, index }) =>
      operand.column.kind === "null"
        ? nullsOf(item, operand.column.length)
        : kinds[index] === "l"
          ? listLane(operand).items
          : operand.column,
    );
    const { items, starts } = yield* poolOf(columns);
    const places = sources.map(({ operand, index }, source) =>
      placesOf(operand, kinds[index] === "l", starts[source]),
    );
    const numbers = operands.flatMap((operand, index) =>
      kinds[index] === "n" ? [scalarReader(operand, types[index])] : [],
    );
    const compared = new ComparedItems(items, item, new Pace(STEP_ITEMS));
    const taken = new TakenItems();
    const ranges = new Array<ItemRange>(places.length);
    const given = new Array<number>(numbers.length);
    for (let row = 0; row < length; row++) {
      let work = 1;
      if (isValid(valid, row)) {
        for (let index = 0; index < places.length; index++) ranges[index] = places[index](row);
        for (let index = 0; index < numbers.length; index++) given[index] = Number(numbers[index](row) ?? 0);
        const steps = arrange(ranges, compared, taken, given);
        if (steps !== undefined) yield* steps;
        work = 8;
        for (const { start, end } of ranges) work += 4 * Math.min(end - start, STEP_PLACES);
      }
      taken.endList();
      if (taken.pace.isStep(work)) yield;
    }
    return yield* taken.finish(items, item, length, valid);
  };
}

/** @param kinds as for {@link arranged}; the first l gives the type of the items */
function arranging(kinds: string, arrange: Arrange, isStrict = true): FunctionDefinition {
  return (types) => {
    if (types.length !== kinds.length) return operandCount(kinds.length);
    const list = types.find((type, index) => kinds[index] === "l" && type.kind === "list");
    if (list?.kind !== "list") return listOperands;
    const { item } = list;
    const operands = types.map((type, index): ValueType | null => {
      if (kinds[index] === "v") return item;
      if (kinds[index] === "n") return wantsInteger(type) ? INT64 : null;
      return type.kind === "list" || type.kind === "null" ? listTypeOf(item) : null;
    });
    const wanted = operands.filter((type) => type !== null);
    if (wanted.length < operands.length) return "lists, their items and whole numbers are expected";
    const form: FunctionForm = {
      operands: wanted,
      type: listTypeOf(item),
      kernel: arranged(kinds, item, arrange, wanted),
      isStrict,
    };
    return form;
  };
}

const addEach: Arrange = (places, _, taken) => {
  for (let index = 0; index < places.length; index++) {
    const steps = taken.addAll(places[index]);
    if (steps !== undefined) return addRest(steps, places.slice(index + 1), taken);
  }
  return undefined;
};

function* addRest(first: Steps<void>, places: readonly ItemRange[], taken: TakenItems): Steps<void> {
  yield* first;
  for (const each of places) {
    const steps = taken.addAll(each);
    if (steps !== undefined) yield* steps;
  }
}

const append = arranging("lv", addEach, false);
const prepend = arranging("vl", addEach, false);

/** Of lists that are null nothing comes; where all are, the result is null. */
const concatLists: FunctionDefinition = (types, constants) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  const form = arranging("l".repeat(types.length), addEach, false)(types, constants);
  if (typeof form === "string") return form;
  return {
    ...form,
    *kernel(operands, length, valid) {
      const lists = yield* madeBy(form.kernel(operands, length, valid));
      const known = new Uint8Array((length + 7) >>> 3);
      const pace = new Pace(STEP_PLACES);
      for (let row = 0; row < length; row++) {
        if (pace.isStep(operands.length)) yield;
        const isThere = operands.some(
          ({ column, step }) => column.kind !== "null" && isValid(column.validity, row * step),
        );
        if (isThere) known[row >>> 3] |= 1 << (row & 7);
      }
      return { ...lists, validity: validityFrom(known, 0, length) } as Column;
    },
  };
};

const concatCommon: FunctionDefinition = (types, constants) =>
  withCommonItems(concatLists, ...types.keys())(types, constants);

/** Which items are added: those that are in a list, or that are not. */
interface Wanted {
  readonly list: ItemRange;
  readonly isIn: boolean;
}

/** Adds the items of some places, or the wanted ones among them, each value once. */
function addDistinct(
  ranges: readonly ItemRange[],
  items: ComparedItems,
  taken: TakenItems,
  wanted: Wanted | null = null,
): Steps<void> | undefined {
  let count = wanted === null ? 0 : wanted.list.end - wanted.list.start;
  for (const { start, end } of ranges) count += end - start;
  if (!items.isQuick(count)) return addDistinctInSteps(ranges, items, taken, wanted);
  const others = wanted === null ? null : items.setNow(wanted.list);
  let room = 0;
  for (const { start, end } of ranges) room += end - start;
  const seen = items.seenSet(room);
  for (const { start, end } of ranges) {
    for (let place = start; place < end; place++) {
      if (others !== null && others.hasNow(place) !== wanted?.isIn) continue;
      if (seen.addNow(place)) taken.add(place);
    }
  }
  return undefined;
}

function* addDistinctInSteps(
  ranges: readonly ItemRange[],
  items: ComparedItems,
  taken: TakenItems,
  wanted: Wanted | null,
): Steps<void> {
  const others = wanted === null ? null : yield* items.setOf(wanted.list);
  let room = 0;
  for (const range of ranges) {
    checkCompared(range);
    room += range.end - range.start;
  }
  const seen = items.seenSet(room);
  for (const range of ranges) {
    for (let item = range.start; item < range.end; item++) {
      let work = 1;
      let isWanted = true;
      if (others !== null) {
        isWanted = (others.hasNow(item) ?? (yield* others.has(item))) === wanted?.isIn;
        work += others.work;
      }
      if (isWanted) {
        if (seen.addNow(item) ?? (yield* seen.add(item))) taken.add(item);
        work += seen.work;
      }
      if (taken.itemPace.isStep(work)) yield;
    }
  }
}

const distinct = arranging("l", (lists, items, taken) => addDistinct(lists, items, taken));
const union = arranging("ll", (lists, items, taken) => addDistinct(lists, items, taken));
/** In the order of the longer list, as the reference has it. */
const intersect = arranging("ll", ([one, other], items, taken) => {
  const isLonger = other.end - other.start > one.end - one.start;
  const [longer, shorter] = isLonger ? [other, one] : [one, other];
  return addDistinct([longer], items, taken, { list: shorter, isIn: true });
});
const except = arranging("ll", ([one, other], items, taken) =>
  addDistinct([one], items, taken, { list: other, isIn: false }),
);

const reverse = arranging("l", ([list], _, taken) => taken.addAll(list, true));
const popFront = arranging("l", ([{ start, end }], _, taken) => taken.addAll({ start: start + 1, end }));
const popBack = arranging("l", ([{ start, end }], _, taken) => taken.addAll({ start, end: end - 1 }));

/** The first `most` items that equal a value are left out, or replaced. */
function without(
  range: ItemRange,
  value: number,
  most: number,
  items: ComparedItems,
  taken: TakenItems,
  replacement?: number,
): Steps<void> | undefined {
  const { start, end } = range;
  if (!items.isQuick(end - start)) return withoutInSteps(range, value, most, items, taken, replacement);
  let left = most;
  for (let place = start; place < end; place++) {
    if (left <= 0 || !items.sameNow(place, value)) taken.add(place);
    else {
      left--;
      if (replacement !== undefined) taken.add(replacement);
    }
  }
  return undefined;
}

function* withoutInSteps(
  { start, end }: ItemRange,
  value: number,
  most: number,
  items: ComparedItems,
  taken: TakenItems,
  replacement: number | undefined,
): Steps<void> {
  let left = most;
  for (let item = start; item < end; item++) {
    let isLeft = true;
    if (left > 0) {
      const same = items.same(item, value);
      isLeft = !(typeof same === "boolean" ? same : yield* same);
      if (taken.itemPace.isStep(items.work(item, value))) yield;
    } else if (taken.pace.isStep()) yield;
    if (isLeft) taken.add(item);
    else {
      left--;
      if (replacement !== undefined) taken.add(replacement);
    }
  }
}

const removing = (most: number) =>
  arranging("lv", ([list, value], items, taken) => without(list, value.start, most, items, taken));
const removeSome = arranging("lvn", ([list, value], items, taken, [most]) =>
  without(list, value.start, most, items, taken),
);
const replacing = (most: number) =>
  arranging(
    "lvv",
    ([list, value, other], items, taken) => without(list, value.start, most, items, taken, other.start),
    false,
  );
const replaceSome = arranging(
  "lvvn",
  ([list, value, other], items, taken, [most]) => without(list, value.start, most, items, taken, other.start),
  false,
);

/** A list that is null stays null, whatever the other operands. */
const ofList =
  (definition: FunctionDefinition): FunctionDefinition =>
  (types, constants) => {
    const form = definition(types, constants);
    if (typeof form === "string") return form;
    return {
      ...form,
      *kernel(operands, length, valid) {
        const lists = yield* madeBy(form.kernel(operands, length, valid));
        const [{ column, step }] = operands;
        const known = new Uint8Array((length + 7) >>> 3);
        for (let row = 0; row < length; row++) {
          if (column.kind !== "null" && isValid(column.validity, row * step))
            known[row >>> 3] |= 1 << (row & 7);
        }
        return { ...lists, validity: validityFrom(known, 0, length) } as Column;
      },
    };
  };

/** ARRAY_SORT(list [, 'ASC' or 'DESC' [, 'NULLS FIRST' or 'NULLS LAST']]). */
const sort: FunctionDefinition = (types, constants) => {
  if (types.length < 1 || types.length > 3) return operandCount(1, 3);
  const [list] = types;
  if (list.kind !== "list") return listOperands;
  const [, order = "ASC", nulls = "NULLS FIRST"] = constants;
  const isDescending = wordOf(order, ["ASC", "DESC"]);
  const isNullLast = wordOf(nulls, ["NULLS FIRST", "NULLS LAST"]);
  if (isDescending === null || isNullLast === null)
    return "ASC or DESC, and NULLS FIRST or NULLS LAST are expected";
  const { item } = list;
  const kernel: ValueKernel = ([lists], length, valid) => {
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, items, item);
    const { validity } = items;
    const pace = new Pace(STEP_ITEMS);
    const sign = isDescending === 1 ? -1 : 1;
    /** By nulls only; 0 where both or none is null. */
    const orderOfNulls = (one: number, other: number): number => {
      const isThere = isValid(validity, one);
      if (isThere === isValid(validity, other)) return 0;
      return isThere === (isNullLast === 1) ? -1 : 1;
    };
    const orderNow =
      validity === null && sign === 1
        ? rows.compare
        : (one: number, other: number): number => orderOfNulls(one, other) || sign * rows.compare(one, other);
    const order: ItemOrder = {
      compare: orderNow,
      work: rows.isSmall ? () => 1 : (left, right) => rows.work(left, right),
      isLong: rows.isSmall ? () => false : (left, right) => rows.isLong(left, right),
      *inSteps(left, right) {
        return orderOfNulls(left, right) || sign * (yield* rows.inSteps(left, right));
      },
    };
    function* addSorted(start: number, end: number, taken: TakenItems): Steps<void> {
      checkCompared({ start, end });
      for (const place of yield* sorted(start, end, order, pace)) {
        taken.add(place);
        if (taken.pace.isStep()) yield;
      }
    }
    const few = new Uint32Array(FEW_SORTED);
    return listsOf(items, item, length, valid, (row, taken) => {
      const start = offsets[row * lists.step];
      const end = offsets[row * lists.step + 1];
      if (end - start > FEW_SORTED || !rows.isSmall) return addSorted(start, end, taken);
      const count = sortFew(few, start, end, orderNow);
      for (let index = 0; index < count; index++) taken.add(few[index]);
      taken.pace.add(count * count);
      return undefined;
    });
  };
  return {
    operands: [listTypeOf(item), ...types.slice(1).map(() => STRING)],
    type: listTypeOf(item),
    kernel,
  };
};

/** Items up to which inserting each among those before is quickest. */
const FEW_SORTED = 32;

/** Writes the places from one to another in an order. @returns how many they are */
function sortFew(
  places: Uint32Array,
  start: number,
  end: number,
  order: (one: number, other: number) => number,
): number {
  const count = end - start;
  for (let index = 0; index < count; index++) {
    const place = start + index;
    let to = index;
    for (; to > 0 && order(places[to - 1], place) > 0; to--) places[to] = places[to - 1];
    places[to] = place;
  }
  return count;
}

/** An order of items, of any length. */
interface ItemOrder {
  /** Compares items that are not long. */
  compare(left: number, right: number): number;
  work(left: number, right: number): number;
  isLong(left: number, right: number): boolean;
  inSteps(left: number, right: number): Steps<number>;
}

/** The places from one to another in an order; those that are alike stay in theirs. Merges runs that double. */
function* sorted(start: number, end: number, order: ItemOrder, pace: Pace): Steps<Uint32Array> {
  let places = new Uint32Array(end - start);
  for (let index = 0; index < places.length; index++) places[index] = start + index;
  let target = new Uint32Array(places.length);
  for (let width = 1; width < places.length; width *= 2) {
    for (let first = 0; first < places.length; first += 2 * width) {
      const middle = Math.min(first + width, places.length);
      const last = Math.min(middle + width, places.length);
      let left = first;
      let right = middle;
      let to = first;
      while (left < middle && right < last) {
        const [one, two] = [places[left], places[right]];
        const ordered = order.isLong(one, two) ? yield* order.inSteps(one, two) : order.compare(one, two);
        if (ordered <= 0) {
          target[to++] = one;
          left++;
        } else {
          target[to++] = two;
          right++;
        }
        if (pace.isStep(order.work(one, two))) yield;
      }
      if (left < middle) target.set(places.subarray(left, middle), to);
      else target.set(places.subarray(right, last), to);
    }
    yield;
    [places, target] = [target, places];
  }
  return places;
}

const wordOf = (text: Scalar | undefined, words: readonly string[]): number | null => {
  const place = typeof text === "string" ? words.indexOf(text.slice(0, 100).trim().toUpperCase()) : -1;
  return place < 0 ? null : place;
};

/**
 * A list for each row.
 * @param fill adds the places of the items that a row's list has; null where none has any
 */
export function* listsOf(
  items: Column,
  item: ValueType,
  length: number,
  valid: Validity | null,
  fill: ((row: number, taken: TakenItems) => Steps<void> | undefined) | null,
): Steps<Column> {
  const taken = new TakenItems();
  for (let row = 0; row < length; row++) {
    if (fill !== null && isValid(valid, row)) {
      const steps = fill(row, taken);
      if (steps !== undefined) yield* steps;
    }
    taken.endList();
    if (taken.pace.isStep(8)) yield;
  }
  return yield* taken.finish(items, item, length, valid);
}

/** One item of each list: -1 where there is none. */
function picking(
  pick: (
    start: number,
    end: number,
    isThere: (place: number) => boolean,
    rows: RowOrder,
    pace: Pace,
  ) => number | Steps<number>,
): FunctionDefinition {
  return (types) => {
    if (types.length !== 1) return operandCount(1);
    const [list] = types;
    if (list.kind !== "list") return listOperands;
    const { item } = list;
    const kernel: ValueKernel = function* run([lists], length, valid) {
      const { items, offsets } = listLane(lists);
      const rows = new RowOrder(items, items, item);
      const pace = new Pace(STEP_ITEMS);
      const isThere = (place: number) => items.kind !== "null" && isValid(items.validity, place);
      const indices = new Uint32Array(length);
      const known = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        if (!isValid(valid, row)) continue;
        const at = row * lists.step;
        if (pace.isStep()) yield;
        const picked = pick(offsets[at], offsets[at + 1], isThere, rows, pace);
        const place = typeof picked === "number" ? picked : yield* picked;
        if (place < 0) continue;
        indices[row] = place;
        known[row >>> 3] |= 1 << (row & 7);
      }
      return yield* takeWhere(items, indices, known, item);
    };
    return { operands: [list], type: item, kernel };
  };
}

const extremeItem = (sign: 1 | -1) =>
  picking((start, end, isThere, rows, pace) => {
    if (end - start > FEW_SORTED || !rows.isSmall)
      return extremeInSteps(sign, start, end, isThere, rows, pace);
    let best = -1;
    for (let place = start; place < end; place++) {
      if (isThere(place) && (best < 0 || rows.compare(place, best) * sign > 0)) best = place;
    }
    return best;
  });

function* extremeInSteps(
  sign: 1 | -1,
  start: number,
  end: number,
  isThere: (place: number) => boolean,
  rows: RowOrder,
  pace: Pace,
): Steps<number> {
  let best = -1;
  for (let place = start; place < end; place++) {
    if (!isThere(place)) {
      if (pace.isStep()) yield;
      continue;
    }
    if (best < 0) {
      best = place;
      continue;
    }
    const order = rows.isLong(place, best) ? yield* rows.inSteps(place, best) : rows.compare(place, best);
    if (order * sign > 0) best = place;
    if (pace.isStep(rows.work(place, best))) yield;
  }
  return best;
}

const anyItem = picking((start, end, isThere, _, pace) => {
  const near = Math.min(end, start + FEW_SORTED);
  for (let place = start; place < near; place++) if (isThere(place)) return place;
  return near === end ? -1 : anyInSteps(near, end, isThere, pace);
});

function* anyInSteps(
  start: number,
  end: number,
  isThere: (place: number) => boolean,
  pace: Pace,
): Steps<number> {
  for (let place = start; place < end; place++) {
    if (isThere(place)) return place;
    if (pace.isStep()) yield;
  }
  return -1;
}

/** The places of a value, from 1. */
const positions: FunctionDefinition = (types) => {
  if (types.length !== 2) return operandCount(2);
  const [list] = types;
  if (list.kind !== "list") return listOperands;
  const type = listTypeOf(UINT64);
  const kernel: ValueKernel = function* run([lists, wanted], length) {
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, wanted.column, list.item);
    const pace = new Pace(STEP_ITEMS);
    const found = new GrowingNumbers();
    const ends = new GrowingNumbers();
    const known = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      if (pace.isStep()) yield;
      if (isValid(lists.column.validity, row * lists.step)) {
        known[row >>> 3] |= 1 << (row & 7);
        const value = row * wanted.step;
        const start = offsets[row * lists.step];
        for (let place = start; place < offsets[row * lists.step + 1]; place++) {
          const order = rows.isLong(place, value)
            ? yield* rows.inSteps(place, value)
            : rows.compare(place, value);
          if (order === 0) found.push(place - start + 1);
          if (pace.isStep(rows.work(place, value))) yield;
        }
      }
      ends.push(found.length);
    }
    const listOffsets = new Int32Array(length + 1);
    listOffsets.set(yield* ends.finish(), 1);
    const numbers = yield* found.finish();
    const words = new Uint32Array(2 * numbers.length);
    for (let index = 0; index < numbers.length; index++) {
      words[2 * index] = numbers[index];
      if (pace.isStep()) yield;
    }
    const places = fixedColumn(new BigInt64Array(words.buffer), numbers.length, null);
    return {
      kind: "list",
      length,
      validity: validityFrom(known, 0, length),
      offsets: listOffsets,
      items: places,
    };
  };
  return { operands: [list, list.item], type, kernel, isStrict: false };
};

/** Under each of its names: some begin with `array`, some with `list`. */
const named = (definition: FunctionDefinition, ...names: readonly string[]): Functions =>
  Object.fromEntries(names.map((name) => [name, definition]));

export const REARRANGING_FUNCTIONS: Functions = {
  ...named(withCommonItems(append, 0, 1), "array_append", "list_append", "array_push_back", "list_push_back"),
  ...named(
    withCommonItems(prepend, 0, 1),
    "array_prepend",
    "list_prepend",
    "array_push_front",
    "list_push_front",
  ),
  ...named(concatCommon, "array_concat", "array_cat", "list_concat", "list_cat"),
  ...named(distinct, "array_distinct", "list_distinct"),
  ...named(withCommonItems(union, 0, 1), "array_union", "list_union"),
  ...named(withCommonItems(intersect, 0, 1), "array_intersect", "list_intersect"),
  ...named(withCommonItems(except, 0, 1), "array_except", "list_except"),
  ...named(reverse, "array_reverse", "list_reverse"),
  ...named(popFront, "array_pop_front", "list_pop_front"),
  ...named(popBack, "array_pop_back", "list_pop_back"),
  ...named(withCommonItems(removing(1), 0, 1), "array_remove", "list_remove"),
  ...named(withCommonItems(removing(Number.POSITIVE_INFINITY), 0, 1), "array_remove_all", "list_remove_all"),
  ...named(withCommonItems(removeSome, 0, 1), "array_remove_n", "list_remove_n"),
  ...named(withCommonItems(ofList(replacing(1)), 0, 1, 2), "array_replace", "list_replace"),
  ...named(
    withCommonItems(ofList(replacing(Number.POSITIVE_INFINITY)), 0, 1, 2),
    "array_replace_all",
    "list_replace_all",
  ),
  ...named(withCommonItems(ofList(replaceSome), 0, 1, 2), "array_replace_n", "list_replace_n"),
  ...named(sort, "array_sort", "list_sort"),
  ...named(extremeItem(1), "array_max", "list_max"),
  ...named(extremeItem(-1), "array_min", "list_min"),
  ...named(anyItem, "array_any_value", "list_any_value"),
  ...named(withComparedItems(positions), "array_positions", "list_positions"),
};
