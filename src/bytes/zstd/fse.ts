/**
 * Finite-state entropy, the code of ZSTD's sequences and of the weights of its Huffman codes: tables, their
 * description in a block, and the states of an encoder.
 */

import { highestBit, MalformedZstd } from "./bitReader.js";
import { type BitWriter, bitLength } from "./bitWriter.js";

export interface FseTable {
  readonly log: number;
  /** Symbol of each state, the bits to read for the next state, and the number to add to them. */
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
  readonly base: Uint16Array;
}

/** Reads the probabilities of a table: numbers with as many bits as the rest of the sum needs. */
export function readFseTable(
  input: Uint8Array,
  start: number,
  end: number,
  maximumSymbol: number,
  maximumLog: number,
): { table: FseTable; position: number } {
  if (start >= end) throw new MalformedZstd();
  const log = (input[start] & 15) + 5;
  if (log > maximumLog) throw new MalformedZstd();
  const endBit = end * 8;
  let bit = start * 8 + 4;
  const peek = (count: number): number => {
    if (bit >= endBit) throw new MalformedZstd();
    const offset = bit >>> 3;
    const word = input[offset] | (input[offset + 1] << 8) | (input[offset + 2] << 16);
    return (word >>> (bit & 7)) & ((1 << count) - 1);
  };
  const probabilities = new Int16Array(maximumSymbol + 1);
  let symbol = 0;
  let rest = 1 << log;
  while (rest > 0) {
    if (symbol > maximumSymbol) throw new MalformedZstd();
    // Values 0 … rest + 1 are possible; the lowest of them that fit take one bit less.
    const bits = highestBit(rest + 1) + 1;
    const short = (1 << bits) - 1 - (rest + 1);
    let value = peek(bits - 1);
    if (value < short) {
      bit += bits - 1;
    } else {
      value = peek(bits);
      if (value >= 1 << (bits - 1)) value -= short;
      bit += bits;
    }
    const probability = value - 1;
    rest -= Math.abs(probability);
    probabilities[symbol++] = probability;
    if (probability === 0) {
      for (let zeros = 3; zeros === 3; ) {
        zeros = peek(2);
        bit += 2;
        symbol += zeros;
        if (symbol > maximumSymbol + 1) throw new MalformedZstd();
      }
    }
  }
  if (rest < 0 || bit > endBit) throw new MalformedZstd();
  return { table: buildFseTable(probabilities, symbol, log), position: Math.ceil(bit / 8) };
}

/** @param probabilities add up to 2^log, −1 counting as 1: it stands for "less than 1" */
export function buildFseTable(probabilities: Int16Array, symbolCount: number, log: number): FseTable {
  const size = 1 << log;
  const symbols = new Uint8Array(size);
  const next = new Uint16Array(symbolCount);
  let high = size - 1;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    if (probabilities[symbol] === -1) {
      symbols[high--] = symbol;
      next[symbol] = 1;
    } else {
      next[symbol] = probabilities[symbol];
    }
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let position = 0;
  for (let symbol = 0; symbol < symbolCount; symbol++) {
    for (let index = 0; index < probabilities[symbol]; index++) {
      symbols[position] = symbol;
      do position = (position + step) & (size - 1);
      while (position > high);
    }
  }
  const bits = new Uint8Array(size);
  const base = new Uint16Array(size);
  for (let state = 0; state < size; state++) {
    const rank = next[symbols[state]]++;
    bits[state] = log - highestBit(rank);
    base[state] = (rank << bits[state]) - size;
  }
  return { log, symbols, bits, base };
}

/** Shares of 2^log in proportion to the counts, at least 1 for each symbol that occurs. */
export function normalize(counts: Uint32Array, total: number, log: number): Int16Array {
  const size = 1 << log;
  const shares = Int16Array.from(counts, (count) =>
    count === 0 ? 0 : Math.max(1, Math.round((count * size) / total)),
  );
  let sum = shares.reduce((all, share) => all + share, 0);
  while (sum !== size) {
    // The largest share takes the difference; it shrinks by at most half at a time.
    let largest = 0;
    for (let symbol = 1; symbol < shares.length; symbol++) {
      if (shares[symbol] > shares[largest]) largest = symbol;
    }
    const change = sum < size ? size - sum : Math.max(size - sum, -(shares[largest] >> 1));
    shares[largest] += change;
    sum += change;
  }
  return shares;
}

/**
 * Writes the probabilities. A number takes as many bits as the rest of the sum needs; the smallest numbers
 * take one bit less.
 */
export function writeProbabilities(probabilities: Int16Array, log: number, output: BitWriter): void {
  output.add(log - 5, 4);
  let rest = 1 << log;
  for (let symbol = 0; rest > 0; ) {
    const value = probabilities[symbol] + 1;
    const bits = bitLength(rest + 1);
    const short = (1 << bits) - 1 - (rest + 1);
    if (value < short) output.add(value, bits - 1);
    else output.add(value >= 1 << (bits - 1) ? value + short : value, bits);
    rest -= probabilities[symbol];
    if (probabilities[symbol++] !== 0) continue;
    let zeros = 0;
    while (probabilities[symbol + zeros] === 0) zeros++;
    symbol += zeros;
    for (; zeros >= 3; zeros -= 3) output.add(3, 2);
    output.add(zeros, 2);
  }
  output.align();
}

/** An FSE table for encoding: maps a symbol and the state after it to a state. */
export class EncodingTable {
  readonly log: number;
  /** Number of states of each symbol, and index of the first of them in `#slots`. */
  readonly #counts: Uint16Array;
  readonly #starts: Uint16Array;
  /** States of each symbol, in ascending order. */
  readonly #slots: Uint16Array;

  constructor({ log, symbols }: FseTable) {
    this.log = log;
    this.#counts = new Uint16Array(256);
    for (const symbol of symbols) this.#counts[symbol]++;
    this.#starts = new Uint16Array(256);
    for (let symbol = 1; symbol < 256; symbol++) {
      this.#starts[symbol] = this.#starts[symbol - 1] + this.#counts[symbol - 1];
    }
    const next = this.#starts.slice();
    this.#slots = new Uint16Array(symbols.length);
    for (let state = 0; state < symbols.length; state++) this.#slots[next[symbols[state]]++] = state;
  }

  /** State of the last symbol: one of the symbol's states. */
  first(symbol: number): number {
    return this.#slots[this.#starts[symbol]];
  }

  /** State of a symbol before `state`; writes the bits that lead from there to `state`. */
  next(state: number, symbol: number, output: BitWriter): number {
    const count = this.#counts[symbol];
    const whole = state + (1 << this.log);
    // Drop as many bits as bring the number into the range from `count` to `2 · count - 1`.
    let bits = this.log + 1 - bitLength(count);
    if (whole >> bits < count) bits--;
    output.add(whole & ((1 << bits) - 1), bits);
    return this.#slots[this.#starts[symbol] + (whole >> bits) - count];
  }
}
