/** Items of lists that are told apart by their values. Nulls among the items equal each other. */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { RowOrder } from "../kernels/rowOrder.js";
import { bytesBeforeValue } from "../values/boundedTake.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import type { ValueType } from "../values/types.js";

/** Most items of one list that are compared with each other. */
const MAX_COMPARED = 2 ** 20;
/** Items up to which comparing each with all is quicker than looking them up. */
const FEW = 16;
/** Items of lists up to which they are compared without steps, where each is small. */
const FEW_AT_ONCE = 2 ** 10;
/** Work from one step to the next: items that are compared or looked up. */
export const STEP_ITEMS = 2 ** 12;

export interface ItemRange {
  readonly start: number;
  readonly end: number;
}

/** @throws InvalidInputError for a list of more items than may be compared with each other */
export function checkCompared({ start, end }: ItemRange): void {
  if (end - start <= MAX_COMPARED) return;
  throw new InvalidInputError(`a list has more than ${MAX_COMPARED} items to compare`);
}

/** Items of one column. */
export class ComparedItems {
  readonly #keys: ItemKeys;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  #last: { readonly range: ItemRange; readonly set: ItemSet } | null = null;

  constructor(items: Column, type: ValueType, pace: Pace) {
    this.#keys = new ItemKeys(items, type);
    this.#order = new RowOrder(items, items, type);
    this.#pace = pace;
  }

  /** Whether lists of so many items are compared without steps. */
  isQuick(count: number): boolean {
    return count <= FEW_AT_ONCE && this.#order.isSmall;
  }

  /** Whether two small items are the same. */
  sameNow(one: number, other: number): boolean {
    return this.#order.compare(one, other) === 0;
  }

