/** Small helpers: literals of SQL, bits of binary vectors, a cache of values that expire. */

import { tagOf } from "../bytes/anyRealm.js";

/** Values that {@link toSQL} writes. */
export type IntoSql = string | number | boolean | null | Date | ArrayBufferLike | Buffer | IntoSql[];

/**
 * Returns the SQL literal of a value.
 * @throws Error for a value that has none
 */
export function toSQL(value: IntoSql): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return value.toString();
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (value === null) return "NULL";
  if (Array.isArray(value)) return `[${value.map(toSQL).join(", ")}]`;
  const tag = tagOf(value);
  if (tag === "Date") return quoted((value as Date).toISOString());
  if (tag === "ArrayBuffer" || tag === "SharedArrayBuffer" || isBuffer(value)) {
    return `X'${Buffer.from(value as ArrayBuffer).toString("hex")}'`;
  }
  throw new Error(`Unsupported value type: ${typeof value} value: (${String(value)})`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** True for a `Buffer` of Node.js. */
export const isBuffer = (value: unknown): value is Buffer =>
  typeof Buffer !== "undefined" && Buffer.isBuffer(value);

/**
 * Packs bits into bytes, 8 bits each, the first in the lowest place: the form of binary vectors, which
 * searches compare by Hamming distance.
 *
 *     packBits([1, 0, 0, 0, 0, 0, 0, 1]); // [129]
 */
export function packBits(data: Array<number>): Array<number> {
  const bytes: number[] = new Array(Math.ceil(data.length / 8)).fill(0);
  for (const [index, bit] of data.entries()) bytes[index >>> 3] |= bit << (index & 7);
  return bytes;
}

/** Values that are forgotten some time after they were set. */
export class TTLCache {
  private readonly ttl: number;
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  private readonly cache = new Map<string, { value: any; expires: number }>();

  /** @param ttl milliseconds that a value stays */
  constructor(ttl: number) {
    this.ttl = ttl;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  get(key: string): any | undefined {
    const entry = this.cache.get(key);
    if (entry === undefined) return undefined;
    if (Date.now() < entry.expires) return entry.value;
    this.cache.delete(key);
    return undefined;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  set(key: string, value: any): void {
    this.cache.set(key, { value, expires: Date.now() + this.ttl });
  }

  delete(key: string): void {
    this.cache.delete(key);
  }
}
