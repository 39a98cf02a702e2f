/**
 * Converts between the types and fields of tables and those of Arrow. Each direction is one exhaustive
 * switch. Both throw an `UnsupportedError` for a type that this build cannot store, and an
 * `InvalidInputError` for parameters that no Arrow type has. The errors name the column.
 *
 *     of a table         of Arrow
 *     fixedSizeList      FixedSizeList. Drops the item's name, nullability and extension type, except
 *                        lance.bfloat16. If the items are structs, the item is a child
 *     dictionary         Dictionary. Drops `isOrdered`
 *     list               List LargeList; the item is a child
 *     struct             Struct, a child per member; it may have none
 *     map                Map; its child is a struct of key and value
 *     json               Utf8 of the extension type arrow.json; files store it as JSONB
 *     all others         the type of the same name
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
import { type IntegerType, type LogicalType, TIME_UNITS, timeBits, typeInText } from "./type.js";
import {
  decimalBits,
  FLOAT_BITS,
  type ForeignType,
  fixedSize,
  floatPrecision,
  integerBits,
  MAX_FIXED_SIZE,
  timeOfDayUnit,
  timeUnit,
  timeZone,
  unsupported,
} from "./typeParameters.js";

/** Key of the metadata that names a field's Arrow extension type. */
export const EXTENSION_NAME_KEY = "ARROW:extension:name";
const EXTENSION_METADATA_KEY = "ARROW:extension:metadata";
/** 16-bit floats with 8 bits of exponent. Arrow stores them as 2 bytes. */
const BFLOAT16_EXTENSION = "lance.bfloat16";
/** Extension types of JSON: Arrow's for text, and Lance's for the binary form. */
const JSON_TEXT_EXTENSION = "arrow.json";
const JSON_BINARY_EXTENSION = "lance.json";

/**
 * Returns the table type of an Arrow type, without its children.
 * @throws UnsupportedError, InvalidInputError
 */
export function logicalTypeOf(type: DataType, path: string): LogicalType {
  const foreign: ForeignType = type;
  switch (foreign.typeId) {
    case Type.Null:
      return { kind: "null" };
    case Type.Bool:
      return { kind: "bool" };
    case Type.Int:
      return integerTypeOf(foreign, path);
    case Type.Float:
      return { kind: "float", bits: FLOAT_BITS[floatPrecision(foreign, path)] };
    case Type.Decimal: {
      const { precision = 0, scale = 0 } = foreign;
      return { kind: "decimal", bits: decimalBits(foreign, path), precision, scale };
    }
    case Type.Date:
      return { kind: "date", bits: foreign.unit === 0 ? 32 : 64 };
    case Type.Time:
      return { kind: "time", unit: timeOfDayUnit(foreign, path) };
    case Type.Timestamp:
      return { kind: "timestamp", unit: timeUnit(foreign, path), timezone: timeZone(foreign, path) };
    case Type.Duration:
      return { kind: "duration", unit: timeUnit(foreign, path) };
    case Type.FixedSizeBinary:
      return { kind: "fixedSizeBinary", bytes: fixedSize(foreign.byteWidth, "bytes", path) };
    case Type.Utf8:
    case Type.LargeUtf8:
      return { kind: "string", large: foreign.typeId === Type.LargeUtf8 };
    case Type.Binary:
    case Type.LargeBinary:
      return { kind: "binary", large: foreign.typeId === Type.LargeBinary };
    case Type.FixedSizeList: {
      layoutOf(type, path);
      const { valueType, listSize } = type as FixedSizeList;
      const item: LogicalType = isBfloat16(type.children[0])
        ? { kind: "bfloat16" }
        : logicalTypeOf(valueType, path);
      return { kind: "fixedSizeList", of: item, size: listSize };
    }
    case Type.Dictionary: {
      layoutOf(type, path);
      const { dictionary, indices } = type as Dictionary;
      const values = logicalTypeOf(dictionary, path);
      return { kind: "dictionary", values, indices: integerTypeOf(indices, path), ordered: false };
    }
    case Type.List:
    case Type.LargeList: {
      const ofStructs = (type.children[0].type.typeId as Type) === Type.Struct;
      return { kind: "list", large: foreign.typeId === Type.LargeList, ofStructs };
    }
    case Type.Struct:
      return { kind: "struct" };
    case Type.Map:
      return { kind: "map" };
  }
  throw unsupported(type, path);
}

/** @throws InvalidInputError */
export const integerTypeOf = (foreign: ForeignType, path: string): IntegerType => ({
  kind: "int",
  bits: integerBits(foreign, path),
  signed: foreign.isSigned === true,
});

/** A field in the form of a table's schema. */
export interface LogicalField {
  readonly name: string;
  readonly type: LogicalType;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
  readonly children: readonly LogicalField[];
}

/**
 * Returns the table field of an Arrow field, with its children.
 * @throws UnsupportedError, InvalidInputError
 */
export function logicalFieldOf(field: Field, path: string): LogicalField {
  const { name, nullable, metadata } = field;
  if (jsonForm(field) !== null) {
    const stored = new Map(metadata).set(EXTENSION_NAME_KEY, JSON_BINARY_EXTENSION);
    return { name, type: { kind: "json" }, nullable, metadata: stored, children: [] };
  }
  const type = logicalTypeOf(field.type, path);
  const names = new Set<string>();
  const children = storedChildren(field.type).map((child) => {
    if (names.has(child.name)) {
      throw new InvalidInputError(`column ${path}: two members have the name ${JSON.stringify(child.name)}`);
    }
    names.add(child.name);
    return logicalFieldOf(child, `${path}.${child.name}`);
  });
  return { name, type, nullable, metadata, children };
}

