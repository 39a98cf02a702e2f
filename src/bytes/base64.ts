/** Encodes and decodes base64 (RFC 4648, section 4). Pure. */

const PADDING = 0x3d;

/** The 64 digits, as bytes of ASCII. */
export const BASE64_DIGITS = new TextEncoder().encode(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
);

/** Value of each byte as a digit; -1 for bytes that are not digits. */
export const BASE64_VALUES = new Int8Array(256).fill(-1);
for (let six = 0; six < 64; six++) BASE64_VALUES[BASE64_DIGITS[six]] = six;

/** Digits that one call of the text decoder takes. */
const PIECE = 1 << 15;

/** Returns padded base64. */
export function encodeBase64(bytes: Uint8Array): string {
  const ascii = new Uint8Array(4 * Math.ceil(bytes.length / 3)).fill(PADDING);
  let end = 0;
  for (let offset = 0; offset < bytes.length; offset += 3) {
    const count = Math.min(3, bytes.length - offset);
    const word = (bytes[offset] << 16) | ((bytes[offset + 1] ?? 0) << 8) | (bytes[offset + 2] ?? 0);
    for (let digit = 0; digit <= count; digit++) {
      ascii[end + digit] = BASE64_DIGITS[(word >>> (18 - 6 * digit)) & 63];
    }
    end += 4;
  }
  let text = "";
  for (let start = 0; start < ascii.length; start += PIECE) {
    text += String.fromCharCode(...ascii.subarray(start, start + PIECE));
  }
  return text;
}

/** Returns the bytes of a text; null for a value that is not base64. The padding may be missing. */
export function decodeBase64(text: unknown): Uint8Array | null {
  if (typeof text !== "string") return null;
  let { length } = text;
  if (length % 4 === 0) {
    for (let padding = 0; padding < 2 && text.charCodeAt(length - 1) === PADDING; padding++) length--;
  }
  if (length % 4 === 1) return null;
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let word = 0;
  let bits = 0;
  let end = 0;
  for (let index = 0; index < length; index++) {
    const six = BASE64_VALUES[text.charCodeAt(index)] ?? -1;
    if (six < 0) return null;
    word = (word << 6) | six;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[end++] = word >>> bits;
    word &= (1 << bits) - 1;
  }
  // The unused bits of the last digit are 0 in what encoders write.
  return word === 0 ? bytes : null;
}
