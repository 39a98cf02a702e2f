/**
 * Arrow types in their four spellings: apache-arrow's classes, physical layouts, the logical type strings that
 * a table's schema holds, and the JSON of the namespace spec. Each direction is one exhaustive switch; a type
 * that this build cannot store is an `UnsupportedError`, parameters that no Arrow type has an
 * `InvalidInputError`, both naming the column.
 *
 *     logical type string                    Arrow type
 *     null bool int8 … uint64                Null Bool Int8 … Uint64
 *     halffloat float double                 Float16 Float32 Float64
 *     string large_string                    Utf8 LargeUtf8
 *     binary large_binary                    Binary LargeBinary
 *     fixed_size_binary:<bytes>              FixedSizeBinary
 *     date32:day date64:ms                   Date
 *     time32:s|ms time64:us|ns               Time
 *     timestamp:<unit>:<zone or ->           Timestamp
 *     duration:<unit>                        Duration
 *     decimal:128|256:<precision>:<scale>    Decimal
 *     fixed_size_list:<item>:<dimension>     FixedSizeList; the item's name and nullability are not kept, nor its
 *                                            extension type unless it is lance.bfloat16
 *     fixed_size_list:struct:<dimension>     FixedSizeList of structs; the item is a child
 *     dict:<value>:<index>:false             Dictionary; whether it is ordered is not kept
 *     list large_list                        List LargeList; the item is a child
 *     list.struct large_list.struct          the same, of structs
 *     struct                                 Struct, a child per member, of which there may be none
 *     map                                    Map; its child is a struct of key and value
 *     json                                   Utf8 of the extension type arrow.json; a file has it as JSONB
 */

import {
  Binary,
  BinaryView,
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Decimal,
  DenseUnion,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  Interval,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  Null,
  Schema,
  SparseUnion,
  Struct,
  Time,
  Timestamp,
  Type,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
  Utf8View,
} from "apache-arrow";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import type { FixedLayout, Layout } from "./column.js";

/** Separates the parts of a logical type string, so a time zone cannot hold it. */
const SEPARATOR = ":";
const TIME_UNITS = ["s", "ms", "us", "ns"] as const;
const FLOAT_BYTES = [2, 4, 8] as const;
const FLOAT_NAMES = ["halffloat", "float", "double"] as const;
const EXTENSION_NAME_KEY = "ARROW:extension:name";
const EXTENSION_METADATA_KEY = "ARROW:extension:metadata";
/** 16-bit floats of 8 bits of exponent, which Arrow has as 2 bytes. */
const BFLOAT16_EXTENSION = "lance.bfloat16";
/** Arrow's extension type of JSON as text, and the format's of JSON in binary form. */
const JSON_TEXT_EXTENSION = "arrow.json";
const JSON_BINARY_EXTENSION = "lance.json";
/** The type that both are in a table's schema. */
const JSON_LOGICAL_TYPE = "json";
/** Largest number of items or bytes that one value of a fixed size may have; Arrow keeps it in 32 bits. */
const MAX_FIXED_SIZE = 0x7fffffff;

/** The parameters of a type of any version of apache-arrow; which are there depends on `typeId`. */
export interface ForeignType {
  readonly typeId: number;
  readonly isSigned?: boolean;
  readonly bitWidth?: number;
  readonly precision?: number;
  readonly scale?: number;
  readonly unit?: number;
  readonly timezone?: string | null;
  readonly byteWidth?: number;
  readonly listSize?: number;
  readonly mode?: number;
  readonly typeIds?: ArrayLike<number>;
  readonly keysSorted?: boolean;
  readonly children?: readonly ForeignField[] | null;
  readonly indices?: ForeignType;
  readonly dictionary?: ForeignType;
  readonly isOrdered?: boolean;
}

/** A field of any version of apache-arrow. */
export interface ForeignField {
  readonly name: string;
  readonly type: ForeignType;
  readonly nullable: boolean;
  readonly metadata?: ReadonlyMap<string, string> | null;
}

