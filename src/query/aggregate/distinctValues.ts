/**
 * Numbers the distinct values of a column. Nulls are one value, all NaN are one value, and both zeros are
 * one.
 */

import type { Column, DictionaryColumn } from "../../arrow/columns/column.js";
import { readIndices } from "../../arrow/columns/dictionaries.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { NumberList } from "../../bytes/growing.js";
import { InternalError } from "../../errors.js";
import { bitsOf, byteLane, numbersOf, wordLane } from "../../expression/values/operands.js";
import { byteWidthOf, type ValueType } from "../../expression/values/types.js";
import { nullsOfRows } from "./accumulator.js";
import { ByteTable } from "./byteTable.js";
import { type KeyWords, MISSING, WordTable } from "./wordTable.js";

/** True if values of a type can be told apart here. */
export const areGroupable = ({ kind }: ValueType): boolean =>
  kind !== "list" && kind !== "struct" && kind !== "other";

/** Form of the keys of a type. */
type KeyForm = "none" | "narrow" | "wide" | "bytes";

function formOf(type: ValueType): KeyForm {
  switch (type.kind) {
    case "null":
      return "none";
    case "bool":
      return "narrow";
    case "string":
    case "binary":
    case "fixedSizeBinary":
    case "decimal":
      return type.kind === "decimal" && byteWidthOf(type) <= 8 ? "wide" : "bytes";
    default:
      return byteWidthOf(type) <= 4 ? "narrow" : "wide";
  }
}

/** Number of an entry of a dictionary that was not looked up. */
const UNKNOWN = MISSING - 1;
/** Place of null in the numbering, before a null came. */
const NOWHERE = Number.POSITIVE_INFINITY;

/** True if values of a type have keys of one or two words. */
export const hasWordKeys = (type: ValueType): boolean => {
  const form = formOf(type);
  return form === "narrow" || form === "wide";
};

export class DistinctValues {
  readonly #type: ValueType;
  readonly #words: WordTable | null;
  readonly #bytes: ByteTable | null;
  /** Number of null. Values that came later have their number in the table plus 1. */
  #nullNumber = NOWHERE;
  #numbers = new Uint32Array(0);
  #dictionary: { readonly of: DictionaryColumn["dictionary"]; readonly numbers: Uint32Array } | null = null;

  constructor(type: ValueType) {
    this.#type = type;
    const form = formOf(type);
    this.#words = form === "narrow" || form === "wide" ? new WordTable(form === "wide") : null;
    this.#bytes = form === "bytes" ? new ByteTable() : null;
  }

