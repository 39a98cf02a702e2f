/**
 * Finds the symbols that make text short under FSST (Boncz, Neumann, Leis: "FSST: Fast Random Access String
 * Compression", VLDB 2020).
 *
 * Training starts without symbols and goes over a sample several times. Each round encodes it with the
 * current symbols, and counts the uses of each and of each pair of neighbours. Of these symbols and joined
 * pairs, those that would have saved the most bytes become the symbols of the next round. The result depends
 * on the sample alone.
 *
 * An encoder has to find the longest symbol at a position at once. Symbols of three bytes and more are in a
 * hash table by their first three bytes, one per slot. Of two symbols with the same slot, only the better is
 * kept. All others are in a table by the next two bytes.
 */

import type { Steps } from "../../async/eventLoop.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import { upperBound } from "../../bytes/search.js";

/** Codes for symbols; the one after them is the escape. */
const MAXIMUM_SYMBOLS = 255;
const MAXIMUM_SYMBOL_BYTES = 8;
const HASH_BITS = 11;
export const HASH_SHIFT = 32 - HASH_BITS;
const SLOTS = 1 << HASH_BITS;

/** Bytes of text that train a table, in pieces from all over the page. */
const SAMPLE_BYTES = 1 << 15;
const PIECE_BYTES = 512;
/** Share of the sample, in 128ths, that each round uses: early rounds need not be exact. */
const ROUNDS = [8, 38, 68, 98, 128] as const;
const ALL = 128;

/** The pseudo-code of a single byte is this plus the byte. */
const BYTE_CODES = 256;
const ALL_CODES = 512;

/** Symbols, and the tables that find them. */
export class FsstSymbolTable {
  count = 0;
  /** First four bytes of each symbol, little-endian, zero-padded; and the four after them. */
  readonly low = new Int32Array(MAXIMUM_SYMBOLS);
  readonly high = new Int32Array(MAXIMUM_SYMBOLS);
  readonly lengths = new Uint8Array(MAXIMUM_SYMBOLS);
  /** First and last four bytes of each slot's symbol, and masks of the bytes of each that count. */
  readonly slots = new Int32Array(4 * SLOTS);
  /** Code and length × 256 of each slot's symbol. */
  readonly slotCodes = new Uint16Array(SLOTS);
  /** Code and length × 256 of the longest symbol of one or two bytes, by the next two bytes; 0 for none. */
  readonly shortCodes = new Uint16Array(1 << 16);

  constructor() {
    this.clear();
  }

  clear(): void {
    this.count = 0;
    this.shortCodes.fill(0);
    for (let slot = 0; slot < SLOTS; slot++) {
      // These bytes hash to another slot, so no bytes that hash to this one equal them.
      this.slots[4 * slot] = slot === 0 ? 1 : 0;
      this.slots[4 * slot + 1] = 0;
      this.slots[4 * slot + 2] = -1;
      this.slots[4 * slot + 3] = 0;
      this.slotCodes[slot] = 0;
    }
  }

  /** Adds a symbol; false if its slot is taken. Symbols of one byte must be added before those of two. */
  add(low: number, high: number, length: number): boolean {
    const code = this.count;
    const entry = (length << 8) | code;
    if (length === 1) {
      for (let next = low & 0xff; next < 1 << 16; next += 256) this.shortCodes[next] = entry;
    } else if (length === 2) {
      this.shortCodes[low & 0xffff] = entry;
    } else {
      const slot = slotOf(low);
      if (this.slotCodes[slot] !== 0) return false;
      this.slotCodes[slot] = entry;
      this.slots[4 * slot] = low;
      this.slots[4 * slot + 1] = high;
      this.slots[4 * slot + 2] = lowMask(length);
      this.slots[4 * slot + 3] = highMask(length);
    }
    this.low[code] = low;
    this.high[code] = high;
    this.lengths[code] = length;
    this.count = code + 1;
    return true;
  }

  /** Code and length × 256 of the symbol of a single byte, by the next byte; 0 for none. */
  byteCodes(): Uint16Array {
    const codes = new Uint16Array(256);
    for (let code = 0; code < this.count && this.lengths[code] === 1; code++) {
      codes[this.low[code]] = (1 << 8) | code;
    }
    return codes;
  }
}

/** Slot of a symbol of three bytes or more that starts with these bytes. */
const slotOf = (low: number): number => Math.imul(low & 0xffffff, HASH_PRIME) >>> HASH_SHIFT;

/** Masks of the first `length` bytes of a symbol, in its low word and in its high word. */
const lowMask = (length: number): number => (length >= 4 ? -1 : (1 << (8 * length)) - 1);
const highMask = (length: number): number => (length <= 4 ? 0 : lowMask(length - 4));