/** A schema of any version of apache-arrow. */
export interface ForeignSchema {
  readonly fields: readonly ForeignField[];
  readonly metadata?: ReadonlyMap<string, string> | null;
}

/**
 * How values of the type lie in memory and in a file.
 * @param path the column, for messages
 * @throws UnsupportedError, InvalidInputError
 */
export function layoutOf(type: DataType, path: string): Layout {
  const foreign: ForeignType = type;
  switch (foreign.typeId) {
    case Type.Null:
      return { kind: "null" };
    case Type.Bool:
      return { kind: "bits" };
    case Type.Int:
      return fixed(integerBytes(foreign, path));
    case Type.Float:
      return fixed(FLOAT_BYTES[floatPrecision(foreign, path)]);
    case Type.Decimal:
      return fixed(decimalBits(foreign, path) / 8);
    case Type.Date:
      return fixed(foreign.unit === 0 ? 4 : 8);
    case Type.Time:
      return fixed(timeBits(foreign, path) / 8);
    case Type.Timestamp:
      timeUnit(foreign, path);
      timeZone(foreign, path);
      return fixed(8);
    case Type.Duration:
      timeUnit(foreign, path);
      return fixed(8);
    case Type.FixedSizeBinary:
      return fixed(fixedSize(foreign.byteWidth, "bytes", path));
    case Type.Utf8:
      return { kind: "variable", offsetBits: 32, text: true };
    case Type.LargeUtf8:
      return { kind: "variable", offsetBits: 64, text: true };
    case Type.Binary:
      return { kind: "variable", offsetBits: 32, text: false };
    case Type.LargeBinary:
      return { kind: "variable", offsetBits: 64, text: false };
    case Type.FixedSizeList: {
      const item = layoutOf((type as FixedSizeList).valueType, path);
      const dimension = fixedSize(foreign.listSize, "items", path);
      switch (item.kind) {
        case "fixed":
        case "bits":
        case "fixedSizeList":
          return { kind: "fixedSizeList", dimension, item };
        case "struct":
          // The reference writes such lists and does not find its way through them again.
          if (holds(item, "list")) throw unsupported(type, path);
          return { kind: "sizedList", dimension, item, itemNullable: type.children[0].nullable };
        case "variable":
        case "dictionary":
        case "null":
        case "list":
        case "sizedList":
        case "packedStruct":
          throw unsupported(type, path);
      }
      break;
    }
    case Type.List:
    case Type.LargeList: {
      const [item] = type.children;
      const itemLayout = layoutOf(item.type, `${path}.${item.name}`);
      if (holds(itemLayout, "sizedList")) throw unsupported(type, path);
      return {
        kind: "list",
        offsetBits: foreign.typeId === Type.List ? 32 : 64,
        item: itemLayout,
        itemNullable: item.nullable,
        isMap: false,
      };
    }
    case Type.Map: {
      const [entries] = type.children;
      const item = layoutOf(entries.type, `${path}.${entries.name}`);
      if (item.kind !== "struct" || item.children.length !== 2) {
        throw new InvalidInputError(`column ${path}: the entries of a map are not pairs of key and value`);
      }
      if (holds(item, "sizedList")) throw unsupported(type, path);
      return { kind: "list", offsetBits: 32, item, itemNullable: false, isMap: true };
    }
    case Type.Struct:
      if (type.children.length === 0) return { kind: "packedStruct", children: [] };
      return {
        kind: "struct",
        children: (type.children as Field[]).map((child) => ({
          name: child.name,
          layout: layoutOf(child.type, `${path}.${child.name}`),
          nullable: child.nullable,
        })),
      };
    case Type.Dictionary: {
      const { dictionary, indices } = type as Dictionary;
      const indexParameters: ForeignType = indices;
      if (indexParameters.typeId !== Type.Int) {
        throw new InvalidInputError(`column ${path}: dictionary indices of type ${indices} are not integers`);
      }
      const value = layoutOf(dictionary, path);
      switch (value.kind) {
        case "variable":
        case "fixed":
          return {
            kind: "dictionary",
            index: fixed(integerBytes(indexParameters, path)),
            indexSigned: indexParameters.isSigned === true,
            value,
          };
        case "bits":
        case "fixedSizeList":
        case "dictionary":
        case "null":
        case "list":
        case "sizedList":
        case "struct":
        case "packedStruct":
          throw unsupported(type, path);
      }
    }
  }
  throw unsupported(type, path);
}

