/**
 * JavaScript values as columns. What each type of Arrow takes:
 *
 *     Int                  numbers without a fraction and bigints, in its range
 *     Float                numbers
 *     Bool                 booleans
 *     Utf8                 strings of well-formed Unicode
 *     Binary               Uint8Array and other views, ArrayBuffer
 *     Date Timestamp       Date; numbers, in milliseconds since 1970; bigints, in the type's own unit
 *     Time Duration        numbers and bigints in the type's own unit
 *     Decimal              texts such as "12.30", numbers and bigints, whose digits fit
 *     List FixedSizeList   arrays, typed arrays and other iterables
 *     Struct               objects; members that are absent are null
 *     Map                  Map, objects, and arrays of pairs
 *     Dictionary           what its values take
 *
 * Null and undefined are null everywhere.
 */

import { type DataType, type Dictionary, type Field, Type } from "apache-arrow";
import { isDate, tagOf } from "../../bytes/anyRealm.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import { bytesOf } from "../../bytes/view.js";
import { InternalError } from "../../errors.js";
import type { Column, FixedColumn, Layout, Validity, VariableColumn } from "../columns/column.js";
import { encodeDictionary } from "../columns/dictionaries.js";
import { validityFrom } from "../columns/validity.js";
import { layoutOf } from "../types/layouts.js";
import { unscaledOf } from "./decimalText.js";
import { refuse, type ValuePlace } from "./faults.js";
import { vectorItems } from "./vectorItems.js";

/**
 * The column of a field.
 * @throws TableSchemaValidationError naming row and column, for a value that the field doesn't take; UnsupportedError
 */
export function encodeValues(values: readonly unknown[], field: Field, place: ValuePlace): Column {
  return encodeAs(values, field.type, layoutOf(field.type, place.path), field.nullable, place);
}

function encodeAs(
  values: readonly unknown[],
  type: DataType,
  layout: Layout,
  isNullable: boolean,
  place: ValuePlace,
): Column {
  const validity = validityOf(values, type, isNullable, place);
  const { length } = values;
  switch (layout.kind) {
    case "null":
      return nulls(values, type, place);
    case "bits":
      return { kind: "bits", length, validity, bits: booleans(values, type, place), bitOffset: 0 };
    case "fixed":
      return {
        kind: "fixed",
        length,
        validity,
        byteWidth: layout.byteWidth,
        values: fixedValues(values, type, layout.byteWidth, place),
      };
    case "variable":
      return variableColumn(values, type, layout, validity, place);
    case "list":
      return listColumn(values, type, layout, validity, place);
    case "fixedSizeList":
    case "sizedList":
      return sizedColumn(values, type, layout, validity, place);
    case "struct":
    case "packedStruct":
      return structColumn(values, type, layout, validity, place);
    case "dictionary":
      return dictionaryColumn(values, type as Dictionary, layout, isNullable, place);
  }
}

const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined;

function validityOf(
  values: readonly unknown[],
  type: DataType,
  isNullable: boolean,
  place: ValuePlace,
): Validity | null {
  let bytes: Uint8Array | null = null;
  for (let index = 0; index < values.length; index++) {
    if (!isMissing(values[index])) continue;
    if (!isNullable)
      refuse(place, index, values[index], `a value of type ${type} (the column is not nullable)`);
    bytes ??= new Uint8Array((values.length + 7) >>> 3).fill(0xff);
    bytes[index >>> 3] &= ~(1 << (index & 7));
  }
  return bytes && validityFrom(bytes, 0, values.length);
}

function nulls(values: readonly unknown[], type: DataType, place: ValuePlace): Column {
  const index = values.findIndex((value) => !isMissing(value));
  if (index >= 0) refuse(place, index, values[index], `a value of type ${type}`);
  return { kind: "null", length: values.length, validity: null };
}

