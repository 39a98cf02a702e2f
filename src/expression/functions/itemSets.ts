/** Sets of list items. Nulls among the items equal each other. */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { RowHash } from "../kernels/rowHash.js";
import { RowOrder } from "../kernels/rowOrder.js";
import type { ValueType } from "../values/types.js";

/** Maximum number of items of one list that are compared with each other. */
const MAX_COMPARED = 2 ** 20;
/** Up to this number of items, comparing each with all is quicker than a lookup. */
const FEW = 16;
/** Maximum number of small items that are compared in one step. */
const FEW_AT_ONCE = 2 ** 10;
export const STEP_ITEMS = 2 ** 12;

export interface ItemRange {
  readonly start: number;
  readonly end: number;
}

/** @throws InvalidInputError for a list with more items than may be compared with each other */
export function checkCompared({ start, end }: ItemRange): void {
  if (end - start <= MAX_COMPARED) return;
  throw new InvalidInputError(`a list has more than ${MAX_COMPARED} items to compare`);
}

export class ComparedItems {
  readonly #hash: RowHash;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  readonly #listSet: ItemSet;
  readonly #seen: ItemSet;
  #listStart = -1;
  #listEnd = -1;

  constructor(items: Column, type: ValueType, pace: Pace) {
    this.#hash = new RowHash(items, type);
    this.#order = new RowOrder(items, items, type);
    this.#pace = pace;
    this.#listSet = new ItemSet(this.#hash, this.#order, pace);
    this.#seen = new ItemSet(this.#hash, this.#order, pace);
  }

  /** True if lists of this many items are compared in one step. */
  isQuick(count: number): boolean {
    return count <= FEW_AT_ONCE && this.#order.isSmall;
  }

  /** True if two small items are equal. */
  sameNow(left: number, right: number): boolean {
    return this.#order.compare(left, right) === 0;
  }