/** The resulting table, and the share of the sample's bytes that it saves. */
export interface FsstTraining {
  readonly table: FsstSymbolTable;
  readonly saving: number;
}

/**
 * Trains symbols for values of variable width, and lets other work run between rounds.
 * @param offsets ascending positions of the values in `bytes`, one more than there are values
 */
export function* trainFsst(offsets: Int32Array, bytes: Uint8Array): Steps<FsstTraining> {
  const sample = takeSample(offsets, bytes);
  const table = new FsstSymbolTable();
  const counts = new CodeCounts();
  for (const share of ROUNDS) {
    countCodes(table, sample, share, counts);
    const candidates = new Candidates();
    // In a small sample, a single use is enough.
    const least = Math.min(Math.max(2, (5 * share) >> 7), Math.max(1, sample.length >> 11));
    propose(table, counts, least, share === ALL, candidates);
    candidates.select(table);
    // Cleared before the pause: other trainings count in the same memory.
    counts.clear();
    yield;
  }
  const encodedBytes = countCodes(table, sample, ALL, counts);
  counts.clear();
  return { table, saving: sample.length === 0 ? 0 : 1 - encodedBytes / sample.length };
}

interface Sample {
  /** The pieces, back to back, and eight further bytes. */
  readonly bytes: Uint8Array;
  /** End of each piece. */
  readonly ends: readonly number[];
  readonly length: number;
}

/**
 * Takes all values if they are few. Else takes values from all over the page, at uneven distances: neighbours
 * are often alike, and so are values at equal distances. Takes one piece of a long value.
 */
function takeSample(offsets: Int32Array, bytes: Uint8Array): Sample {
  const count = offsets.length - 1;
  const first = offsets[0];
  const total = offsets[count] - first;
  const sample = new Uint8Array(Math.min(total, SAMPLE_BYTES) + PIECE_BYTES + MAXIMUM_SYMBOL_BYTES);
  const ends: number[] = [];
  let length = 0;
  const take = (start: number, end: number): void => {
    sample.set(bytes.subarray(start, end), length);
    length += end - start;
    ends.push(length);
  };
  if (total <= SAMPLE_BYTES) {
    for (let row = 0; row < count; row++) {
      for (let start = offsets[row]; start < offsets[row + 1]; start += PIECE_BYTES) {
        take(start, Math.min(start + PIECE_BYTES, offsets[row + 1]));
      }
    }
    return { bytes: sample, ends, length };
  }
  const picks = Math.ceil(SAMPLE_BYTES / Math.max(1, Math.min(PIECE_BYTES, total / count)));
  const distance = total / picks;
  for (let pick = 0; pick < picks && length < SAMPLE_BYTES; pick++) {
    const jitter = (pick * GOLDEN_RATIO) % 1;
    const position = first + Math.floor((pick + jitter) * distance);
    const row = upperBound(offsets, position, 1, offsets.length - 1) - 1;
    // If the position lies in the first piece of a value, take the piece from the value's start, where values
    // look alike.
    const start = position - offsets[row] < PIECE_BYTES ? offsets[row] : position;
    take(start, Math.min(start + PIECE_BYTES, offsets[row + 1]));
  }
  return { bytes: sample, ends, length };
}

const GOLDEN_RATIO = 0.6180339887498949;

/** Counts of pairs; all are 0 between trainings. */
const pairScratch = new Uint32Array(ALL_CODES * ALL_CODES);

/** Number of uses of each code, and of each pair of consecutive codes. */
class CodeCounts {
  readonly single = new Uint32Array(ALL_CODES);
  readonly pairs = pairScratch;
  /** The pairs met, first code × 512 + second. */
  readonly met: number[] = [];

  clear(): void {
    this.single.fill(0);
    for (const pair of this.met) this.pairs[pair] = 0;
    this.met.length = 0;
  }

  addPair(first: number, second: number): void {
    const pair = first * ALL_CODES + second;
    if (this.pairs[pair]++ === 0) this.met.push(pair);
  }
}

