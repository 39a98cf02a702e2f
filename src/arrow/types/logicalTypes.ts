/**
 * Converts between types as a table's schema stores them (strings and children) and the Arrow types they mean. Each
 * direction is one exhaustive switch. A type that this build cannot store is an `UnsupportedError`, parameters that no
 * Arrow type has are an `InvalidInputError`; both name the column.
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
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Decimal,
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
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  Null,
  Schema,
  Struct,
  Time,
  Timestamp,
  Type,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from "apache-arrow";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { layoutOf } from "./layouts.js";
import {
  decimalBits,
  FLOAT_NAMES,
  type ForeignType,
  fixedSize,
  floatPrecision,
  integerBytes,
  MAX_FIXED_SIZE,
  SEPARATOR,
  TIME_UNITS,
  timeBits,
  timeUnit,
  timeZone,
  unsupported,
} from "./typeParameters.js";

const EXTENSION_NAME_KEY = "ARROW:extension:name";
const EXTENSION_METADATA_KEY = "ARROW:extension:metadata";
/** 16-bit floats with 8 bits of exponent, which Arrow has as 2 bytes. */
const BFLOAT16_EXTENSION = "lance.bfloat16";
/** Arrow's extension type of JSON as text, and the format's of JSON in binary form. */
const JSON_TEXT_EXTENSION = "arrow.json";
const JSON_BINARY_EXTENSION = "lance.json";
/** The type that both have in a table's schema. */
const JSON_LOGICAL_TYPE = "json";

/**
 * The string that a table's schema stores for the type, without its children.
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

/** A field as a table's schema stores it. */
export interface LogicalField {
  readonly name: string;
  readonly logicalType: string;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
  readonly children: readonly LogicalField[];
}

/**
 * The fields that a table's schema stores for an Arrow field: its own and those inside it.
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

/**
 * Whether a field has the extension type lance.bfloat16. Items of a fixed-size list have no field that could keep an
 * extension type; for this one the logical type itself keeps it.
 */
const isBfloat16 = ({ type, metadata }: Field): boolean =>
  metadata.get(EXTENSION_NAME_KEY) === BFLOAT16_EXTENSION &&
  (type.typeId as Type) === Type.FixedSizeBinary &&
  type.byteWidth === 2;

const bfloat16Metadata = (): Map<string, string> =>
  new Map([
    [EXTENSION_NAME_KEY, BFLOAT16_EXTENSION],
    [EXTENSION_METADATA_KEY, ""],
  ]);

/**
 * The form of the JSON that a field holds; null if it holds none, even if its extension type has the name of a JSON
 * type.
 */
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

/** Whether a type is strings, with offsets of either width. */
export const isText = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Utf8 || (typeId as Type) === Type.LargeUtf8;

/**
 * Child fields that have an entry of their own in a table's schema. Items of fixed-size lists have one only if they are
 * structs.
 */
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

/** The type of a field that has children; null if the string is no such type or the children do not fit it. */
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

/** Matches the type of a fixed-size list of structs and captures its dimension. */
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
