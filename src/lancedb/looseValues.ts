/**
 * Converts values to what the engine's encoders take, with the conversions that LanceDB's users know. Numbers
 * and arrays in a column of texts become texts. Numerals in a column of numbers become numbers. Fractions in
 * a column of integers are cut.
 *
 * Values that would become garbage stay as they are, and the encoder refuses them: text that is not a
 * numeral, or numbers beyond the range of a type.
 */

import { DataType, type Field } from "apache-arrow";
import { formatDecimal } from "../arrow/objects/decimalText.js";
import { iterableItems, memberOf, pairsOf } from "../arrow/objects/valueKinds.js";
import { isDate as isDateValue } from "../bytes/anyRealm.js";
import { bytesOf } from "../bytes/view.js";
import { coerceBlobValue, isBlobField } from "./blobField.js";
import * as like from "./like.js";
import { isAbsent } from "./schema.js";

/** Number of the type of large lists, which apache-arrow has since release 21. */
const LARGE_LIST = 21;
const DAY_MS = 86_400_000;
const encoder = new TextEncoder();

/** True if the encoder must not see the values: it takes text as base64, and writes dates in another form. */
export function mustLoosen(values: readonly unknown[], field: Field): boolean {
  if (!like.isUtf8(field.type)) return isConverted(field);
  return values.some((value) => typeof value === "object" && value !== null);
}

function isConverted({ type }: Field): boolean {
  const isBytes = like.isBinary(type) || like.isLargeBinary(type) || like.isFixedSizeBinary(type);
  return isBytes || like.isMap(type) || (type.children ?? []).some((child: Field) => isConverted(child));
}

/** Returns a value in the form that the encoder of a field takes, or unchanged. */
export function loosened(value: unknown, field: Field): unknown {
  if (value === null || value === undefined) return null;
  if (isBlobField(field)) return coerceBlobValue(value);
  const { type } = field;
  if (like.isList(type) || like.isFixedSizeList(type) || type.typeId === LARGE_LIST) {
    const [item] = type.children;
    const items = iterableItems(value);
    return items === null ? value : Array.from(items, (each) => loosened(each, item));
  }
  if (like.isStruct(type)) return struct(value, type.children);
  if (like.isMap(type)) {
    const [key, item] = type.children[0].type.children as Field[];
    const pairs = pairsOf(value);
    return pairs?.map((pair) => [loosened(pair.key, key), loosened(pair.value, item)]) ?? value;
  }
  return leaf(value, DataType.isDictionary(type) ? type.dictionary : type);
}

function struct(value: unknown, fields: readonly Field[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const members = new Map<string, unknown>();
  for (const name of Object.keys(value)) {
    const member = memberOf(value, name);
    if (!isAbsent(member)) members.set(name, member);
  }
  for (const field of fields) {
    const member = memberOf(value, field.name);
    if (member !== undefined) members.set(field.name, loosened(member, field));
  }
  return Object.fromEntries(members);
}

function leaf(value: unknown, type: DataType): unknown {
  if (like.isUtf8(type) || like.isLargeUtf8(type)) return text(value);
  if (like.isBool(type)) return typeof value === "number" || typeof value === "bigint" ? value !== 0 : value;
  if (like.isInt(type)) {
    const number = numeral(value);
    return typeof number === "number" && type.bitWidth < 64 ? Math.trunc(number) : number;
  }
  if (like.isFloat(type)) return typeof value === "bigint" ? Number(value) : numeral(value);
  if (like.isBinary(type) || like.isLargeBinary(type) || like.isFixedSizeBinary(type)) return bytes(value);
  if (like.isDate(type)) return typeof value === "number" ? Math.floor(value / DAY_MS) * DAY_MS : value;
  if (like.isDecimal(type)) return unscaled(value, type as unknown as { scale: number });
  return value;
}

function text(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  // Clients write lists of texts to columns whose first rows had text.
  if (Array.isArray(value)) return wellFormed(String(value));
  if (typeof value === "object" && !isDateValue(value)) return value;
  return typeof value === "symbol" || typeof value === "function" ? value : String(value);
}

/** Replaces halves of surrogate pairs that stand alone, as UTF-8 has none. */
const wellFormed = (value: string): string => new TextDecoder().decode(encoder.encode(value));

function numeral(value: unknown): unknown {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "string") {
    const number = value.trim() === "" ? Number.NaN : Number(value);
    return Number.isNaN(number) ? value : number;
  }
  return isDateValue(value) ? value.getTime() : value;
}

function bytes(value: unknown): unknown {
  if (typeof value === "string") return encoder.encode(value);
  const isBytes = (item: unknown) =>
    Number.isInteger(item) && (item as number) >= 0 && (item as number) < 256;
  return Array.isArray(value) && value.every(isBytes) ? Uint8Array.from(value) : value;
}

/** Decimals may come as the words of their unscaled value, the least significant first. */
function unscaled(value: unknown, { scale }: { readonly scale: number }): unknown {
  if (!ArrayBuffer.isView(value)) return value;
  const words = bytesOf(value);
  let whole = 0n;
  for (let index = words.length - 1; index >= 0; index--) whole = (whole << 8n) | BigInt(words[index]);
  return formatDecimal(BigInt.asIntN(8 * words.length, whole), scale);
}
