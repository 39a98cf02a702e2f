/** Converts values between hyparquet and the forms that columns are made from and decoded to. */

import * as arrow from "apache-arrow";
import type { FileMetaData, SchemaElement, SchemaTree } from "hyparquet";
import type { Column } from "../arrow/columns/column.js";
import { formatDecimal } from "../arrow/objects/decimalText.js";
import { decodeValues } from "../arrow/objects/decodeValues.js";
import { isUint8Array } from "../bytes/anyRealm.js";
import { decodeHalfFloat } from "../bytes/halfFloat.js";
import { UnsupportedError } from "../errors.js";
import { isList, isMap, itemOf } from "./parquetTypes.js";

type Convert = (value: unknown) => unknown;

const DAY_MS = 86_400_000;
const DAY_MS_LONG = 86_400_000n;

// ------------------------------------------------------------------------------------------------- reading

/** Older names of logical types, by which the conversions go. */
const CONVERTED: Readonly<Record<string, SchemaElement["converted_type"]>> = {
  LIST: "LIST",
  MAP: "MAP",
  STRING: "UTF8",
  ENUM: "ENUM",
  JSON: "JSON",
  DECIMAL: "DECIMAL",
  DATE: "DATE",
};

/** Returns metadata whose elements have both names of their logical types, as far as there are two. */
export function completeMetadata(metadata: FileMetaData): FileMetaData {
  const schema = metadata.schema.map((element) => {
    const converted = element.converted_type ?? CONVERTED[element.logical_type?.type ?? ""];
    return converted === undefined ? element : { ...element, converted_type: converted };
  });
  return { ...metadata, schema };
}

/**
 * Returns metadata by which hyparquet gives values as they are stored. Its own dates, decimals and maps
 * would lose digits, and keys that are not texts. Texts stay texts.
 */
export function physicalMetadata(metadata: FileMetaData): FileMetaData {
  return { ...metadata, schema: metadata.schema.map(physicalElement) };
}

function physicalElement(element: SchemaElement): SchemaElement {
  const { converted_type: converted, logical_type: _, ...rest } = element;
  const kept = element.num_children ? (converted === "LIST" ? converted : undefined) : textType(converted);
  return kept === undefined ? rest : { ...rest, converted_type: kept };
}

const textType = (converted: SchemaElement["converted_type"]): "UTF8" | undefined =>
  converted === "UTF8" || converted === "JSON" || converted === "ENUM" ? "UTF8" : undefined;

/**
 * Returns a function that makes values for `encodeValues` with the type of `arrowFieldOf`; null if values
 * stay as they are.
 * @param node node of the file's own schema
 */
export function valueReader(node: SchemaTree, type: arrow.DataType): Convert | null {
  const { element } = node;
  if (element.repetition_type === "REPEATED") {
    const [item] = type.children as arrow.Field[];
    return mapped(valueReader({ ...node, element: { ...element, repetition_type: "REQUIRED" } }, item.type));
  }
  if (node.children.length === 0) return leafReader(element, type);
  if (isList(node)) {
    const item = itemOf(node);
    const plain = { ...item, element: { ...item.element, repetition_type: "REQUIRED" as const } };
    return mapped(valueReader(plain, (type.children as arrow.Field[])[0].type));
  }
  if (isMap(node)) return mapReader(node, type);
  const readers = node.children.map((child, index) => ({
    name: child.element.name,
    read: valueReader(child, (type.children as arrow.Field[])[index].type),
  }));
  if (readers.every(({ read }) => read === null)) return null;
  return orNull((value) => {
    const members = value as Record<string, unknown>;
    return Object.fromEntries(
      readers.map(({ name, read }) => [name, read === null ? members[name] : read(members[name])]),
    );
  });
}

const orNull =
  (convert: Convert): Convert =>
  (value) =>
    value === null || value === undefined ? null : convert(value);

const mapped = (convert: Convert | null): Convert | null =>
  convert && orNull((items) => Array.from(items as ArrayLike<unknown>, convert));

/** hyparquet gives a map as an object with the repeated group of its pairs. */
function mapReader(node: SchemaTree, type: arrow.DataType): Convert {
  const [repeated] = node.children;
  const [keyNode, valueNode] = repeated.children;
  const [entries] = type.children as arrow.Field[];
  const [key, value] = (entries.type.children as arrow.Field[]).map((field) => field.type);
  const readKey = valueReader(keyNode, key);
  const readValue = valueReader(valueNode, value);
  return orNull((map) => {
    const pairs = ((map as Record<string, unknown>)[repeated.element.name] ?? []) as Record<
      string,
      unknown
    >[];
    return pairs.map((pair) => {
      const [pairKey, pairValue] = [pair[keyNode.element.name], pair[valueNode.element.name]];
      return [
        readKey === null ? pairKey : readKey(pairKey),
        readValue === null ? pairValue : readValue(pairValue),
      ];
    });
  });
}

