/** IN with constants. Without a hit in the table of values, a row is unknown if the list has a null. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import {
  bitsColumn,
  bitsOf,
  byteLane,
  type NumberLane,
  numbersOf,
  type ValueKernel,
  without,
  wordLane,
} from "../values/operands.js";
import { byteWidthOf, type ValueType } from "../values/types.js";
import { loopInSteps, ROW_WORK, STEP_BYTES, STEP_SCANNED } from "../values/work.js";
import { CloseSet, closePairs, HashBits } from "./integerSet.js";
import { integerSetKernel } from "./integerSetKernel.js";

/** Values added to a table per step: each takes some hundred nanoseconds. */
const VALUES_PER_STEP = 4096;

/**
 * @param items the values of the list, of `type`; nulls among them only count in `hasNull`
 * @param type of the operand too
 */
export function* membership(
  items: Column,
  type: ValueType,
  hasNull: boolean,
  isNegated: boolean,
): Steps<ValueKernel> {
  const find = yield* finder(items, type);
  const finish = (bits: Uint8Array, isConstant: boolean, length: number, valid: Validity | null): Column => {
    if (isConstant) bits.fill(-(bits[0] & 1));
    const truths = hasNull ? bits.slice() : bits;
    if (isNegated) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    if (!hasNull) return bitsColumn(bits, length, valid);
    for (let byte = 0; byte < truths.length; byte++) truths[byte] = ~truths[byte];
    return bitsColumn(bits, length, without(valid, truths, length));
  };
  return ([{ column, step }], length, valid) => {
    const bits = new Uint8Array((length + 7) >>> 3);
    const steps = find(column, step === 1 ? length : 1, bits);
    return steps === undefined
      ? finish(bits, step === 0, length, valid)
      : (function* inSteps() {
          yield* steps;
          return finish(bits, step === 0, length, valid);
        })();
  };
}

/** Sets the bits of the first values of a column that are in the set. Long values are looked up in steps. */
type Find = (column: Column, length: number, bits: Uint8Array) => Steps<void> | undefined;

function* finder(items: Column, type: ValueType): Steps<Find> {
  switch (type.kind) {
    case "bool":
      return boolFinder(items);
    case "string":
    case "binary":
    case "fixedSizeBinary":
      return yield* bytesFinder(items);
    default:
      if (type.kind === "float" || byteWidthOf(type) <= 4) return yield* numberFinder(items, type);
      return yield* wordFinder(items, byteWidthOf(type) / 4);
  }
}

function boolFinder(items: Column): Find {
  const listed = bitsOf({ column: items, step: 1 }, items.length);
  let hasTrue = false;
  let hasFalse = false;
  for (let row = 0; row < items.length; row++) {
    if (!isValid(items.validity, row)) continue;
    if ((listed[row >>> 3] >>> (row & 7)) & 1) hasTrue = true;
    else hasFalse = true;
  }
  return (column, length, target) => {
    const bits = bitsOf({ column, step: 1 }, length);
    for (let byte = 0; byte < target.length; byte++) {
      target[byte] = (hasTrue ? bits[byte] : 0) | (hasFalse ? ~bits[byte] : 0);
    }
    return undefined;
  };
}

