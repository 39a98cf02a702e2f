/** Converts values of requests to values that JSON has. */

import type { DataType } from "apache-arrow";
import { exactTypeJson } from "../arrow/types/exactSchemaJson.js";
import { isDate, isMapObject, isUint8Array, tagOf } from "../bytes/anyRealm.js";
import { encodeBase64 } from "../bytes/base64.js";
import { InvalidInputError } from "../errors.js";

/** Maximum nesting of a request. */
const MAX_DEPTH = 100;
/** Members whose bytes are numbers. Elsewhere, bytes are binary values, which JSON has as base64 text. */
const NUMBER_MEMBERS: ReadonlySet<string> = new Set(["vector", "singleVector", "multiVector"]);

/**
 * Returns a value for JSON. Dates become ISO text, integers beyond 2^53 text, bytes base64, other typed
 * arrays lists, expressions SQL, and types of Arrow their JSON. NaN and infinities become texts.
 * @param path path of the value, for messages
 */
export function jsonValue(value: unknown, path: string, depth = 0): unknown {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "object":
      break;
    case "function":
    case "symbol":
      throw new InvalidInputError(`${path}: must not be a ${typeof value}`);
    default:
      return value;
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) throw new InvalidInputError(`${path}: is nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, path, depth + 1));
  if (isDate(value)) return dateText(value, path);
  const isNumbers = NUMBER_MEMBERS.has(path.slice(path.lastIndexOf(".") + 1));
  if (isUint8Array(value) && !isNumbers) return encodeBase64(value);
  if (tagOf(value) === "ArrayBuffer") return encodeBase64(new Uint8Array(value as ArrayBuffer));
  if (ArrayBuffer.isView(value) && tagOf(value) !== "DataView") {
    return Array.from(value as unknown as ArrayLike<unknown>, (item) => jsonValue(item, path, depth + 1));
  }
  if (isSqlExpression(value)) return String(value);
  if (isArrowType(value)) return exactTypeJson(value);
  if (isMapObject(value))
    return [...value].map(([key, item]) => jsonValue({ key, value: item }, path, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, jsonValue(member, `${path}.${name}`, depth + 1)]),
  );
}

function dateText(date: Date, path: string): string {
  const millis = Date.prototype.getTime.call(date);
  if (Number.isNaN(millis)) throw new InvalidInputError(`${path}: must not be an invalid Date`);
  return new Date(millis).toISOString();
}

/** True for an expression made with `col`, `lit` or `sql`. */
export const isSqlExpression = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as { syntax?: unknown }).syntax === "object";

const isArrowType = (value: object): value is DataType =>
  typeof (value as { typeId?: unknown }).typeId === "number" && !Object.hasOwn(value, "type");
