/**
 * Casts values to another type and keeps what they mean:
 *
 *     integers            other widths and signs; floats that have the value exactly
 *     floats              other widths: rounded, but never to infinity; integers, if they have no fraction
 *     text                integers, floats, decimals, dates, timestamps and times, and each of these as text
 *     decimals            other precisions and scales
 *     dates, timestamps   each other, and other units; without time zone or in UTC
 *     timestamps          of a time zone in another one, or in UTC
 *     times, durations    other units
 *     text, binary        large or not
 *     dictionaries        their values, and values as dictionaries
 *     lists               large or not, with items cast; a fixed-size list as a list, and a list as a
 *                         fixed-size list if every list has its size
 *     structs, maps       with members cast, which keep names and order
 *
 * The two types alone decide if there is a cast. A value that the new type cannot hold is an error.
 */

import type { FixedSizeListColumn, ListColumn } from "../arrow/columns/column.js";
import { decodeDictionary } from "../arrow/columns/dictionaries.js";
import { encodeDictionary } from "../arrow/columns/dictionaryEncoder.js";
import { areNarrow } from "../arrow/columns/offsets.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { isValid } from "../arrow/columns/validity.js";
import type { LogicalField } from "../arrow/types/logicalTypes.js";
import {
  type DictionaryType,
  type FixedSizeListType,
  isSameType,
  type LogicalType,
  typeInText,
} from "../arrow/types/type.js";
import { InternalError, InvalidInputError, TableSchemaValidationError } from "../errors.js";
import { numberCast } from "./castNumbers.js";
import { type Cast, type RowOf, rowsOfItems } from "./castRows.js";
import { textCast } from "./castTexts.js";

const MAX_OFFSET_32 = 0x7fff_ffff;

/** @throws InvalidInputError if values of one type cannot be cast to the other */
export function castBetween(from: LogicalField, to: LogicalField, path: string): Cast {
  const cast = fieldCast(from, to, path);
  if (cast !== null) return cast;
  throw new InvalidInputError(
    `column ${path} of type ${typeInText(from.type)} cannot be cast to type ${typeInText(to.type)}`,
  );
}

/** Null if there is no cast. */
function fieldCast(from: LogicalField, to: LogicalField, path: string): Cast | null {
  const cast = valueCast(from, to, path);
  if (cast === null || to.nullable || !from.nullable) return cast;
  return (column, rowOf) => {
    if (column.validity === null && (column.kind !== "null" || column.length === 0))
      return cast(column, rowOf);
    throw new TableSchemaValidationError(`column ${path}: it holds nulls, and the new type is not nullable`);
  };
}

function valueCast(from: LogicalField, to: LogicalField, path: string): Cast | null {
  if (from.children.length === 0 && to.children.length === 0) {
    return typeCast(from.type, to.type, path);
  }
  if (from.children.length === 0 && to.children.length === 1) {
    return from.type.kind === "fixedSizeList" ? sizedToList(from.type, to, path) : null;
  }
  if (from.children.length === 1 && to.children.length === 0) {
    return to.type.kind === "fixedSizeList" && from.type.kind === "list"
      ? listToSized(from, to.type, path)
      : null;
  }
  if (from.children.length !== to.children.length) return null;
  if (from.type.kind === "list") return listToList(from, to, path);
  if (from.type.kind !== to.type.kind) return null;
  if (from.type.kind === "struct") return structToStruct(from, to, path);
  if (from.type.kind !== "map") return null;
  const entries = structToStruct(from.children[0], to.children[0], path);
  if (entries === null) return null;
  return (column, rowOf) => withItems(column as ListColumn, entries, 32, { path, rowOf });
}

/** Bits of one offset of text, bytes or lists. */
const offsetBits = ({ large }: { readonly large: boolean }): 32 | 64 => (large ? 64 : 32);

/** Returns the field of a fixed-size list's items. One is made if the items have no field of their own. */
const itemOf = ({ of }: FixedSizeListType): LogicalField => ({
  name: "item",
  type: of,
  nullable: true,
  metadata: new Map(),
  children: [],
});

