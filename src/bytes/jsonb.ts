/**
 * JSONB: JSON in the binary form of files. A value is a container whose entries describe its children; a
 * scalar alone is in a container of one child. Integers are big-endian:
 *
 *     u32    container: kind in the upper 3 bits, number of children in the rest
 *     u32 …  an entry per child; an object has those of its keys first, then those of its values
 *     …      the bytes of the children, in the order of the entries
 *
 *     container     2 scalar   4 object   8 array                                    (× 2^28)
 *     entry         0 null   1 string   2 number   3 false   4 true   5 container    (× 2^28, plus bytes)
 *
 *     number        u8 kind, then its bytes; an integer takes the fewest of 1, 2, 4 or 8 that hold it
 *         00 zero   10 NaN   20 infinity   30 -infinity   40 signed   50 unsigned   60 double
 *
 * Keys are in the order of their bytes, none twice. Text follows RFC 8259 to the letter. Integers from -2^63
 * to 2^64 - 1 keep every digit; all other numbers are doubles. NaN and infinities have no JSON text and read
 * as null.
 */

import { compareBytes } from "./compare.js";
import { concatBytes } from "./concat.js";

const SCALAR = 0x2000_0000;
const OBJECT = 0x4000_0000;
const ARRAY = 0x8000_0000;
const KIND_MASK = 0xe000_0000;
const COUNT_MASK = 0x1fff_ffff;

const ENTRY = { NULL: 0, STRING: 1, NUMBER: 2, FALSE: 3, TRUE: 4, CONTAINER: 5 } as const;
const ENTRY_MASK = 0xf000_0000;
const LENGTH_MASK = 0x0fff_ffff;

const NUMBER = {
  ZERO: 0,
  NAN: 0x10,
  INFINITY: 0x20,
  MINUS_INFINITY: 0x30,
  SIGNED: 0x40,
  UNSIGNED: 0x50,
  DOUBLE: 0x60,
};

/** Maximum nesting of containers: encoding and decoding take stack for each level. */
export const MAXIMUM_JSON_DEPTH = 512;

/** Makes the error for invalid bytes or text. */
export type JsonFailure = (reason: string) => Error;

// ------------------------------------------------------------------------------------------ text to bytes

/** Child of a container: its kind, and its bytes as pieces. */
interface Part {
  readonly kind: number;
  readonly byteLength: number;
  readonly pieces: readonly Uint8Array[];
}

const NO_PIECES: readonly Uint8Array[] = [];
const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

const bigEndian32 = (value: number): Uint8Array =>
  Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);

/**
 * Encodes JSON text as JSONB.
 * @param text UTF-8
 * @param fail called for text that is not JSON, a duplicate key of an object, and text without a binary form
 */
export function encodeJsonb(text: Uint8Array, fail: JsonFailure): Uint8Array {
  const part = new JsonParser(text, fail).parse();
  const pieces =
    part.kind === ENTRY.CONTAINER
      ? part.pieces
      : [bigEndian32(SCALAR), bigEndian32(entryOf(part, fail)), ...part.pieces];
  return concatBytes(pieces);
}

function entryOf({ kind, byteLength }: Part, fail: JsonFailure): number {
  if (byteLength > LENGTH_MASK) throw fail(`a value of ${byteLength} bytes, more than ${LENGTH_MASK}`);
  return ((kind << 28) | byteLength) >>> 0;
}