/** Whether a layout is, or has inside, one of a kind. */
function holds(layout: Layout, kind: "list" | "sizedList"): boolean {
  if (layout.kind === kind) return true;
  if (layout.kind === "list" || layout.kind === "sizedList") return holds(layout.item, kind);
  return layout.kind === "struct" && layout.children.some((child) => holds(child.layout, kind));
}

/**
 * The string that a table's schema holds for the type, its children left out.
 * @param path the column, for messages
 * @throws UnsupportedError, InvalidInputError
 */
export function logicalTypeOf(type: DataType, path: string): string {
  const foreign: ForeignType = type;
  switch (foreign.typeId) {
    case Type.Null:
      return "null";
    case Type.Bool:
      return "bool";
    case Type.Int:
      return `${foreign.isSigned ? "int" : "uint"}${integerBytes(foreign, path) * 8}`;
    case Type.Float:
      return FLOAT_NAMES[floatPrecision(foreign, path)];
    case Type.Decimal:
      return `decimal:${decimalBits(foreign, path)}:${foreign.precision}:${foreign.scale}`;
    case Type.Date:
      return foreign.unit === 0 ? "date32:day" : "date64:ms";
    case Type.Time:
      return `time${timeBits(foreign, path)}:${timeUnit(foreign, path)}`;
    case Type.Timestamp:
      return `timestamp:${timeUnit(foreign, path)}:${timeZone(foreign, path) ?? "-"}`;
    case Type.Duration:
      return `duration:${timeUnit(foreign, path)}`;
    case Type.FixedSizeBinary:
      return `fixed_size_binary:${fixedSize(foreign.byteWidth, "bytes", path)}`;
    case Type.Utf8:
      return "string";
    case Type.LargeUtf8:
      return "large_string";
    case Type.Binary:
      return "binary";
    case Type.LargeBinary:
      return "large_binary";
    case Type.FixedSizeList: {
      layoutOf(type, path);
      const { valueType, listSize } = type as FixedSizeList;
      const item = isBfloat16(type.children[0]) ? BFLOAT16_EXTENSION : logicalTypeOf(valueType, path);
      return `fixed_size_list:${item}:${listSize}`;
    }
    case Type.Dictionary: {
      layoutOf(type, path);
      const { dictionary, indices } = type as Dictionary;
      return `dict:${logicalTypeOf(dictionary, path)}:${logicalTypeOf(indices, path)}:false`;
    }
    case Type.List:
    case Type.LargeList: {
      const name = foreign.typeId === Type.List ? "list" : "large_list";
      return (type.children[0].type.typeId as Type) === Type.Struct ? `${name}.struct` : name;
    }
    case Type.Struct:
      return "struct";
    case Type.Map:
      return "map";
  }
  throw unsupported(type, path);
}

/** A field as a table's schema holds it. */
export interface LogicalField {
  readonly name: string;
  readonly logicalType: string;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
  readonly children: readonly LogicalField[];
}

/**
 * The fields that a table's schema holds for an Arrow field: its own and those inside it.
 * @param path the column, for messages
 * @throws UnsupportedError, InvalidInputError
 */
