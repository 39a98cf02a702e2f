/**
 * Parses SQL expressions that are the same for every row, with the type and value that the reference's SQL gives them:
 *
 *     constant   literal | "(" constant ")" | CAST "(" constant AS type ")" | constant "::" type
 *     literal    NULL | TRUE | FALSE | [-] digits [. digits] [e exponent] | 'text, each quote doubled' | X'hex'
 *                | DATE 'yyyy-mm-dd' | TIMESTAMP 'yyyy-mm-dd hh:mm:ss[.fraction]'
 *     type       BOOLEAN | TINYINT | SMALLINT | INT | INTEGER | BIGINT, the integers also UNSIGNED | FLOAT | DOUBLE
 *                | DECIMAL(precision, scale) | STRING | BINARY | DATE | TIMESTAMP[(digits of the fraction)]
 *
 * Keywords may have any case. Any other expression is refused.
 */

import type { Column, FixedColumn, VariableColumn } from "../../arrow/columns/column.js";
import {
  type DecimalType,
  type FloatType,
  formatType,
  type IntegerType,
  isSameType,
  type LogicalType,
  type TimestampType,
  type TimeUnit,
} from "../../arrow/types/type.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";

export interface SqlConstant {
  readonly type: ConstantType;
  /** One value; null for NULL. */
  readonly value: Column | null;
}

/**
 * @param path of the column, for messages
 * @throws UnsupportedError for an expression that is no constant, InvalidInputError for a constant without a value
 */
export function parseSqlConstant(text: string, path: string): SqlConstant {
  const parser = new Parser(text, path);
  const { type, value } = parser.parse();
  return { type, value: value === null ? null : parser.columnOf(type, value) };
}

/** The types that constants have. */
type ConstantType =
  | IntegerType
  | FloatType
  | DecimalType
  | TimestampType
  | Extract<LogicalType, { kind: "null" | "bool" | "string" | "binary" | "date" }>;

/** Decimals are scaled integers, as they are stored; dates are days; timestamps are ticks of their unit. */
type Value = bigint | number | string | boolean | Uint8Array;

interface Typed {
  readonly type: ConstantType;
  readonly value: Value | null;
  /** The text of a number, so that a decimal made of it is exact. */
  readonly text?: string;
}

/** Longest text of a literal or expression shown in a message. */
const SHOWN = 80;
const TOKEN =
  /\s*(?:('(?:[^']|'')*'|[A-Za-z_]\w*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|::|[(),-]))/y;
/** Maximum characters of an expression. */
const MAX_LENGTH = 2 ** 16;
const MAX_DEPTH = 32;
const INTEGER_BITS: Readonly<Record<string, IntegerType["bits"]>> = {
  TINYINT: 8,
  SMALLINT: 16,
  INT: 32,
  INTEGER: 32,
  BIGINT: 64,
};
const TIMESTAMP_UNITS: Readonly<Record<string, TimeUnit>> = { 0: "s", 3: "ms", 6: "us", 9: "ns" };
const TICKS_PER_SECOND: Readonly<Record<TimeUnit, bigint>> = {
  s: 1n,
  ms: 1_000n,
  us: 1_000_000n,
  ns: 1_000_000_000n,
};
const MS_PER_DAY = 86_400_000;
const MAX_DECIMAL_DIGITS = 38;

const NULL: ConstantType = { kind: "null" };
const BOOL: ConstantType = { kind: "bool" };
const STRING: ConstantType = { kind: "string", large: false };
const BINARY: ConstantType = { kind: "binary", large: false };
const DATE: ConstantType = { kind: "date", bits: 32 };
const FLOAT: ConstantType = { kind: "float", bits: 32 };
const DOUBLE: ConstantType = { kind: "float", bits: 64 };
const integer = (bits: IntegerType["bits"], signed: boolean): IntegerType => ({ kind: "int", bits, signed });
const localTimestamp = (unit: TimeUnit): TimestampType => ({ kind: "timestamp", unit, timezone: null });