  /** True if two items are equal. Long items are compared in several steps. */
  same(left: number, right: number): boolean | Steps<boolean> {
    return this.#order.isLong(left, right)
      ? isSame(this.#order, this.#pace, left, right)
      : this.#order.compare(left, right) === 0;
  }

  work(left: number, right: number): number {
    return this.#order.work(left, right);
  }

  /** Returns an empty set with room for some items. It reuses the set that it returned before. */
  seenSet(room: number): ItemSet {
    this.#seen.empty(room);
    return this.#seen;
  }

  /** Returns the items of a list for which {@link isQuick} holds. The set is valid until the next call. */
  setNow(range: ItemRange): ItemSet {
    const { start, end } = range;
    const set = this.#listSet;
    if (this.#listStart === start && this.#listEnd === end) return set;
    this.#listStart = -1;
    set.empty(end - start);
    for (let item = start; item < end; item++) set.addNow(item);
    this.#listStart = start;
    this.#listEnd = end;
    return set;
  }

  /** Returns the items of a list of any length, like {@link setNow}. */
  *setOf(range: ItemRange): Steps<ItemSet> {
    const { start, end } = range;
    const set = this.#listSet;
    if (this.#listStart === start && this.#listEnd === end) return set;
    checkCompared(range);
    this.#listStart = -1;
    set.empty(end - start);
    for (let item = start; item < end; item++) {
      if (set.addNow(item) === null) yield* set.add(item);
      if (this.#pace.isStep(set.work)) yield;
    }
    this.#listStart = start;
    this.#listEnd = end;
    return set;
  }
}

/** Up to this number of pairs, two lists are compared item by item. */
const FEW_PAIRS = 1024;

export class ListPair {
  readonly #items: Column;
  readonly #others: Column;
  readonly #type: ValueType;
  readonly #order: RowOrder;
  readonly #pace = new Pace(STEP_ITEMS);
  /** The items of both columns, those of the second column last. Only long lists need it. */
  #joined: ComparedItems | null = null;

  constructor(items: Column, others: Column, type: ValueType) {
    this.#items = items;
    this.#others = others;
    this.#type = type;
    this.#order = new RowOrder(items, others, type);
  }

  /** True if a list has some wanted item or, if `isIn` is false, lacks some. */
  some(list: ItemRange, wanted: ItemRange, isIn: boolean): boolean | Steps<boolean> {
    if (!isShort(list, wanted) || !this.#order.isSmall) return this.#someInSteps(list, wanted, isIn);
    for (let index = wanted.start; index < wanted.end; index++) {
      if (this.#isInNow(list, index) === isIn) return true;
    }
    return false;
  }

  /** Maximum work of a comparison of both lists, in units of one comparison. */
  work(list: ItemRange, wanted: ItemRange): number {
    return isShort(list, wanted) ? (list.end - list.start) * (wanted.end - wanted.start) : 1;
  }

  #isInNow({ start, end }: ItemRange, wanted: number): boolean {
    for (let position = start; position < end; position++)
      if (this.#order.compare(position, wanted) === 0) return true;
    return false;
  }

  *#someInSteps(list: ItemRange, wanted: ItemRange, isIn: boolean): Steps<boolean> {
    if (this.#pace.isStep()) yield;
    if (isShort(list, wanted)) {
      for (let index = wanted.start; index < wanted.end; index++) {
        if ((yield* this.#isInInSteps(list, index)) === isIn) return true;
      }
      return false;
    }
    this.#joined ??= new ComparedItems(
      yield* concatInSteps([this.#items, this.#others]),
      this.#type,
      this.#pace,
    );
    const base = this.#items.length;
    const moved = { start: base + wanted.start, end: base + wanted.end };
    const set = yield* this.#joined.setOf(isIn ? moved : list);
    const { start, end } = isIn ? list : moved;
    for (let item = start; item < end; item++) {
      if ((set.hasNow(item) ?? (yield* set.has(item))) === isIn) return true;
      if (this.#pace.isStep(set.work)) yield;
    }
    return false;
  }

  *#isInInSteps({ start, end }: ItemRange, wanted: number): Steps<boolean> {
    for (let item = start; item < end; item++) {
      if (yield* isSame(this.#order, this.#pace, item, wanted)) return true;
    }
    return false;
  }
}

const isShort = (left: ItemRange, right: ItemRange): boolean =>
  (left.end - left.start) * (right.end - right.start) <= FEW_PAIRS;

function* isSame(order: RowOrder, pace: Pace, left: number, right: number): Steps<boolean> {
  if (pace.isStep(order.work(left, right))) yield;
  return (order.isLong(left, right) ? yield* order.inSteps(left, right) : order.compare(left, right)) === 0;
}

/** Up to this number of slots, a table is emptied for the next list, not made anew. */
const MAX_KEPT = 2 ** 14;

/**
 * Distinct items of a column. Few are kept as a list, more in an open hash table that is at most half full.
 * Its slots are pairs of words: an item plus 1, or 0 for an empty slot, and the hash of the item.
 */
class ItemSet {
  /** Work of the last call, in units of a comparison of numbers. */
  work = 0;
  readonly #hash: RowHash;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  readonly #few = new Int32Array(FEW);
  #count = 0;
  #slots: Int32Array | null = null;
  /** The table, kept for the next list. */
  #kept = new Int32Array(0);
  #shift = 32;
  #mask = 0;
  /** The slot at which the last search ended, and the hash it searched for. */
  #slot = 0;
  #wanted = 0;

  constructor(hash: RowHash, order: RowOrder, pace: Pace) {
    this.#hash = hash;
    this.#order = order;
    this.#pace = pace;
  }

  empty(room: number): void {
    this.#count = 0;
    if (room <= FEW) {
      this.#slots = null;
      return;
    }
    const bits = 33 - Math.clz32(room);
    this.#shift = 32 - bits;
    this.#mask = 2 ** bits - 1;
    const size = 2 * 2 ** bits;
    if (size > 2 * MAX_KEPT) {
      this.#slots = new Int32Array(size);
      return;
    }
    if (this.#kept.length < size) this.#kept = new Int32Array(size);
    else this.#kept.fill(0, 0, size);
    this.#slots = this.#kept;
  }

  /** True if the set has an equal item; null if only {@link has} can tell. */
  hasNow(item: number): boolean | null {
    const slots = this.#slots;
    const order = this.#order;
    if (slots === null) {
      const few = this.#few;
      this.work = 1;
      for (let index = 0; index < this.#count; index++) {
        if (this.#takesStep(few[index], item)) return null;
        if (order.compare(few[index], item) === 0) return true;
      }
      return false;
    }
    const hash = this.#hash.of(item);
    this.#wanted = hash;
    this.work = 1 + this.#hash.work;
    const mask = this.#mask;
    let slot = hash >>> this.#shift;
    for (; ; slot = (slot + 1) & mask) {
      const entry = slots[2 * slot];
      if (entry === 0) break;
      if (slots[2 * slot + 1] !== hash) continue;
      if (this.#takesStep(entry - 1, item)) return null;
      if (order.compare(entry - 1, item) === 0) return true;
    }
    this.#slot = slot;
    return false;
  }

  /** Counts a comparison. Returns true if the comparisons so far are enough work for a step. */
  #takesStep(left: number, right: number): boolean {
    this.work += this.#order.isSmall ? 1 : this.#order.work(left, right);
    return this.work > MAX_CHAIN;
  }

  *has(item: number): Steps<boolean> {
    this.work = 1;
    const slots = this.#slots;
    if (slots === null) {
      for (let index = 0; index < this.#count; index++) {
        if (yield* isSame(this.#order, this.#pace, this.#few[index], item)) return true;
      }
      return false;
    }
    const hash = this.#hash.of(item);
    this.#wanted = hash;
    const mask = this.#mask;
    let slot = hash >>> this.#shift;
    for (; slots[2 * slot] !== 0; slot = (slot + 1) & mask) {
      if (slots[2 * slot + 1] !== hash) continue;
      if (yield* isSame(this.#order, this.#pace, slots[2 * slot] - 1, item)) return true;
    }
    this.#slot = slot;
    return false;
  }

  /** Adds an item. Returns true if the set had no equal item; null if only {@link add} can tell. */
  addNow(item: number): boolean | null {
    const isThere = this.hasNow(item);
    if (isThere !== false) return isThere === null ? null : false;
    this.#put(item);
    return true;
  }

  /** Adds an item. Returns true if the set had no equal one. */
  *add(item: number): Steps<boolean> {
    if (yield* this.has(item)) return false;
    this.#put(item);
    return true;
  }

  /** Adds an item after a search without a hit. */
  #put(item: number): void {
    if (this.#slots === null) {
      this.#few[this.#count++] = item;
      return;
    }
    this.#slots[2 * this.#slot] = item + 1;
    this.#slots[2 * this.#slot + 1] = this.#wanted;
  }
}

/** Maximum work of comparisons with one item that are made in one step. */
const MAX_CHAIN = 2 ** 11;
