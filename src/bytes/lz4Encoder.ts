/** Encodes LZ4 blocks (lz4.ts). */

import { HASH_PRIME } from "./hash.js";

const HASH_BITS = 14;

const LEAST_MATCH = 4;

const LARGEST_DISTANCE = 0xffff;

/** No match begins in this many bytes at the end; this many bytes at the end are always literals. */
const MATCH_MARGIN = 12;

const LAST_LITERALS = 5;

/** Position after the last occurrence of four bytes, by their hash; 0 for none. Cleared for each block. */
const positions = new Int32Array(1 << HASH_BITS);

/** Encodes `input` as one block, which is at most a little longer. */
export function encodeLz4Block(input: Uint8Array): Uint8Array {
  const { length } = input;
  const output = new Uint8Array(blockBound(length));
  const view = new DataView(input.buffer, input.byteOffset, length);
  positions.fill(0);
  const matchLimit = length - MATCH_MARGIN;
  const matchEnd = length - LAST_LITERALS;
  let write = 0;
  let literals = 0;
  let misses = 0;
  for (let read = 0; read < matchLimit; ) {
    const word = view.getInt32(read, true);
    const slot = Math.imul(word, HASH_PRIME) >>> (32 - HASH_BITS);
    const candidate = positions[slot] - 1;
    positions[slot] = read + 1;
    if (candidate < 0 || read - candidate > LARGEST_DISTANCE || view.getInt32(candidate, true) !== word) {
      // Steps grow after many positions without a match.
      read += 1 + (misses++ >> 6);
      continue;
    }
    misses = 0;
    let start = read;
    let from = candidate;
    while (start > literals && from > 0 && input[start - 1] === input[from - 1]) {
      start--;
      from--;
    }
    let end = read + LEAST_MATCH;
    for (let match = candidate + LEAST_MATCH; end < matchEnd && input[end] === input[match]; match++) end++;
    write = writeSequence(input, literals, start, end, start - from, output, write);
    read = end;
    literals = end;
  }
  write = writeLiterals(input, literals, length, 0, output, write);
  return output.subarray(0, write);
}

/** Maximum number of positions with the same hash that are compared with the input, the nearest first. */
const TRIES = 12;

/** A match of this length is taken without a search for a longer one. */
const LONG_MATCH = 64;

/**
 * Encodes `input` as one block that is smaller than that of {@link encodeLz4Block}, but takes several times
 * as long. It remembers every position and takes the longest of some matches. It skips a match if a longer
 * one begins a byte later.
 */
export function encodeSmallLz4Block(input: Uint8Array): Uint8Array {
  const { length } = input;
  const output = new Uint8Array(blockBound(length));
  const matches = new LongestMatches(input);
  const matchLimit = length - MATCH_MARGIN;
  let write = 0;
  let literals = 0;
  let misses = 0;
  for (let read = 0; read < matchLimit; ) {
    if (!matches.find(read, LEAST_MATCH - 1)) {
      read += 1 + (misses++ >> 8);
      continue;
    }
    misses = 0;
    let { end, distance } = matches;
    while (end - read < LONG_MATCH && read + 1 < matchLimit && matches.find(read + 1, end - read)) {
      read++;
      ({ end, distance } = matches);
    }
    write = writeSequence(input, literals, read, end, distance, output, write);
    matches.remember(Math.min(end, matchLimit));
    read = end;
    literals = end;
  }
  write = writeLiterals(input, literals, length, 0, output, write);
  return output.subarray(0, write);
}

const blockBound = (length: number): number => length + Math.ceil(length / 255) + 16;

/** Chains of positions whose four bytes have the same hash, within the reach of a match. */
class LongestMatches {
  /** End of the match found last. */
  end = 0;
  distance = 0;
  readonly #input: Uint8Array;
  readonly #view: DataView;
  readonly #matchEnd: number;
  /**
   * By hash: last position, plus 1; 0 for none. By position: the earlier position with the same hash,
   * likewise plus 1.
   */
  readonly #last = new Int32Array(1 << HASH_BITS);
  readonly #before: Int32Array;
  #next = 0;

  constructor(input: Uint8Array) {
    this.#input = input;
    this.#view = new DataView(input.buffer, input.byteOffset, input.length);
    this.#matchEnd = input.length - LAST_LITERALS;
    this.#before = new Int32Array(Math.min(input.length, LARGEST_DISTANCE + 1));
  }

  remember(end: number): void {
    const view = this.#view;
    const last = this.#last;
    const before = this.#before;
    for (let offset = this.#next; offset < end; offset++) {
      const slot = Math.imul(view.getInt32(offset, true), HASH_PRIME) >>> (32 - HASH_BITS);
      before[offset & LARGEST_DISTANCE] = last[slot];
      last[slot] = offset + 1;
    }
    this.#next = Math.max(this.#next, end);
  }

  /** Looks for a match at `offset` of more than `length` bytes, the longest of those tried. */
  find(offset: number, length: number): boolean {
    this.remember(offset);
    const input = this.#input;
    const view = this.#view;
    const before = this.#before;
    const matchEnd = this.#matchEnd;
    const word = view.getInt32(offset, true);
    let longest = offset + length;
    let distance = 0;
    let candidate = this.#last[Math.imul(word, HASH_PRIME) >>> (32 - HASH_BITS)] - 1;
    for (let tries = TRIES; tries > 0 && candidate >= 0 && longest < matchEnd; tries--) {
      const back = offset - candidate;
      if (back > LARGEST_DISTANCE) break;
      if (input[longest - back] === input[longest] && view.getInt32(candidate, true) === word) {
        let end = offset + LEAST_MATCH;
        while (end < matchEnd && input[end] === input[end - back]) end++;
        if (end > longest) {
          longest = end;
          distance = back;
        }
      }
      candidate = before[candidate & LARGEST_DISTANCE] - 1;
    }
    this.end = longest;
    this.distance = distance;
    return distance > 0;
  }
}

/** Writes the literals up to `start`, then a match that reaches to `end`. */
function writeSequence(
  input: Uint8Array,
  literals: number,
  start: number,
  end: number,
  distance: number,
  output: Uint8Array,
  outputOffset: number,
): number {
  const match = end - start - LEAST_MATCH;
  const write = writeLiterals(input, literals, start, match, output, outputOffset);
  output[write] = distance;
  output[write + 1] = distance >>> 8;
  return writeMore(match, output, write + 2);
}

/** Writes token, literal count and literals of a sequence whose match is `match` + 4 bytes long. */
function writeLiterals(
  input: Uint8Array,
  start: number,
  end: number,
  match: number,
  output: Uint8Array,
  outputOffset: number,
): number {
  const count = end - start;
  output[outputOffset] = (Math.min(count, 15) << 4) | Math.min(match, 15);
  let write = writeMore(count, output, outputOffset + 1);
  if (count < 32) for (let read = start; read < end; ) output[write++] = input[read++];
  else {
    output.set(input.subarray(start, end), write);
    write += count;
  }
  return write;
}

/** Writes the part of a count that doesn't fit the token. */
function writeMore(count: number, output: Uint8Array, outputOffset: number): number {
  if (count < 15) return outputOffset;
  let write = outputOffset;
  let rest = count - 15;
  for (; rest >= 255; rest -= 255) output[write++] = 255;
  output[write++] = rest;
  return write;
}
