/** Hashes of texts and bytes, and bytes as text. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { BASE64_DIGITS, BASE64_VALUES } from "../../bytes/base64.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { type HashName, hashAtOnce, startHash } from "../../platform/native.js";
import { TextLane, textRows } from "../kernels/textRows.js";
import { hexDigit } from "../parse/tokens.js";
import type { GrowingTexts } from "../values/growing.js";
import type { ValueKernel } from "../values/operands.js";
import { shownScalar } from "../values/scalars.js";
import { BINARY, STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, taking, wantsText } from "./form.js";

const byteOperands = "a text or bytes are expected";

/** Texts count as their UTF-8 bytes. */
const byteType = (type: ValueType): ValueType | null =>
  wantsText(type) ? STRING : type.kind === "binary" || type.kind === "fixedSizeBinary" ? type : null;

const ofBytes =
  (
    name: string | null,
    compute: (lane: TextLane, row: number, output: GrowingTexts) => Steps<void> | undefined,
  ): ValueKernel =>
  ([operand], length, valid) => {
    const lane = new TextLane(operand);
    return textRows(name, [lane], length, valid, (row, output) => compute(lane, row, output));
  };

const HASHES: ReadonlySet<string> = new Set<HashName>(["md5", "sha224", "sha256", "sha384", "sha512"]);

const STEP_HASHED = 2 ** 19;

function hashKernel(name: HashName, isHex: boolean): ValueKernel {
  if (startHash === null) throw new UnsupportedError(`the function ${name} is not supported by this runtime`);
  const start = startHash;
  const put = (digest: Uint8Array, output: GrowingTexts): void => {
    if (isHex) putHex(digest, 0, digest.length, output);
    else output.put(digest, 0, digest.length);
  };
  function* inSteps(lane: TextLane, row: number, output: GrowingTexts): Steps<void> {
    const hash = start(name);
    const end = lane.end(row);
    for (let offset = lane.start(row); offset < end; offset += STEP_HASHED) {
      hash.update(lane.bytes.subarray(offset, Math.min(end, offset + STEP_HASHED)));
      yield;
    }
    put(hash.digest(), output);
  }
  // An object for each row would be slow to make and to collect.
  return ofBytes(name, (lane, row, output) => {
    if (hashAtOnce === null || lane.size(row) > STEP_HASHED) return inSteps(lane, row, output);
    put(hashAtOnce(name, lane.of(row)), output);
    return undefined;
  });
}

const hashed = (name: HashName): FunctionDefinition =>
  taking("v", (types) => {
    const targetType = byteType(types[0]);
    if (targetType === null) return byteOperands;
    // The reference returns this hash as text.
    const isHex = name === "md5";
    const type = isHex ? STRING : BINARY;
    return { operands: [targetType], type, kernel: hashKernel(name, isHex) };
  });

/** DIGEST(value, 'sha256'). */
const digest = taking("vv", (types, [, name]) => {
  const targetType = byteType(types[0]);
  if (targetType === null) return byteOperands;
  if (typeof name !== "string") return "the name of a hash must be a constant text";
  if (/^blake/.test(name)) {
    throw new UnsupportedError(`the hash ${shownScalar(name)} is not supported by this release`);
  }
  if (!HASHES.has(name)) {
    return `there is no hash ${JSON.stringify(shownScalar(name))}, only ${[...HASHES].join(", ")}`;
  }
  const kernel = hashKernel(name as HashName, false);
  return { operands: [targetType, STRING], type: BINARY, kernel };
});

// ------------------------------------------------------------------------------------------ bytes as text

/** Adds the result of the bytes from `start` to `end`. */
type Code = (bytes: Uint8Array, start: number, end: number, output: GrowingTexts) => Steps<void>;

interface Encoding {
  readonly encode: Code;
  readonly decode: Code;
}

const STEP_CODED = 2 ** 15;
const HEX = new TextEncoder().encode("0123456789abcdef");

