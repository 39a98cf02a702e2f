/** Names of types: those of SQL, and those of Arrow: `Int32`, `Timestamp(Second, None)`, `List(Utf8)`. */

import type { TimeUnit } from "../../arrow/types/type.js";
import { InternalError } from "../../errors.js";
import type { TypeName } from "../parse/syntax.js";
import {
  areSame,
  BINARY,
  BOOL,
  DATE,
  FLOAT32,
  FLOAT64,
  LARGE_STRING,
  listTypeOf,
  NULL,
  STRING,
  timestamp,
  typeName,
  type ValueType,
} from "../values/types.js";
import type { BoundNodes } from "./nodes.js";

const PLAIN: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  ["Null", NULL],
  ["Boolean", BOOL],
  ["Float16", { kind: "float", bits: 16 }],
  ["Float32", FLOAT32],
  ["Float64", FLOAT64],
  ["Utf8", STRING],
  ["LargeUtf8", LARGE_STRING],
  ["Binary", BINARY],
  ["LargeBinary", { kind: "binary", large: true }],
  ["Date32", DATE],
  ["Date64", { kind: "date", bits: 64 }],
  ...([8, 16, 32, 64] as const).flatMap((bits): [string, ValueType][] => [
    [`Int${bits}`, { kind: "int", bits, signed: true }],
    [`UInt${bits}`, { kind: "int", bits, signed: false }],
  ]),
]);

const UNITS: ReadonlyMap<string, TimeUnit> = new Map([
  ["Second", "s"],
  ["s", "s"],
  ["Millisecond", "ms"],
  ["ms", "ms"],
  ["Microsecond", "us"],
  ["us", "us"],
  ["µs", "us"],
  ["Nanosecond", "ns"],
  ["ns", "ns"],
]);
const MAX_NESTING = 16;

/** Arrow's name of a type. A dictionary has the name of its values. */
export function arrowNameOf(type: ValueType): string {
  switch (type.kind) {
    case "timestamp": {
      const unit = SHORT_UNITS[type.unit];
      return type.timezone === null ? `Timestamp(${unit})` : `Timestamp(${unit}, "${type.timezone}")`;
    }
    case "time":
      return `${type.unit === "s" || type.unit === "ms" ? "Time32" : "Time64"}(${SHORT_UNITS[type.unit]})`;
    case "duration":
      return `Duration(${SHORT_UNITS[type.unit]})`;
    case "fixedSizeBinary":
      return `FixedSizeBinary(${type.bytes})`;
    case "decimal":
      return `Decimal${type.bits}(${type.precision}, ${type.scale})`;
    case "list": {
      const item = arrowNameOf(type.item);
      if (type.size !== null) return `FixedSizeList(${type.size} x ${item})`;
      return `${type.large ? "LargeList" : "List"}(${item})`;
    }
    case "struct":
      return `Struct(${type.members.map(({ name, type: member }) => `"${name}": ${arrowNameOf(member)}`).join(", ")})`;
    case "other":
      return type.name;
  }
  for (const [name, plain] of PLAIN) if (areSame(plain, type)) return name;
  throw new InternalError(`Arrow has no name for ${typeName(type)}`);
}

const SHORT_UNITS: Readonly<Record<TimeUnit, string>> = { s: "s", ms: "ms", us: "µs", ns: "ns" };

/** Parses a name. Returns null if it names no type that values can be cast to. */
export function arrowTypeNamed(text: string, depth = 0): ValueType | null {
  const name = text.trim();
  const plain = PLAIN.get(name);
  if (plain !== undefined) return plain;
  const match = /^(\w+)\((.*)\)$/s.exec(name);
  if (match === null) return null;
  const [, kind, inner] = match;
  if (kind === "List") {
    const item = depth < MAX_NESTING ? arrowTypeNamed(inner, depth + 1) : null;
    return item === null ? null : listTypeOf(item);
  }
  const [first, second = "", ...rest] = inner.split(",").map((part) => part.trim());
  if (rest.length > 0) return null;
  const unit = UNITS.get(first);
  switch (kind) {
    case "Timestamp": {
      if (unit === undefined) return null;
      if (second === "None" || second === "") return timestamp(unit, null);
      const zone = /^(?:Some\()?"([^"]+)"\)?$/.exec(second)?.[1];
      return zone === undefined ? null : timestamp(unit, zone);
    }
    case "Time32":
      return unit === "s" || unit === "ms" ? { kind: "time", unit } : null;
    case "Time64":
      return unit === "us" || unit === "ns" ? { kind: "time", unit } : null;
    case "Duration":
      return unit === undefined ? null : { kind: "duration", unit };
    case "FixedSizeBinary":
      return /^\d{1,9}$/.test(first) && second === ""
        ? { kind: "fixedSizeBinary", bytes: Number(first) }
        : null;
    case "Decimal128":
    case "Decimal256": {
      const bits = kind === "Decimal128" ? 128 : 256;
      const [precision, scale] = [Number(first), Number(second)];
      const isKnown =
        /^\d{1,2}$/.test(first) && /^\d{1,2}$/.test(second) && precision >= 1 && scale <= precision;
      return isKnown && precision <= (bits === 128 ? 38 : 76)
        ? { kind: "decimal", bits, precision, scale }
        : null;
    }
  }
  return null;
}

/**
 * Returns the type of an SQL name.
 * @param precision digits of a second in a timestamp whose name has none
 * @throws InvalidInputError, UnsupportedError for an unknown name
 */
export function sqlTypeNamed(nodes: BoundNodes, name: TypeName, precision: 6 | 9): ValueType {
  const { parameters, isUnsigned } = name;
  const refuse = (): never => {
    throw nodes.invalid({ offset: name.offset }, `the type ${name.name} does not take these parameters`);
  };
  const bits = INTEGER_BITS[name.name];
  if (bits !== undefined) return { kind: "int", bits, signed: !isUnsigned };
  if (isUnsigned) return refuse();
  switch (name.name) {
    case "BOOLEAN":
      return BOOL;
    case "FLOAT":
      return FLOAT32;
    case "DOUBLE":
      return FLOAT64;
    case "STRING":
      return STRING;
    case "BINARY":
      return BINARY;
    case "DATE":
      return DATE;
    case "TIMESTAMP":
    case "DATETIME": {
      const unit = TIMESTAMP_UNITS[parameters[0] ?? precision];
      return unit === undefined || parameters.length > 1 ? refuse() : timestamp(unit, null);
    }
    case "DECIMAL": {
      const [digits, scale] = parameters;
      if (parameters.length !== 2 || digits < 1 || digits > 38 || scale > digits) return refuse();
      return { kind: "decimal", bits: 128, precision: digits, scale };
    }
  }
  throw nodes.unsupported(name, `the type ${name.name}`);
}

const INTEGER_BITS: Readonly<Record<string, 8 | 16 | 32 | 64>> = {
  TINYINT: 8,
  SMALLINT: 16,
  INT: 32,
  INTEGER: 32,
  BIGINT: 64,
};

const TIMESTAMP_UNITS: Readonly<Record<number, TimeUnit>> = { 0: "s", 3: "ms", 6: "us", 9: "ns" };
