/**
 * CRC-32 as in zlib, gzip and PNG (reflected polynomial 0xEDB88320, start and final value all ones). Uses the
 * native routine if the runtime has one, else slicing-by-8 tables.
 */

import * as platform from "../platform/native.js";

/**
 * Returns the checksum of `bytes` as an unsigned 32-bit number. To continue over several pieces, pass the
 * checksum of the pieces before as `seed`.
 */
export const crc32: (bytes: Uint8Array, seed?: number) => number =
  platform.nativeCrc32 === null ? crc32Portable : withNative(platform.nativeCrc32);

/** zlib gets an empty array as a null pointer, and takes that for a request for the initial value. */
function withNative(native: (bytes: Uint8Array, seed: number) => number) {
  return (bytes: Uint8Array, seed = 0): number => (bytes.length === 0 ? seed : native(bytes, seed));
}

let tables: Int32Array | undefined;

/** Eight tables of 256: entry `k · 256 + b` advances byte `b` over `k` further zero bytes. */
function slicingTables(): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    table[byte] = value;
  }
  for (let index = 256; index < table.length; index++) {
    const shorter = table[index - 256];
    table[index] = (shorter >>> 8) ^ table[shorter & 0xff];
  }
  return table;
}

/** {@link crc32} without the native routine. */
export function crc32Portable(bytes: Uint8Array, seed = 0): number {
  const table = (tables ??= slicingTables());
  let crc = ~seed;
  let position = 0;
  const last = bytes.length - 8;
  for (; position <= last; position += 8) {
    const low =
      crc ^
      (bytes[position] |
        (bytes[position + 1] << 8) |
        (bytes[position + 2] << 16) |
        (bytes[position + 3] << 24));
    crc =
      table[0x700 + (low & 0xff)] ^
      table[0x600 + ((low >>> 8) & 0xff)] ^
      table[0x500 + ((low >>> 16) & 0xff)] ^
      table[0x400 + (low >>> 24)] ^
      table[0x300 + bytes[position + 4]] ^
      table[0x200 + bytes[position + 5]] ^
      table[0x100 + bytes[position + 6]] ^
      table[bytes[position + 7]];
  }
  for (; position < bytes.length; position++) {
    crc = (crc >>> 8) ^ table[(crc ^ bytes[position]) & 0xff];
  }
  return ~crc >>> 0;
}