function listToList(from: LogicalField, { type, children }: LogicalField, path: string): Cast | null {
  if (type.kind !== "list") return null;
  const items = fieldCast(from.children[0], children[0], path);
  if (items === null) return null;
  return (column, rowOf) => withItems(column as ListColumn, items, offsetBits(type), { path, rowOf });
}

function withItems(
  list: ListColumn,
  items: Cast,
  bits: 32 | 64,
  { path, rowOf }: { readonly path: string; readonly rowOf: RowOf },
): ListColumn {
  const first = Number(list.offsets[0]);
  const count = Number(list.offsets[list.length]) - first;
  return {
    ...list,
    offsets: offsetsOf(list.offsets, bits, path),
    items: items(sliceColumn(list.items, first, count), rowsOfItems(list.offsets, rowOf)),
  };
}

function sizedToList(from: FixedSizeListType, { type, children }: LogicalField, path: string): Cast | null {
  if (type.kind !== "list") return null;
  const items = fieldCast(itemOf(from), children[0], path);
  if (items === null) return null;
  return (column, rowOf) => {
    const { dimension, items: values, length, validity } = column as FixedSizeListColumn;
    const offsets = new BigInt64Array(length + 1).map((_, row) => BigInt(row * dimension));
    return {
      kind: "list",
      length,
      validity,
      offsets: offsetsOf(offsets, offsetBits(type), path),
      items: items(values, (index) => rowOf(Math.floor(index / dimension))),
    };
  };
}

function listToSized(from: LogicalField, to: FixedSizeListType, path: string): Cast | null {
  const { size: dimension } = to;
  const cast = fieldCast(from.children[0], itemOf(to), path);
  if (cast === null) return null;
  return (column, rowOf) => {
    const list = column as ListColumn;
    const { length, validity } = list;
    const first = Number(list.offsets[0]);
    const count = Number(list.offsets[length]) - first;
    const inner = sliceColumn(list.items, first, count);
    const items = cast(inner, rowsOfItems(list.offsets, rowOf)) as FixedSizeListColumn["items"];
    const itemIndexes = new Uint32Array(length * dimension);
    for (let row = 0; row < length; row++) {
      // A null list may have any number of items, and their values mean nothing.
      if (!isValid(validity, row)) continue;
      const start = Number(list.offsets[row]);
      const size = Number(list.offsets[row + 1]) - start;
      if (size !== dimension) {
        throw new TableSchemaValidationError(
          `row ${rowOf(row)}, column ${path}: a list of ${size} items does not fit type ${typeInText(to)}`,
        );
      }
      for (let index = 0; index < dimension; index++)
        itemIndexes[row * dimension + index] = start - first + index;
    }
    const spread = count > 0 ? takeColumn(items, itemIndexes) : zeros(items, itemIndexes.length);
    return { kind: "fixedSizeList", length, validity, dimension, items: spread };
  };
}

/** Returns items of the same kind, all of them zero. */
function zeros(like: FixedSizeListColumn["items"], length: number): FixedSizeListColumn["items"] {
  switch (like.kind) {
    case "fixed":
      return { ...like, length, validity: null, values: new Uint8Array(length * like.byteWidth) };
    case "bits":
      return { ...like, length, validity: null, bits: new Uint8Array(Math.ceil(length / 8)), bitOffset: 0 };
    case "fixedSizeList":
      return { ...like, length, validity: null, items: zeros(like.items, length * like.dimension) };
  }
}

function structToStruct(from: LogicalField, to: LogicalField, path: string): Cast | null {
  if (from.children.length !== to.children.length) return null;
  const casts: Cast[] = [];
  for (const [index, child] of from.children.entries()) {
    const cast = child.name === to.children[index].name ? fieldCast(child, to.children[index], path) : null;
    if (cast === null) return null;
    casts.push(cast);
  }
  return (column, rowOf) => {
    if (column.kind !== "struct")
      throw new InternalError(`a column of kind ${column.kind} cannot hold a struct`);
    return { ...column, children: column.children.map((child, index) => casts[index](child, rowOf)) };
  };
}

