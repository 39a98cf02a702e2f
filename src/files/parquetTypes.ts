/** Pairs types of Arrow with the schema elements of Parquet. */

import * as arrow from "apache-arrow";
import type { SchemaElement, SchemaTree } from "hyparquet";
import { UnsupportedError } from "../errors.js";

/** Types of time, in Arrow's order of units: seconds, milliseconds, microseconds, nanoseconds. */
const UNITS = ["MILLIS", "MILLIS", "MICROS", "NANOS"] as const;
const TIMESTAMPS = {
  MILLIS: arrow.TimestampMillisecond,
  MICROS: arrow.TimestampMicrosecond,
  NANOS: arrow.TimestampNanosecond,
};
const INTEGERS = {
  8: [arrow.Uint8, arrow.Int8],
  16: [arrow.Uint16, arrow.Int16],
  32: [arrow.Uint32, arrow.Int32],
  64: [arrow.Uint64, arrow.Int64],
} as const;

// ------------------------------------------------------------------------------------- Parquet to Arrow

/** True for a node that hyparquet returns as an array of its items. */
export const isList = ({ element, children }: SchemaTree): boolean =>
  element.converted_type === "LIST" &&
  children.length === 1 &&
  children[0].element.repetition_type === "REPEATED" &&
  children[0].children.length <= 1;

/** Returns the node of a list's items. */
export const itemOf = ({ children: [repeated] }: SchemaTree): SchemaTree =>
  repeated.children.length === 1 ? repeated.children[0] : repeated;

/** True for a map: a group with a repeated group of keys and values. */
export const isMap = ({ element, children }: SchemaTree): boolean =>
  (element.converted_type === "MAP" || element.converted_type === "MAP_KEY_VALUE") &&
  children.length === 1 &&
  children[0].children.length === 2;

/**
 * Returns the field of a column or member.
 * @throws UnsupportedError naming the column
 */
export function arrowFieldOf(node: SchemaTree): arrow.Field {
  const { element } = node;
  const isRepeated = element.repetition_type === "REPEATED";
  const type = typeOf(node);
  const item = isRepeated ? new arrow.List(new arrow.Field("item", type, false)) : type;
  return new arrow.Field(element.name, item, element.repetition_type !== "REQUIRED" && !isRepeated);
}

function typeOf(node: SchemaTree): arrow.DataType {
  if (node.children.length === 0) return leafType(node.element, node.path.join("."));
  if (isList(node)) {
    const item = itemOf(node);
    const isNullable = item.element.repetition_type === "OPTIONAL";
    return new arrow.List(new arrow.Field("item", typeOf(item), isNullable));
  }
  if (isMap(node)) {
    const [key, value] = node.children[0].children;
    const entries = new arrow.Struct([
      new arrow.Field("key", typeOf(key), false),
      new arrow.Field("value", typeOf(value), value.element.repetition_type !== "REQUIRED"),
    ]);
    return new arrow.Map_(new arrow.Field("entries", entries, false) as never);
  }
  return new arrow.Struct(node.children.map(arrowFieldOf));
}

function leafType(element: SchemaElement, path: string): arrow.DataType {
  const { type, converted_type: converted, logical_type: logical, type_length: length = 0 } = element;
  const unsupported = (what: string) =>
    new UnsupportedError(`readParquet: column ${path}: ${what} is not read`);
  switch (logical?.type) {
    case "TIMESTAMP":
      return new TIMESTAMPS[logical.unit](logical.isAdjustedToUTC ? "UTC" : null);
    case "TIME":
      return timeType(logical.unit);
    case "INTEGER":
      return new INTEGERS[logical.bitWidth as 8][logical.isSigned ? 1 : 0]();
    case "FLOAT16":
      return new arrow.Float16();
    case "VARIANT":
      throw unsupported("the type VARIANT");
  }
  switch (converted) {
    case "UTF8":
    case "ENUM":
    case "JSON":
      return new arrow.Utf8();
    case "DECIMAL": {
      const { scale = 0, precision = 38 } = element;
      return new arrow.Decimal(scale, precision, precision > 38 ? 256 : 128);
    }
    case "DATE":
      return new arrow.DateDay();
    case "TIME_MILLIS":
    case "TIME_MICROS":
      return timeType(converted === "TIME_MILLIS" ? "MILLIS" : "MICROS");
    case "TIMESTAMP_MILLIS":
    case "TIMESTAMP_MICROS":
      return new TIMESTAMPS[converted === "TIMESTAMP_MILLIS" ? "MILLIS" : "MICROS"]("UTC");
    case "INTERVAL":
    case "BSON":
      throw unsupported(`the type ${converted}`);
  }
  const integer = /^(U?)INT_(8|16|32|64)$/.exec(converted ?? "");
  if (integer !== null) return new INTEGERS[Number(integer[2]) as 8][integer[1] === "U" ? 0 : 1]();
  switch (type) {
    case "BOOLEAN":
      return new arrow.Bool();
    case "INT32":
      return new arrow.Int32();
    case "INT64":
      return new arrow.Int64();
    case "INT96":
      return new arrow.TimestampNanosecond();
    case "FLOAT":
      return new arrow.Float32();
    case "DOUBLE":
      return new arrow.Float64();
    case "BYTE_ARRAY":
      return new arrow.Binary();
    case "FIXED_LEN_BYTE_ARRAY":
      return new arrow.FixedSizeBinary(length);
    default:
      throw unsupported(`the type ${type}`);
  }
}

