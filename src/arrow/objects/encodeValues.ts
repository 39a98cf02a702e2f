/**
 * Converts JavaScript values to columns. Each type of Arrow accepts:
 *
 *     Int                  numbers without a fraction and bigints, in its range; for 64 bits, texts of digits
 *     Float                numbers, bigints that a float equals, and the texts "NaN", "Infinity" and
 *                          "-Infinity"; for fewer than 64 bits rounded, but not to infinity
 *     Bool                 booleans
 *     Utf8                 strings of well-formed Unicode; Date, as its text in ISO 8601, UTC
 *     Binary               Uint8Array and other views, ArrayBuffer; texts in base64
 *     Date Timestamp       Date, cut to the unit; numbers, in milliseconds since 1970; bigints, in the type's
 *                          own unit; texts in ISO 8601, as in CAST: without an offset, in the type's zone, or
 *                          else UTC
 *     Time                 numbers and bigints in the type's own unit; texts such as "10:11:12.5"
 *     Duration             numbers, bigints and texts of digits in the type's own unit
 *     Decimal              texts such as "12.30", numbers and bigints, whose digits fit
 *     List FixedSizeList   arrays, typed arrays and other iterables
 *     Struct               objects; members that are absent are null
 *     Map                  Map, objects, and arrays of pairs
 *     Dictionary           values that the dictionary's value type accepts
 *
 * Null and undefined are null in all types. Rows that JSON.parse made are taken like any others, but for
 * infinite numbers: a text such as 1e400 becomes one.
 */

import type { Dictionary, Field } from "apache-arrow";
import type {
  Column,
  DictionaryLayout,
  FixedColumn,
  FixedSizeListLayout,
  Layout,
  ListLayout,
  PackedStructLayout,
  SizedListLayout,
  StructLayout,
  Validity,
  VariableColumn,
} from "../columns/column.js";
import { encodeDictionary } from "../columns/dictionaryEncoder.js";
import { numbersColumn } from "../columns/numbersColumn.js";
import { validityFrom } from "../columns/validity.js";
import { layoutOf } from "../types/layouts.js";
import { refuse, refuseRow, refuseValue, type TypedValues, type ValuePlace } from "./faults.js";
import { fixedValues } from "./fixedValues.js";
import { isNullish, isRecord, iterableItems, memberOf, pairsOf } from "./valueKinds.js";
import { variableColumn } from "./variableValues.js";
import { vectorItems } from "./vectorItems.js";

/**
 * Returns the column of a field.
 * @throws TableSchemaValidationError naming row and column of a refused value; UnsupportedError
 */
export function encodeValues(values: readonly unknown[], field: Field, origin: ValuePlace): Column {
  const { type, nullable } = field;
  return encodeAs({ values, type, origin }, layoutOf(type, origin.path), nullable);
}

function encodeAs(typed: TypedValues, layout: Layout, isNullable: boolean): Column {
  const validity = validityOf(typed, isNullable);
  const { length } = typed.values;
  switch (layout.kind) {
    case "null":
      return nulls(typed);
    case "bits":
      return { kind: "bits", length, validity, bits: booleans(typed), bitOffset: 0 };
    case "fixed": {
      const { byteWidth } = layout;
      return { kind: "fixed", length, validity, byteWidth, values: fixedValues(typed, byteWidth) };
    }
    case "variable":
      return variableColumn(typed, layout, validity);
    case "list":
      return listColumn(typed, layout, validity);
    case "fixedSizeList":
    case "sizedList":
      return sizedColumn(typed, layout, validity);
    case "struct":
    case "packedStruct":
      return structColumn(typed, layout, validity);
    case "dictionary":
      return dictionaryColumn(typed, layout, isNullable);
  }
}

function validityOf({ values, type, origin }: TypedValues, isNullable: boolean): Validity | null {
  let bytes: Uint8Array | null = null;
  for (let index = 0; index < values.length; index++) {
    if (!isNullish(values[index])) continue;
    if (!isNullable)
      refuse(origin, index, values[index], `a value of type ${type} (the column is not nullable)`);
    bytes ??= new Uint8Array((values.length + 7) >>> 3).fill(0xff);
    bytes[index >>> 3] &= ~(1 << (index & 7));
  }
  return bytes && validityFrom(bytes, 0, values.length);
}

function nulls(typed: TypedValues): Column {
  const { values } = typed;
  const index = values.findIndex((value) => !isNullish(value));
  if (index >= 0) refuseValue(typed, index);
  return { kind: "null", length: values.length, validity: null };
}

function booleans(typed: TypedValues): Uint8Array {
  const { values } = typed;
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === true) bits[index >>> 3] |= 1 << (index & 7);
    else if (value !== false && !isNullish(value)) refuseValue(typed, index);
  }
  return bits;
}

