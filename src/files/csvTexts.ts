/** Fits the texts of a CSV file to a type. */

import { type DataType, type Dictionary, Type } from "apache-arrow";

/** Text of a CSV file; null for a null. */
export type CsvText = string | null;

/** True if texts are values of the type as they are. */
export function isCsvText(type: DataType): boolean {
  if (type.typeId === Type.Dictionary) return isCsvText((type as Dictionary).dictionary);
  return type.typeId === Type.Utf8 || type.typeId === Type.LargeUtf8;
}

/** True if an empty text is a value of the type, and not a null: of texts, and of bytes in base64. */
const takesEmptyTexts = (type: DataType): boolean =>
  isCsvText(type) || type.typeId === Type.Binary || type.typeId === Type.LargeBinary;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
  ["1", true],
  ["0", false],
]);

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Floats that are not numbers of JSON. */
const NON_FINITE: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ["inf", Number.POSITIVE_INFINITY],
  ["+inf", Number.POSITIVE_INFINITY],
  ["-inf", Number.NEGATIVE_INFINITY],
  ["infinity", Number.POSITIVE_INFINITY],
  ["+infinity", Number.POSITIVE_INFINITY],
  ["-infinity", Number.NEGATIVE_INFINITY],
]);

/**
 * Returns a function that makes values of a type, which `encodeValues` then checks. A text that is no value
 * of the type stays a text, for the message.
 * @param nullValues texts that are null in columns of other types than text, quoted or not
 */
export function textParser(type: DataType, nullValues: ReadonlySet<string>): (text: CsvText) => unknown {
  if (takesEmptyTexts(type)) return (text) => text;
  const parse = parserOf(type);
  return (text) => (text === null || nullValues.has(text) ? null : parse(text));
}

function parserOf(type: DataType): (text: string) => unknown {
  switch (type.typeId) {
    case Type.Bool:
      return (text) => BOOLEANS.get(text.toLowerCase()) ?? text;
    case Type.Int: {
      const { bitWidth } = type as unknown as { readonly bitWidth: number };
      // Digits of 64-bit integers stay texts: a number would round them.
      return bitWidth === 64 ? (text) => (/[.e]/i.test(text) ? numberOf(text) : text) : numberOf;
    }
    case Type.Float:
      return (text) => NON_FINITE.get(text.toLowerCase()) ?? numberOf(text);
    case Type.List:
    case Type.FixedSizeList:
    case Type.Struct:
    case Type.Map:
      return jsonOf;
    case Type.Dictionary:
      return parserOf((type as Dictionary).dictionary);
    default:
      return (text) => text;
  }
}

/** True for a text that a float64 takes. */
export const isFloatText = (text: string): boolean =>
  typeof numberOf(text) === "number" || NON_FINITE.has(text.toLowerCase());

/** Returns the number of a text; the text if it is not a number, or one beyond float64 such as 1e400. */
function numberOf(text: string): number | string {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : text;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
