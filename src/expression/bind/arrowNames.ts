/** Arrow's names of types: `Int32`, `Timestamp(Second, None)`, `List(Utf8)`. */

import type { TimeUnit } from "../../arrow/types/type.js";
import { InternalError } from "../../errors.js";
import {
  areSame,
  BINARY,
  BOOL,
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
  ["Date32", { kind: "date", bits: 32 }],
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