  get count(): number {
    const nulls = this.#nullNumber === NOWHERE ? 0 : 1;
    return nulls + (this.#words?.count ?? 0) + (this.#bytes?.count ?? 0);
  }

  get byteLength(): number {
    return (this.#words?.byteLength ?? 0) + (this.#bytes?.byteLength ?? 0);
  }

  /**
   * Returns the number of each row's value, counted from 0 in the order of their first rows. Null comes
   * before the other new values of a batch. The next call uses the memory again.
   * @param isFrozen true: values that did not come before have the number MISSING
   */
  *numbersOf(column: Column, rowCount: number, isFrozen: boolean): Steps<Uint32Array> {
    if (column.kind === "dictionary") return yield* this.#ofDictionary(column, isFrozen);
    const numbers = this.#numbersFor(rowCount);
    const nulls = nullsOfRows(column, rowCount);
    if (nulls !== null) this.#meetNull(isFrozen);
    const lookup = { numbers, isFrozen, skipped: nulls };
    if (this.#words !== null) {
      const keys = keysOf(column, this.#type, rowCount);
      yield* this.#words.find(keys, rowCount, lookup);
    } else if (this.#bytes !== null) {
      yield* this.#bytes.find(byteLane({ column, step: 1 }), rowCount, lookup);
    }
    if (nulls === null && this.#nullNumber === NOWHERE) return numbers;
    const nullNumber = this.#nullNumber === NOWHERE ? MISSING : this.#nullNumber;
    for (let row = 0; row < rowCount; row++) {
      if (nulls !== null && nulls[row] !== 0) numbers[row] = nullNumber;
      else if (numbers[row] >= nullNumber && numbers[row] !== MISSING) numbers[row]++;
    }
    return numbers;
  }

  #numbersFor(rowCount: number): Uint32Array {
    if (this.#numbers.length < rowCount) this.#numbers = new Uint32Array(rowCount);
    return this.#numbers.subarray(0, rowCount).fill(0);
  }

  #meetNull(isFrozen: boolean): void {
    if (this.#nullNumber === NOWHERE && !isFrozen) this.#nullNumber = this.count;
  }

  /** Looks up a value of a dictionary when a row has it. The batches of a page share a dictionary. */
  *#ofDictionary(column: DictionaryColumn, isFrozen: boolean): Steps<Uint32Array> {
    const { dictionary, validity, length } = column;
    const indices = readIndices(column);
    if (validity !== null) this.#meetNull(isFrozen);
    if (this.#dictionary?.of !== dictionary) {
      this.#dictionary = { of: dictionary, numbers: new Uint32Array(dictionary.length).fill(UNKNOWN) };
    }
    const { numbers } = this.#dictionary;
    const nulls = nullsOfRows(column, length);
    const entries = newEntries(indices, numbers, nulls);
    if (entries.length > 0) {
      const ofEntries = yield* this.numbersOf(takeColumn(dictionary, entries), entries.length, isFrozen);
      for (let index = 0; index < entries.length; index++) numbers[entries[index]] = ofEntries[index];
    }
    const nullNumber = this.#nullNumber === NOWHERE ? MISSING : this.#nullNumber;
    translate(indices, numbers, nulls, nullNumber);
    return indices;
  }

  /** Returns a reader of the values by their numbers. */
  *reader(): Steps<(numbers: Uint32Array) => Column> {
    const type = this.#type;
    const nullNumber = this.#nullNumber;
    const keys = this.#words === null ? null : yield* this.#words.keys();
    return (numbers) => {
      const { length } = numbers;
      if (type.kind === "null") return { kind: "null", length, validity: null };
      const bits = new Uint8Array((length + 7) >>> 3);
      const inTable = new Uint32Array(length);
      for (let index = 0; index < length; index++) {
        const number = numbers[index];
        inTable[index] = number === nullNumber ? MISSING : number > nullNumber ? number - 1 : number;
        if (number !== nullNumber) bits[index >>> 3] |= 1 << (index & 7);
      }
      const column = keys === null ? this.#bytes?.column(inTable, type) : columnOfKeys(keys, inTable, type);
      return { ...(column as Column), validity: validityFrom(bits, 0, length) } as Column;
    };
  }
}

/** Returns the entries of a dictionary that rows have and that have no number yet, and marks them. */
function newEntries(indices: Uint32Array, numbers: Uint32Array, nulls: Uint8Array | null): Uint32Array {
  const entries = new NumberList();
  for (let row = 0; row < indices.length; row++) {
    if (numbers[indices[row]] !== UNKNOWN || (nulls !== null && nulls[row] !== 0)) continue;
    numbers[indices[row]] = MISSING;
    entries.push(indices[row]);
  }
  return entries.numbers;
}

/** Replaces the index of each row by the number of its value. */
function translate(
  indices: Uint32Array,
  numbers: Uint32Array,
  nulls: Uint8Array | null,
  nullNumber: number,
): void {
  if (nulls === null) for (let row = 0; row < indices.length; row++) indices[row] = numbers[indices[row]];
  else {
    for (let row = 0; row < indices.length; row++) {
      indices[row] = nulls[row] !== 0 ? nullNumber : numbers[indices[row]];
    }
  }
}

/** Returns the values of a column as words, each value in one form only. */
export function keysOf(column: Column, type: ValueType, rowCount: number): KeyWords {
  if (type.kind === "bool") {
    const bits = bitsOf({ column, step: 1 }, rowCount);
    const low = new Int32Array(rowCount);
    for (let row = 0; row < rowCount; row++) low[row] = (bits[row >>> 3] >>> (row & 7)) & 1;
    return { low, high: null };
  }
  if (byteWidthOf(type) === 8)
    return wideKeys(wordLane({ column, step: 1 }), rowCount, type.kind === "float");
  if (type.kind === "float") return { low: narrowFloats(column, type.bits), high: null };
  const numbers = numbersOf({ column, step: 1 }, type);
  return { low: new Int32Array(numbers.buffer, numbers.byteOffset, rowCount), high: null };
}

function wideKeys(words: Int32Array, rowCount: number, isFloat: boolean): KeyWords {
  const low = new Int32Array(rowCount);
  const high = new Int32Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    low[row] = words[2 * row];
    high[row] = words[2 * row + 1];
  }
  if (!isFloat) return { low, high };
  for (let row = 0; row < rowCount; row++) {
    const magnitude = high[row] & 0x7fff_ffff;
    if (magnitude === 0 && low[row] === 0) high[row] = 0;
    else if (magnitude > 0x7ff0_0000 || (magnitude === 0x7ff0_0000 && low[row] !== 0)) {
      high[row] = 0x7ff8_0000;
      low[row] = 0;
    }
  }
  return { low, high };
}

function narrowFloats(column: Column, bits: number): Int32Array {
  if (column.kind !== "fixed") throw new InternalError(`a column of kind ${column.kind} cannot hold floats`);
  const { buffer, byteOffset } = alignedBytes(column.values, bits / 8);
  const { length } = column;
  const words =
    bits === 32
      ? new Int32Array(buffer, byteOffset, length).slice()
      : Int32Array.from(new Uint16Array(buffer, byteOffset, length));
  const [sign, infinity, nan] =
    bits === 32 ? [0x7fff_ffff, 0x7f80_0000, 0x7fc0_0000] : [0x7fff, 0x7c00, 0x7e00];
  for (let row = 0; row < length; row++) {
    const magnitude = words[row] & sign;
    if (magnitude === 0) words[row] = 0;
    else if (magnitude > infinity) words[row] = nan;
  }
  return words;
}

function columnOfKeys({ low, high }: KeyWords, numbers: Uint32Array, type: ValueType): Column {
  const { length } = numbers;
  if (type.kind === "bool") {
    const bits = new Uint8Array((length + 7) >>> 3);
    for (let index = 0; index < length; index++) {
      if (numbers[index] !== MISSING && low[numbers[index]] === 1) bits[index >>> 3] |= 1 << (index & 7);
    }
    return { kind: "bits", length, validity: null, bits, bitOffset: 0 };
  }
  if (high !== null) {
    const words = new Int32Array(2 * length);
    for (let index = 0; index < length; index++) {
      const number = numbers[index];
      if (number === MISSING) continue;
      words[2 * index] = low[number];
      words[2 * index + 1] = high[number];
    }
    return numbersColumn(words, 8);
  }
  const width = byteWidthOf(type);
  const words =
    width === 4 ? new Int32Array(length) : width === 2 ? new Int16Array(length) : new Int8Array(length);
  for (let index = 0; index < length; index++) {
    if (numbers[index] !== MISSING) words[index] = low[numbers[index]];
  }
  return numbersColumn(words);
}
