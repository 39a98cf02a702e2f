/**
 * The types of a table's fields. Schemas on disk have them as texts; a text is parsed where a schema is read
 * and formatted where one is written or shown, and all code between asks the union. It lies at the bottom of
 * `arrow/` because Arrow's types are converted to it and from it; `schema/` and all above use it too.
 *
 *     text                                   kind
 *     null bool                              null bool
 *     int8 … int64 uint8 … uint64            int
 *     halffloat float double                 float
 *     decimal:128|256:<precision>:<scale>    decimal
 *     string large_string                    string
 *     binary large_binary                    binary
 *     fixed_size_binary:<bytes>              fixedSizeBinary
 *     date32:day date64:ms                   date
 *     time32:s|ms time64:us|ns               time
 *     timestamp:<unit>:<zone or ->           timestamp
 *     duration:<unit>                        duration
 *     json                                   json
 *     lance.bfloat16                         bfloat16
 *     dict:<value>:<index>:<ordered>         dictionary
 *     fixed_size_list:<item>:<size>          fixedSizeList; where the item is `struct`, it is a child of the field
 *     list large_list                        list
 *     list.struct large_list.struct          list whose item is a struct
 *     struct map                             struct map
 *     any other                              unknown
 *
 * `formatType` is the exact inverse of `parseType`: a text that is no type, or that is spelled otherwise than
 * above (such as a number with leading zeros), is `unknown` and kept as it is. What is parsed is only the
 * form: a precision or size may be one that Arrow does not have (`arrowTypeFromLogical` refuses it). Types of
 * one text are often the same object and never changed.
 */

export type TimeUnit = "s" | "ms" | "us" | "ns";

export interface IntegerType {
  readonly kind: "int";
  readonly bits: 8 | 16 | 32 | 64;
  readonly signed: boolean;
}

export interface FloatType {
  readonly kind: "float";
  readonly bits: 16 | 32 | 64;
}

export interface DecimalType {
  readonly kind: "decimal";
  readonly bits: 128 | 256;
  readonly precision: number;
  readonly scale: number;
}

export interface TimestampType {
  readonly kind: "timestamp";
  readonly unit: TimeUnit;
  /** Null for local time, which is no instant. Never empty, and never holds a colon. */
  readonly timezone: string | null;
}

export interface DictionaryType {
  readonly kind: "dictionary";
  readonly values: LogicalType;
  readonly indices: IntegerType;
  readonly ordered: boolean;
}

export interface FixedSizeListType {
  readonly kind: "fixedSizeList";
  readonly of: LogicalType;
  readonly size: number;
}

interface ListType {
  readonly kind: "list";
  /** True if offsets have 64 bits, not 32. */
  readonly large: boolean;
  /** True if the text says that the item is a struct. The item itself is a child of the field. */
  readonly ofStructs: boolean;
}

/** The type of a field, without its children. */
export type LogicalType =
  | { readonly kind: "null" }
  | { readonly kind: "bool" }
  | IntegerType
  | FloatType
  | DecimalType
  /** Text and bytes. The offsets of large ones have 64 bits, not 32. */
  | { readonly kind: "string"; readonly large: boolean }
  | { readonly kind: "binary"; readonly large: boolean }
  | { readonly kind: "fixedSizeBinary"; readonly bytes: number }
  /** Days in 32 bits, milliseconds in 64. */
  | { readonly kind: "date"; readonly bits: 32 | 64 }
  /** Seconds and milliseconds have 32 bits, the other units 64. */
  | { readonly kind: "time"; readonly unit: TimeUnit }
  | TimestampType
  | { readonly kind: "duration"; readonly unit: TimeUnit }
  /** JSON: text in rows, JSONB in files. */
  | { readonly kind: "json" }
  /** Floats with 8 bits of exponent in 2 bytes; only as items of fixed-size lists. */
  | { readonly kind: "bfloat16" }
  | DictionaryType
  | FixedSizeListType
  | ListType
  | { readonly kind: "struct" }
  | { readonly kind: "map" }
  | { readonly kind: "unknown"; readonly text: string };

