/**
 * Converts JavaScript values to columns. Each type of Arrow accepts:
 *
 *     Int                  numbers without a fraction and bigints, in its range; for 64 bits, texts of digits
 *     Float                numbers
 *     Bool                 booleans
 *     Utf8                 strings of well-formed Unicode; Date, as its text in ISO 8601, UTC
 *     Binary               Uint8Array and other views, ArrayBuffer
 *     Date Timestamp       Date, cut to the unit; numbers, in milliseconds since 1970; bigints, in the type's
 *                          own unit; texts in ISO 8601, as in CAST: without an offset, in the type's zone, or
 *                          else UTC
 *     Time                 numbers and bigints in the type's own unit; texts such as "10:11:12.5"
 *     Duration             numbers and bigints in the type's own unit
 *     Decimal              texts such as "12.30", numbers and bigints, whose digits fit
 *     List FixedSizeList   arrays, typed arrays and other iterables
 *     Struct               objects; members that are absent are null
 *     Map                  Map, objects, and arrays of pairs
 *     Dictionary           values that the dictionary's value type accepts
 *
 * Null and undefined are null in all types.
 */

import type { DataType, Dictionary, Field } from "apache-arrow";
import { bytesOf } from "../../bytes/view.js";
import type { Column, FixedColumn, Layout, Validity, VariableColumn } from "../columns/column.js";
import { encodeDictionary } from "../columns/dictionaries.js";
import { validityFrom } from "../columns/validity.js";
import { layoutOf } from "../types/layouts.js";
import { refuse, refuseRow, type ValuePlace } from "./faults.js";
import { fixedValues } from "./fixedValues.js";
import { isNullish, isRecord, iterableItems, memberOf, pairsOf } from "./valueKinds.js";
import { variableColumn } from "./variableValues.js";
import { vectorItems } from "./vectorItems.js";

/**
 * Returns the column of a field.
 * @throws TableSchemaValidationError naming row and column, for a value that the field does not accept;
 *   UnsupportedError
 */
export function encodeValues(values: readonly unknown[], field: Field, origin: ValuePlace): Column {
  return encodeAs(values, field.type, layoutOf(field.type, origin.path), field.nullable, origin);
}

function encodeAs(
  values: readonly unknown[],
  type: DataType,
  layout: Layout,
  isNullable: boolean,
  origin: ValuePlace,
): Column {
  const validity = validityOf(values, type, isNullable, origin);
  const { length } = values;
  switch (layout.kind) {
    case "null":
      return nulls(values, type, origin);
    case "bits":
      return { kind: "bits", length, validity, bits: booleans(values, type, origin), bitOffset: 0 };
    case "fixed":
      return {
        kind: "fixed",
        length,
        validity,
        byteWidth: layout.byteWidth,
        values: fixedValues(values, type, layout.byteWidth, origin),
      };
    case "variable":
      return variableColumn(values, type, layout, validity, origin);
    case "list":
      return listColumn(values, type, layout, validity, origin);
    case "fixedSizeList":
    case "sizedList":
      return sizedColumn(values, type, layout, validity, origin);
    case "struct":
    case "packedStruct":
      return structColumn(values, type, layout, validity, origin);
    case "dictionary":
      return dictionaryColumn(values, type as Dictionary, layout, isNullable, origin);
  }
}

function validityOf(
  values: readonly unknown[],
  type: DataType,
  isNullable: boolean,
  origin: ValuePlace,
): Validity | null {
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

function nulls(values: readonly unknown[], type: DataType, origin: ValuePlace): Column {
  const index = values.findIndex((value) => !isNullish(value));
  if (index >= 0) refuse(origin, index, values[index], `a value of type ${type}`);
  return { kind: "null", length: values.length, validity: null };
}

function booleans(values: readonly unknown[], type: DataType, origin: ValuePlace): Uint8Array {
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (value === true) bits[index >>> 3] |= 1 << (index & 7);
    else if (value !== false && !isNullish(value)) refuse(origin, index, value, `a value of type ${type}`);
  }
  return bits;
}

function listColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "list" }>,
  validity: Validity | null,
  origin: ValuePlace,
): Column {
  const [item] = type.children as Field[];
  const lists = values.map((value, index) => {
    if (isNullish(value)) return [];
    const items = layout.isMap ? pairsOf(value) : iterableItems(value);
    return items ?? refuse(origin, index, value, `a value of type ${type}`);
  });
  const { offsets, flat, owner } = flattened(lists);
  const inner: ValuePlace = {
    ...origin,
    path: `${origin.path}[]`,
    rowOf: (index) => origin.rowOf(owner(index)),
  };
  const items = encodeAs(flat, item.type, layout.item, item.nullable, inner);
  const storedOffsets = layout.offsetBits === 32 ? offsets : BigInt64Array.from(offsets, BigInt);
  return { kind: "list", length: values.length, validity, offsets: storedOffsets, items };
}

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
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "fixedSizeList" | "sizedList" }>,
  validity: Validity | null,
  origin: ValuePlace,
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
    if (isNullish(value)) continue;
    const items = iterableItems(value);
    if (items === null || items.length !== dimension) {
      refuse(origin, index, value, `a value of type ${type} with ${dimension} items`);
    }
    for (let slot = 0; slot < dimension; slot++) flat[index * dimension + slot] = items[slot];
  }
  const inner: ValuePlace = {
    ...origin,
    path: `${origin.path}[]`,
    rowOf: (index) => origin.rowOf(Math.floor(index / dimension)),
  };
  // Null fixed-size lists also have items, and their values mean nothing.
  const isNullable = item.nullable || validity !== null;
  const items = encodeAs(flat, item.type, layout.item as Layout, isNullable, inner);
  if (layout.kind === "sizedList") return { kind: "sizedList", length, validity, dimension, items };
  const listItems = item.nullable ? items : { ...items, validity: null };
  return {
    kind: "fixedSizeList",
    length,
    validity,
    dimension,
    items: listItems as Extract<Column, { kind: "fixedSizeList" }>["items"],
  };
}

function structColumn(
  values: readonly unknown[],
  type: DataType,
  layout: Extract<Layout, { kind: "struct" | "packedStruct" }>,
  validity: Validity | null,
  origin: ValuePlace,
): Column {
  const { length } = values;
  const fields = type.children as Field[];
  const memberNames = new Set(fields.map(({ name }) => name));
  for (let index = 0; index < length; index++) {
    const value = values[index];
    if (isNullish(value)) continue;
    if (!isRecord(value)) refuse(origin, index, value, `a value of type ${type}`);
    for (const name of Object.keys(value)) {
      if (!memberNames.has(name)) refuseRow(origin, index, `the type, ${type}, has no member ${name}`);
    }
  }
  const children = fields.map((field, index) => {
    const members = values.map((value) => (isNullish(value) ? null : memberOf(value as object, field.name)));
    const inner: ValuePlace = {
      ...origin,
      path: `${origin.path}.${field.name}`,
      rowOf: (index) => origin.rowOf(index),
    };
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

function dictionaryColumn(
  values: readonly unknown[],
  type: Dictionary,
  layout: Extract<Layout, { kind: "dictionary" }>,
  isNullable: boolean,
  origin: ValuePlace,
): Column {
  const plain = encodeAs(values, type.dictionary, layout.value, isNullable, origin);
  const encoded = encodeDictionary(plain as VariableColumn | FixedColumn, layout.index.byteWidth);
  if (encoded !== null) return encoded;
  return refuse(origin, values.length - 1, values.at(-1), `no more distinct values than ${type} takes: one`);
}