function leafReader(element: SchemaElement, type: arrow.DataType): Convert | null {
  switch (type.typeId) {
    case arrow.Type.Int: {
      const { isSigned, bitWidth } = type as arrow.Int;
      if (isSigned || bitWidth < 32) return null;
      if (bitWidth === 32) return orNull((value) => (value as number) >>> 0);
      return orNull((value) => BigInt.asUintN(64, value as bigint));
    }
    case arrow.Type.Float: {
      if ((type as arrow.Float).precision !== arrow.Precision.HALF) return null;
      return orNull((value) => decodeHalfFloat((value as Uint8Array)[0] | ((value as Uint8Array)[1] << 8)));
    }
    case arrow.Type.Date:
      return orNull((days) => (days as number) * DAY_MS);
    case arrow.Type.Decimal: {
      const { scale = 0 } = element;
      return orNull((value) =>
        formatDecimal(isUint8Array(value) ? signedOf(value) : BigInt(value as number), scale),
      );
    }
    default:
      return null;
  }
}

/** Returns the value of a big-endian two's complement number. */
function signedOf(bytes: Uint8Array): bigint {
  let hex = "0x0";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return BigInt.asIntN(bytes.length * 8, BigInt(hex));
}

// ------------------------------------------------------------------------------------------------- writing

/**
 * Returns the values of a column as hyparquet-writer stores them.
 * @param path path of the column, for messages
 */
export function parquetValues(column: Column, type: arrow.DataType, path: string): unknown[] {
  const values = decodeValues(column, storedType(type), { dates: "number", bigints: "bigint" });
  const convert = valueWriter(type, path);
  return convert === null ? values : values.map(convert);
}

/** Returns the type with the same layout whose decoded values have all digits. */
function storedType(type: arrow.DataType): arrow.DataType {
  switch (type.typeId) {
    case arrow.Type.Timestamp:
    case arrow.Type.Duration:
      return new arrow.Int64();
    case arrow.Type.Date:
      return (type as arrow.Date_).unit === arrow.DateUnit.DAY ? new arrow.Int32() : new arrow.Int64();
    case arrow.Type.Time:
      return (type as arrow.Time).bitWidth === 32 ? new arrow.Int32() : new arrow.Int64();
    case arrow.Type.Dictionary: {
      const { dictionary, indices } = type as arrow.Dictionary;
      return new arrow.Dictionary(storedType(dictionary), indices as arrow.Int32);
    }
    case arrow.Type.List:
      return new arrow.List(storedField((type.children as arrow.Field[])[0]));
    case arrow.Type.FixedSizeList:
      return new arrow.FixedSizeList(
        (type as arrow.FixedSizeList).listSize,
        storedField((type.children as arrow.Field[])[0]),
      );
    case arrow.Type.Map:
      return new arrow.Map_(storedField((type.children as arrow.Field[])[0]) as never);
    case arrow.Type.Struct:
      return new arrow.Struct((type.children as arrow.Field[]).map(storedField));
    default:
      return type;
  }
}

const storedField = ({ name, type, nullable }: arrow.Field): arrow.Field =>
  new arrow.Field(name, storedType(type), nullable);

function valueWriter(type: arrow.DataType, path: string): Convert | null {
  const children = (type.children ?? []) as arrow.Field[];
  switch (type.typeId) {
    case arrow.Type.Timestamp:
      return (type as arrow.Timestamp).unit === arrow.TimeUnit.SECOND ? orNull(thousandfold) : null;
    case arrow.Type.Time:
      return (type as arrow.Time).unit === arrow.TimeUnit.SECOND ? orNull(thousandfold) : null;
    case arrow.Type.Date:
      return (type as arrow.Date_).unit === arrow.DateUnit.DAY
        ? null
        : orNull((ms) => dayOf(ms as bigint, path));
    case arrow.Type.Decimal:
      return orNull((text) => BigInt((text as string).replace(".", "")));
    case arrow.Type.Dictionary:
      return valueWriter((type as arrow.Dictionary).dictionary, path);
    case arrow.Type.List:
      return mapped(valueWriter(children[0].type, `${path}[]`));
    case arrow.Type.FixedSizeList: {
      const convert = valueWriter(children[0].type, `${path}[]`);
      return mapped(convert ?? ((item) => item));
    }
    case arrow.Type.Map: {
      const [key, value] = children[0].type.children as arrow.Field[];
      const [writeKey, writeValue] = [
        valueWriter(key.type, `${path}.key`),
        valueWriter(value.type, `${path}.value`),
      ];
      return orNull((map) =>
        Array.from(map as Map<unknown, unknown>, ([key, value]) => ({
          key: writeKey === null ? key : writeKey(key),
          value: writeValue === null ? value : writeValue(value),
        })),
      );
    }
    case arrow.Type.Struct: {
      const writers = children.map((field) => ({
        name: field.name,
        write: valueWriter(field.type, `${path}.${field.name}`),
      }));
      if (writers.every(({ write }) => write === null)) return null;
      return orNull((value) => {
        const members = value as Record<string, unknown>;
        return Object.fromEntries(
          writers.map(({ name, write }) => [name, write === null ? members[name] : write(members[name])]),
        );
      });
    }
    default:
      return null;
  }
}

const thousandfold = (value: unknown): unknown =>
  typeof value === "bigint" ? value * 1000n : (value as number) * 1000;

function dayOf(ms: bigint, path: string): number {
  if (ms % DAY_MS_LONG === 0n) return Number(ms / DAY_MS_LONG);
  throw new UnsupportedError(
    `writeParquet: column ${path}: ${ms} ms after 1970 is not midnight, and dates of Parquet have no time of day`,
  );
}