/** The cast between types without children; null if there is none. */
function typeCast(from: LogicalType, to: LogicalType, path: string): Cast | null {
  if (isSameType(from, to)) return (column) => column;
  if ((to.kind === "string" || to.kind === "binary") && from.kind === to.kind) {
    const bits = offsetBits(to);
    return (column) => {
      if (column.kind !== "variable")
        throw new InternalError(`a column of kind ${column.kind} cannot hold text`);
      const first = Number(column.offsets[0]);
      const bytes = column.bytes.subarray(first, Number(column.offsets[column.length]));
      return { ...column, bytes, offsets: offsetsOf(column.offsets, bits, path) };
    };
  }
  if (from.kind === "dictionary") {
    const values = typeCast(from.values, to, path);
    if (values === null) return null;
    return (column, rowOf) => values(column.kind === "dictionary" ? decodeDictionary(column) : column, rowOf);
  }
  if (to.kind === "dictionary") return dictionaryCast(from, to, path);
  if (from.kind === "fixedSizeList" && to.kind === "fixedSizeList") {
    const items = from.size === to.size ? typeCast(from.of, to.of, path) : null;
    if (items === null) return null;
    return (column, rowOf) => {
      const list = column as FixedSizeListColumn;
      const rowOfItem = (index: number) => rowOf(Math.floor(index / from.size));
      return { ...list, items: items(list.items, rowOfItem) as FixedSizeListColumn["items"] };
    };
  }
  return textCast(from, to, path) ?? numberCast(from, to, path);
}

/** Casts values to a dictionary's, with one dictionary for each batch. */
function dictionaryCast(from: LogicalType, to: DictionaryType, path: string): Cast | null {
  const values = typeCast(from, to.values, path);
  if (values === null) return null;
  return (column, rowOf) => {
    const plain = values(column, rowOf);
    if (plain.kind !== "variable" && plain.kind !== "fixed") {
      throw new InternalError(`a column of kind ${plain.kind} cannot be a dictionary`);
    }
    const dictionary = encodeDictionary(plain, to.indices.bits / 8);
    if (dictionary !== null) return dictionary;
    throw new TableSchemaValidationError(
      `column ${path}: a batch has more distinct values than indices of type ${typeInText(to.indices)}`,
    );
  };
}

/** Returns the offsets in another width, counted from 0. */
function offsetsOf(
  offsets: Int32Array | BigInt64Array,
  bits: 32 | 64,
  path: string,
): Int32Array | BigInt64Array {
  const first = Number(offsets[0]);
  if (Number(offsets[offsets.length - 1]) - first > MAX_OFFSET_32 && bits === 32) {
    throw new TableSchemaValidationError(`column ${path}: a batch has more than 2^31 - 1 bytes or items`);
  }
  const result = bits === 32 ? new Int32Array(offsets.length) : new BigInt64Array(offsets.length);
  const narrow = areNarrow(result);
  for (let index = 0; index < offsets.length; index++) {
    const offset = Number(offsets[index]) - first;
    if (narrow) result[index] = offset;
    else result[index] = BigInt(offset);
  }
  return result;
}

/** Steps per row of a cast between text and times of a named zone, whose offset is looked up. */
const ZONED_STEPS = 4096;
/** Steps per row of a cast to or from text. */
const TEXT_STEPS = 256;

/** Returns the approximate steps per row of a cast. */
export function castSteps(from: LogicalField, to: LogicalField): number {
  const kinds = [from, to].map(({ type }) => (type.kind === "dictionary" ? type.values : type));
  const isText = kinds.some(({ kind }) => kind === "string") && kinds[0].kind !== kinds[1].kind;
  const isZoned = kinds.some((type) => type.kind === "timestamp" && type.timezone !== null);
  const steps = isText ? (isZoned ? ZONED_STEPS : TEXT_STEPS) : 1;
  return from.children.reduce((most, child, index) => {
    const target = to.children[index];
    return target === undefined ? most : Math.max(most, castSteps(child, target));
  }, steps);
}
