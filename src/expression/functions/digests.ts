/** Hashes of texts and bytes, and bytes as text. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { type HashName, hashBytes } from "../../platform/native.js";
import { perRow } from "../kernels/arithmetic.js";
import { byteLane, type ValueKernel } from "../values/operands.js";
import type { Scalar } from "../values/scalars.js";
import { BINARY, STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount, wantsText } from "./form.js";

const byteOperands = "a text or bytes are expected";

/** Texts count as their bytes of UTF-8. */
const byteType = (type: ValueType): ValueType | null =>
  wantsText(type) ? STRING : type.kind === "binary" || type.kind === "fixedSizeBinary" ? type : null;

/** A function of the bytes of each value. */
function ofBytes(type: ValueType, compute: (bytes: Uint8Array) => Scalar): ValueKernel {
  return ([operand], length, valid) => {
    const { bytes, offsets } = byteLane(operand);
    const { step } = operand;
    return perRow(type, length, valid, (row) =>
      compute(bytes.subarray(offsets[row * step], offsets[row * step + 1])),
    );
  };
}

const HASHES: ReadonlySet<string> = new Set<HashName>(["md5", "sha224", "sha256", "sha384", "sha512"]);

function hasher(name: HashName): (bytes: Uint8Array) => Uint8Array {
  if (hashBytes === null)
    throw new UnsupportedError(`the function ${name} where the runtime has no such hash`);
  const hash = hashBytes;
  return (bytes) => hash(name, bytes);
}

const hashed =
  (name: HashName): FunctionDefinition =>
  (types) => {
    if (types.length !== 1) return operandCount(1);
    const wanted = byteType(types[0]);
    if (wanted === null) return byteOperands;
    const hash = hasher(name);
    // The reference gives this one as text.
    return name === "md5"
      ? { operands: [wanted], type: STRING, kernel: ofBytes(STRING, (bytes) => toHex(hash(bytes))) }
      : { operands: [wanted], type: BINARY, kernel: ofBytes(BINARY, hash) };
  };

/** DIGEST(value, 'sha256'). */
const digest: FunctionDefinition = (types, constants) => {
  if (types.length !== 2) return operandCount(2);
  const wanted = byteType(types[0]);
  if (wanted === null) return byteOperands;
  const [, name] = constants;
  if (typeof name !== "string") return "the name of a hash is a constant text";
  if (/^blake/.test(name)) throw new UnsupportedError(`the hash ${name} is not supported by this release`);
  if (!HASHES.has(name)) return `there is no hash ${JSON.stringify(name)}, only ${[...HASHES].join(", ")}`;
  const hash = hasher(name as HashName);
  return { operands: [wanted, STRING], type: BINARY, kernel: ofBytes(BINARY, hash) };
};

// ------------------------------------------------------------------------------------------ bytes as text

interface Encoding {
  readonly encode: (bytes: Uint8Array) => string;
  readonly decode: (bytes: Uint8Array) => Uint8Array;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function fromHex(text: Uint8Array): Uint8Array {
  if (text.length % 2 !== 0) throw new InvalidInputError("decode: an odd number of digits");
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) {
    const high = hexDigit(text[2 * at]);
    const low = hexDigit(text[2 * at + 1]);
    if (high < 0 || low < 0) throw new InvalidInputError("decode: a text that is not hexadecimal");
    bytes[at] = 16 * high + low;
  }
  return bytes;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const SIXES = new Int8Array(256).fill(-1);
for (let six = 0; six < 64; six++) SIXES[ALPHABET.charCodeAt(six)] = six;
const PADDING = 0x3d;

function toBase64(bytes: Uint8Array, isPadded: boolean): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const count = Math.min(3, bytes.length - at);
    const word = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (let place = 0; place <= count; place++) text += ALPHABET[(word >>> (18 - 6 * place)) & 63];
    if (isPadded) text += "=".repeat(3 - count);
  }
  return text;
}

/** Padding may be there, whole or in part, or not. */
function fromBase64(text: Uint8Array): Uint8Array {
  let { length } = text;
  while (length > 0 && text.length - length < 2 && text[length - 1] === PADDING) length--;
  if (length % 4 === 1) {
    throw new InvalidInputError("decode: a text whose length is not that of base64");
  }
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let word = 0;
  let made = 0;
  for (let at = 0; at < length; at++) {
    const six = SIXES[text[at]];
    if (six < 0) throw new InvalidInputError("decode: a text that is not base64");
    word = (word << 6) | six;
    const bits = 6 * (at + 1) - 8 * made;
    if (bits < 8) continue;
    bytes[made++] = word >>> (bits - 8);
    word &= (1 << (bits - 8)) - 1;
  }
  // Bits behind the last byte are 0.
  if (word !== 0) throw new InvalidInputError("decode: a text that is not base64");
  return bytes;
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  hex: { encode: toHex, decode: fromHex },
  base64: { encode: (bytes) => toBase64(bytes, false), decode: fromBase64 },
  base64pad: { encode: (bytes) => toBase64(bytes, true), decode: fromBase64 },
};

const coded =
  (type: ValueType, kernelOf: (encoding: Encoding) => ValueKernel): FunctionDefinition =>
  (types, constants) => {
    if (types.length !== 2) return operandCount(2);
    const wanted = byteType(types[0]);
    if (wanted === null) return byteOperands;
    const [, name] = constants;
    const encoding = typeof name === "string" && Object.hasOwn(ENCODINGS, name) ? ENCODINGS[name] : undefined;
    if (encoding === undefined) return `one of ${Object.keys(ENCODINGS).join(", ")} is expected`;
    return { operands: [wanted, STRING], type, kernel: kernelOf(encoding) };
  };

export const DIGEST_FUNCTIONS: Functions = {
  md5: hashed("md5"),
  sha224: hashed("sha224"),
  sha256: hashed("sha256"),
  sha384: hashed("sha384"),
  sha512: hashed("sha512"),
  digest,
  encode: coded(STRING, ({ encode }) => ofBytes(STRING, encode)),
  decode: coded(BINARY, ({ decode }) => ofBytes(BINARY, decode)),
};