/** Encodes a share of the pieces, from all over the sample, and counts codes. Returns the codes' bytes. */
function countCodes(table: FsstSymbolTable, sample: Sample, share: number, counts: CodeCounts): number {
  const { slots, slotCodes, shortCodes } = table;
  const byteCodes = table.byteCodes();
  const { bytes, ends } = sample;
  const { single } = counts;
  const view = new DataView(bytes.buffer);
  let encodedBytes = 0;
  let read = 0;
  for (let piece = 0; piece < ends.length; piece++) {
    const end = ends[piece];
    if (((piece * 37) & (ALL - 1)) >= share) {
      read = end;
      continue;
    }
    let previous = -1;
    while (read < end) {
      const low = view.getInt32(read, true);
      const slot = slotOf(low);
      const index = 4 * slot;
      let entry = slotCodes[slot];
      if (
        ((low ^ slots[index]) & slots[index + 2]) !== 0 ||
        ((view.getInt32(read + 4, true) ^ slots[index + 1]) & slots[index + 3]) !== 0 ||
        read + (entry >>> 8) > end
      ) {
        entry = read + 1 === end ? byteCodes[low & 0xff] : shortCodes[low & 0xffff];
      }
      const byte = bytes[read];
      const length = entry >>> 8;
      const code = length === 0 ? BYTE_CODES + byte : entry & 0xff;
      single[code]++;
      // Also count the first byte of the symbol: alone or in a pair, it may save more than the symbol.
      if (length > 1) single[BYTE_CODES + byte]++;
      if (previous >= 0) {
        counts.addPair(previous, code);
        if (length > 1) counts.addPair(previous, BYTE_CODES + byte);
      }
      previous = code;
      encodedBytes += length === 0 ? 2 : 1;
      read += length === 0 ? 1 : length;
    }
  }
  return encodedBytes;
}

/** Symbols that would save bytes, each once, and the bytes that each would save. */
class Candidates {
  readonly low: number[] = [];
  readonly high: number[] = [];
  readonly lengths: number[] = [];
  readonly gains: number[] = [];
  private readonly byKey = new Map<number, number[]>();

  add(low: number, high: number, length: number, gain: number): void {
    const key = (Math.imul(low, HASH_PRIME) ^ Math.imul(high, 0x85ebca6b) ^ length) >>> 0;
    const same = this.byKey.get(key);
    if (same !== undefined) {
      for (const index of same) {
        if (this.low[index] === low && this.high[index] === high && this.lengths[index] === length) {
          this.gains[index] += gain;
          return;
        }
      }
      same.push(this.gains.length);
    } else {
      this.byKey.set(key, [this.gains.length]);
    }
    this.low.push(low);
    this.high.push(high);
    this.lengths.push(length);
    this.gains.push(gain);
  }

  /** Makes the most useful candidates the table's symbols. */
  select(table: FsstSymbolTable): void {
    const { low, high, lengths, gains } = this;
    // Sorted as one number each: the gain above, the index below. Among equal gains, later ones come first.
    const order = new Float64Array(gains.length);
    const scale = 2 ** 20;
    for (let index = 0; index < order.length; index++) order[index] = gains[index] * scale + index;
    order.sort();
    const chosen: number[] = [];
    const taken = new Set<number>();
    for (let rank = order.length - 1; rank >= 0 && chosen.length < MAXIMUM_SYMBOLS; rank--) {
      const index = order[rank] % scale;
      if (lengths[index] > 2) {
        const slot = slotOf(low[index]);
        if (taken.has(slot)) continue;
        taken.add(slot);
      }
      chosen.push(index);
    }
    chosen.sort((a, b) => lengths[a] - lengths[b] || a - b);
    table.clear();
    for (const index of chosen) table.add(low[index], high[index], lengths[index]);
  }
}

/**
 * Adds the candidates that follow from the counts: the used symbols, the bytes without symbol and, except in
 * the last round, joined pairs. Those met fewer than `least` times are left out.
 */
function propose(
  table: FsstSymbolTable,
  counts: CodeCounts,
  least: number,
  last: boolean,
  candidates: Candidates,
): void {
  const lowOf = (code: number): number => (code < BYTE_CODES ? table.low[code] : code - BYTE_CODES);
  const highOf = (code: number): number => (code < BYTE_CODES ? table.high[code] : 0);
  const lengthOf = (code: number): number => (code < BYTE_CODES ? table.lengths[code] : 1);
  for (let code = 0; code < ALL_CODES; code++) {
    const uses = counts.single[code];
    if (uses < least) continue;
    const length = lengthOf(code);
    // A byte without symbol costs two, so single bytes are worth more than their length.
    candidates.add(lowOf(code), highOf(code), length, uses * (length === 1 ? 8 : length));
  }
  if (last) return;
  for (const pair of counts.met) {
    const uses = counts.pairs[pair];
    if (uses < least) continue;
    const first = Math.floor(pair / ALL_CODES);
    const second = pair % ALL_CODES;
    const head = lengthOf(first);
    if (head === MAXIMUM_SYMBOL_BYTES) continue;
    const length = Math.min(MAXIMUM_SYMBOL_BYTES, head + lengthOf(second));
    const low = lowOf(second);
    const high = highOf(second);
    const shift = 8 * (head & 3);
    if (head < 4) {
      const carried = shift === 0 ? high : (high << shift) | (low >>> (32 - shift));
      candidates.add(lowOf(first) | (low << shift), carried, length, uses * length);
    } else {
      const kept = shift === 0 ? low : highOf(first) | (low << shift);
      candidates.add(lowOf(first), kept, length, uses * length);
    }
  }
}