function* bytesFinder(items: Column): Steps<Find> {
  const { bytes: listed, offsets: starts } = byteLane({ column: items, step: 1 });
  const isSame = (left: number, right: number) =>
    compareRanges(listed, starts[left], starts[left + 1], listed, starts[right], starts[right + 1]) === 0;
  const table = new HashTable(items.length, isSame);
  const pace = new Pace(VALUES_PER_STEP);
  for (let row = 0; row < items.length; row++) {
    const [start, end] = [starts[row], starts[row + 1]];
    if (pace.isStep(1 + ((end - start) >>> 5))) yield;
    if (!isValid(items.validity, row)) continue;
    table.insert(yield* hashBytes(listed, start, end), row);
  }
  const { slots, mask, entries, hashes } = table;
  return (column, length, target) => {
    const { bytes, offsets } = byteLane({ column, step: 1 });
    const look = (row: number, hash: number): void => {
      const start = offsets[row];
      const size = offsets[row + 1] - start;
      for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const entry = slots[slot] - 1;
        if (hashes[entry] !== hash) continue;
        const item = entries[entry];
        const itemStart = starts[item];
        if (starts[item + 1] - itemStart !== size) continue;
        let byte = 0;
        while (byte < size && bytes[start + byte] === listed[itemStart + byte]) byte++;
        if (byte < size) continue;
        target[row >>> 3] |= 1 << (row & 7);
        return;
      }
    };
    const findRows = (first: number): number => {
      let budget = STEP_SCANNED;
      for (let row = first; row < length; row++) {
        budget -= ROW_WORK + offsets[row + 1] - offsets[row];
        if (budget < 0) return row;
        look(row, hashAtOnce(bytes, offsets[row], offsets[row + 1]));
      }
      return length;
    };
    return loopInSteps(length, findRows, function* findRow(row) {
      look(row, yield* hashBytes(bytes, offsets[row], offsets[row + 1]));
    });
  };
}

const floatBits = new Float64Array(1);
const floatWords = new Int32Array(floatBits.buffer);

/** Returns one hash for both zeros, and one for all NaN. */
function hashNumber(value: number): number {
  if ((value | 0) === value) return scramble(value | 0);
  floatBits[0] = Number.isNaN(value) ? Number.NaN : value;
  return scramble(Math.imul(floatWords[0], 31) ^ floatWords[1]);
}

/** Returns the listed numbers as words: `width` of each. */
function wordsOf(items: Column, listed: Int32Array, width: number): Int32Array {
  if (items.kind === "null") return new Int32Array(0);
  const { validity } = items;
  if (validity === null) return listed;
  const words: number[] = [];
  for (let row = 0; row < items.length; row++) {
    if (!isValid(validity, row)) continue;
    for (let word = 0; word < width; word++) words.push(listed[row * width + word]);
  }
  return Int32Array.from(words);
}

const signedOf = ({ buffer, byteOffset, length }: NumberLane): Int32Array =>
  new Int32Array(buffer, byteOffset, length);

function* numberFinder(items: Column, type: ValueType): Steps<Find> {
  const listed = numbersOf({ column: items, step: 1 }, type);
  if (type.kind !== "float") {
    const words = wordsOf(items, signedOf(listed), 1);
    if (words.length === 0) return () => undefined;
    const close = CloseSet.of(words);
    if (close !== null) return closeFinder(close, type);
  }
  const table = new HashTable(items.length, (left, right) => Object.is(listed[left], listed[right]));
  const pace = new Pace(VALUES_PER_STEP);
  for (let row = 0; row < items.length; row++) {
    if (pace.isStep()) yield;
    if (isValid(items.validity, row)) table.insert(hashNumber(listed[row]), row);
  }
  const { filter } = table;
  const values = Float64Array.from(table.entries, (row) => listed[row]);
  const { slots, mask } = table;
  return (column, length, target) => {
    const numbers = numbersOf({ column, step: 1 }, type);
    for (let row = 0; row < length; row++) {
      const value = numbers[row];
      const hash = hashNumber(value);
      if (!filter.mayHave(hash)) continue;
      for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const item = values[slots[slot] - 1];
        if (item !== value && !(Number.isNaN(item) && Number.isNaN(value))) continue;
        target[row >>> 3] |= 1 << (row & 7);
        break;
      }
    }
    return undefined;
  };
}

/** Looks integers up in the chunks of a page, if they are as wide as the integers of the set. */
const closeFinder =
  (close: CloseSet, type: ValueType): Find =>
  (column, length, target) => {
    const chunks = column.kind === "fixed" && column.byteWidth === 4 ? column.lazy : undefined;
    if (chunks?.kind === "chunks" && length === column.length) {
      if (integerSetKernel.get()?.lookUp(close, chunks, target) === true) return undefined;
    }
    close.look(signedOf(numbersOf({ column, step: 1 }, type)), length, target);
    return undefined;
  };