function listColumn(typed: TypedValues, layout: ListLayout, validity: Validity | null): Column {
  const { values, origin } = typed;
  const [item] = typed.type.children as Field[];
  const lists = values.map((value, index) => {
    if (isNullish(value)) return [];
    const items = layout.isMap ? pairsOf(value) : iterableItems(value);
    return items ?? refuseValue(typed, index);
  });
  const { offsets, flat, owner } = flattened(lists);
  const inner = innerPlace(origin, "[]", owner);
  const flatItems = { values: flat, type: item.type, origin: inner };
  const items = encodeAs(flatItems, layout.item, item.nullable);
  const storedOffsets = layout.offsetBits === 32 ? offsets : BigInt64Array.from(offsets, BigInt);
  return { kind: "list", length: values.length, validity, offsets: storedOffsets, items };
}

/** @param parentOf returns the index of the value that contains an inner one */
const innerPlace = (origin: ValuePlace, suffix: string, parentOf: (index: number) => number): ValuePlace => ({
  ...origin,
  path: `${origin.path}${suffix}`,
  rowOf: (index) => origin.rowOf(parentOf(index)),
});

function flattened(lists: readonly ArrayLike<unknown>[]) {
  const offsets = new Int32Array(lists.length + 1);
  for (let index = 0; index < lists.length; index++)
    offsets[index + 1] = offsets[index] + lists[index].length;
  const flat: unknown[] = new Array(offsets[lists.length]);
  for (let index = 0, slot = 0; index < lists.length; index++) {
    const list = lists[index];
    for (let item = 0; item < list.length; item++) flat[slot++] = list[item];
  }
  /** Returns the index of the list that contains an item. */
  const owner = (item: number): number => {
    let list = 0;
    while (offsets[list + 1] <= item) list++;
    return list;
  };
  return { offsets, flat, owner };
}

function sizedColumn(
  { values, type, origin }: TypedValues,
  layout: FixedSizeListLayout | SizedListLayout,
  validity: Validity | null,
): Column {
  const { dimension } = layout;
  const { length } = values;
  const [item] = type.children as Field[];
  if (layout.kind === "fixedSizeList") {
    const numbers = vectorItems(values, item.type, dimension, origin.isFromJson !== true);
    if (numbers !== null) {
      return { kind: "fixedSizeList", length, validity, dimension, items: numbersColumn(numbers) };
    }
  }
  const flat: unknown[] = new Array(length * dimension).fill(null);
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    const items = iterableItems(value);
    if (items === null || items.length !== dimension) {
      refuse(origin, index, value, `a value of type ${type} with ${dimension} items`);
    }
    for (let slot = 0; slot < dimension; slot++) flat[index * dimension + slot] = items[slot];
  }
  const inner = innerPlace(origin, "[]", (index) => Math.floor(index / dimension));
  // Null fixed-size lists also have items, and their values mean nothing.
  const isNullable = item.nullable || validity !== null;
  const encoded = encodeAs({ values: flat, type: item.type, origin: inner }, layout.item, isNullable);
  const isBare = layout.kind === "fixedSizeList" && !item.nullable;
  const items = isBare ? { ...encoded, validity: null } : encoded;
  return { kind: layout.kind, length, validity, dimension, items } as Column;
}

function structColumn(
  typed: TypedValues,
  layout: StructLayout | PackedStructLayout,
  validity: Validity | null,
): Column {
  const { values, type, origin } = typed;
  const { length } = values;
  const fields = type.children as Field[];
  const memberNames = new Set(fields.map(({ name }) => name));
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    if (!isRecord(value)) refuseValue(typed, index);
    for (const name of Object.keys(value)) {
      if (!memberNames.has(name)) refuseRow(origin, index, `the type, ${type}, has no member ${name}`);
    }
  }
  const children = fields.map((field, index) => {
    const members = values.map((value) => (isNullish(value) ? null : memberOf(value as object, field.name)));
    const inner = innerPlace(origin, `.${field.name}`, (index) => index);
    const memberValues = { values: members, type: field.type, origin: inner };
    return encodeAs(memberValues, layout.children[index].layout, field.nullable || validity !== null);
  });
  return { kind: "struct", length, validity, children };
}

function dictionaryColumn(typed: TypedValues, layout: DictionaryLayout, isNullable: boolean): Column {
  const { values, type, origin } = typed;
  const plain = encodeAs({ values, type: (type as Dictionary).dictionary, origin }, layout.value, isNullable);
  const encoded = encodeDictionary(plain as VariableColumn | FixedColumn, layout.index.byteWidth);
  if (encoded !== null) return encoded;
  return refuse(origin, values.length - 1, values.at(-1), `no more distinct values than ${type} takes: one`);
}
