/**
 * Casts between text and numbers, decimals, dates, timestamps and times of day. Text is parsed and printed as
 * in rows that are objects. Numbers have the fewest digits that mean the same value.
 */

import { Utf8 } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { decodeValues } from "../arrow/objects/decodeValues.js";
import { encodeValues } from "../arrow/objects/encodeValues.js";
import type { ValueForms } from "../arrow/objects/valueForms.js";
import { arrowFieldFromLogical } from "../arrow/types/logicalTypes.js";
import type { LogicalType } from "../arrow/types/type.js";
import type { Cast } from "./castRows.js";

const FORMS: ValueForms = { dates: "iso", bigints: "string" };
const KINDS: ReadonlySet<LogicalType["kind"]> = new Set([
  "int",
  "float",
  "decimal",
  "date",
  "timestamp",
  "time",
]);

/** The cast to or from text; null if there is none. */
export function textCast(from: LogicalType, to: LogicalType, path: string): Cast | null {
  if (from.kind === "string" && KINDS.has(to.kind)) return fromText(to, path);
  return to.kind === "string" && KINDS.has(from.kind) ? toText(from, to, path) : null;
}

const fieldOf = (type: LogicalType, path: string) =>
  arrowFieldFromLogical({ name: "value", type, nullable: true, metadata: new Map(), children: [] }, path);

function fromText(to: LogicalType, path: string): Cast {
  const field = fieldOf(to, path);
  const parse = to.kind === "int" ? integerOf : to.kind === "float" ? floatOf : (text: string) => text;
  return (column, rowOf) => {
    const texts = decodeValues(column, new Utf8(), FORMS) as (string | null)[];
    const values = texts.map((text) => (text === null ? null : parse(text)));
    return encodeValues(values, field, { path, rowOf });
  };
}

/** Returns an integer; a text that is not one stays, to be refused. */
const integerOf = (text: string): bigint | string =>
  /^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace("+", "")) : text;

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Returns a finite number; a text that is not one stays. */
function floatOf(text: string): number | string {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : text;
}

function toText(from: LogicalType, to: LogicalType, path: string): Cast {
  const { type } = fieldOf(from, path);
  const field = fieldOf(to, path);
  const print = from.kind === "float" && from.bits < 64 ? shortestText : String;
  return (column: Column, rowOf) => {
    const values = decodeValues(column, type, FORMS) as (string | number | null)[];
    const texts = values.map((value) => (value === null ? null : print(value as number)));
    return encodeValues(texts, field, { path, rowOf });
  };
}

/** Returns the fewest digits that a float of 32 bits is nearest to. */
function shortestText(value: number): string {
  for (let digits = 1; digits < 10; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}
