/**
 * FSST: strings as chains of one-byte codes for symbols of 1 to 8 bytes. fsstTraining.ts chooses the symbols.
 *
 *     symbol table   u64 header, n × 8-byte symbols (zero-padded), n length bytes, rest unused
 *     header         bits 0–7 n, bit 24 "encoded", bits 32–63 the number 0x46535354; the rest is unused
 *     code           below n: that symbol; 255: the next byte as it is. Codes never cross a value's end
 *
 * With the "encoded" bit clear, values are stored as they are.
 */

import { type CodeSymbols, ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { concatBytes } from "../../bytes/concat.js";
import { unfilledBytes } from "../../platform/native.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { type FsstDecoder, fsstDecoder } from "./fsstDecodeKernel.js";

export const HEADER_BYTES = 8;

export const MAGIC = 0x46535354;

/** Largest position of 32-bit offsets. */
const MAXIMUM_BYTES = 0x7fffffff;

/** Symbols by their table: a page may be decoded in parts. */
const decodedTables = new WeakMap<Uint8Array, CodeSymbols>();

/** Returns null if the table says that values are stored as they are. */
export function decodeFsstSymbols(table: Uint8Array, origin: PageOrigin): CodeSymbols | null {
  if (table.length < HEADER_BYTES) throw corruptPage(origin, "FSST symbol table without header");
  const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
  if (view.getUint32(4, true) !== MAGIC)
    throw corruptPage(origin, "FSST symbol table without its magic number");
  const earlier = decodedTables.get(table);
  if (earlier !== undefined) return earlier;
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
  const symbols = { count, low, high, lengths };
  decodedTables.set(table, symbols);
  return symbols;
}

/** Fewer codes than this are decoded faster than the kernel gets its symbols. */
const KERNEL_CODES = 2048;

/** Makes memory of arbitrary content for decoded texts. Texts that outgrow it move to other memory. */
export type AllocateTexts = (byteLength: number) => Uint8Array;

/**
 * Decodes all values of a page. `offsets` are ascending positions of the values in `codes`, one more than
 * there are values. They are overwritten with positions in the returned bytes.
 */
export function decodeFsst(
  symbols: CodeSymbols,
  offsets: Int32Array,
  codes: Uint8Array,
  origin: PageOrigin,
  allocate?: AllocateTexts,
): Uint8Array {
  const used = codes.subarray(offsets[0], offsets[offsets.length - 1]);
  return decodeFsstPieces(symbols, offsets, [used], origin, allocate);
}

/**
 * {@link decodeFsst} of codes in several pieces, without joining them. A value ends with each piece.
 * @param pieces all codes from the first offset to the last
 */
export function decodeFsstPieces(
  symbols: CodeSymbols,
  offsets: Int32Array,
  pieces: readonly Uint8Array[],
  origin: PageOrigin,
  allocate: AllocateTexts = unfilledBytes,
): Uint8Array {
  const codeCount = offsets[offsets.length - 1] - offsets[0];
  const decoder = codeCount < KERNEL_CODES ? null : fsstDecoder.get();
  if (decoder !== null) {
    const output = allocate(estimateSize(symbols, pieces, codeCount));
    return decodeInKernel(decoder, symbols, offsets, pieces, output, origin);
  }
  const codes = pieces.length === 1 ? pieces[0] : concatBytes(pieces, codeCount);
  return decodeFsstPlainly(symbols, offsets, codes, origin);
}

/**
 * {@link decodeFsstPieces} a block of codes at a time.
 * @param memory for the texts, unless they need more
 */
function decodeInKernel(
  decoder: FsstDecoder,
  symbols: CodeSymbols,
  offsets: Int32Array,
  pieces: readonly Uint8Array[],
  memory: Uint8Array,
  origin: PageOrigin,
): Uint8Array {
  decoder.setSymbols(symbols.low, symbols.high, symbols.lengths);
  const { positions, origin: outputOrigin, blockCodes } = decoder;
  let pieceStart = offsets[0];
  let write = 0;
  let output = memory;
  offsets[0] = 0;
  let value = 1;
  for (const piece of pieces) {
    for (let read = 0; read < piece.length; ) {
      const end = Math.min(read + blockCodes, piece.length);
      const consumed = decoder.decode(piece, read, end, symbols.count);
      if (consumed === 0) throw corruptPage(origin, "FSST code without symbol");
      const decoded = decoder.output(consumed);
      const size = write + decoded.length;
      if (size > output.length) output = withRoom(output, write, size, origin);
      output.set(decoded, write);
      const start = pieceStart + read;
      read += consumed;
      if (read > piece.length) throw corruptPage(origin, "FSST escape at the end of a value");
      const blockEnd = pieceStart + read;
      const shift = write - outputOrigin;
      // Negative as soon as a value's end splits an escape.
      let split = 0;
      for (; value < offsets.length && offsets[value] <= blockEnd; value++) {
        const position = positions[offsets[value] - start];
        split |= position;
        offsets[value] = position + shift;
      }
      if (split < 0) throw corruptPage(origin, "FSST escape at the end of a value");
      write = size;
    }
    pieceStart += piece.length;
  }
  if (write > MAXIMUM_BYTES) throw unsupportedPage(origin, "more than 2 GiB of text");
  return ended(output, write);
}

/**
 * {@link decodeFsst} for few codes, and for runtimes without kernels.
 * @param codes those from the first offset to the last
 */
export function decodeFsstPlainly(
  symbols: CodeSymbols,
  offsets: Int32Array,
  codes: Uint8Array,
  origin: PageOrigin,
): Uint8Array {
  const { low, high, lengths } = symbols;
  const start = offsets[0];
  let read = 0;
  let write = 0;
  const codeCount = offsets[offsets.length - 1] - start;
  let output = unfilledBytes(estimateSize(symbols, [codes], codeCount));
  let view = new DataView(output.buffer, output.byteOffset, output.length);
  // Negative as soon as a code without symbol was met: its length is 0.
  let unknown = 0;
  offsets[0] = 0;
  for (let value = 1; value < offsets.length; value++) {
    const end = offsets[value] - start;
    // A symbol of any length is written as eight bytes.
    const room = write + 8 * (end - read);
    if (room > output.length) {
      output = withRoom(output, write, room, origin);
      view = new DataView(output.buffer);
    }
    while (read < end) {
      const code = codes[read++];
      if (code === ESCAPE_CODE) {
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
  return ended(output, write);
}

/** Cuts the output to the written bytes. The bytes after them may be old memory of the process. */
function ended(output: Uint8Array, byteLength: number): Uint8Array {
  output.fill(0, byteLength);
  return output.subarray(0, byteLength);
}

/** Codes sampled to estimate the decoded size. */
const SAMPLE_CODES = 1 << 15;

/** Estimates the initial size of the output: that of the first codes, and some more. */
function estimateSize({ lengths }: CodeSymbols, pieces: readonly Uint8Array[], codeCount: number): number {
  let size = 0;
  let sampled = 0;
  for (const piece of pieces) {
    if (sampled === SAMPLE_CODES) break;
    const end = Math.min(piece.length, SAMPLE_CODES - sampled);
    for (let position = 0; position < end; position++) size += lengths[piece[position]];
    sampled += end;
  }
  return Math.ceil(size * (codeCount / Math.max(1, sampled)) * 1.1) + 64;
}

/** Copies the used bytes into larger memory without zeros: output is large, and all of it is written. */
function withRoom(
  output: Uint8Array,
  used: number,
  needed: number,
  origin: PageOrigin,
): Uint8Array<ArrayBuffer> {
  if (used > MAXIMUM_BYTES) throw unsupportedPage(origin, "more than 2 GiB of text");
  const larger = unfilledBytes(Math.max(needed, Math.ceil(output.length * 1.5)));
  larger.set(output.subarray(0, used));
  return larger;
}
