/** Items of lists that are told apart by their values. Nulls among the items equal each other. */

import type { Column } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { RowHash } from "../kernels/rowHash.js";
import { RowOrder } from "../kernels/rowOrder.js";
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
  readonly #hash: RowHash;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  /** The set of the list that was read last. */
  readonly #listSet: ItemSet;
  readonly #seen: ItemSet;
  /** Its list. */
  #listStart = -1;
  #listEnd = -1;

  constructor(items: Column, type: ValueType, pace: Pace) {
    this.#hash = new RowHash(items, type);
    this.#order = new RowOrder(items, items, type);
    this.#pace = pace;
    this.#listSet = new ItemSet(this.#hash, this.#order, pace);
    this.#seen = new ItemSet(this.#hash, this.#order, pace);
  }

  /** Whether lists of so many items are compared without steps. */
  isQuick(count: number): boolean {
    return count <= FEW_AT_ONCE && this.#order.isSmall;
  }

  /** Whether two small items are the same. */
  sameNow(left: number, right: number): boolean {
    return this.#order.compare(left, right) === 0;
  }

  /** Whether two items are the same: in steps if both are long. */
  same(left: number, right: number): boolean | Steps<boolean> {
    return this.#order.isLong(left, right)
      ? isSame(this.#order, this.#pace, left, right)
      : this.#order.compare(left, right) === 0;
  }

  /** Returns the work of {@link same}. */
  work(left: number, right: number): number {
    return this.#order.work(left, right);
  }

  /** An empty set with room for some items. It is the one that was returned before, emptied. */
  seenSet(room: number): ItemSet {
    this.#seen.empty(room);
    return this.#seen;
  }

  /**
   * The items of a list for which {@link isQuick} holds. The set holds them until it is asked for another
   * list.
   */
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

  /** The items of a list of any length, as {@link setNow} returns them. */
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
  meet(list: ItemRange, wanted: ItemRange): boolean | Steps<boolean> {
    if (!this.#isQuick(list, wanted)) return this.#meetInSteps(list, wanted);
    for (let index = wanted.start; index < wanted.end; index++) if (this.#isInNow(list, index)) return true;
    return false;
  }

  /** Whether a list has all the items of the other. */
  holds(list: ItemRange, wanted: ItemRange): boolean | Steps<boolean> {
    if (!this.#isQuick(list, wanted)) return this.#holdsInSteps(list, wanted);
    for (let index = wanted.start; index < wanted.end; index++) if (!this.#isInNow(list, index)) return false;
    return true;
  }

  /** Maximum work of a comparison of both lists, in units of one comparison. */
  work(list: ItemRange, wanted: ItemRange): number {
    return isShort(list, wanted) ? (list.end - list.start) * (wanted.end - wanted.start) : 1;
  }

  #isQuick(list: ItemRange, wanted: ItemRange): boolean {
    return isShort(list, wanted) && this.#order.isSmall;
  }

  #isInNow({ start, end }: ItemRange, wanted: number): boolean {
    for (let position = start; position < end; position++)
      if (this.#order.compare(position, wanted) === 0) return true;
    return false;
  }

  *#meetInSteps(list: ItemRange, wanted: ItemRange): Steps<boolean> {
    if (this.#pace.isStep()) yield;
    if (isShort(list, wanted)) return (yield* this.#countIn(list, wanted, true)) > 0;
    const { joined, moved } = yield* this.#join(wanted);
    const others = yield* joined.setOf(moved);
    return yield* this.#someOf(list, others, true);
  }

  *#holdsInSteps(list: ItemRange, wanted: ItemRange): Steps<boolean> {
    if (this.#pace.isStep()) yield;
    if (isShort(list, wanted))
      return (yield* this.#countIn(list, wanted, false)) === wanted.end - wanted.start;
    const { joined, moved } = yield* this.#join(wanted);
    const owns = yield* joined.setOf(list);
    return !(yield* this.#someOf(moved, owns, false));
  }

  /** Whether some item of a list is in a set, or is not. */
  *#someOf({ start, end }: ItemRange, set: ItemSet, isIn: boolean): Steps<boolean> {
    for (let item = start; item < end; item++) {
      if ((set.hasNow(item) ?? (yield* set.has(item))) === isIn) return true;
      if (this.#pace.isStep(set.work)) yield;
    }
    return false;
  }

  /**
   * Counts the items of the second list that the first one has: up to the first of them, or the first other
   * one.
   */
  *#countIn({ start, end }: ItemRange, right: ItemRange, isUntilFirst: boolean): Steps<number> {
    const order = this.#order;
    let count = 0;
    for (let wanted = right.start; wanted < right.end; wanted++) {
      let isIn = false;
      for (let item = start; item < end && !isIn; item++) {
        isIn =
          (order.isLong(item, wanted) ? yield* order.inSteps(item, wanted) : order.compare(item, wanted)) ===
          0;
        if (this.#pace.isStep(order.work(item, wanted))) yield;
      }
      if (isIn) count++;
      if (isIn === isUntilFirst) break;
    }
    return count;
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

const isShort = (left: ItemRange, right: ItemRange): boolean =>
  (left.end - left.start) * (right.end - right.start) <= FEW_PAIRS;

function* isSame(order: RowOrder, pace: Pace, left: number, right: number): Steps<boolean> {
  if (pace.isStep(order.work(left, right))) yield;
  return (order.isLong(left, right) ? yield* order.inSteps(left, right) : order.compare(left, right)) === 0;
}

/** Slots of a table up to which it is emptied for the next list, not made anew. */
const MAX_KEPT = 2 ** 14;

/**
 * Different items of a column: a few side by side, more in an open hash table, half full at most. Its slots
 * are pairs of words: an item plus 1, or 0 for none, and its hash.
 */
export class ItemSet {
  /** Work of the last call, in units of a comparison of numbers. */
  work = 0;
  readonly #hash: RowHash;
  readonly #order: RowOrder;
  readonly #pace: Pace;
  readonly #few = new Int32Array(FEW);
  #count = 0;
  /** Null while there are few. */
  #slots: Int32Array | null = null;
  /** The table, kept for lists that follow. */
  #kept = new Int32Array(0);
  #shift = 32;
  #mask = 0;
  /** The slot that the last search ended at, and the hash that it looked for. */
  #slot = 0;
  #wanted = 0;

  constructor(hash: RowHash, order: RowOrder, pace: Pace) {
    this.#hash = hash;
    this.#order = order;
    this.#pace = pace;
  }

  /** Removes all items. @param room for so many different ones */
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

  /** Whether an item is one of these; null if only {@link has} can tell. */
  hasNow(item: number): boolean | null {
    const slots = this.#slots;
    const order = this.#order;
    if (slots === null) {
      const few = this.#few;
      const count = this.#count;
      if (order.isSmall) {
        this.work = 1 + count;
        for (let index = 0; index < count; index++) if (order.compare(few[index], item) === 0) return true;
        return false;
      }
      this.work = 1;
      for (let index = 0; index < count; index++) {
        if (!this.#takesStep(few[index], item)) {
          if (order.compare(few[index], item) === 0) return true;
        } else return null;
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

  /** Counts a comparison. @returns whether it, or those before it, take a step */
  #takesStep(left: number, right: number): boolean {
    if (this.#order.isSmall) {
      this.work++;
      return this.work > MAX_CHAIN;
    }
    this.work += this.#order.work(left, right);
    return this.work > MAX_CHAIN;
  }

  /** Whether an item is one of these. */
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

  /** Adds an item. @returns whether none like it was there; null if only {@link add} can tell */
  addNow(item: number): boolean | null {
    const isThere = this.hasNow(item);
    if (isThere !== false) return isThere === null ? null : false;
    this.#put(item);
    return true;
  }

  /** Adds an item. @returns whether none like it was there */
  *add(item: number): Steps<boolean> {
    if (yield* this.has(item)) return false;
    this.#put(item);
    return true;
  }

  /** Adds an item that the last search did not find. */
  #put(item: number): void {
    if (this.#slots === null) {
      this.#few[this.#count++] = item;
      return;
    }
    this.#slots[2 * this.#slot] = item + 1;
    this.#slots[2 * this.#slot + 1] = this.#wanted;
  }
}

/** Work of comparisons with one item up to which they take no step. */
const MAX_CHAIN = 2 ** 11;