function booleans(values: readonly unknown[], type: DataType, place: ValuePlace): Uint8Array {
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === true) bits[index >>> 3] |= 1 << (index & 7);
    else if (value !== false && !isMissing(value)) refuse(place, index, value, `a value of type ${type}`);
  }
  return bits;
}

// -------------------------------------------------------------------------------- values of a fixed width

interface NumericType {
  readonly typeId: number;
  readonly isSigned?: boolean;
  readonly unit?: number;
  readonly scale?: number;
  readonly precision?: number;
}

function fixedValues(
  values: readonly unknown[],
  type: DataType,
  byteWidth: number,
  place: ValuePlace,
): Uint8Array {
  const { typeId, isSigned = true, unit = 0 } = type as unknown as NumericType;
  switch (typeId) {
    case Type.Int:
      return byteWidth === 8
        ? longs(values, type, isSigned, place, exactLong)
        : smallIntegers(values, type, byteWidth, isSigned, place);
    case Type.Float:
      return floats(values, type, byteWidth, place);
    case Type.Time:
    case Type.Duration:
      return byteWidth === 8
        ? longs(values, type, true, place, exactLong)
        : smallIntegers(values, type, byteWidth, true, place);
    case Type.Timestamp:
      return longs(values, type, true, place, (value) => inUnit(value, unit));
    case Type.Date:
      return unit === 0
        ? smallIntegers(values.map(daysOf), type, byteWidth, true, place, values)
        : longs(values, type, true, place, (value) => inUnit(value, 1));
    case Type.Decimal:
      return decimals(values, type, byteWidth, place);
    case Type.FixedSizeBinary:
      return fixedBinaries(values, type, byteWidth, place);
    default:
      throw new InternalError(`values of type ${type} have no fixed width`);
  }
}

type IntegerArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

function integersFor(byteWidth: number, isSigned: boolean, length: number): IntegerArray {
  switch (byteWidth) {
    case 1:
      return isSigned ? new Int8Array(length) : new Uint8Array(length);
    case 2:
      return isSigned ? new Int16Array(length) : new Uint16Array(length);
    default:
      return isSigned ? new Int32Array(length) : new Uint32Array(length);
  }
}

/** @param given the values as they were passed, for messages */
function smallIntegers(
  values: readonly unknown[],
  type: DataType,
  byteWidth: number,
  isSigned: boolean,
  place: ValuePlace,
  given = values,
): Uint8Array {
  const integers = integersFor(byteWidth, isSigned, values.length);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    const number = typeof value === "bigint" ? Number(value) : (value as number);
    integers[index] = number;
    // What doesn't fit comes back as another number.
    if (typeof number !== "number" || integers[index] !== number)
      refuse(place, index, given[index], `a value of type ${type}`);
  }
  return bytesOf(integers);
}

const MAX_SIGNED = 2n ** 63n - 1n;
const MIN_SIGNED = -(2n ** 63n);
const MAX_UNSIGNED = 2n ** 64n - 1n;
const WORD = 2 ** 32;

/** Numbers of 64 bits. Those that are exact as doubles are split into words without bigints. */
function longs(
  values: readonly unknown[],
  type: DataType,
  isSigned: boolean,
  place: ValuePlace,
  convert: (value: unknown) => number | bigint | null,
): Uint8Array {
  const words = new Uint32Array(2 * values.length);
  const whole = new BigInt64Array(words.buffer);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    const converted = convert(value);
    if (typeof converted === "number" && (isSigned || converted >= 0)) {
      words[2 * index] = converted;
      words[2 * index + 1] = Math.floor(converted / WORD);
    } else if (typeof converted === "bigint" && isLong(converted, isSigned)) {
      whole[index] = converted;
    } else {
      refuse(place, index, value, `a value of type ${type}`);
    }
  }
  return bytesOf(words);
}

const isLong = (value: bigint, isSigned: boolean): boolean =>
  isSigned ? value >= MIN_SIGNED && value <= MAX_SIGNED : value >= 0n && value <= MAX_UNSIGNED;