class Parser {
  readonly #text: string;
  readonly #path: string;
  readonly #tokens: string[];
  #next = 0;
  #depth = 0;

  constructor(text: string, path: string) {
    this.#text = text;
    this.#path = path;
    if (text.length > MAX_LENGTH) throw this.#invalid(`it has more than ${MAX_LENGTH} characters`);
    this.#tokens = this.#tokenize();
  }

  parse(): Typed {
    const constant = this.#constant();
    if (this.#next < this.#tokens.length) throw this.#unsupported();
    return constant;
  }

  /** A column of one value. */
  columnOf(type: ConstantType, value: Value): Column {
    if (typeof value === "boolean") {
      return { kind: "bits", length: 1, validity: null, bits: Uint8Array.of(Number(value)), bitOffset: 0 };
    }
    if (typeof value === "string") return variable(new TextEncoder().encode(value));
    if (typeof value === "object") return variable(value);
    if (type.kind === "float") {
      return fixed(new Uint8Array((type.bits === 32 ? Float32Array : Float64Array).of(Number(value)).buffer));
    }
    const bytes = new Uint8Array(byteWidth(type));
    for (let index = 0, rest = BigInt(value); index < bytes.length; index++, rest >>= 8n) {
      bytes[index] = Number(rest & 0xffn);
    }
    return fixed(bytes);
  }

  #tokenize(): string[] {
    const tokens: string[] = [];
    const end = this.#text.trimEnd().length;
    let position = 0;
    while (position < end) {
      TOKEN.lastIndex = position;
      const match = TOKEN.exec(this.#text);
      if (match === null) {
        const rest = this.#text.slice(position).trimStart();
        if (rest.startsWith("'")) throw this.#invalid(`unclosed quote at position ${position}`);
        throw this.#unsupported();
      }
      tokens.push(match[1]);
      position = TOKEN.lastIndex;
    }
    if (tokens.length === 0) throw this.#invalid("the expression is empty");
    return tokens;
  }

  #constant(): Typed {
    if (++this.#depth > MAX_DEPTH) throw this.#invalid(`nested deeper than ${MAX_DEPTH}`);
    let constant = this.#primary();
    while (this.#peek() === "::") {
      this.#next++;
      constant = this.#cast(constant, this.#type());
    }
    this.#depth--;
    return constant;
  }

  #primary(): Typed {
    const token = this.#take();
    if (token === "(") {
      const inner = this.#constant();
      this.#expect(")");
      return inner;
    }
    if (token === "-") {
      const digits = this.#take();
      if (!/^[\d.]/.test(digits)) throw this.#unsupported();
      return number(`-${digits}`);
    }
    if (/^[\d.]/.test(token)) return number(token);
    if (token.startsWith("'")) return { type: STRING, value: unquote(token) };
    switch (token.toUpperCase()) {
      case "NULL":
        return { type: NULL, value: null };
      case "TRUE":
      case "FALSE":
        return { type: BOOL, value: token.toUpperCase() === "TRUE" };
      case "X":
        return { type: BINARY, value: this.#hex(this.#take()) };
      case "DATE":
      case "TIMESTAMP": {
        const literal = this.#take();
        if (!literal.startsWith("'")) throw this.#unsupported();
        const type = token.toUpperCase() === "DATE" ? DATE : localTimestamp("us");
        return this.#cast({ type: STRING, value: unquote(literal) }, type);
      }
      case "CAST": {
        this.#expect("(");
        const inner = this.#constant();
        this.#expect("AS");
        const type = this.#type();
        this.#expect(")");
        return this.#cast(inner, type);
      }
    }
    throw this.#unsupported();
  }

  #type(): ConstantType {
    const name = this.#take().toUpperCase();
    const bits = INTEGER_BITS[name];
    if (bits !== undefined) {
      const unsigned = this.#peek()?.toUpperCase() === "UNSIGNED";
      if (unsigned) this.#next++;
      return integer(bits, !unsigned);
    }
    switch (name) {
      case "BOOLEAN":
        return BOOL;
      case "FLOAT":
        return FLOAT;
      case "DOUBLE":
        return DOUBLE;
      case "STRING":
        return STRING;
      case "BINARY":
        return BINARY;
      case "DATE":
        return DATE;
      case "TIMESTAMP": {
        const [digits = 6] = this.#arguments(0, 1);
        const unit = TIMESTAMP_UNITS[digits];
        if (unit === undefined) throw this.#invalid(`a timestamp has 0, 3, 6 or 9 digits, not ${digits}`);
        return localTimestamp(unit);
      }
      case "DECIMAL": {
        const [precision, scale = 0] = this.#arguments(1, 2);
        if (precision < 1 || precision > MAX_DECIMAL_DIGITS || scale > precision) {
          throw this.#invalid(`no decimal has precision ${precision} and scale ${scale}`);
        }
        return { kind: "decimal", bits: 128, precision, scale };
      }
    }
    throw this.#unsupported();
  }