/** In the order of apache-arrow's numbers of units. */
export const TIME_UNITS: readonly TimeUnit[] = ["s", "ms", "us", "ns"];

/** Separates the parts of a type's text, so a time zone cannot hold it. */
export const SEPARATOR = ":";

const NO_TIMEZONE = "-";
/** Types that one text may hold inside each other; what lies deeper is `unknown`. */
const MAX_NESTING = 256;
/** Bounds of the cache of parsed types, in types and in characters of one text. */
const MAX_CACHED_TYPES = 1024;
const MAX_CACHED_LENGTH = 256;

/** The type that a schema's text means. Any text is one. */
export function parseType(text: string): LogicalType {
  const known = parsedTypes.get(text);
  if (known !== undefined) return known;
  const type = parseNested(text, 0);
  if (text.length <= MAX_CACHED_LENGTH) {
    if (parsedTypes.size >= MAX_CACHED_TYPES) parsedTypes.clear();
    parsedTypes.set(text, type);
  }
  return type;
}

const parsedTypes = new Map<string, LogicalType>();

/** The text that schemas have for a type. */
export function formatType(type: LogicalType): string {
  switch (type.kind) {
    case "null":
    case "bool":
    case "json":
    case "struct":
    case "map":
      return type.kind;
    case "int":
      return `${type.signed ? "int" : "uint"}${type.bits}`;
    case "float":
      return type.bits === 16 ? "halffloat" : type.bits === 32 ? "float" : "double";
    case "decimal":
      return `decimal:${type.bits}:${type.precision}:${type.scale}`;
    case "string":
    case "binary":
      return type.large ? `large_${type.kind}` : type.kind;
    case "fixedSizeBinary":
      return `fixed_size_binary:${type.bytes}`;
    case "date":
      return type.bits === 32 ? "date32:day" : "date64:ms";
    case "time":
      return `time${timeBits(type.unit)}:${type.unit}`;
    case "timestamp":
      return `timestamp:${type.unit}:${type.timezone ?? NO_TIMEZONE}`;
    case "duration":
      return `duration:${type.unit}`;
    case "bfloat16":
      return "lance.bfloat16";
    case "dictionary":
      return `dict:${formatType(type.values)}:${formatType(type.indices)}:${type.ordered}`;
    case "fixedSizeList":
      return `fixed_size_list:${formatType(type.of)}:${type.size}`;
    case "list":
      return `${type.large ? "large_list" : "list"}${type.ofStructs ? ".struct" : ""}`;
    case "unknown":
      return type.text;
  }
}

/** A type in the words of messages: with its parameters, and without the separators of stored schemas. */
export function typeInText(type: LogicalType): string {
  switch (type.kind) {
    case "decimal":
      return `decimal${type.bits}(${type.precision}, ${type.scale})`;
    case "fixedSizeBinary":
      return `fixed-size binary of ${type.bytes} bytes`;
    case "date":
      return `date${type.bits}`;
    case "time":
      return `time${timeBits(type.unit)} in ${type.unit}`;
    case "timestamp":
      return `timestamp in ${type.unit}${type.timezone === null ? "" : ` and ${type.timezone}`}`;
    case "duration":
      return `duration in ${type.unit}`;
    case "bfloat16":
      return "bfloat16";
    case "dictionary":
      return `dictionary of ${typeInText(type.values)}`;
    case "fixedSizeList":
      return `fixed-size list of ${type.size} ${typeInText(type.of)}`;
    case "list":
      return `${type.large ? "large " : ""}list${type.ofStructs ? " of structs" : ""}`;
    default:
      return formatType(type);
  }
}

/** True if types are the same in all parameters. Says nothing of the children of their fields. */
export function isSameType(one: LogicalType, other: LogicalType): boolean {
  return one === other || (one.kind === other.kind && formatType(one) === formatType(other));
}