/** Numbers beyond 2^53 are refused: the one that was meant may be another. */
function exactLong(value: unknown): number | bigint | null {
  if (typeof value === "bigint") return value;
  return Number.isSafeInteger(value) ? (value as number) : null;
}

/** Units in a millisecond of seconds, milliseconds, microseconds and nanoseconds. */
const PER_MILLISECOND = [0.001, 1, 1000, 1_000_000];

/** A moment in a type's unit; null for what is none, or lies between two of them. */
function inUnit(value: unknown, unit: number): number | bigint | null {
  if (typeof value === "bigint") return value;
  const milliseconds = isDate(value) ? value.getTime() : value;
  if (typeof milliseconds !== "number" || !Number.isFinite(milliseconds)) return null;
  if (unit === 0) return Number.isSafeInteger(milliseconds / 1000) ? milliseconds / 1000 : null;
  const scaled = Math.round(milliseconds * PER_MILLISECOND[unit]);
  if (unit === 1 && scaled !== milliseconds) return null;
  if (Number.isSafeInteger(scaled)) return scaled;
  // A product of this size is exact as a bigint only.
  return Number.isSafeInteger(milliseconds) ? BigInt(milliseconds) * BigInt(PER_MILLISECOND[unit]) : null;
}

const DAY_MS = 86_400_000;

/** Days of a moment at midnight UTC; anything else stays as it is, and is refused as no whole number of days. */
function daysOf(value: unknown): unknown {
  if (isMissing(value)) return null;
  if (typeof value === "bigint") return value;
  const milliseconds = isDate(value) ? value.getTime() : value;
  return typeof milliseconds === "number" ? milliseconds / DAY_MS : value;
}

function floats(
  values: readonly unknown[],
  type: DataType,
  byteWidth: number,
  place: ValuePlace,
): Uint8Array {
  const { length } = values;
  const floats =
    byteWidth === 8
      ? new Float64Array(length)
      : byteWidth === 4
        ? new Float32Array(length)
        : new Uint16Array(length);
  const isHalf = byteWidth === 2;
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (typeof value === "number") floats[index] = isHalf ? encodeHalfFloat(value) : value;
    else if (!isMissing(value)) refuse(place, index, value, `a value of type ${type}`);
  }
  return bytesOf(floats);
}

function decimals(
  values: readonly unknown[],
  type: DataType,
  byteWidth: number,
  place: ValuePlace,
): Uint8Array {
  const { scale = 0, precision = 0 } = type as unknown as NumericType;
  const bytes = new Uint8Array(values.length * byteWidth);
  const words = new BigUint64Array(bytes.buffer);
  const perValue = byteWidth / 8;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    const isNumeric = typeof value === "string" || typeof value === "number" || typeof value === "bigint";
    let unscaled = isNumeric ? unscaledOf(String(value), precision, scale) : null;
    if (unscaled === null) refuse(place, index, value, `a value of type ${type}`);
    for (let word = 0; word < perValue; word++) {
      words[index * perValue + word] = BigInt.asUintN(64, unscaled);
      unscaled >>= 64n;
    }
  }
  return bytes;
}

function fixedBinaries(
  values: readonly unknown[],
  type: DataType,
  byteWidth: number,
  place: ValuePlace,
): Uint8Array {
  const bytes = new Uint8Array(values.length * byteWidth);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    const own = binaryOf(value);
    if (own === null || own.length !== byteWidth) refuse(place, index, value, `a value of type ${type}`);
    bytes.set(own, index * byteWidth);
  }
  return bytes;
}

function binaryOf(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return bytesOf(value);
  const tag = tagOf(value);
  return tag === "ArrayBuffer" || tag === "SharedArrayBuffer" ? new Uint8Array(value as ArrayBuffer) : null;
}

// ------------------------------------------------------------------------------- values of a variable width

