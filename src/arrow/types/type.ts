/**
 * The types of a table's fields. Schemas on disk store types as texts. The reader of a schema parses them,
 * and the writer formats them; all code between uses the union. The module lies at the bottom of `arrow/`
 * because Arrow's types are converted to and from it. `schema/` and all higher layers use it too.
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
 *     fixed_size_list:<item>:<size>          fixedSizeList; an item `struct` is a child of the field
 *     list large_list                        list
 *     list.struct large_list.struct          list whose item is a struct
 *     struct map                             struct map
 *     any other                              unknown
 *
 * `formatType` is the exact inverse of `parseType`. Any other text, such as a number with leading zeros, is
 * `unknown` and kept unchanged. Parsing checks only the form: Arrow may not have the precision or size, which
 * `arrowTypeFromLogical` then refuses. Equal texts often share one type object, which never changes.
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
  /** Null for local time, which is not an instant. Never empty and never contains a colon. */
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
  /** True if offsets have 64 bits instead of 32. */
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
  /** Text and bytes. Large ones have 64-bit offsets, others 32-bit. */
  | { readonly kind: "string"; readonly large: boolean }
  | { readonly kind: "binary"; readonly large: boolean }
  | { readonly kind: "fixedSizeBinary"; readonly bytes: number }
  /** Days have 32 bits, milliseconds 64. */
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

/** Units in the order of apache-arrow's unit numbers. */
export const TIME_UNITS: readonly TimeUnit[] = ["s", "ms", "us", "ns"];

/** Separates the parts of a type's text. A time zone therefore cannot contain it. */
export const SEPARATOR = ":";

const NO_TIMEZONE = "-";
/** Maximum nesting of types in one text. A deeper text is `unknown`. */
const MAX_NESTING = 256;
/** Bounds of the cache of parsed types: number of types, and characters of one text. */
const MAX_CACHED_TYPES = 1024;
const MAX_CACHED_LENGTH = 256;

/** Returns the type of a schema's text. Any text has one. */
export function parseType(text: string): LogicalType {
  const cached = parsedTypes.get(text);
  if (cached !== undefined) return cached;
  const type = parseNested(text, 0);
  if (text.length <= MAX_CACHED_LENGTH) {
    if (parsedTypes.size >= MAX_CACHED_TYPES) parsedTypes.clear();
    parsedTypes.set(text, type);
  }
  return type;
}

const parsedTypes = new Map<string, LogicalType>();

/** Returns the text of a type in schemas. */
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

/** Formats a type for messages: with its parameters, but without the separators of stored schemas. */
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

/** True if two types have the same kind and parameters. The children of their fields may differ. */
export function isSameType(first: LogicalType, second: LogicalType): boolean {
  return first === second || (first.kind === second.kind && formatType(first) === formatType(second));
}

/** Bits of a time of day. */
export const timeBits = (unit: TimeUnit): 32 | 64 => (unit === "s" || unit === "ms" ? 32 : 64);

// ------------------------------------------------------------------------------------------------- parsing

/** All types that have only one text. */
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

/** Null if the name is unknown or its parameters are malformed. */
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
      const [bits, precision, scale] = match.slice(1).map(Number);
      return { kind: "decimal", bits: bits === 128 ? 128 : 256, precision, scale };
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
      const entries = parseNested(values, depth + 1);
      return { kind: "dictionary", values: entries, indices, ordered: ordered === "true" };
    }
    default:
      return null;
  }
}

/** Splits at the last separator. Without a separator, the first part is null. */
function splitLast(text: string): [string | null, string] {
  const last = text.lastIndexOf(SEPARATOR);
  return last < 0 ? [null, text] : [text.slice(0, last), text.slice(last + 1)];
}

/** A number in its formatted form; null for any other text. */
function parseCount(text: string): number | null {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 && String(count) === text ? count : null;
}

const isTimeUnit = (text: string): text is TimeUnit => (TIME_UNITS as readonly string[]).includes(text);