export function logicalFieldOf(field: Field, path: string): LogicalField {
  const { name, type, nullable, metadata } = field;
  if (jsonForm(field) !== null) {
    const stored = new Map(metadata).set(EXTENSION_NAME_KEY, JSON_BINARY_EXTENSION);
    return { name, logicalType: JSON_LOGICAL_TYPE, nullable, metadata: stored, children: [] };
  }
  const logicalType = logicalTypeOf(type, path);
  const names = new Set<string>();
  const children = storedChildren(type).map((child) => {
    if (names.has(child.name)) {
      throw new InvalidInputError(`column ${path}: two members have the name ${JSON.stringify(child.name)}`);
    }
    names.add(child.name);
    return logicalFieldOf(child, `${path}.${child.name}`);
  });
  return { name, logicalType, nullable, metadata, children };
}

/** Items of a fixed-size list have no field to keep their extension type in; of one of them the type itself does. */
const isBfloat16 = ({ type, metadata }: Field): boolean =>
  metadata.get(EXTENSION_NAME_KEY) === BFLOAT16_EXTENSION &&
  (type.typeId as Type) === Type.FixedSizeBinary &&
  type.byteWidth === 2;

const bfloat16Metadata = (): Map<string, string> =>
  new Map([
    [EXTENSION_NAME_KEY, BFLOAT16_EXTENSION],
    [EXTENSION_METADATA_KEY, ""],
  ]);

/** Whether a field holds JSON, and in which form; null where it does not, whatever its extension type is called. */
export function jsonForm({ type, metadata }: Field): "text" | "binary" | null {
  switch (metadata.get(EXTENSION_NAME_KEY)) {
    case JSON_TEXT_EXTENSION:
      return isText(type) ? "text" : null;
    case JSON_BINARY_EXTENSION:
      return (type.typeId as Type) === Type.LargeBinary ? "binary" : null;
    default:
      return null;
  }
}

/** Strings with offsets of either width. */
export const isText = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Utf8 || (typeId as Type) === Type.LargeUtf8;

/** Fields that have an entry of their own in a table's schema; the items of fixed-size lists have none but structs. */
function storedChildren(type: DataType): readonly Field[] {
  switch (type.typeId as Type) {
    case Type.List:
    case Type.LargeList:
    case Type.Struct:
      return type.children;
    case Type.FixedSizeList:
      return (type.children[0].type.typeId as Type) === Type.Struct ? type.children : [];
    case Type.Map: {
      const [{ name, type: entries, metadata }] = type.children as Field[];
      const [key, value] = entries.children as Field[];
      const pair = new Struct([new Field(key.name, key.type, false, key.metadata), value]);
      return [new Field(name, pair, false, metadata)];
    }
  }
  return [];
}

/**
 * The Arrow field that a table's schema means.
 * @param path the column, for messages
 * @throws UnsupportedError on a type this build cannot store
 */
export function arrowFieldFromLogical(field: LogicalField, path: string): Field {
  const children = field.children.map((child) => arrowFieldFromLogical(child, `${path}.${child.name}`));
  const metadata = new Map(field.metadata);
  if (field.logicalType === JSON_LOGICAL_TYPE) {
    metadata.set(EXTENSION_NAME_KEY, JSON_TEXT_EXTENSION);
    return new Field(field.name, new Utf8(), field.nullable, metadata);
  }
  const type = arrowTypeFromLogical(field.logicalType, path, children);
  return new Field(field.name, type, field.nullable, metadata);
}

/** The Arrow schema of some columns of a table. */
export function arrowSchemaOf(fields: readonly LogicalField[]): Schema {
  return new Schema(fields.map((field) => arrowFieldFromLogical(field, field.name)));
}

/**
 * The Arrow type that a table's schema means.
 * @param path the column, for messages
 * @param children of the field
 * @throws UnsupportedError on a string that names no type this build can store
 */