  /** Reads integers in parentheses. The parentheses may be missing if no integer is required. */
  #arguments(least: number, most: number): number[] {
    if (this.#peek() !== "(" && least === 0) return [];
    this.#expect("(");
    const values: number[] = [];
    do {
      const token = this.#take();
      if (!/^\d{1,9}$/.test(token) || values.length === most) throw this.#unsupported();
      values.push(Number(token));
    } while (this.#take() === ",");
    if (this.#tokens[this.#next - 1] !== ")") throw this.#unsupported();
    return values;
  }

  #cast({ type: from, value, text }: Typed, to: ConstantType): Typed {
    if (value === null || isSameType(from, to)) return { type: to, value };
    const fail = () =>
      this.#invalid(`${formatType(from)} ${shown(value)} cannot be cast to ${formatType(to)}`);
    const result = castValue(value, from, to, text, fail);
    return { type: to, value: result };
  }

  #hex(token: string): Uint8Array {
    const digits = token.startsWith("'") ? unquote(token) : "";
    if (!token.startsWith("'")) throw this.#unsupported();
    if (!/^(?:[0-9a-fA-F]{2})*$/.test(digits)) throw this.#invalid("X needs pairs of hexadecimal digits");
    return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  }

  #peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  #take(): string {
    const token = this.#tokens[this.#next++];
    if (token === undefined) throw this.#invalid("the expression ends too early");
    return token;
  }

  #expect(wanted: string): void {
    if (this.#take().toUpperCase() !== wanted) throw this.#unsupported();
  }

  #invalid(reason: string): InvalidInputError {
    return new InvalidInputError(`expression of column ${this.#path}: ${reason}`);
  }

  #unsupported(): UnsupportedError {
    return new UnsupportedError(
      `expression of column ${this.#path}: ${shown(this.#text)} is not a constant, and other SQL expressions are not supported by this release`,
    );
  }
}

const shown = (value: Value): string => {
  const text = typeof value === "object" ? `of ${value.length} bytes` : String(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
};

const unquote = (token: string): string => token.slice(1, -1).replaceAll("''", "'");

const variable = (bytes: Uint8Array): VariableColumn => ({
  kind: "variable",
  length: 1,
  validity: null,
  offsets: Int32Array.of(0, bytes.length),
  bytes,
});

const fixed = (values: Uint8Array): FixedColumn => ({
  kind: "fixed",
  length: 1,
  validity: null,
  byteWidth: values.length,
  values,
});

/** Bytes of a value that is kept as a whole number. */
const byteWidth = (type: ConstantType): number => ("bits" in type ? type.bits : 64) / 8;

/**
 * Integers have 64 bits and are signed if they fit; larger ones are doubles, as are numbers with a point or exponent.
 */
function number(text: string): Typed {
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text);
    if (BigInt.asIntN(64, value) === value) return { type: integer(64, true), value, text };
    if (BigInt.asUintN(64, value) === value) return { type: integer(64, false), value, text };
  }
  return { type: DOUBLE, value: Number(text), text };
}