const encoder = new TextEncoder();
/** Bytes of UTF-8 that a UTF-16 unit takes at most. */
const UNIT_BYTES = 3;
/** Halves of surrogate pairs that stand alone: the encoder would put another character in their place. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

function variableColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "variable" }>,
  validity: Validity | null,
  place: ValuePlace,
): VariableColumn {
  const { length } = values;
  const ends = new Float64Array(length + 1);
  const bytes = layout.text ? texts(values, type, ends, place) : binaries(values, type, ends, place);
  if (layout.offsetBits === 32 && bytes.length > 0x7fffffff) {
    refuse(place, length - 1, values[length - 1], "a batch of at most 2 GiB");
  }
  const offsets = layout.offsetBits === 32 ? Int32Array.from(ends) : BigInt64Array.from(ends, BigInt);
  return { kind: "variable", length, validity, offsets, bytes };
}

function texts(
  values: readonly unknown[],
  type: DataType,
  ends: Float64Array,
  place: ValuePlace,
): Uint8Array {
  let bytes = new Uint8Array(Math.max(64, values.length * 16));
  let end = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value === "string") {
      if (LONE_SURROGATE.test(value)) refuse(place, index, value, "well-formed Unicode");
      const needed = end + value.length * UNIT_BYTES;
      if (needed > bytes.length) bytes = grown(bytes, needed, end);
      end += encoder.encodeInto(value, bytes.subarray(end)).written;
    } else if (!isMissing(value)) {
      refuse(place, index, value, `a value of type ${type}`);
    }
    ends[index + 1] = end;
  }
  return bytes.subarray(0, end);
}

function grown(bytes: Uint8Array, needed: number, used: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(needed, bytes.length * 2));
  larger.set(bytes.subarray(0, used));
  return larger;
}

function binaries(
  values: readonly unknown[],
  type: DataType,
  ends: Float64Array,
  place: ValuePlace,
): Uint8Array {
  const pieces: (Uint8Array | null)[] = new Array(values.length).fill(null);
  let end = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (!isMissing(value)) {
      const piece = binaryOf(value);
      if (piece === null) refuse(place, index, value, `a value of type ${type}`);
      pieces[index] = piece;
      end += piece.length;
    }
    ends[index + 1] = end;
  }
  const bytes = new Uint8Array(end);
  for (const [index, piece] of pieces.entries()) if (piece !== null) bytes.set(piece, ends[index]);
  return bytes;
}

// --------------------------------------------------------------------------------------------- nested values

/** The items of a value that is a list; null for what is none. Texts and objects by name are none. */
function itemsOf(value: unknown): ArrayLike<unknown> | null {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value)) {
    return tagOf(value) === "DataView" ? null : (value as unknown as ArrayLike<unknown>);
  }
  if (typeof value !== "object" || value === null) return null;
  return Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : null;
}

function listColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "list" }>,
  validity: Validity | null,
  place: ValuePlace,
): Column {
  const [item] = type.children as Field[];
  const lists = values.map((value, index) => {
    if (isMissing(value)) return [];
    const items = layout.isMap ? pairsOf(value) : itemsOf(value);
    return items ?? refuse(place, index, value, `a value of type ${type}`);
  });
  const { offsets, flat, owner } = flattened(lists);
  const inner: ValuePlace = { path: `${place.path}[]`, rowOf: (index) => place.rowOf(owner(index)) };
  const items = encodeAs(flat, item.type, layout.item, item.nullable, inner);
  const own = layout.offsetBits === 32 ? offsets : BigInt64Array.from(offsets, BigInt);
  return { kind: "list", length: values.length, validity, offsets: own, items };
}

function flattened(lists: readonly ArrayLike<unknown>[]) {
  const offsets = new Int32Array(lists.length + 1);
  for (let index = 0; index < lists.length; index++)
    offsets[index + 1] = offsets[index] + lists[index].length;
  const flat: unknown[] = new Array(offsets[lists.length]);
  for (let index = 0, at = 0; index < lists.length; index++) {
    const list = lists[index];
    for (let item = 0; item < list.length; item++) flat[at++] = list[item];
  }
  /** The list that an item is in. */
  const owner = (item: number): number => {
    let list = 0;
    while (offsets[list + 1] <= item) list++;
    return list;
  };
  return { offsets, flat, owner };
}