export function arrowTypeFromLogical(
  logicalType: string,
  path: string,
  children: readonly Field[] = [],
): DataType {
  const refuse = () =>
    new UnsupportedError(`column ${path}: type ${logicalType} is not supported by this release`);
  const colon = logicalType.indexOf(SEPARATOR);
  const head = colon < 0 ? logicalType : logicalType.slice(0, colon);
  const tail = colon < 0 ? null : logicalType.slice(colon + 1);
  const nested = nestedType(logicalType, children, refuse);
  if (nested !== null) return nested;
  if (children.length > 0) throw refuse();
  if (tail === null) {
    const make = PLAIN_TYPES.get(head);
    if (make === undefined) throw refuse();
    return make();
  }
  switch (head) {
    case "fixed_size_binary":
      return new FixedSizeBinary(parseSize(tail, refuse));
    case "date32":
      if (tail === "day") return new DateDay();
      break;
    case "date64":
      if (tail === "ms") return new DateMillisecond();
      break;
    case "time32":
      if (tail === "s" || tail === "ms") return new Time(TIME_UNITS.indexOf(tail), 32);
      break;
    case "time64":
      if (tail === "us" || tail === "ns") return new Time(TIME_UNITS.indexOf(tail), 64);
      break;
    case "duration":
      return new Duration(parseUnit(tail, refuse));
    case "timestamp": {
      const [unit, zone, ...rest] = tail.split(SEPARATOR);
      if (zone === undefined || zone === "" || rest.length > 0) break;
      return new Timestamp(parseUnit(unit, refuse), zone === "-" ? null : zone);
    }
    case "decimal": {
      const match = /^(128|256):(\d{1,2}):(-?\d{1,3})$/.exec(tail);
      if (match === null) break;
      const type = new Decimal(Number(match[3]), Number(match[2]), Number(match[1]));
      decimalBits(type, path);
      return type;
    }
    case "fixed_size_list": {
      const last = tail.lastIndexOf(SEPARATOR);
      if (last < 0) break;
      const itemType = tail.slice(0, last);
      const item =
        itemType === BFLOAT16_EXTENSION
          ? new Field("item", new FixedSizeBinary(2), true, bfloat16Metadata())
          : new Field("item", arrowTypeFromLogical(itemType, path), true);
      const type = new FixedSizeList(parseSize(tail.slice(last + 1), refuse), item);
      layoutOf(type, path);
      return type;
    }
    case "dict": {
      const match = /^(.*):(u?int(?:8|16|32|64)):(true|false)$/.exec(tail);
      if (match === null) break;
      const indices = arrowTypeFromLogical(match[2], path) as Dictionary["indices"];
      const type = new Dictionary(arrowTypeFromLogical(match[1], path), indices, null, match[3] === "true");
      layoutOf(type, path);
      return type;
    }
  }
  throw refuse();
}

/** The type of a field that has children; null where the string is no such type, or its children do not fit. */
function nestedType(
  logicalType: string,
  children: readonly Field[],
  refuse: () => UnsupportedError,
): DataType | null {
  const [only] = children;
  switch (logicalType) {
    case "struct":
      return new Struct([...children]);
    case "list":
    case "list.struct":
      return children.length === 1 ? new List(only) : null;
    case "large_list":
    case "large_list.struct":
      return children.length === 1 ? new LargeList(only) : null;
    case "map":
      return children.length === 1 && only.type.children?.length === 2
        ? new Map_(only as ConstructorParameters<typeof Map_>[0])
        : null;
  }
  const dimension = STRUCT_LIST.exec(logicalType)?.[1];
  return dimension !== undefined && children.length === 1
    ? new FixedSizeList(parseSize(dimension, refuse), only)
    : null;
}

/** The type of a fixed-size list of structs, and their number. */
const STRUCT_LIST = /^fixed_size_list:struct:(\d+)$/;