/** True for lance.bfloat16. The logical type keeps it, since a fixed-size list's item has no field. */
const isBfloat16 = ({ type, metadata }: Field): boolean =>
  metadata.get(EXTENSION_NAME_KEY) === BFLOAT16_EXTENSION &&
  (type.typeId as Type) === Type.FixedSizeBinary &&
  type.byteWidth === 2;

const bfloat16Metadata = (): Map<string, string> =>
  new Map([
    [EXTENSION_NAME_KEY, BFLOAT16_EXTENSION],
    [EXTENSION_METADATA_KEY, ""],
  ]);

/** The form of the JSON that a field holds; null for a field without JSON, whatever its extension type. */
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

/** True for types of strings, with offsets of either width. */
export const isText = ({ typeId }: DataType): boolean =>
  (typeId as Type) === Type.Utf8 || (typeId as Type) === Type.LargeUtf8;

/**
 * Child fields with an entry in a table's schema. The item of a fixed-size list has an entry only if it is a
 * struct.
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
 * Returns the Arrow field of a table field.
 * @throws UnsupportedError for a type that this build cannot store
 */
export function arrowFieldFromLogical(field: LogicalField, path: string): Field {
  const children = field.children.map((child) => arrowFieldFromLogical(child, `${path}.${child.name}`));
  const metadata = new Map(field.metadata);
  if (field.type.kind === "json") {
    metadata.set(EXTENSION_NAME_KEY, JSON_TEXT_EXTENSION);
    return new Field(field.name, new Utf8(), field.nullable, metadata);
  }
  const type = arrowTypeFromLogical(field.type, path, children);
  return new Field(field.name, type, field.nullable, metadata);
}

/** Returns the Arrow schema of some columns of a table. */
export function arrowSchemaOf(fields: readonly LogicalField[]): Schema {
  return new Schema(fields.map((field) => arrowFieldFromLogical(field, field.name)));
}

/**
 * Returns the Arrow type of a table type.
 * @param children of the field
 * @throws UnsupportedError for a type that this build cannot store, or that cannot have the children
 */
export function arrowTypeFromLogical(
  type: LogicalType,
  path: string,
  children: readonly Field[] = [],
): DataType {
  const refuse = () =>
    new UnsupportedError(`column ${path}: type ${typeInText(type)} is not supported by this release`);
  const onlyChild = (): Field => {
    if (children.length !== 1) throw refuse();
    return children[0];
  };
  switch (type.kind) {
    case "struct":
      return new Struct([...children]);
    case "list":
      return type.large ? new LargeList(onlyChild()) : new List(onlyChild());
    case "map": {
      const entries = onlyChild();
      if (entries.type.children?.length !== 2) throw refuse();
      return new Map_(entries as ConstructorParameters<typeof Map_>[0]);
    }
    case "fixedSizeList": {
      if (type.of.kind === "struct") return new FixedSizeList(checkSize(type.size, refuse), onlyChild());
      if (children.length > 0) throw refuse();
      const item = arrowItem(type.of, path);
      const list = new FixedSizeList(checkSize(type.size, refuse), item);
      layoutOf(list, path);
      return list;
    }
    default:
      if (children.length > 0) throw refuse();
      return childlessType(type, path, refuse);
  }
}

/** The item of a fixed-size list. It is not a field of the table. */
const arrowItem = (type: LogicalType, path: string): Field =>
  type.kind === "bfloat16"
    ? new Field("item", new FixedSizeBinary(2), true, bfloat16Metadata())
    : new Field("item", arrowTypeFromLogical(type, path), true);

type ChildlessType = Exclude<LogicalType, { kind: "struct" | "list" | "map" | "fixedSizeList" }>;

function childlessType(type: ChildlessType, path: string, refuse: () => UnsupportedError): DataType {
  switch (type.kind) {
    case "null":
      return new Null();
    case "bool":
      return new Bool();
    case "int":
      return arrowInteger(type);
    case "float":
      return type.bits === 16 ? new Float16() : type.bits === 32 ? new Float32() : new Float64();
    case "decimal": {
      const decimal = new Decimal(type.scale, type.precision, type.bits);
      decimalBits(decimal, path);
      return decimal;
    }
    case "string":
      return type.large ? new LargeUtf8() : new Utf8();
    case "binary":
      return type.large ? new LargeBinary() : new Binary();
    case "fixedSizeBinary":
      return new FixedSizeBinary(checkSize(type.bytes, refuse));
    case "date":
      return type.bits === 32 ? new DateDay() : new DateMillisecond();
    case "time":
      return new Time(TIME_UNITS.indexOf(type.unit), timeBits(type.unit));
    case "timestamp":
      return new Timestamp(TIME_UNITS.indexOf(type.unit), type.timezone);
    case "duration":
      return new Duration(TIME_UNITS.indexOf(type.unit));
    case "dictionary": {
      const indices = arrowInteger(type.indices) as Dictionary["indices"];
      const dictionary = new Dictionary(arrowTypeFromLogical(type.values, path), indices, null, type.ordered);
      layoutOf(dictionary, path);
      return dictionary;
    }
    case "json":
    case "bfloat16":
    case "unknown":
      throw refuse();
  }
}

export function arrowInteger({ bits, signed }: IntegerType): DataType {
  switch (bits) {
    case 8:
      return signed ? new Int8() : new Uint8();
    case 16:
      return signed ? new Int16() : new Uint16();
    case 32:
      return signed ? new Int32() : new Uint32();
    case 64:
      return signed ? new Int64() : new Uint64();
  }
}

function checkSize(size: number, refuse: () => UnsupportedError): number {
  if (size < 1 || size > MAX_FIXED_SIZE) throw refuse();
  return size;
}
