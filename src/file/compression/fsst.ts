/**
 * FSST, decoding: strings as chains of one-byte codes for symbols of 1 to 8 bytes.
 *
 *     symbol table   u64 header, n × 8-byte symbols (zero-padded), n length bytes, rest unused
 *     header         bits 0–7 n, bit 24 "encoded", bits 32–63 the number 0x46535354; the rest is of no use here
 *     code           below n: that symbol; 255: the next byte as it is. Codes never cross a value's end
 *
 * With the "encoded" bit clear, values are stored as they are.
 */

import { corruptPage, type PageOrigin, unsupportedPage } from "../page.js";

const HEADER_BYTES = 8;
const MAGIC = 0x46535354;
const ESCAPE = 255;

export interface FsstSymbols {
  /** First four bytes of each code's symbol, little-endian. */
  readonly low: Int32Array;
  /** Last four bytes. */
  readonly high: Int32Array;
  /** Bytes of each code's symbol; 0 for codes that are not in use, and for the escape. */
  readonly lengths: Uint8Array;
}

/** Null where the table says that values are stored as they are. */
export function decodeFsstSymbols(table: Uint8Array, origin: PageOrigin): FsstSymbols | null {
  if (table.length < HEADER_BYTES) throw corruptPage(origin, "FSST symbol table without header");
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  if (view.getUint32(4, true) !== MAGIC)
    throw corruptPage(origin, "FSST symbol table without its magic number");
  const count = table[0];
  if ((table[3] & 1) === 0) return null;
  if (table.length < HEADER_BYTES + 9 * count)
    throw corruptPage(origin, `FSST table cut short of ${count} symbols`);
  const low = new Int32Array(256);
  const high = new Int32Array(256);
  const lengths = new Uint8Array(256);
  for (let code = 0; code < count; code++) {
    low[code] = view.getInt32(HEADER_BYTES + 8 * code, true);
    high[code] = view.getInt32(HEADER_BYTES + 8 * code + 4, true);
    const length = table[HEADER_BYTES + 8 * count + code];
    if (length < 1 || length > 8) throw corruptPage(origin, `FSST symbol of ${length} bytes`);
    lengths[code] = length;
  }
  return { low, high, lengths };
}

/**
 * Decodes all values of a page. `offsets` are ascending positions of the values in `codes`, one more than there
 * are values; they are replaced by positions in the bytes that are returned.
 */
export function decodeFsst(
  symbols: FsstSymbols,
  offsets: Int32Array,
  codes: Uint8Array,
  origin: PageOrigin,
): Uint8Array {
  const start = offsets[0];
  const size = decodedSize(symbols, codes, start, offsets[offsets.length - 1], origin);
  if (size > 0x7fffffff) throw unsupportedPage(origin, "more than 2 GiB of text");
  // Symbols are stored as eight bytes at a time, whatever their length: room for the last one's padding.
  const output = new Uint8Array(size + 8);
  const view = new DataView(output.buffer);
  const { low, high, lengths } = symbols;
  let read = start;
  let write = 0;
  offsets[0] = 0;
  for (let value = 1; value < offsets.length; value++) {
    const end = offsets[value];
    while (read < end) {
      const code = codes[read++];
      if (code === ESCAPE) {
        output[write++] = codes[read++];
      } else {
        view.setInt32(write, low[code], true);
        view.setInt32(write + 4, high[code], true);
        write += lengths[code];
      }
    }
    if (read !== end) throw corruptPage(origin, "FSST escape at the end of a value");
    offsets[value] = write;
  }
  return output.subarray(0, size);
}

function decodedSize(
  symbols: FsstSymbols,
  codes: Uint8Array,
  start: number,
  end: number,
  origin: PageOrigin,
): number {
  const lengths = symbols.lengths;
  let size = 0;
  let unknown = 0;
  let position = start;
  while (position < end) {
    const code = codes[position++];
    const length = lengths[code];
    if (length === 0) {
      if (code === ESCAPE) position++;
      else unknown++;
      size++;
    } else {
      size += length;
    }
  }
  if (unknown > 0) throw corruptPage(origin, "FSST code without symbol");
  if (position !== end) throw corruptPage(origin, "FSST escape at the end of a page");
  return size;
}