function containerOf(head: number, parts: readonly Part[], fail: JsonFailure): Part {
  const count = head === OBJECT ? parts.length / 2 : parts.length;
  const entries = new Uint8Array(4 + parts.length * 4);
  const view = new DataView(entries.buffer);
  view.setUint32(0, (head | count) >>> 0);
  let byteLength = entries.length;
  for (const [index, part] of parts.entries()) {
    view.setUint32(4 + index * 4, entryOf(part, fail));
    byteLength += part.byteLength;
  }
  return { kind: ENTRY.CONTAINER, byteLength, pieces: [entries, ...parts.flatMap((part) => part.pieces)] };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

class JsonParser {
  #position = 0;
  #depth = 0;

  constructor(
    private readonly text: Uint8Array,
    private readonly fail: JsonFailure,
  ) {}

  parse(): Part {
    const part = this.#value();
    this.#skipSpace();
    if (this.#position < this.text.length) throw this.#unexpected();
    return part;
  }

  #unexpected(): Error {
    const { text } = this;
    const index = this.#position;
    return this.fail(index < text.length ? `unexpected character at byte ${index}` : "it ends too early");
  }

  #skipSpace(): void {
    const { text } = this;
    for (
      let byte = text[this.#position];
      byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    ) {
      byte = text[++this.#position];
    }
  }

  /** Skips spaces, and a character if it comes next. */
  #accept(character: number): boolean {
    this.#skipSpace();
    if (this.text[this.#position] !== character) return false;
    this.#position++;
    return true;
  }

  #expect(character: number): void {
    if (!this.#accept(character)) throw this.#unexpected();
  }

  #value(): Part {
    this.#skipSpace();
    const first = this.text[this.#position];
    switch (first) {
      case 0x6e:
        return this.#word("null", ENTRY.NULL);
      case 0x74:
        return this.#word("true", ENTRY.TRUE);
      case 0x66:
        return this.#word("false", ENTRY.FALSE);
      case QUOTE:
        return stringPart(this.#string());
      case 0x5b:
        return this.#nested(() => this.#array());
      case 0x7b:
        return this.#nested(() => this.#object());
      default:
        return this.#number();
    }
  }

  #word(word: string, kind: number): Part {
    for (let index = 0; index < word.length; index++, this.#position++) {
      if (this.text[this.#position] !== word.charCodeAt(index)) throw this.#unexpected();
    }
    return { kind, byteLength: 0, pieces: NO_PIECES };
  }

  #nested(parse: () => Part): Part {
    if (++this.#depth > MAXIMUM_JSON_DEPTH) {
      throw this.fail(`more than ${MAXIMUM_JSON_DEPTH} arrays and objects in each other`);
    }
    this.#position++;
    const part = parse();
    this.#depth--;
    return part;
  }

  #array(): Part {
    const parts: Part[] = [];
    if (!this.#accept(0x5d)) {
      do parts.push(this.#value());
      while (this.#accept(0x2c));
      this.#expect(0x5d);
    }
    return containerOf(ARRAY, parts, this.fail);
  }

  #object(): Part {
    const members: { key: Uint8Array; value: Part }[] = [];
    if (!this.#accept(0x7d)) {
      do {
        this.#skipSpace();
        if (this.text[this.#position] !== QUOTE) throw this.#unexpected();
        const key = this.#string();
        this.#expect(0x3a);
        members.push({ key, value: this.#value() });
      } while (this.#accept(0x2c));
      this.#expect(0x7d);
    }
    members.sort((a, b) => compareBytes(a.key, b.key));
    for (let index = 1; index < members.length; index++) {
      if (compareBytes(members[index - 1].key, members[index].key) !== 0) continue;
      throw this.fail(`key ${JSON.stringify(decoder.decode(members[index].key))} is in an object twice`);
    }
    const keys = members.map(({ key }) => stringPart(key));
    return containerOf(OBJECT, [...keys, ...members.map(({ value }) => value)], this.fail);
  }

  /** Reads the characters of a string; its opening quote comes next. */
  #string(): Uint8Array {
    const { text } = this;
    const start = ++this.#position;
    let escaped = false;
    for (; ; this.#position++) {
      const byte = text[this.#position];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < 0x20) throw this.#unexpected();
      if (byte === BACKSLASH) {
        escaped = true;
        this.#position++;
      }
    }
    const raw = text.subarray(start, this.#position++);
    if (!escaped) return raw;
    let value: string;
    try {
      value = JSON.parse(`"${decoder.decode(raw)}"`);
    } catch {
      throw this.fail(`a string with an escape that is none, at byte ${start}`);
    }
    if (/\p{Surrogate}/u.test(value)) {
      throw this.fail(`a string with half a surrogate pair, which has no UTF-8 form, at byte ${start}`);
    }
    return encoder.encode(value);
  }

  #number(): Part {
    const { text } = this;
    const start = this.#position;
    let end = start;
    while (isNumberByte(text[end])) end++;
    const literal = String.fromCharCode(...text.subarray(start, end));
    if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(literal)) throw this.#unexpected();
    this.#position = end;
    const bytes = numberBytes(literal);
    return { kind: ENTRY.NUMBER, byteLength: bytes.length, pieces: [bytes] };
  }
}

const isNumberByte = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) ||
    byte === MINUS ||
    byte === 0x2b ||
    byte === 0x2e ||
    (byte | 0x20) === 0x65);

const stringPart = (bytes: Uint8Array): Part => ({
  kind: ENTRY.STRING,
  byteLength: bytes.length,
  pieces: [bytes],
});

function numberBytes(literal: string): Uint8Array {
  const integer = /^-?[0-9]+$/.test(literal) ? encodeInteger(literal) : null;
  if (integer !== null) return integer;
  const value = Number(literal);
  if (value === Number.POSITIVE_INFINITY) return Uint8Array.of(NUMBER.INFINITY);
  if (value === Number.NEGATIVE_INFINITY) return Uint8Array.of(NUMBER.MINUS_INFINITY);
  const bytes = new Uint8Array(9);
  bytes[0] = NUMBER.DOUBLE;
  new DataView(bytes.buffer).setFloat64(1, value);
  return bytes;
}

/** Returns null for an integer beyond 64 bits. */
function encodeInteger(literal: string): Uint8Array | null {
  // A 64-bit integer has at most 20 characters.
  if (literal.length > 20) return null;
  const value = BigInt(literal);
  if (value === 0n) return Uint8Array.of(NUMBER.ZERO);
  if (value < -(2n ** 63n) || value >= 2n ** 64n) return null;
  for (const width of [1, 2, 4, 8]) {
    const bits = BigInt(width * 8);
    const fits = value < 0n ? value >= -(2n ** (bits - 1n)) : value < 2n ** bits;
    if (!fits) continue;
    const bytes = new Uint8Array(1 + width);
    bytes[0] = value < 0n ? NUMBER.SIGNED : NUMBER.UNSIGNED;
    const word = new Uint8Array(8);
    new DataView(word.buffer).setBigUint64(0, BigInt.asUintN(64, value));
    bytes.set(word.subarray(8 - width), 1);
    return bytes;
  }
  return null;
}

// ------------------------------------------------------------------------------------------ bytes to text

/**
 * Returns the text of a JSONB value, without space between its parts.
 * @param fail called for bytes that are not JSONB, or of a kind that JSON has no text for
 */
export function decodeJsonb(bytes: Uint8Array, fail: JsonFailure): string {
  return new JsonbReader(bytes, fail).document();
}

class JsonbReader {
  readonly #view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly fail: JsonFailure,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  document(): string {
    const { bytes, fail } = this;
    if (bytes.length < 4) throw fail(`JSONB of ${bytes.length} bytes`);
    const head = this.#view.getUint32(0);
    if ((head & KIND_MASK) >>> 0 !== SCALAR) return this.#container(0, bytes.length, 0);
    if ((head & COUNT_MASK) > 1 || bytes.length < 8) throw fail("a JSONB scalar of other than one value");
    return this.#value(this.#view.getUint32(4), 8, bytes.length, 0);
  }

  #container(start: number, end: number, depth: number): string {
    if (depth >= MAXIMUM_JSON_DEPTH) {
      throw this.fail(`more than ${MAXIMUM_JSON_DEPTH} arrays and objects in each other`);
    }
    if (start + 4 > end) throw this.fail("a JSONB container without a header");
    const head = this.#view.getUint32(start);
    const kind = (head & KIND_MASK) >>> 0;
    if (kind !== OBJECT && kind !== ARRAY) throw this.fail(`a JSONB container of kind ${kind >>> 29}`);
    const count = head & COUNT_MASK;
    const entryCount = kind === OBJECT ? 2 * count : count;
    let position = start + 4 + entryCount * 4;
    if (position > end) throw this.fail(`a JSONB container of ${count} children in ${end - start} bytes`);
    const texts: string[] = [];
    for (let index = 0; index < entryCount; index++) {
      const entry = this.#view.getUint32(start + 4 + index * 4);
      const next = position + (entry & LENGTH_MASK);
      if (next > end) throw this.fail("a JSONB value that ends outside its container");
      if (kind === OBJECT && index < count && (entry & ENTRY_MASK) >>> 28 !== ENTRY.STRING) {
        throw this.fail("a JSONB key that is not a string");
      }
      texts.push(this.#value(entry, position, next, depth + 1));
      position = next;
    }
    if (kind === ARRAY) return `[${texts.join(",")}]`;
    const members: string[] = [];
    for (let index = 0; index < count; index++) members.push(`${texts[index]}:${texts[count + index]}`);
    return `{${members.join(",")}}`;
  }

  #value(entry: number, start: number, end: number, depth: number): string {
    const { fail } = this;
    if (end - start !== (entry & LENGTH_MASK)) throw fail("JSONB of another length than it says");
    const kind = (entry & ENTRY_MASK) >>> 28;
    switch (kind) {
      case ENTRY.NULL:
        return "null";
      case ENTRY.FALSE:
        return "false";
      case ENTRY.TRUE:
        return "true";
      case ENTRY.STRING:
        return this.#string(start, end);
      case ENTRY.NUMBER:
        return this.#number(start, end);
      case ENTRY.CONTAINER:
        return this.#container(start, end, depth);
      default:
        throw fail(`a JSONB value of kind ${kind}`);
    }
  }

  #string(start: number, end: number): string {
    let text: string;
    try {
      text = decoder.decode(this.bytes.subarray(start, end));
    } catch {
      throw this.fail("a JSONB string that is not UTF-8");
    }
    return JSON.stringify(text);
  }

  #number(start: number, end: number): string {
    const kind = this.bytes[start];
    const offset = start + 1;
    const width = end - offset;
    if (width === 0) {
      if (kind === NUMBER.ZERO) return "0";
      if (kind === NUMBER.NAN || kind === NUMBER.INFINITY || kind === NUMBER.MINUS_INFINITY) return "null";
    }
    if (kind === NUMBER.DOUBLE && width === 8) return doubleText(this.#view.getFloat64(offset));
    const signed = kind === NUMBER.SIGNED;
    if (signed || kind === NUMBER.UNSIGNED) {
      const view = this.#view;
      switch (width) {
        case 1:
          return String(signed ? view.getInt8(offset) : view.getUint8(offset));
        case 2:
          return String(signed ? view.getInt16(offset) : view.getUint16(offset));
        case 4:
          return String(signed ? view.getInt32(offset) : view.getUint32(offset));
        case 8:
          return String(signed ? view.getBigInt64(offset) : view.getBigUint64(offset));
      }
    }
    throw this.fail(`a JSONB number of kind ${kind ?? "none"} in ${Math.max(width, 0)} bytes`);
  }
}

/**
 * Returns the shortest text that reads as the same double and is not the text of an integer. It is plain from
 * 0.00001 up to 16 digits before the point, else it has a signed exponent.
 */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return "null";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, exponent] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  /** Digits before the point. */
  const point = Number(exponent) + 1;
  const sign = value < 0 ? "-" : "";
  if (point > 16 || point <= -5) {
    const fraction = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${sign}${fraction}e${point > 0 ? "+" : ""}${point - 1}`;
  }
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (digits.length <= point) return `${sign}${digits.padEnd(point, "0")}.0`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
