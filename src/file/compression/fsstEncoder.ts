/** Encodes texts as FSST codes (fsst.ts). */

import { ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import { HEADER_BYTES, MAGIC } from "./fsst.js";
import { ENCODED_BYTES, ENCODED_VALUES, type FsstEncoder, fsstEncoder } from "./fsstEncodeKernel.js";
import { type FsstSymbolTable, HASH_SHIFT, trainFsst } from "./fsstTraining.js";

/** Bytes of a written table, for any number of symbols. */
const TABLE_BYTES = HEADER_BYTES + 256 * 9;

/** With fewer bytes of values, a table costs too much of the saving. */
const LEAST_BYTES = 16 * 1024;

/** Share of the bytes that codes and table must save. */
const WORTHWHILE_SAVING = 0.1;

interface FsstCodes {
  readonly symbolTable: Uint8Array;
  /** Positions in `bytes`, starting at 0. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
}

/** {@link encodeFsstInSteps} without interruption. */
export const encodeFsst = (offsets: Int32Array, bytes: Uint8Array, insist = false): FsstCodes | null =>
  runSync(encodeFsstInSteps(offsets, bytes, insist));

/**
 * Encodes values of variable width as FSST codes; null if that saves little.
 * @param offsets positions in `bytes`, starting at 0
 * @param insist true to use the codes even if they save only a byte
 */
export function* encodeFsstInSteps(
  offsets: Int32Array,
  bytes: Uint8Array,
  insist = false,
): Steps<FsstCodes | null> {
  if (bytes.length < (insist ? 1 : LEAST_BYTES)) return null;
  const { table, saving } = yield* trainFsst(offsets, bytes);
  const tableShare = insist ? 0 : TABLE_BYTES / bytes.length;
  if (saving - tableShare < (insist ? 0 : WORTHWHILE_SAVING)) return null;
  // The sample predicts the size of the codes; if it is too low, a second attempt has room for all values.
  const expected = Math.ceil(bytes.length * (1 - saving) * 1.1) + 2 * STRETCH_BYTES;
  const encoded =
    (expected < bytes.length ? yield* encodeCodes(table, offsets, bytes, expected) : null) ??
    (yield* encodeCodes(table, offsets, bytes, bytes.length));
  return encoded === null ? null : { symbolTable: encodeSymbolTable(table), ...encoded };
}

function encodeSymbolTable({ count, low, high, lengths }: FsstSymbolTable): Uint8Array {
  const bytes = new Uint8Array(TABLE_BYTES);
  const view = new DataView(bytes.buffer);
  bytes[0] = count;
  bytes[3] = 1;
  view.setUint32(4, MAGIC, true);
  for (let code = 0; code < count; code++) {
    view.setInt32(HEADER_BYTES + 8 * code, low[code], true);
    view.setInt32(HEADER_BYTES + 8 * code + 4, high[code], true);
    bytes[HEADER_BYTES + 8 * count + code] = lengths[code];
  }
  return bytes;
}

/** Input bytes encoded between two checks of the room left. */
const STRETCH_BYTES = 1 << 12;

/** Fewer bytes than this are encoded faster than the kernel gets its symbols. */
const KERNEL_BYTES = 32 * 1024;

const STEP_BLOCKS = 8;

/** Encodes all values; null as soon as the codes take more than `limit` bytes. */
function* encodeCodes(
  table: FsstSymbolTable,
  offsets: Int32Array,
  bytes: Uint8Array,
  limit: number,
): Steps<EncodedValues | null> {
  const kernel = bytes.length < KERNEL_BYTES ? null : fsstEncoder.get();
  return kernel === null
    ? encodePlainly(table, offsets, bytes, limit)
    : yield* encodeInKernel(kernel, table, offsets, bytes, limit);
}

type EncodedValues = Pick<FsstCodes, "offsets" | "bytes">;

/** Encodes a block of values at a time. Values too long for a block are encoded as without a kernel. */
function* encodeInKernel(
  kernel: FsstEncoder,
  table: FsstSymbolTable,
  offsets: Int32Array,
  bytes: Uint8Array,
  limit: number,
): Steps<EncodedValues | null> {
  kernel.setTable(table);
  const pace = new Pace(STEP_BLOCKS);
  const count = offsets.length - 1;
  const output = new Uint8Array(limit);
  const positions = new Int32Array(count + 1);
  for (let first = 0; first < count; ) {
    if (pace.isStep()) {
      yield;
      // Other pages have used the kernel in the meantime.
      kernel.setTable(table);
    }
    const most = Math.min(count, first + ENCODED_VALUES);
    let last = first;
    while (last < most && offsets[last + 1] - offsets[first] <= ENCODED_BYTES) last++;
    let pieces: readonly Uint8Array[];
    if (last > first) {
      pieces = kernel.encode(offsets, bytes, first, last, positions);
    } else {
      const value = bytes.subarray(offsets[first], offsets[++last]);
      const room = Math.min(2 * value.length, limit - positions[first]);
      const alone = encodePlainly(table, Int32Array.of(0, value.length), value, room);
      if (alone === null) return null;
      positions[last] = positions[first] + alone.bytes.length;
      pieces = [alone.bytes];
    }
    if (positions[last] > limit) return null;
    let write = positions[first];
    for (const piece of pieces) {
      output.set(piece, write);
      write += piece.length;
    }
    first = last;
  }
  return { offsets: positions, bytes: output.subarray(0, positions[count]) };
}

/** {@link encodeCodes} for few bytes, and for runtimes without kernels. */
function encodePlainly(
  table: FsstSymbolTable,
  offsets: Int32Array,
  bytes: Uint8Array,
  limit: number,
): EncodedValues | null {
  const count = offsets.length - 1;
  const output = new Uint8Array(limit + 2 * STRETCH_BYTES + 32);
  const positions = new Int32Array(count + 1);
  const encoder: CodeEncoder = { table, byteCodes: table.byteCodes(), offsets, output, positions, limit };
  // Symbols are compared eight bytes at a time, so the last values get an array with eight bytes more.
  let direct = count;
  while (direct > 0 && offsets[direct] + 8 > bytes.length) direct--;
  if (!encodeRows(encoder, bytes, 0, 0, direct)) return null;
  const start = offsets[direct];
  const rest = new Uint8Array(bytes.length - start + 8);
  rest.set(bytes.subarray(start));
  if (!encodeRows(encoder, rest, start, direct, count)) return null;
  const size = positions[count];
  return size > limit ? null : { offsets: positions, bytes: output.subarray(0, size) };
}

interface CodeEncoder {
  readonly table: FsstSymbolTable;
  readonly byteCodes: Uint16Array;
  readonly offsets: Int32Array;
  readonly output: Uint8Array;
  readonly positions: Int32Array;
  /** Maximum bytes of the codes. */
  readonly limit: number;
}

/**
 * Encodes values `first` to `last − 1`; false as soon as the codes take more than `limit` bytes.
 * @param bytes whose first byte is at position `bytesStart`
 */
function encodeRows(
  { table, byteCodes, offsets, output, positions, limit }: CodeEncoder,
  bytes: Uint8Array,
  bytesStart: number,
  first: number,
  last: number,
): boolean {
  const { slots, slotCodes, shortCodes } = table;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let read = offsets[first] - bytesStart;
  let write = positions[first];
  for (let value = first; value < last; value++) {
    const end = offsets[value + 1] - bytesStart;
    while (read < end) {
      if (write > limit) return false;
      const stretchEnd = Math.min(end, read + STRETCH_BYTES);
      while (read < stretchEnd) {
        const low = view.getInt32(read, true);
        const slot = Math.imul(low & 0xffffff, HASH_PRIME) >>> HASH_SHIFT;
        const position = 4 * slot;
        let entry = slotCodes[slot];
        if (
          read + (entry >>> 8) > end ||
          ((low ^ slots[position]) & slots[position + 2]) !== 0 ||
          ((view.getInt32(read + 4, true) ^ slots[position + 1]) & slots[position + 3]) !== 0
        ) {
          entry = read + 1 === end ? byteCodes[low & 0xff] : shortCodes[low & 0xffff];
        }
        if (entry === 0) {
          output[write] = ESCAPE_CODE;
          output[write + 1] = low;
          write += 2;
          read++;
        } else {
          output[write++] = entry;
          read += entry >>> 8;
        }
      }
    }
    positions[value + 1] = write;
  }
  return true;
}