function castValue(
  value: Value,
  from: ConstantType,
  to: ConstantType,
  text: string | undefined,
  fail: () => InvalidInputError,
): Value {
  const isNumber = from.kind === "int" || from.kind === "float";
  switch (to.kind) {
    case "int": {
      const result = integerOf(value, isNumber, fail);
      const wrapped = to.signed ? BigInt.asIntN(to.bits, result) : BigInt.asUintN(to.bits, result);
      if (wrapped !== result) throw fail();
      return result;
    }
    case "float": {
      if (typeof value === "boolean") return Number(value);
      if (!isNumber && !(typeof value === "string" && NUMBER.test(value.trim()))) throw fail();
      const float = Number(value);
      return to.bits === 32 ? Math.fround(float) : float;
    }
    case "bool":
      if (isNumber) return Number(value) !== 0;
      if (typeof value === "string" && /^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
      throw fail();
    case "string":
      if (typeof value === "string" || typeof value === "boolean") return String(value);
      if (typeof value === "bigint" && isNumber) return value.toString();
      throw fail();
    case "binary":
      if (typeof value !== "string") throw fail();
      return new TextEncoder().encode(value);
    case "decimal": {
      const digits = isNumber ? (text ?? String(value)) : typeof value === "string" ? value.trim() : "";
      return decimalOf(digits, to, fail);
    }
    case "date": {
      const { ms, nanos } = instantOf(value, fail);
      if (ms % MS_PER_DAY !== 0 || nanos !== 0n) throw fail();
      return BigInt(ms / MS_PER_DAY);
    }
    case "timestamp": {
      const { ms, nanos } = instantOf(value, fail);
      const scaled = (BigInt(ms) * 1_000_000n + nanos) * TICKS_PER_SECOND[to.unit];
      if (scaled % 1_000_000_000n !== 0n) throw fail();
      const result = scaled / 1_000_000_000n;
      if (BigInt.asIntN(64, result) !== result) throw fail();
      return result;
    }
    case "null":
      throw fail();
  }
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Numbers lose their fraction. */
function integerOf(value: Value, isNumber: boolean, fail: () => InvalidInputError): bigint {
  if (typeof value === "boolean") return BigInt(value);
  if (typeof value === "bigint" && isNumber) return value;
  if (typeof value === "number" && Number.isFinite(value)) return BigInt(Math.trunc(value));
  if (typeof value === "string" && /^[+-]?\d{1,40}$/.test(value.trim())) {
    return BigInt(value.trim().replace(/^\+/, ""));
  }
  throw fail();
}

/** Halves are rounded away from zero. */
function decimalOf(text: string, { precision, scale }: DecimalType, fail: () => InvalidInputError): bigint {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (match === null || `${match[2]}${match[3] ?? ""}` === "") throw fail();
  const fraction = match[3] ?? "";
  const shift = scale - fraction.length + Number(match[4] ?? 0);
  let digits = BigInt(match[2] + fraction);
  if (shift >= 0) digits *= 10n ** BigInt(shift);
  else {
    const divisor = 10n ** BigInt(-shift);
    digits = (digits + divisor / 2n) / divisor;
  }
  if (digits >= 10n ** BigInt(precision)) throw fail();
  return match[1] === "-" ? -digits : digits;
}

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?)?$/;

/** Milliseconds since the epoch, whole seconds only, and the nanoseconds beyond. */
function instantOf(value: Value, fail: () => InvalidInputError): { ms: number; nanos: bigint } {
  const match = typeof value === "string" ? INSTANT.exec(value.trim()) : null;
  if (match === null) throw fail();
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isReal =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!isReal) throw fail();
  return { ms: date.getTime(), nanos: BigInt((match[7] ?? "").padEnd(9, "0")) };
}
