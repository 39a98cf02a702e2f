/**
 * Converts types, fields and schemas of any copy of apache-arrow (releases 15 to 21), or objects of their
 * form, to the copy that this module imports. The sentences of its errors are those of LanceDB.
 */

import type { DataType, Field, Schema } from "apache-arrow";
import * as arrow from "apache-arrow";
import { isOfThisCopy, type SchemaLike } from "./like.js";

type Members = Readonly<Record<string, unknown>>;
type Union = arrow.DenseUnion | arrow.SparseUnion;

/** Maximum nesting of a type. */
const MAX_DEPTH = 64;

/**
 * Types that were converted before. A type that fields share stays shared. Each conversion of a schema or a
 * table has one cache.
 */
export class TypeCache {
  readonly #types = new Map<object, DataType>();
  #depth = 0;

  /** Returns the converted type of an object. */
  of(typeLike: object, convert: () => DataType): DataType {
    const cached = this.#types.get(typeLike);
    if (cached !== undefined) return cached;
    if (this.#depth === MAX_DEPTH)
      throw new Error(`Expected a Type that is nested at most ${MAX_DEPTH} deep`);
    this.#depth++;
    try {
      const type = convert();
      this.#types.set(typeLike, type);
      return type;
    } finally {
      this.#depth--;
    }
  }
}

/** @throws Error for a value that is not a map of strings */
export function sanitizeMetadata(metadataLike?: unknown): Map<string, string> | undefined {
  if (metadataLike === undefined || metadataLike === null) return undefined;
  const entries = entriesOf(metadataLike);
  if (entries === null) throw new Error("Expected metadata, if present, to be a Map<string, string>");
  if (!entries.flat().every((text) => typeof text === "string")) {
    throw new Error(
      "Expected metadata, if present, to be a Map<string, string> but it had non-string keys or values",
    );
  }
  return metadataLike as Map<string, string>;
}

/** Returns the entries of a map of any realm; null for any other value. */
function entriesOf(value: unknown): [unknown, unknown][] | null {
  return Object.prototype.toString.call(value) === "[object Map]"
    ? Array.from(value as Map<unknown, unknown>)
    : null;
}

/** @throws Error that begins like `Expected a Date type to have a …` if a member is missing */
function requireMembers(members: Members, kind: string, names: string, ...wanted: readonly string[]): void {
  if (!wanted.every((name) => name in members)) throw new Error(`Expected ${kind} to have ${names}`);
}

export function sanitizeInt(typeLike: object): arrow.Int {
  const { bitWidth, isSigned } = typeLike as Members;
  if (typeof bitWidth !== "number" || typeof isSigned !== "boolean") {
    throw new Error("Expected an Int Type to have a `bitWidth` and `isSigned` property");
  }
  return new arrow.Int(isSigned, bitWidth as arrow.Int["bitWidth"]);
}

export function sanitizeFloat(typeLike: object): arrow.Float {
  const { precision } = typeLike as Members;
  if (typeof precision !== "number") throw new Error("Expected a Float Type to have a `precision` property");
  return new arrow.Float(precision);
}

export function sanitizeDecimal(typeLike: object): arrow.Decimal {
  const { scale, precision, bitWidth } = typeLike as Members;
  if (typeof scale !== "number" || typeof precision !== "number" || typeof bitWidth !== "number") {
    throw new Error("Expected a Decimal Type to have `scale`, `precision`, and `bitWidth` properties");
  }
  return new arrow.Decimal(scale, precision, bitWidth);
}

export function sanitizeDate(typeLike: object): arrow.Date_ {
  return new arrow.Date_(unitOf(typeLike, "a Date type"));
}

export function sanitizeTime(typeLike: object): arrow.Time {
  const { unit, bitWidth } = typeLike as Members;
  if (typeof unit !== "number" || typeof bitWidth !== "number") {
    throw new Error("Expected a Time type to have `unit` and `bitWidth` properties");
  }
  return new arrow.Time(unit, bitWidth as arrow.Time["bitWidth"]);
}

export function sanitizeTimestamp(typeLike: object): arrow.Timestamp {
  return new arrow.Timestamp(unitOf(typeLike, "a Timestamp type"), timezoneOf(typeLike));
}

type TypedTimestamp =
  | arrow.TimestampNanosecond
  | arrow.TimestampMicrosecond
  | arrow.TimestampMillisecond
  | arrow.TimestampSecond;

export function sanitizeTypedTimestamp(
  typeLike: object,
  Datatype: new (timezone?: string | null) => TypedTimestamp,
): TypedTimestamp {
  return new Datatype(timezoneOf(typeLike));
}

export function sanitizeInterval(typeLike: object): arrow.Interval {
  return new arrow.Interval(unitOf(typeLike, "an Interval type"));
}

export function sanitizeDuration(typeLike: object): arrow.Duration {
  return new arrow.Duration(unitOf(typeLike, "a Duration type"));
}

function unitOf(typeLike: object, kind: string): number {
  const { unit } = typeLike as Members;
  if (typeof unit !== "number") throw new Error(`Expected ${kind} to have a \`unit\` property`);
  return unit;
}

function timezoneOf(typeLike: object): string | null {
  const { timezone } = typeLike as Members;
  return typeof timezone === "string" ? timezone : null;
}

export function sanitizeList(typeLike: object, types = new TypeCache()): arrow.List {
  return new arrow.List(onlyChild(typeLike, "List", types));
}

export function sanitizeStruct(typeLike: object, types = new TypeCache()): arrow.Struct {
  return new arrow.Struct(childrenOf(typeLike, "Struct", types));
}

export function sanitizeUnion(typeLike: object, types = new TypeCache()): arrow.Union {
  requireMembers(typeLike as Members, "a Union type", "`typeIds` and `mode` properties", "typeIds", "mode");
  const { typeIds, mode } = typeLike as { typeIds: Int32Array; mode: arrow.UnionMode };
  return new arrow.Union(mode, typeIds, childrenOf(typeLike, "Union", types));
}

export function sanitizeTypedUnion(
  typeLike: object,
  UnionType: new (typeIds: Int32Array, children: Field[]) => Union,
  types = new TypeCache(),
): Union {
  const { typeIds } = typeLike as { typeIds?: Int32Array };
  if (typeIds === undefined) {
    throw new Error("Expected a DenseUnion/SparseUnion type to have a `typeIds` property");
  }
  return new UnionType(typeIds, childrenOf(typeLike, "DenseUnion/SparseUnion", types));
}

export function sanitizeFixedSizeBinary(typeLike: object): arrow.FixedSizeBinary {
  const { byteWidth } = typeLike as Members;
  if (typeof byteWidth !== "number") {
    throw new Error("Expected a FixedSizeBinary type to have a `byteWidth` property");
  }
  return new arrow.FixedSizeBinary(byteWidth);
}

export function sanitizeFixedSizeList(typeLike: object, types = new TypeCache()): arrow.FixedSizeList {
  const { listSize } = typeLike as Members;
  if (typeof listSize !== "number") {
    throw new Error("Expected a FixedSizeList type to have a `listSize` property");
  }
  return new arrow.FixedSizeList(listSize, onlyChild(typeLike, "FixedSizeList", types));
}

export function sanitizeMap(typeLike: object, types = new TypeCache()): arrow.Map_ {
  const { children, keysSorted } = typeLike as Members;
  if (!Array.isArray(children)) {
    throw new Error("Expected a Map type to have an array-like `children` property");
  }
  if (typeof keysSorted !== "boolean") throw new Error("Expected a Map type to have a `keysSorted` property");
  const entries = onlyChild(typeLike, "Map", types);
  if (entries.type.children?.length !== 2) {
    throw new Error("Expected the child of a Map type to be a Struct of key and value");
  }
  return new arrow.Map_(entries as Field<arrow.Struct<{ key: DataType; value: DataType }>>, keysSorted);
}

export function sanitizeDictionary(typeLike: object, types = new TypeCache()): arrow.Dictionary {
  const { id, indices, dictionary, isOrdered } = typeLike as Members;
  const missing = (name: string) => new Error(`Expected a Dictionary type to have ${name} property`);
  if (typeof id !== "number") throw missing("an `id`");
  if (typeof indices !== "object" || indices === null) throw missing("an `indices`");
  if (typeof dictionary !== "object" || dictionary === null) throw missing("a `dictionary`");
  if (typeof isOrdered !== "boolean") throw missing("an `isOrdered`");
  const keys = sanitizeType(indices, types) as arrow.Dictionary["indices"];
  return new arrow.Dictionary(sanitizeType(dictionary, types), keys, id, isOrdered);
}

function childrenOf(typeLike: object, kind: string, types: TypeCache): Field[] {
  const { children } = typeLike as Members;
  if (!Array.isArray(children)) {
    throw new Error(`Expected a ${kind} type to have an array-like \`children\` property`);
  }
  return children.map((child) => sanitizeField(child, types));
}

function onlyChild(typeLike: object, kind: string, types: TypeCache): Field {
  const { children } = typeLike as Members;
  if (Array.isArray(children) && children.length !== 1) {
    throw new Error(`Expected a ${kind} type to have exactly one child`);
  }
  return childrenOf(typeLike, kind, types)[0];
}

/** Types without parameters, by their numbers in the enumeration `Type` of all releases of apache-arrow. */
const PLAIN_TYPES: Readonly<Record<number, () => DataType>> = {
  1: () => new arrow.Null(),
  4: () => new arrow.Binary(),
  5: () => new arrow.Utf8(),
  6: () => new arrow.Bool(),
  19: () => new arrow.LargeBinary(),
  20: () => new arrow.LargeUtf8(),
  [-2]: () => new arrow.Int8(),
  [-3]: () => new arrow.Int16(),
  [-4]: () => new arrow.Int32(),
  [-5]: () => new arrow.Int64(),
  [-6]: () => new arrow.Uint8(),
  [-7]: () => new arrow.Uint16(),
  [-8]: () => new arrow.Uint32(),
  [-9]: () => new arrow.Uint64(),
  [-10]: () => new arrow.Float16(),
  [-11]: () => new arrow.Float32(),
  [-12]: () => new arrow.Float64(),
  [-13]: () => new arrow.DateDay(),
  [-14]: () => new arrow.DateMillisecond(),
  [-19]: () => new arrow.TimeSecond(),
  [-20]: () => new arrow.TimeMillisecond(),
  [-21]: () => new arrow.TimeMicrosecond(),
  [-22]: () => new arrow.TimeNanosecond(),
  [-25]: () => new arrow.IntervalDayTime(),
  [-26]: () => new arrow.IntervalYearMonth(),
  [-27]: () => new arrow.DurationSecond(),
  [-28]: () => new arrow.DurationMillisecond(),
  [-29]: () => new arrow.DurationMicrosecond(),
  [-30]: () => new arrow.DurationNanosecond(),
};

/** Types with parameters, by the same numbers. */
const OTHER_TYPES: Readonly<Record<number, (typeLike: object, types: TypeCache) => DataType>> = {
  2: sanitizeInt,
  3: sanitizeFloat,
  7: sanitizeDecimal,
  8: sanitizeDate,
  9: sanitizeTime,
  10: sanitizeTimestamp,
  11: sanitizeInterval,
  12: sanitizeList,
  13: sanitizeStruct,
  14: sanitizeUnion,
  15: sanitizeFixedSizeBinary,
  16: sanitizeFixedSizeList,
  17: sanitizeMap,
  18: sanitizeDuration,
  21: (typeLike, types) => newLargeList(onlyChild(typeLike, "LargeList", types)),
  [-1]: sanitizeDictionary,
  [-15]: (typeLike) => sanitizeTypedTimestamp(typeLike, arrow.TimestampSecond),
  [-16]: (typeLike) => sanitizeTypedTimestamp(typeLike, arrow.TimestampMillisecond),
  [-17]: (typeLike) => sanitizeTypedTimestamp(typeLike, arrow.TimestampMicrosecond),
  [-18]: (typeLike) => sanitizeTypedTimestamp(typeLike, arrow.TimestampNanosecond),
  [-23]: (typeLike, types) => sanitizeTypedUnion(typeLike, arrow.DenseUnion, types),
  [-24]: (typeLike, types) => sanitizeTypedUnion(typeLike, arrow.SparseUnion, types),
};

/** apache-arrow has large lists since release 21. */
function newLargeList(child: Field): DataType {
  // Releases before 19 lack the class. Importing a missing name fails, even for code that never runs.
  const LargeList: (new (child: Field) => DataType) | undefined = Reflect.get(arrow, "LargeList");
  if (LargeList !== undefined) return new LargeList(child);
  throw new Error("This release of apache-arrow has no LargeList type");
}

/**
 * Returns a type as one of this copy of apache-arrow.
 * @param typeLike a type of any copy, an object with its members, or a name as of {@link dataTypeFromName}
 */
export function sanitizeType(typeLike: unknown, types = new TypeCache()): DataType {
  if (typeof typeLike === "string") return dataTypeFromName(typeLike);
  if (typeof typeLike !== "object" || typeLike === null) {
    throw new Error("Expected a Type but object was null/undefined");
  }
  if (!("typeId" in typeLike)) throw new Error("Expected a Type to have a typeId property");
  const { typeId: member } = typeLike;
  const typeId: unknown = typeof member === "function" ? member.call(typeLike) : member;
  if (typeof typeId !== "number") throw new Error("Type's typeId property was not a function or number");
  if (typeId === 0) throw new Error("Received a Type with a typeId of NONE");
  return types.of(typeLike, () => {
    if (Object.hasOwn(PLAIN_TYPES, typeId)) return PLAIN_TYPES[typeId]();
    if (Object.hasOwn(OTHER_TYPES, typeId)) return OTHER_TYPES[typeId](typeLike, types);
    throw new Error(`Unrecognized type id in schema: ${typeId}`);
  });
}

/** Returns a field as one of this copy of apache-arrow. */
export function sanitizeField(fieldLike: unknown, types = new TypeCache()): Field {
  if (isOfThisCopy(fieldLike, arrow.Field)) return fieldLike;
  if (typeof fieldLike !== "object" || fieldLike === null) {
    throw new Error("Expected a Field but object was null/undefined");
  }
  if (!["type", "name", "nullable"].every((name) => name in fieldLike)) {
    throw new Error("The field passed in is missing a `type`/`name`/`nullable` property");
  }
  const { name, type: typeLike, nullable, metadata } = fieldLike as Members;
  let type: DataType;
  try {
    type = sanitizeType(typeLike, types);
  } catch (error) {
    throw new Error(`Unable to sanitize type for field: ${String(name)} due to error: ${error}`, {
      cause: error,
    });
  }
  if (typeof name !== "string") throw new Error("The field passed in had a non-string `name` property");
  if (typeof nullable !== "boolean") {
    throw new Error("The field passed in had a non-boolean `nullable` property");
  }
  return new arrow.Field(name, type, nullable, sanitizeMetadata(metadata));
}

/**
 * Returns a schema as one of this copy of apache-arrow. A program may use another copy than this package, so
 * its `Schema` is not ours.
 */
export function sanitizeSchema(schemaLike: SchemaLike, types = new TypeCache()): Schema {
  if (typeof schemaLike !== "object" || schemaLike === null) {
    throw new Error("Expected a Schema but object was null/undefined");
  }
  if (isOfThisCopy(schemaLike, arrow.Schema)) {
    sanitizeMetadata(schemaLike.metadata);
    return schemaLike;
  }
  if (!("fields" in schemaLike)) {
    throw new Error("The schema passed in does not appear to be a schema (no 'fields' property)");
  }
  const { fields, metadata } = schemaLike as Members;
  const checkedMetadata = sanitizeMetadata(metadata);
  if (!Array.isArray(fields)) {
    throw new Error("The schema passed in had a 'fields' property but it was not an array");
  }
  const ours = fields.map((field) => sanitizeField(field, types));
  return new arrow.Schema(ours, checkedMetadata);
}

/** Types by their names in lower case. */
const NAMED_TYPES: ReadonlyMap<string, number> = new Map([
  ["null", 1],
  ["binary", 4],
  ["utf8", 5],
  ["bool", 6],
  ["int8", -2],
  ["int16", -3],
  ["int32", -4],
  ["int64", -5],
  ["uint8", -6],
  ["uint16", -7],
  ["uint32", -8],
  ["uint64", -9],
  ["float16", -10],
  ["float32", -11],
  ["float64", -12],
  ["dateday", -13],
  ["datemillisecond", -14],
  ["timesecond", -19],
  ["timemillisecond", -20],
  ["timemicrosecond", -21],
  ["timenanosecond", -22],
  ["intervaldaytime", -25],
  ["intervalyearmonth", -26],
  ["durationsecond", -27],
  ["durationmillisecond", -28],
  ["durationmicrosecond", -29],
  ["durationnanosecond", -30],
]);

/** Returns the type of a name, such as `"float32"`. Case does not matter. */
export function dataTypeFromName(typeName: string): DataType {
  const typeId = NAMED_TYPES.get(typeName.toLowerCase());
  if (typeId === undefined) throw new Error(`Unrecognized type name in schema: ${typeName}`);
  return PLAIN_TYPES[typeId]();
}