function* wordFinder(items: Column, width: number): Steps<Find> {
  const listed = wordLane({ column: items, step: 1 });
  if (width === 2) {
    const words = wordsOf(items, listed, 2);
    const look = words.length === 0 ? () => undefined : closePairs(words);
    if (look !== null) {
      return (column, length, target) => {
        look(wordLane({ column, step: 1 }), length, target);
        return undefined;
      };
    }
  }
  const table = new HashTable(items.length, (left, right) => {
    for (let word = 0; word < width; word++) {
      if (listed[left * width + word] !== listed[right * width + word]) return false;
    }
    return true;
  });
  const hashAt = (words: Int32Array, index: number): number => {
    let hash = 0;
    for (let word = index; word < index + width; word++) hash = Math.imul(hash, 31) ^ words[word];
    return scramble(hash);
  };
  const pace = new Pace(VALUES_PER_STEP);
  for (let row = 0; row < items.length; row++) {
    if (pace.isStep()) yield;
    if (isValid(items.validity, row)) table.insert(hashAt(listed, row * width), row);
  }
  const { slots, mask, entries, filter } = table;
  return (column, length, target) => {
    const words = wordLane({ column, step: 1 });
    for (let row = 0, index = 0; row < length; row++, index += width) {
      const hash = hashAt(words, index);
      if (!filter.mayHave(hash)) continue;
      for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const item = entries[slots[slot] - 1] * width;
        let word = 0;
        while (word < width && words[index + word] === listed[item + word]) word++;
        if (word < width) continue;
        target[row >>> 3] |= 1 << (row & 7);
        break;
      }
    }
    return undefined;
  };
}

/** A random seed, so that nobody can choose values that share a slot. */
const SEED = Math.floor(Math.random() * 2 ** 32) | 0;

function scramble(value: number): number {
  const seeded = value ^ SEED;
  const mixed = Math.imul(seeded ^ (seeded >>> 16), 0x7feb352d);
  return Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b) ^ (mixed >>> 13);
}

const hashAtOnce = (bytes: Uint8Array, start: number, end: number): number =>
  scramble(mixBytes(SEED ^ (end - start), bytes, start, end));

function* hashBytes(bytes: Uint8Array, start: number, end: number): Steps<number> {
  let hash = SEED ^ (end - start);
  for (let offset = start; offset < end; offset += STEP_BYTES) {
    hash = mixBytes(hash, bytes, offset, Math.min(end, offset + STEP_BYTES));
    if (offset + STEP_BYTES < end) yield;
  }
  return scramble(hash);
}

function mixBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let offset = start; offset < end; offset++) hash = Math.imul(hash ^ bytes[offset], 0x01000193);
  return hash;
}

/** An open hash table of rows, at most half full. It has the first of equal values. */
class HashTable {
  /** By slot: the index of an entry plus 1, or 0 for none. */
  readonly slots: Int32Array;
  readonly mask: number;
  readonly entries: Int32Array;
  readonly hashes: Int32Array;
  readonly filter: HashBits;
  #count = 0;

  readonly #isSame: (left: number, right: number) => boolean;

  constructor(capacity: number, isSame: (left: number, right: number) => boolean) {
    this.#isSame = isSame;
    const bits = Math.max(3, Math.ceil(Math.log2(2 * capacity + 2)));
    this.slots = new Int32Array(2 ** bits);
    this.mask = 2 ** bits - 1;
    this.entries = new Int32Array(capacity);
    this.hashes = new Int32Array(capacity);
    this.filter = new HashBits(capacity);
  }

  insert(hash: number, row: number): void {
    let slot = hash & this.mask;
    for (; this.slots[slot] !== 0; slot = (slot + 1) & this.mask) {
      const entry = this.slots[slot] - 1;
      if (this.hashes[entry] === hash && this.#isSame(this.entries[entry], row)) return;
    }
    this.entries[this.#count] = row;
    this.hashes[this.#count] = hash;
    this.filter.add(hash);
    this.slots[slot] = ++this.#count;
  }
}