/** The types whose logical string has no parameters. */
const PLAIN_TYPES: ReadonlyMap<string, () => DataType> = new Map<string, () => DataType>([
  ["null", () => new Null()],
  ["bool", () => new Bool()],
  ["int8", () => new Int8()],
  ["int16", () => new Int16()],
  ["int32", () => new Int32()],
  ["int64", () => new Int64()],
  ["uint8", () => new Uint8()],
  ["uint16", () => new Uint16()],
  ["uint32", () => new Uint32()],
  ["uint64", () => new Uint64()],
  ["halffloat", () => new Float16()],
  ["float", () => new Float32()],
  ["double", () => new Float64()],
  ["string", () => new Utf8()],
  ["large_string", () => new LargeUtf8()],
  ["binary", () => new Binary()],
  ["large_binary", () => new LargeBinary()],
]);

/** The type of a dictionary's values; null for types that are no dictionaries. */
export function valueTypeOf(type: DataType): DataType | null {
  return (type as ForeignType).typeId === Type.Dictionary ? (type as Dictionary).dictionary : null;
}

/**
 * A type of any version of apache-arrow as one of ours. Dictionaries get ids of their own, so that types of
 * different origin can be put into one schema.
 * @throws InvalidInputError on something that is no type, UnsupportedError on a type unknown to apache-arrow 21
 */
export function adoptType(foreign: ForeignType): DataType {
  switch (foreign.typeId) {
    case Type.Null:
      return new Null();
    case Type.Bool:
      return new Bool();
    case Type.Int:
      switch (integerBytes(foreign, "")) {
        case 1:
          return foreign.isSigned ? new Int8() : new Uint8();
        case 2:
          return foreign.isSigned ? new Int16() : new Uint16();
        case 4:
          return foreign.isSigned ? new Int32() : new Uint32();
        default:
          return foreign.isSigned ? new Int64() : new Uint64();
      }
    case Type.Float:
      return [() => new Float16(), () => new Float32(), () => new Float64()][floatPrecision(foreign, "")]();
    case Type.Decimal:
      return new Decimal(foreign.scale ?? 0, foreign.precision ?? 0, foreign.bitWidth ?? 128);
    case Type.Date:
      return foreign.unit === 0 ? new DateDay() : new DateMillisecond();
    case Type.Time:
      return new Time(foreign.unit ?? 0, foreign.bitWidth === 32 ? 32 : 64);
    case Type.Timestamp:
      return new Timestamp(foreign.unit ?? 0, foreign.timezone ?? null);
    case Type.Duration:
      return new Duration(foreign.unit ?? 0);
    case Type.Interval:
      return new Interval(foreign.unit ?? 0);
    case Type.FixedSizeBinary:
      return new FixedSizeBinary(foreign.byteWidth ?? 0);
    case Type.Utf8:
      return new Utf8();
    case Type.LargeUtf8:
      return new LargeUtf8();
    case Type.Binary:
      return new Binary();
    case Type.LargeBinary:
      return new LargeBinary();
    case Type.BinaryView:
      return new BinaryView();
    case Type.Utf8View:
      return new Utf8View();
    case Type.List:
      return new List(adoptChild(foreign));
    case Type.LargeList:
      return new LargeList(adoptChild(foreign));
    case Type.FixedSizeList:
      return new FixedSizeList(foreign.listSize ?? 0, adoptChild(foreign));
    case Type.Struct:
      return new Struct((foreign.children ?? []).map(adoptField));
    case Type.Map:
      return new Map_(
        adoptChild(foreign) as ConstructorParameters<typeof Map_>[0],
        foreign.keysSorted === true,
      );
    case Type.Union: {
      const ids = Array.from(foreign.typeIds ?? []);
      const children = (foreign.children ?? []).map(adoptField);
      return foreign.mode === 0 ? new SparseUnion(ids, children) : new DenseUnion(ids, children);
    }
    case Type.Dictionary:
      if (foreign.dictionary === undefined || foreign.indices === undefined) break;
      return new Dictionary(
        adoptType(foreign.dictionary),
        adoptType(foreign.indices) as Dictionary["indices"],
        null,
        foreign.isOrdered === true,
      );
  }
  if (typeof foreign.typeId === "number") {
    throw new UnsupportedError(`Arrow type number ${foreign.typeId} is not supported by this release`);
  }
  throw new InvalidInputError("not an Arrow type");
}