  /** The items of a list for which {@link isQuick} holds. */
  setNow(range: ItemRange): ItemSet {
    const { start, end } = range;
    if (this.#last?.range.start === start && this.#last.range.end === end) return this.#last.set;
    const set = this.emptySet();
    for (let place = start; place < end; place++) set.addNow(place);
    this.#last = { range, set };
    return set;
  }

  /** Whether two items are the same. */
  same(one: number, other: number): Steps<boolean> {
    return isSame(this.#order, this.#pace, one, other);
  }

  emptySet(): ItemSet {
    return new ItemSet(this.#keys, this.#order, this.#pace);
  }

  /** The items of a list: the very set that was made last, where it is the same list. */
  *setOf(range: ItemRange): Steps<ItemSet> {
    const { start, end } = range;
    if (this.#last?.range.start === start && this.#last.range.end === end) return this.#last.set;
    checkCompared(range);
    const set = this.emptySet();
    for (let place = start; place < end; place++) yield* set.add(place);
    this.#last = { range, set };
    return set;
  }
}

/** Pairs of items up to which two lists are compared item by item. */
const FEW_PAIRS = 1024;

/** The items of two columns of lists. */
export class ListPair {
  readonly #items: Column;
  readonly #others: Column;
  readonly #type: ValueType;
  readonly #order: RowOrder;
  readonly #pace = new Pace(STEP_ITEMS);
  /** Of both columns, those of the second one last. Made where lists are long. */
  #joined: ComparedItems | null = null;

  constructor(items: Column, others: Column, type: ValueType) {
    this.#items = items;
    this.#others = others;
    this.#type = type;
    this.#order = new RowOrder(items, others, type);
  }

  /** Whether some item of a list is one of the other's. */
  meet(own: ItemRange, other: ItemRange): boolean | Steps<boolean> {
    if (!this.#isQuick(own, other)) return this.#meetInSteps(own, other);
    for (let at = other.start; at < other.end; at++) if (this.#isInNow(own, at)) return true;
    return false;
  }

  /** Whether a list has all the items of the other. */
  holds(own: ItemRange, other: ItemRange): boolean | Steps<boolean> {
    if (!this.#isQuick(own, other)) return this.#holdsInSteps(own, other);
    for (let at = other.start; at < other.end; at++) if (!this.#isInNow(own, at)) return false;
    return true;
  }

  /** Maximum work of a comparison of both lists, in units of one comparison. */
  work(own: ItemRange, other: ItemRange): number {
    return isShort(own, other) ? (own.end - own.start) * (other.end - other.start) : 1;
  }

  #isQuick(own: ItemRange, other: ItemRange): boolean {
    return isShort(own, other) && this.#order.isSmall;
  }

  #isInNow({ start, end }: ItemRange, other: number): boolean {
    for (let place = start; place < end; place++) if (this.#order.compare(place, other) === 0) return true;
    return false;
  }

  *#meetInSteps(own: ItemRange, other: ItemRange): Steps<boolean> {
    if (this.#pace.isStep()) yield;
    if (isShort(own, other)) return yield* some(other, (at) => this.#isIn(own, at));
    const { joined, moved } = yield* this.#join(other);
    const others = yield* joined.setOf(moved);
    return yield* some(own, (at) => others.has(at));
  }

  *#holdsInSteps(own: ItemRange, other: ItemRange): Steps<boolean> {
    if (this.#pace.isStep()) yield;
    if (isShort(own, other)) return yield* all(other, (at) => this.#isIn(own, at));
    const { joined, moved } = yield* this.#join(other);
    const owns = yield* joined.setOf(own);
    return yield* all(moved, (at) => owns.has(at));
  }

  *#isIn({ start, end }: ItemRange, other: number): Steps<boolean> {
    for (let place = start; place < end; place++) {
      if (yield* isSame(this.#order, this.#pace, place, other)) return true;
    }
    return false;
  }

  *#join({ start, end }: ItemRange): Steps<{ readonly joined: ComparedItems; readonly moved: ItemRange }> {
    this.#joined ??= new ComparedItems(
      yield* concatInSteps([this.#items, this.#others]),
      this.#type,
      this.#pace,
    );
    const base = this.#items.length;
    return { joined: this.#joined, moved: { start: base + start, end: base + end } };
  }
}

const isShort = (one: ItemRange, other: ItemRange): boolean =>
  (one.end - one.start) * (other.end - other.start) <= FEW_PAIRS;

function* some({ start, end }: ItemRange, test: (place: number) => Steps<boolean>): Steps<boolean> {
  for (let place = start; place < end; place++) if (yield* test(place)) return true;
  return false;
}

function* all({ start, end }: ItemRange, test: (place: number) => Steps<boolean>): Steps<boolean> {
  for (let place = start; place < end; place++) if (!(yield* test(place))) return false;
  return true;
}

function* isSame(order: RowOrder, pace: Pace, one: number, other: number): Steps<boolean> {
  if (pace.isStep(order.work(one, other))) yield;
  return (order.isLong(one, other) ? yield* order.inSteps(one, other) : order.compare(one, other)) === 0;
}

/** Places of different items. */
export class ItemSet {
  readonly #keys: ItemKeys;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  readonly #few: number[] = [];
  /** All of them, once they are not few: by what equal items have in common. */
  #byKey: Map<unknown, number[]> | null = null;

  constructor(keys: ItemKeys, order: RowOrder, pace: Pace) {
    this.#keys = keys;
    this.#order = order;
    this.#pace = pace;
  }

  *has(place: number): Steps<boolean> {
    const alike = this.#byKey === null ? this.#few : this.#byKey.get(this.#keys.of(place));
    if (this.#pace.isStep(this.#keys.work(place))) yield;
    if (alike === undefined) return false;
    for (const other of alike) if (yield* isSame(this.#order, this.#pace, place, other)) return true;
    return false;
  }

  /** Whether a small item is one of some small ones. */
  hasNow(place: number): boolean {
    const alike = this.#byKey === null ? this.#few : this.#byKey.get(this.#keys.of(place));
    if (alike === undefined) return false;
    for (const other of alike) if (this.#order.compare(place, other) === 0) return true;
    return false;
  }

  /** @returns whether no item like it was there */
  addNow(place: number): boolean {
    if (this.hasNow(place)) return false;
    this.#put(place);
    return true;
  }

  /** @returns whether no item like it was there */
  *add(place: number): Steps<boolean> {
    if (yield* this.has(place)) return false;
    this.#put(place);
    return true;
  }

  #put(place: number): void {
    this.#few.push(place);
    if (this.#byKey !== null) this.#file(place);
    else if (this.#few.length > FEW) {
      this.#byKey = new Map();
      for (const each of this.#few) this.#file(each);
    }
  }

  #file(place: number): void {
    const byKey = this.#byKey as Map<unknown, number[]>;
    const key = this.#keys.of(place);
    const alike = byKey.get(key);
    if (alike === undefined) byKey.set(key, [place]);
    else alike.push(place);
  }
}

/** Bytes of an item up to which its key tells of all of it. */
const MAX_KEYED = 2 ** 12;

/** Keys of items: equal items have equal keys, and other items mostly have different ones. */
class ItemKeys {
  readonly #read: (place: number) => Scalar;
  readonly #bytesBefore: (place: number) => number;

  constructor(items: Column, type: ValueType) {
    this.#read = scalarReader({ column: items, step: 1 }, type);
    this.#bytesBefore = bytesBeforeValue(items);
  }

  of(place: number): unknown {
    const size = this.#size(place);
    return size > MAX_KEYED ? `long ${size}` : keyOf(this.#read(place));
  }

  work(place: number): number {
    const size = this.#size(place);
    return size > MAX_KEYED ? 1 : 1 + (size >>> 5);
  }

  #size(place: number): number {
    return this.#bytesBefore(place + 1) - this.#bytesBefore(place);
  }
}

/** The same for equal values, and mostly another for others. */
function keyOf(value: Scalar): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return (value as Uint8Array).join();
  return JSON.stringify(value, (_, part) =>
    typeof part === "number" || typeof part === "bigint" ? String(Number(part) + 0) : part,
  );
}
