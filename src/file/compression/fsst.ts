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
/** Largest position that offsets of 32 bits hold. */
const MAXIMUM_BYTES = 0x7fffffff;

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
  const { low, high, lengths } = symbols;
  let read = offsets[0];
  let write = 0;
  let output = new Uint8Array(estimateSize(symbols, codes, read, offsets[offsets.length - 1]));
  let view = new DataView(output.buffer);
  // Negative as soon as a code without symbol was met: its length is 0.
  let unknown = 0;
  offsets[0] = 0;
  for (let value = 1; value < offsets.length; value++) {
    const end = offsets[value];
    // Symbols are stored as eight bytes each, whatever their length.
    const room = write + 8 * (end - read);
    if (room > output.length) {
      output = enlarged(output, write, room, origin);
      view = new DataView(output.buffer);
    }
    while (read < end) {
      const code = codes[read++];
      if (code === ESCAPE) {
        output[write++] = codes[read++];
      } else {
        const length = lengths[code];
        view.setInt32(write, low[code], true);
        view.setInt32(write + 4, high[code], true);
        write += length;
        unknown |= length - 1;
      }
    }
    if (read !== end) throw corruptPage(origin, "FSST escape at the end of a value");
    offsets[value] = write;
  }
  if (write > MAXIMUM_BYTES) throw unsupportedPage(origin, "more than 2 GiB of text");
  if (unknown < 0) throw corruptPage(origin, "FSST code without symbol");
  return output.subarray(0, write);
}

/** Codes that are looked at to estimate how many bytes all of them stand for. */
const SAMPLE_CODES = 1 << 15;

/** Bytes to begin with: what the first codes suggest, and some more. */
function estimateSize({ lengths }: FsstSymbols, codes: Uint8Array, start: number, end: number): number {
  const sampleEnd = Math.min(end, start + SAMPLE_CODES);
  let size = 0;
  for (let position = start; position < sampleEnd; position++) size += lengths[codes[position]];
  const scale = (end - start) / Math.max(1, sampleEnd - start);
  return Math.ceil(size * scale * 1.1) + 64;
}

function enlarged(
  output: Uint8Array,
  used: number,
  needed: number,
  origin: PageOrigin,
): Uint8Array<ArrayBuffer> {
  if (used > MAXIMUM_BYTES) throw unsupportedPage(origin, "more than 2 GiB of text");
  const larger = new Uint8Array(Math.max(needed, Math.ceil(output.length * 1.5)));
  larger.set(output.subarray(0, used));
  return larger;
}