/** Bits of a time of day. */
export const timeBits = (unit: TimeUnit): 32 | 64 => (unit === "s" || unit === "ms" ? 32 : 64);

// ------------------------------------------------------------------------------------------------- parsing

/** All types that have but one text, whatever their parameters. */
const PLAIN_TYPES: ReadonlyMap<string, LogicalType> = new Map(
  [
    ...(["null", "bool", "json", "bfloat16", "struct", "map"] as const).map((kind) => ({ kind })),
    ...([8, 16, 32, 64] as const).flatMap((bits) =>
      [true, false].map((signed) => ({ kind: "int", bits, signed }) as const),
    ),
    ...([16, 32, 64] as const).map((bits) => ({ kind: "float", bits }) as const),
    ...([32, 64] as const).map((bits) => ({ kind: "date", bits }) as const),
    ...TIME_UNITS.flatMap((unit) => [{ kind: "time", unit } as const, { kind: "duration", unit } as const]),
    ...[true, false].flatMap((large) => [
      { kind: "string", large } as const,
      { kind: "binary", large } as const,
      { kind: "list", large, ofStructs: false } as const,
      { kind: "list", large, ofStructs: true } as const,
    ]),
  ].map((type: LogicalType) => [formatType(type), type]),
);

function parseNested(text: string, depth: number): LogicalType {
  const plain = PLAIN_TYPES.get(text);
  if (plain !== undefined) return plain;
  const end = text.indexOf(SEPARATOR);
  const type =
    end < 0 || depth >= MAX_NESTING ? null : parseParameters(text.slice(0, end), text.slice(end + 1), depth);
  return type ?? { kind: "unknown", text };
}

/** Null where the name is not known or its parameters are malformed. */
function parseParameters(name: string, parameters: string, depth: number): LogicalType | null {
  switch (name) {
    case "fixed_size_binary": {
      const bytes = parseCount(parameters);
      return bytes === null ? null : { kind: "fixedSizeBinary", bytes };
    }
    case "timestamp": {
      const [unit, zone = "", ...rest] = parameters.split(SEPARATOR, 3);
      if (!isTimeUnit(unit) || zone === "" || rest.length > 0) return null;
      return { kind: "timestamp", unit, timezone: zone === NO_TIMEZONE ? null : zone };
    }
    case "decimal": {
      const match = /^(128|256):(0|[1-9]\d?):(0|-?[1-9]\d{0,2})$/.exec(parameters);
      if (match === null) return null;
      return {
        kind: "decimal",
        bits: match[1] === "128" ? 128 : 256,
        precision: Number(match[2]),
        scale: Number(match[3]),
      };
    }
    case "fixed_size_list": {
      const [item, sizeText] = splitLast(parameters);
      const size = parseCount(sizeText);
      return item === null || size === null
        ? null
        : { kind: "fixedSizeList", of: parseNested(item, depth + 1), size };
    }
    case "dict": {
      const [types, ordered] = splitLast(parameters);
      if (types === null || (ordered !== "true" && ordered !== "false")) return null;
      const [values, indexText] = splitLast(types);
      const indices = PLAIN_TYPES.get(indexText);
      if (values === null || indices?.kind !== "int") return null;
      return {
        kind: "dictionary",
        values: parseNested(values, depth + 1),
        indices,
        ordered: ordered === "true",
      };
    }
    default:
      return null;
  }
}

/** The text before the last separator, null if there is none, and the text behind it. */
function splitLast(text: string): [string | null, string] {
  const last = text.lastIndexOf(SEPARATOR);
  return last < 0 ? [null, text] : [text.slice(0, last), text.slice(last + 1)];
}

/** A number as it is formatted; null for any other text. */
function parseCount(text: string): number | null {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 && String(count) === text ? count : null;
}

const isTimeUnit = (text: string): text is TimeUnit => (TIME_UNITS as readonly string[]).includes(text);