function adoptChild(foreign: ForeignType): Field {
  const child = foreign.children?.[0];
  if (child === undefined || child === null) throw new InvalidInputError("a list type without an item type");
  return adoptField(child);
}

/** @throws as {@link adoptType} */
export function adoptField(foreign: ForeignField): Field {
  // An empty name, which members of structs may have, comes out of IPC bytes as null.
  const name: unknown = foreign?.name ?? "";
  if (typeof name !== "string" || typeof foreign?.type !== "object" || foreign.type === null) {
    throw new InvalidInputError("not an Arrow field");
  }
  return new Field(name, adoptType(foreign.type), foreign.nullable === true, adoptMetadata(foreign.metadata));
}

/** @throws as {@link adoptType} */
export function adoptSchema(foreign: ForeignSchema): Schema {
  return new Schema(foreign.fields.map(adoptField), adoptMetadata(foreign.metadata));
}

function adoptMetadata(metadata: ReadonlyMap<string, string> | null | undefined): Map<string, string> {
  const adopted = new Map<string, string>();
  for (const [key, value] of metadata ?? []) adopted.set(String(key), value === null ? "" : String(value));
  return adopted;
}

/** A schema in the JSON of the namespace spec. */
export interface JsonArrowSchema {
  fields: JsonArrowField[];
  metadata?: Record<string, string>;
}
export interface JsonArrowField {
  name: string;
  nullable: boolean;
  type: JsonArrowType;
  metadata?: Record<string, string>;
}
export interface JsonArrowType {
  type: string;
  fields?: JsonArrowField[];
  /** Bytes or items of a value of fixed size; `precision · 1000 + scale` of a decimal. */
  length?: number;
}

/**
 * A schema as the namespace spec's JSON, in the reference's vocabulary: dictionaries appear as their values,
 * units and time zones are not told.
 * @throws UnsupportedError on types the spec has no name for
 */
export function schemaToJson(schema: Schema): JsonArrowSchema {
  return { fields: schema.fields.map(fieldToJson), ...metadataToJson(schema.metadata) };
}

function fieldToJson(field: Field): JsonArrowField {
  return {
    name: field.name,
    nullable: field.nullable,
    type: typeToJson(field.type, field.name),
    ...metadataToJson(field.metadata),
  };
}

function metadataToJson(metadata: ReadonlyMap<string, string>): { metadata?: Record<string, string> } {
  return metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) };
}

function typeToJson(type: DataType, path: string): JsonArrowType {
  const foreign: ForeignType = type;
  const nested = (name: string): JsonArrowType => ({
    type: name,
    fields: (type.children ?? []).map(fieldToJson),
  });
  switch (foreign.typeId) {
    case Type.Null:
      return { type: "null" };
    case Type.Bool:
      return { type: "bool" };
    case Type.Int:
      return { type: `${foreign.isSigned ? "int" : "uint"}${foreign.bitWidth}` };
    case Type.Float:
      return { type: `float${FLOAT_BYTES[floatPrecision(foreign, path)] * 8}` };
    case Type.Decimal:
      return {
        type: `decimal${foreign.bitWidth}`,
        length: (foreign.precision ?? 0) * 1000 + (foreign.scale ?? 0),
      };
    case Type.Date:
      return { type: foreign.unit === 0 ? "date32" : "date64" };
    case Type.Time:
      return { type: `time${foreign.bitWidth}` };
    case Type.Timestamp:
      return { type: "timestamp" };
    case Type.Duration:
      return { type: "duration" };
    case Type.Interval:
      return { type: "interval" };
    case Type.FixedSizeBinary:
      return { type: "fixed_size_binary", length: foreign.byteWidth ?? 0 };
    case Type.Utf8:
      return { type: "utf8" };
    case Type.LargeUtf8:
      return { type: "large_utf8" };
    case Type.Binary:
      return { type: "binary" };
    case Type.LargeBinary:
      return { type: "large_binary" };
    case Type.List:
      return nested("list");
    case Type.LargeList:
      return nested("large_list");
    case Type.FixedSizeList:
      return { ...nested("fixed_size_list"), length: foreign.listSize ?? 0 };
    case Type.Struct:
      return nested("struct");
    case Type.Map:
      return nested("map");
    case Type.Dictionary:
      return typeToJson((type as Dictionary).dictionary, path);
  }
  throw unsupported(type, path);
}

