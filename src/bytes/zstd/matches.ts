/** Finds matches of a block in the bytes before, by hash tables of eight bytes and of four. */

import { HASH_PRIME } from "../hash.js";
import { bitLength } from "./bitWriter.js";
import { MAXIMUM_BLOCK_BYTES } from "./frame.js";

/** Log2 of the distance of the farthest match, for which a reader needs memory. */
export const WINDOW_LOG = 20;
export const WINDOW_BYTES = 1 << WINDOW_LOG;

/** Literals of a block, and the matches among them. */
export interface Sequences {
  count: number;
  /** Literals before each match, bytes of the match, and its offset in the form of the format. */
  readonly literalLengths: Int32Array;
  readonly matchLengths: Int32Array;
  readonly offsetValues: Int32Array;
  readonly literals: Uint8Array;
  literalCount: number;
}

/** Bounds for the slots of a hash table, as log2; within them, slots are about as many as positions. */
const LEAST_HASH_LOG = 6;
const MOST_HASH_LOG = 16;
const LONG_PRIME = 0x85ebca6b;
const LEAST_MATCH = 4;
const LONG_BYTES = 8;
/** All frames share these tables: for a frame of 100 KiB, allocating them takes longer than filling them. */
const shortTable = new Int32Array(1 << MOST_HASH_LOG);
const longTable = new Int32Array(1 << MOST_HASH_LOG);
/** The shortest matches must be nearer than this: farther ones cost more than their literals. */
const NEAR_BYTES = 1 << 8;

/** Fewer bytes than this are copied one by one; more are copied by a call. */
const SHORT_LITERALS = 32;

export class MatchFinder {
  /** Last offsets from the reader's view, most recent first. */
  readonly recentOffsets = Int32Array.of(1, 4, 8);
  /** Position after the last occurrence of four and of eight bytes, by their hash. */
  readonly #short: Int32Array;
  readonly #long: Int32Array;
  readonly #shift: number;
  readonly #input: Uint8Array;
  readonly #view: DataView;
  readonly #sequences: Sequences;

