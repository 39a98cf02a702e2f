/** Items of lists that are told apart by their values. Nulls among the items equal each other. */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { InvalidInputError } from "../../errors.js";
import { rowComparison } from "../kernels/compare.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import type { ValueType } from "../values/types.js";

/** Most items of one list that are compared with each other. */
const MAX_COMPARED = 2 ** 20;
/** Items up to which comparing each with all is quicker than looking them up. */
const FEW = 16;

export interface ItemRange {
  readonly start: number;
  readonly end: number;
}

/** @throws InvalidInputError for a list of more items than may be compared with each other */
export function checkCompared({ start, end }: ItemRange): void {
  if (end - start <= MAX_COMPARED) return;
  throw new InvalidInputError(`the items of lists of more than ${MAX_COMPARED} are not compared`);
}

/** Items of one column. */
export class ComparedItems {
  readonly #read: (place: number) => Scalar;
  readonly #compare: (one: number, other: number) => number;
  #last: { readonly range: ItemRange; readonly set: ItemSet } | null = null;

  constructor(items: Column, type: ValueType) {
    this.#read = scalarReader({ column: items, step: 1 }, type);
    this.#compare = rowComparison(items, items, type);
  }

  readonly same = (one: number, other: number): boolean => this.#compare(one, other) === 0;

  emptySet(): ItemSet {
    return new ItemSet(this.#read, this.same);
  }

  /** The items of a list: the very set that was made last, where it is the same list. */
  setOf(range: ItemRange): ItemSet {
    const { start, end } = range;
    if (this.#last?.range.start === start && this.#last.range.end === end) return this.#last.set;
    checkCompared(range);
    const set = this.emptySet();
    for (let place = start; place < end; place++) set.add(place);
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
  readonly #compare: (item: number, other: number) => number;
  /** Of both columns, those of the second one last. Made where lists are long. */
  #joined: ComparedItems | null = null;

  constructor(items: Column, others: Column, type: ValueType) {
    this.#items = items;
    this.#others = others;
    this.#type = type;
    this.#compare = rowComparison(items, others, type);
  }

  /** Whether some item of a list is one of the other's. */
  meet(own: ItemRange, other: ItemRange): boolean {
    if (isShort(own, other)) return some(other, (at) => this.#isIn(own, at));
    const { joined, moved } = this.#join(other);
    const others = joined.setOf(moved);
    return some(own, (at) => others.has(at));
  }

  /** Whether a list has all the items of the other. */
  holds(own: ItemRange, other: ItemRange): boolean {
    if (isShort(own, other)) return !some(other, (at) => !this.#isIn(own, at));
    const { joined, moved } = this.#join(other);
    const owns = joined.setOf(own);
    return !some(moved, (at) => !owns.has(at));
  }

  #isIn(own: ItemRange, other: number): boolean {
    return some(own, (at) => this.#compare(at, other) === 0);
  }

  #join({ start, end }: ItemRange): { readonly joined: ComparedItems; readonly moved: ItemRange } {
    this.#joined ??= new ComparedItems(concatColumns([this.#items, this.#others]), this.#type);
    const base = this.#items.length;
    return { joined: this.#joined, moved: { start: base + start, end: base + end } };
  }
}

const isShort = (one: ItemRange, other: ItemRange): boolean =>
  (one.end - one.start) * (other.end - other.start) <= FEW_PAIRS;

function some({ start, end }: ItemRange, test: (place: number) => boolean): boolean {
  for (let place = start; place < end; place++) if (test(place)) return true;
  return false;
}

/** Places of different items. */
export class ItemSet {
  readonly #read: (place: number) => Scalar;
  readonly #same: (one: number, other: number) => boolean;
  readonly #few: number[] = [];
  /** All of them, once they are not few: by what equal items have in common. */
  #byKey: Map<unknown, number[]> | null = null;

  constructor(read: (place: number) => Scalar, same: (one: number, other: number) => boolean) {
    this.#read = read;
    this.#same = same;
  }

  has(place: number): boolean {
    const alike = this.#byKey === null ? this.#few : this.#byKey.get(keyOf(this.#read(place)));
    return alike?.some((other) => this.#same(place, other)) === true;
  }

  /** @returns whether no item like it was there */
  add(place: number): boolean {
    if (this.has(place)) return false;
    this.#few.push(place);
    if (this.#byKey !== null) this.#file(place);
    else if (this.#few.length > FEW) {
      this.#byKey = new Map();
      for (const each of this.#few) this.#file(each);
    }
    return true;
  }

  #file(place: number): void {
    const byKey = this.#byKey as Map<unknown, number[]>;
    const key = keyOf(this.#read(place));
    const alike = byKey.get(key);
    if (alike === undefined) byKey.set(key, [place]);
    else alike.push(place);
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