function unsupported(type: DataType, path: string): UnsupportedError {
  return new UnsupportedError(`column ${path}: type ${type} is not supported by this release`);
}

const fixed = (byteWidth: number): FixedLayout => ({ kind: "fixed", byteWidth });

function integerBytes(type: ForeignType, path: string): number {
  switch (type.bitWidth) {
    case 8:
    case 16:
    case 32:
    case 64:
      return type.bitWidth / 8;
  }
  throw new InvalidInputError(`column ${path}: no integer has ${type.bitWidth} bits`);
}

function floatPrecision(type: ForeignType, path: string): 0 | 1 | 2 {
  const { precision } = type;
  if (precision === 0 || precision === 1 || precision === 2) return precision;
  throw new InvalidInputError(`column ${path}: no float has precision ${precision}`);
}

function decimalBits(type: ForeignType, path: string): number {
  const { bitWidth, precision = 0, scale = 0 } = type;
  if (bitWidth !== 128 && bitWidth !== 256) {
    throw new UnsupportedError(
      `column ${path}: decimals of ${bitWidth} bits are not supported by this release`,
    );
  }
  const digits = bitWidth === 128 ? 38 : 76;
  if (!Number.isInteger(precision) || precision < 1 || precision > digits) {
    throw new InvalidInputError(`column ${path}: no decimal of ${bitWidth} bits has precision ${precision}`);
  }
  if (!Number.isInteger(scale) || scale < -128 || scale > 127) {
    throw new InvalidInputError(`column ${path}: no decimal has scale ${scale}`);
  }
  return bitWidth;
}

function timeBits(type: ForeignType, path: string): number {
  const unit = timeUnit(type, path);
  const bits = unit === "s" || unit === "ms" ? 32 : 64;
  if (type.bitWidth !== bits) {
    throw new InvalidInputError(`column ${path}: no time in ${unit} has ${type.bitWidth} bits`);
  }
  return bits;
}

function timeUnit(type: ForeignType, path: string): (typeof TIME_UNITS)[number] {
  const unit = TIME_UNITS[type.unit ?? -1];
  if (unit === undefined) throw new InvalidInputError(`column ${path}: ${type.unit} is no unit of time`);
  return unit;
}

function timeZone(type: ForeignType, path: string): string | null {
  const zone = type.timezone;
  if (zone === null || zone === undefined || zone === "") return null;
  if (zone.includes(SEPARATOR) || zone === "-") {
    throw new InvalidInputError(
      `column ${path}: time zone ${JSON.stringify(zone)} cannot be stored; use a name such as "UTC" or "Europe/Berlin"`,
    );
  }
  return zone;
}

function fixedSize(size: number | undefined, unit: string, path: string): number {
  if (size === undefined || !Number.isInteger(size) || size < 0 || size > MAX_FIXED_SIZE) {
    throw new InvalidInputError(`column ${path}: no value has ${size} ${unit}`);
  }
  if (size === 0)
    throw new UnsupportedError(`column ${path}: values of 0 ${unit} are not supported by this release`);
  return size;
}

function parseSize(text: string, refuse: () => UnsupportedError): number {
  const size = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_FIXED_SIZE) throw refuse();
  return size;
}

function parseUnit(text: string, refuse: () => UnsupportedError): number {
  const unit = (TIME_UNITS as readonly string[]).indexOf(text);
  if (unit < 0) throw refuse();
  return unit;
}