function* toHex(bytes: Uint8Array, start: number, end: number, output: GrowingTexts): Steps<void> {
  for (let first = start; first < end; first += STEP_CODED) {
    putHex(bytes, first, Math.min(end, first + STEP_CODED), output);
    if (first + STEP_CODED < end) yield;
  }
}

function putHex(bytes: Uint8Array, start: number, end: number, output: GrowingTexts): void {
  for (let offset = start; offset < end; offset++) {
    output.putByte(HEX[bytes[offset] >>> 4]);
    output.putByte(HEX[bytes[offset] & 15]);
  }
}

function* fromHex(text: Uint8Array, start: number, end: number, output: GrowingTexts): Steps<void> {
  if ((end - start) % 2 !== 0) throw new InvalidInputError("decode: the number of hex digits is odd");
  const pace = new Pace(STEP_CODED);
  for (let offset = start; offset < end; offset += 2) {
    const high = hexDigit(text[offset]);
    const low = hexDigit(text[offset + 1]);
    if (high < 0 || low < 0) throw new InvalidInputError("decode: the text is not hexadecimal");
    output.putByte(16 * high + low);
    if (pace.isStep()) yield;
  }
}

const PADDING = 0x3d;

const toBase64 = (isPadded: boolean): Code =>
  function* encode(bytes, start, end, output) {
    const pace = new Pace(STEP_CODED);
    for (let offset = start; offset < end; offset += 3) {
      const count = Math.min(3, end - offset);
      const word =
        (bytes[offset] << 16) |
        (count > 1 ? bytes[offset + 1] << 8 : 0) |
        (count > 2 ? bytes[offset + 2] : 0);
      for (let digit = 0; digit <= count; digit++)
        output.putByte(BASE64_DIGITS[(word >>> (18 - 6 * digit)) & 63]);
      for (let digit = count; isPadded && digit < 3; digit++) output.putByte(PADDING);
      if (pace.isStep()) yield;
    }
  };

/** Decodes base64. The padding may be complete, incomplete or missing. */
function* fromBase64(text: Uint8Array, start: number, stop: number, output: GrowingTexts): Steps<void> {
  let end = stop;
  while (end > start && stop - end < 2 && text[end - 1] === PADDING) end--;
  if ((end - start) % 4 === 1) {
    throw new InvalidInputError("decode: the text has a length that base64 never has");
  }
  const pace = new Pace(STEP_CODED);
  let word = 0;
  let bits = 0;
  for (let offset = start; offset < end; offset++) {
    const six = BASE64_VALUES[text[offset]];
    if (six < 0) throw new InvalidInputError("decode: the text is not base64");
    word = (word << 6) | six;
    bits += 6;
    if (pace.isStep()) yield;
    if (bits < 8) continue;
    bits -= 8;
    output.putByte((word >>> bits) & 0xff);
    word &= (1 << bits) - 1;
  }
  // Unused bits of the last character must be 0.
  if (word !== 0) throw new InvalidInputError("decode: the text is not base64");
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  hex: { encode: toHex, decode: fromHex },
  base64: { encode: toBase64(false), decode: fromBase64 },
  base64pad: { encode: toBase64(true), decode: fromBase64 },
};

const coded = (type: ValueType, direction: keyof Encoding): FunctionDefinition =>
  taking("vv", (types, [, name]) => {
    const targetType = byteType(types[0]);
    if (targetType === null) return byteOperands;
    const encoding = typeof name === "string" && Object.hasOwn(ENCODINGS, name) ? ENCODINGS[name] : undefined;
    if (encoding === undefined) return `expected one of ${Object.keys(ENCODINGS).join(", ")}`;
    const code = encoding[direction];
    const kernel = ofBytes(null, (lane, row, output) =>
      code(lane.bytes, lane.start(row), lane.end(row), output),
    );
    return { operands: [targetType, STRING], type, kernel };
  });

export const DIGEST_FUNCTIONS: Functions = {
  md5: hashed("md5"),
  sha224: hashed("sha224"),
  sha256: hashed("sha256"),
  sha384: hashed("sha384"),
  sha512: hashed("sha512"),
  digest,
  encode: coded(STRING, "encode"),
  decode: coded(BINARY, "decode"),
};