  constructor(input: Uint8Array) {
    this.#input = input;
    this.#view = new DataView(input.buffer, input.byteOffset, input.byteLength);
    const hashLog = Math.min(MOST_HASH_LOG, Math.max(LEAST_HASH_LOG, bitLength(input.length)));
    this.#short = shortTable.subarray(0, 1 << hashLog).fill(0);
    this.#long = longTable.subarray(0, 1 << hashLog).fill(0);
    this.#shift = 32 - hashLog;
    const most = Math.min(input.length, MAXIMUM_BLOCK_BYTES);
    const mostMatches = Math.ceil(most / LEAST_MATCH) + 1;
    this.#sequences = {
      count: 0,
      literalLengths: new Int32Array(mostMatches),
      matchLengths: new Int32Array(mostMatches),
      offsetValues: new Int32Array(mostMatches),
      literals: new Uint8Array(most),
      literalCount: 0,
    };
  }

  /** Skips a block without looking for matches; remembers its last positions. */
  skip(end: number): void {
    const last = end - LONG_BYTES;
    for (let index = Math.max(0, last - 64); index <= last; index++) this.#remember(index);
  }

  #remember(offset: number): void {
    const low = this.#view.getInt32(offset, true);
    const high = this.#view.getInt32(offset + 4, true);
    this.#short[shortHash(low) >>> this.#shift] = offset + 1;
    this.#long[longHash(low, high) >>> this.#shift] = offset + 1;
  }

  /** Finds the matches of a block; the result is reused for the next block. */
  find(start: number, end: number): Sequences {
    const input = this.#input;
    const view = this.#view;
    const short = this.#short;
    const long = this.#long;
    const shift = this.#shift;
    const sequences = this.#sequences;
    sequences.count = 0;
    sequences.literalCount = 0;
    let literals = start;
    let misses = 0;
    const last = end - LONG_BYTES;
    for (let offset = start; offset <= last; ) {
      const low = view.getInt32(offset, true);
      const shortSlot = shortHash(low) >>> shift;
      const longSlot = longHash(low, view.getInt32(offset + 4, true)) >>> shift;
      const near = short[shortSlot] - 1;
      const far = long[longSlot] - 1;
      short[shortSlot] = offset + 1;
      long[longSlot] = offset + 1;

      let from = -1;
      let matchStart = offset;
      let length = 0;
      const repeat = offset + 1 - this.recentOffsets[0];
      if (offset < last && repeat >= 0 && view.getInt32(repeat, true) === view.getInt32(offset + 1, true)) {
        from = repeat;
        matchStart = offset + 1;
        length = matchLength(input, repeat, matchStart, end);
      } else {
        if (far >= 0 && offset - far <= WINDOW_BYTES) {
          const bytes = matchLength(input, far, offset, end);
          if (bytes >= LONG_BYTES) {
            from = far;
            length = bytes;
          }
        }
        const back = offset - near;
        if (from < 0 && near >= 0 && back <= WINDOW_BYTES && view.getInt32(near, true) === low) {
          length = matchLength(input, near, offset, end);
          if (length > LEAST_MATCH || back < NEAR_BYTES) {
            from = near;
            // A longer match may begin a byte later. The search runs only if a match is taken: otherwise the
            // next step would find the position remembered here, which is its own.
            if (offset < last) {
              const nextSlot =
                longHash(view.getInt32(offset + 1, true), view.getInt32(offset + 5, true)) >>> shift;
              const next = long[nextSlot] - 1;
              long[nextSlot] = offset + 2;
              if (next >= 0 && offset + 1 - next <= WINDOW_BYTES) {
                const bytes = matchLength(input, next, offset + 1, end);
                if (bytes >= LONG_BYTES && bytes > length) {
                  from = next;
                  matchStart = offset + 1;
                  length = bytes;
                }
              }
            }
          }
        }
      }
      if (from < 0) {
        // Steps grow after many positions without a match.
        offset += 1 + (misses++ >> 7);
        continue;
      }
      misses = 0;
      this.#add(literals, matchStart, from, length);
      const matchEnd = matchStart + length;
      if (offset + 2 <= last) this.#remember(offset + 2);
      if (matchEnd - 2 <= last) this.#remember(matchEnd - 2);
      offset = matchEnd;
      literals = matchEnd;
    }
    sequences.literals.set(input.subarray(literals, end), sequences.literalCount);
    sequences.literalCount += end - literals;
    return sequences;
  }

  /** Adds a match, extended over the equal bytes before it. */
  #add(literalStart: number, start: number, from: number, matched: number): void {
    const sequences = this.#sequences;
    const input = this.#input;
    const distance = start - from;
    let matchStart = start;
    while (
      matchStart > literalStart &&
      matchStart > distance &&
      input[matchStart - 1] === input[matchStart - 1 - distance]
    ) {
      matchStart--;
    }
    const length = matched + start - matchStart;
    const literals = matchStart - literalStart;
    const into = sequences.literals;
    if (literals < SHORT_LITERALS) {
      for (let offset = literalStart, write = sequences.literalCount; offset < matchStart; )
        into[write++] = input[offset++];
    } else {
      into.set(input.subarray(literalStart, matchStart), sequences.literalCount);
    }
    sequences.literalCount += literals;
    sequences.literalLengths[sequences.count] = literals;
    sequences.matchLengths[sequences.count] = length;
    sequences.offsetValues[sequences.count++] = this.#offsetValue(distance, literals);
  }

  /** 1 to 3 for recent offsets, shifted by one without literals; others are stored plus 3. */
  #offsetValue(distance: number, literals: number): number {
    const recent = this.recentOffsets;
    const skipped = literals === 0 ? 1 : 0;
    let index = 3;
    for (let candidate = skipped; candidate < 3; candidate++) {
      if (recent[candidate] === distance) {
        index = candidate;
        break;
      }
    }
    if (index > 1) recent[2] = recent[1];
    if (index > 0) recent[1] = recent[0];
    recent[0] = distance;
    return index === 3 ? distance + 3 : index + 1 - skipped;
  }
}

// Only the topmost bits of a hash are used, as many as number the slots of a table.
const shortHash = (low: number): number => Math.imul(low, HASH_PRIME);
const longHash = (low: number, high: number): number =>
  Math.imul(Math.imul(low, HASH_PRIME) ^ high, LONG_PRIME);

function matchLength(input: Uint8Array, from: number, to: number, end: number): number {
  let offset = to;
  for (let match = from; offset < end && input[offset] === input[match]; match++) offset++;
  return offset - to;
}