/** The entries of a map, as objects of the members that its struct has. */
function pairsOf(value: unknown): { key: unknown; value: unknown }[] | null {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return null;
  const pairs = Symbol.iterator in value ? Array.from(value as Iterable<unknown>) : Object.entries(value);
  const isPair = (pair: unknown): pair is unknown[] => Array.isArray(pair) && pair.length === 2;
  return pairs.every(isPair) ? pairs.map(([key, own]) => ({ key, value: own })) : null;
}

function sizedColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "fixedSizeList" | "sizedList" }>,
  validity: Validity | null,
  place: ValuePlace,
): Column {
  const { dimension } = layout;
  const { length } = values;
  const [item] = type.children as Field[];
  if (layout.kind === "fixedSizeList") {
    const numbers = vectorItems(values, item.type, dimension);
    if (numbers !== null) {
      const items: FixedColumn = {
        kind: "fixed",
        length: numbers.length,
        validity: null,
        byteWidth: numbers.BYTES_PER_ELEMENT,
        values: bytesOf(numbers),
      };
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
  }
  const flat: unknown[] = new Array(length * dimension).fill(null);
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    const items = itemsOf(value);
    if (items === null || items.length !== dimension) {
      refuse(place, index, value, `a value of type ${type}, which has ${dimension} items`);
    }
    for (let at = 0; at < dimension; at++) flat[index * dimension + at] = items[at];
  }
  const inner: ValuePlace = {
    path: `${place.path}[]`,
    rowOf: (index) => place.rowOf(Math.floor(index / dimension)),
  };
  // Lists that are null have items all the same, whose values mean nothing.
  const isNullable = item.nullable || validity !== null;
  const items = encodeAs(flat, item.type, layout.item as Layout, isNullable, inner);
  if (layout.kind === "sizedList") return { kind: "sizedList", length, validity, dimension, items };
  const own = item.nullable ? items : { ...items, validity: null };
  return {
    kind: "fixedSizeList",
    length,
    validity,
    dimension,
    items: own as Extract<Column, { kind: "fixedSizeList" }>["items"],
  };
}

function structColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "struct" | "packedStruct" }>,
  validity: Validity | null,
  place: ValuePlace,
): Column {
  const { length } = values;
  const fields = type.children as Field[];
  const known = new Set(fields.map(({ name }) => name));
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (isMissing(value)) continue;
    if (!isRecord(value)) refuse(place, index, value, `a value of type ${type}`);
    for (const name of Object.keys(value)) {
      if (!known.has(name)) refuse(place, index, value, `no member ${name}: the members of ${type}`);
    }
  }
  const children = fields.map((field, index) => {
    const members = values.map((value) => (isMissing(value) ? null : memberOf(value as object, field.name)));
    const inner: ValuePlace = { path: `${place.path}.${field.name}`, rowOf: (at) => place.rowOf(at) };
    return encodeAs(
      members,
      field.type,
      layout.children[index].layout,
      field.nullable || validity !== null,
      inner,
    );
  });
  return { kind: "struct", length, validity, children };
}

/** Objects of any class, but not lists. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  !isDate(value);

/** A member of an object's own, or of its class, but not of all objects. */
export function memberOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name) || !(name in Object.prototype)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function dictionaryColumn(
  values: readonly unknown[],
  type: Dictionary,
  layout: Extract<Layout, { kind: "dictionary" }>,
  isNullable: boolean,
  place: ValuePlace,
): Column {
  const plain = encodeAs(values, type.dictionary, layout.value, isNullable, place);
  const encoded = encodeDictionary(plain as VariableColumn | FixedColumn, layout.index.byteWidth);
  if (encoded !== null) return encoded;
  return refuse(place, values.length - 1, values.at(-1), `no more distinct values than ${type} takes: one`);
}