function timeType(unit: (typeof UNITS)[number]): arrow.DataType {
  if (unit === "MILLIS") return new arrow.TimeMillisecond();
  return unit === "MICROS" ? new arrow.TimeMicrosecond() : new arrow.TimeNanosecond();
}

// ------------------------------------------------------------------------------------- Arrow to Parquet

/**
 * Returns the schema elements of a column, those of its members included.
 * @param path path of the column, for messages
 * @throws UnsupportedError naming column and type, for a type that Parquet lacks
 */
export function elementsOf({ name, type, nullable }: arrow.Field, path: string): SchemaElement[] {
  const repetition_type = nullable ? "OPTIONAL" : "REQUIRED";
  const [first, ...rest] = typeElements(type, path);
  return [{ ...first, name, repetition_type } as SchemaElement, ...rest];
}

type PartialElement = Omit<SchemaElement, "name">;

function typeElements(type: arrow.DataType, path: string): [PartialElement, ...SchemaElement[]] {
  const children = (type.children ?? []) as arrow.Field[];
  switch (type.typeId) {
    case arrow.Type.Dictionary:
      return typeElements((type as arrow.Dictionary).dictionary, path);
    case arrow.Type.List:
    case arrow.Type.FixedSizeList: {
      const [item] = children;
      const elements = elementsOf(new arrow.Field("element", item.type, item.nullable), `${path}[]`);
      const repeated = { name: "list", repetition_type: "REPEATED", num_children: 1 } as const;
      return [{ ...group(1), converted_type: "LIST", logical_type: { type: "LIST" } }, repeated, ...elements];
    }
    case arrow.Type.Map: {
      const [key, value] = children[0].type.children as arrow.Field[];
      const pair = [
        new arrow.Field("key", key.type, false),
        new arrow.Field("value", value.type, value.nullable),
      ];
      const elements = pair.flatMap((field) => elementsOf(field, `${path}.${field.name}`));
      const repeated = { name: "key_value", repetition_type: "REPEATED", num_children: 2 } as const;
      return [{ ...group(1), converted_type: "MAP", logical_type: { type: "MAP" } }, repeated, ...elements];
    }
    case arrow.Type.Struct:
      if (children.length === 0) throw unwritten(type, path);
      return [
        group(children.length),
        ...children.flatMap((field) => elementsOf(field, `${path}.${field.name}`)),
      ];
    default:
      return [leafElement(type, path)];
  }
}

const group = (count: number): PartialElement => ({ num_children: count });

const unwritten = (type: arrow.DataType, path: string): UnsupportedError =>
  new UnsupportedError(`writeParquet: column ${path}: Parquet has no type for ${type}`);

interface TypeParameters {
  readonly unit: number;
  readonly timezone?: string | null;
  readonly bitWidth: number;
  readonly isSigned: boolean;
  readonly precision: number;
  readonly scale: number;
  readonly byteWidth: number;
}

function leafElement(type: arrow.DataType, path: string): PartialElement {
  const { unit, timezone, bitWidth, isSigned, precision, scale, byteWidth } =
    type as unknown as TypeParameters;
  switch (type.typeId) {
    case arrow.Type.Null:
      return { type: "INT32", logical_type: { type: "NULL" } };
    case arrow.Type.Bool:
      return { type: "BOOLEAN" };
    case arrow.Type.Int: {
      const physical = bitWidth === 64 ? "INT64" : "INT32";
      if (isSigned && bitWidth >= 32) return { type: physical };
      // hyparquet-writer stores the width of a logical type in a form that other readers refuse.
      return { type: physical, converted_type: `${isSigned ? "" : "U"}INT_${bitWidth as 8}` };
    }
    case arrow.Type.Float:
      if (precision === arrow.Precision.HALF) {
        return { type: "FIXED_LEN_BYTE_ARRAY", type_length: 2, logical_type: { type: "FLOAT16" } };
      }
      return { type: precision === arrow.Precision.SINGLE ? "FLOAT" : "DOUBLE" };
    case arrow.Type.Utf8:
    case arrow.Type.LargeUtf8:
      return { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
    case arrow.Type.Binary:
    case arrow.Type.LargeBinary:
      return { type: "BYTE_ARRAY" };
    case arrow.Type.FixedSizeBinary:
      if (byteWidth === 0) throw unwritten(type, path);
      return { type: "FIXED_LEN_BYTE_ARRAY", type_length: byteWidth };
    case arrow.Type.Decimal: {
      if (scale < 0 || scale > precision) throw unwritten(type, path);
      const logical_type = { type: "DECIMAL", precision, scale } as const;
      const type_length = bitWidth / 8;
      return {
        type: "FIXED_LEN_BYTE_ARRAY",
        type_length,
        converted_type: "DECIMAL",
        precision,
        scale,
        logical_type,
      };
    }
    case arrow.Type.Date:
      return { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } };
    case arrow.Type.Timestamp: {
      const isAdjustedToUTC = typeof timezone === "string" && timezone !== "";
      return { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC, unit: UNITS[unit] } };
    }
    case arrow.Type.Time: {
      const physical = unit <= arrow.TimeUnit.MILLISECOND ? "INT32" : "INT64";
      return { type: physical, logical_type: { type: "TIME", isAdjustedToUTC: false, unit: UNITS[unit] } };
    }
    case arrow.Type.Duration:
      return { type: "INT64" };
    default:
      throw unwritten(type, path);
  }
}
