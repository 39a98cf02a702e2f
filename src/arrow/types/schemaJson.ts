/**
 * Converts schemas and types to and from the JSON of the namespace spec. Output uses LanceDB's vocabulary.
 * Input may use the spec's names (`utf8`, `float64`) or those of table schemas (`string`, `double`,
 * `timestamp:us:-`), or be apache-arrow types of any version.
 */

import {
  type DataType,
  Decimal,
  type Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  type Schema,
  Struct,
  Type,
} from "apache-arrow";
import { InvalidInputError } from "../../errors.js";
import { adoptType } from "./foreignTypes.js";
import { arrowTypeFromLogical } from "./logicalTypes.js";
import { parseType } from "./type.js";
import { FLOAT_BITS, type ForeignType, floatPrecision, unsupported } from "./typeParameters.js";

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
  /** Bytes or items of a fixed-size value; `precision · 1000 + scale` of a decimal. */
  length?: number;
}

/**
 * Converts a schema to the namespace spec's JSON, in LanceDB's vocabulary. A dictionary appears as its value
 * type. Units and time zones are left out.
 * @throws UnsupportedError for types that the spec cannot name
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

/** Names of the types that need nothing else, and of those with children. */
const PLAIN_NAMES: ReadonlyMap<number, string> = new Map([
  [Type.Null, "null"],
  [Type.Bool, "bool"],
  [Type.Timestamp, "timestamp"],
  [Type.Duration, "duration"],
  [Type.Interval, "interval"],
  [Type.Utf8, "utf8"],
  [Type.LargeUtf8, "large_utf8"],
  [Type.Binary, "binary"],
  [Type.LargeBinary, "large_binary"],
]);
const NESTED_NAMES: ReadonlyMap<number, string> = new Map([
  [Type.List, "list"],
  [Type.LargeList, "large_list"],
  [Type.FixedSizeList, "fixed_size_list"],
  [Type.Struct, "struct"],
  [Type.Map, "map"],
]);

function typeToJson(type: DataType, path: string): JsonArrowType {
  const foreign: ForeignType = type;
  const plain = PLAIN_NAMES.get(foreign.typeId);
  if (plain !== undefined) return { type: plain };
  const nested = NESTED_NAMES.get(foreign.typeId);
  if (nested !== undefined) {
    const fields = (type.children ?? []).map(fieldToJson);
    const isSized = foreign.typeId === Type.FixedSizeList;
    return { type: nested, fields, ...(isSized && { length: foreign.listSize ?? 0 }) };
  }
  switch (foreign.typeId) {
    case Type.Int:
      return { type: `${foreign.isSigned ? "int" : "uint"}${foreign.bitWidth}` };
    case Type.Float:
      return { type: `float${FLOAT_BITS[floatPrecision(foreign, path)]}` };
    case Type.Decimal: {
      const length = (foreign.precision ?? 0) * 1000 + (foreign.scale ?? 0);
      return { type: `decimal${foreign.bitWidth}`, length };
    }
    case Type.Date:
      return { type: foreign.unit === 0 ? "date32" : "date64" };
    case Type.Time:
      return { type: `time${foreign.bitWidth}` };
    case Type.FixedSizeBinary:
      return { type: "fixed_size_binary", length: foreign.byteWidth ?? 0 };
    case Type.Dictionary:
      return typeToJson((type as Dictionary).dictionary, path);
  }
  throw unsupported(type, path);
}

/** The spec's names for types that have another name in table schemas. */
const SPEC_NAMES: ReadonlyMap<string, string> = new Map([
  ["boolean", "bool"],
  ["float16", "halffloat"],
  ["float32", "float"],
  ["float64", "double"],
  ["utf8", "string"],
  ["large_utf8", "large_string"],
  ["date32", "date32:day"],
  ["date64", "date64:ms"],
]);
/** Names that lack a unit. With a unit, they are names of table schemas. */
const WITHOUT_UNIT = ["timestamp", "time32", "time64", "duration"];
/** Maximum nesting of a type. */
const MAX_DEPTH = 64;

/**
 * @throws InvalidInputError for a value that is not a type, UnsupportedError for a type that cannot be stored
 */
export function typeFromJson(json: unknown, path: string, depth = 0): DataType {
  const invalid = (reason: string) => new InvalidInputError(`type of column ${path}: ${reason}`);
  if (depth > MAX_DEPTH) throw invalid(`nested deeper than ${MAX_DEPTH}`);
  if (typeof json === "string") return typeFromJson({ type: json }, path, depth);
  if (typeof json !== "object" || json === null) throw invalid("must be an object with a member type");
  if ("typeId" in json) return adoptType(json as ForeignType);
  const { type: name, length, fields } = json as Record<string, unknown>;
  if (typeof name !== "string") throw invalid("must be an object with a member type");
  const children = (count: number | null): Field[] => {
    if (!Array.isArray(fields) || (count !== null && fields.length !== count)) {
      throw invalid(`${name} needs ${count === null ? "a list of fields" : `fields, ${count} of them`}`);
    }
    return fields.map((field) => fieldFromJson(field, path, depth + 1));
  };
  switch (name) {
    case "list":
      return new List(children(1)[0]);
    case "large_list":
      return new LargeList(children(1)[0]);
    case "fixed_size_list":
      return new FixedSizeList(size(length, invalid), children(1)[0]);
    case "struct":
      return new Struct(children(null));
    case "map":
      return new Map_(children(1)[0] as ConstructorParameters<typeof Map_>[0]);
    case "fixed_size_binary":
      return new FixedSizeBinary(size(length, invalid));
    case "decimal128":
    case "decimal256": {
      const digits = size(length, invalid);
      return new Decimal(digits % 1000, Math.floor(digits / 1000), Number(name.slice(7)));
    }
  }
  if (WITHOUT_UNIT.includes(name))
    throw invalid(
      `${name} leaves the unit open; write one as in ${name}:us${name === "timestamp" ? ":-" : ""}`,
    );
  return arrowTypeFromLogical(parseType(SPEC_NAMES.get(name) ?? name), path);
}

function fieldFromJson(json: unknown, path: string, depth: number): Field {
  if (typeof json !== "object" || json === null) {
    throw new InvalidInputError(`type of column ${path}: fields must be objects`);
  }
  const { name, nullable = true, type, metadata = {} } = json as Record<string, unknown>;
  if (typeof name !== "string" || typeof nullable !== "boolean") {
    throw new InvalidInputError(`type of column ${path}: a field needs a name, and nullable is a boolean`);
  }
  const entries = typeof metadata === "object" && metadata !== null ? Object.entries(metadata) : null;
  if (entries === null || entries.some(([, value]) => typeof value !== "string")) {
    throw new InvalidInputError(`type of column ${path}: metadata must be an object of strings`);
  }
  return new Field(name, typeFromJson(type, `${path}.${name}`, depth), nullable, new Map(entries));
}

function size(length: unknown, invalid: (reason: string) => InvalidInputError): number {
  if (typeof length === "number" && Number.isSafeInteger(length) && length > 0) return length;
  throw invalid("length must be a positive integer");
}
