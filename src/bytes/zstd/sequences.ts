/**
 * The three codes of a sequence: literal length, match offset and match length. This file has their values,
 * their tables, and the encoder of a block's section. The decoder, decodeFrame.ts, executes sequences as it
 * reads them.
 */

import { MalformedZstd } from "./bitReader.js";
import { BitWriter, bitLength } from "./bitWriter.js";
import {
  buildFseTable,
  EncodingTable,
  type FseTable,
  normalize,
  readFseTable,
  writeProbabilities,
} from "./fse.js";
import type { Sequences } from "./matches.js";

export interface SequenceCode {
  readonly maximumSymbol: number;
  readonly maximumLog: number;
  /** Smallest value of each code, and the number of bits that are added to it. */
  readonly base: Int32Array;
  readonly bits: Uint8Array;
  /** Table of the format, for blocks that bring none. */
  readonly standard: FseTable;
}

/** `bits` in runs of [count, bits]; each code begins where the one before ends. */
function sequenceCode(
  first: number,
  runs: readonly (readonly [count: number, bits: number])[],
  maximumLog: number,
  standardLog: number,
  standard: readonly number[],
): SequenceCode {
  const bits = Uint8Array.from(runs.flatMap(([count, width]) => new Array<number>(count).fill(width)));
  const base = new Int32Array(bits.length);
  for (let code = 0, value = first; code < bits.length; value += 2 ** bits[code], code++) base[code] = value;
  let table: FseTable | undefined;
  return {
    maximumSymbol: bits.length - 1,
    maximumLog,
    base,
    bits,
    // Made by the first block that needs it: most programs never do.
    get standard() {
      table ??= buildFseTable(Int16Array.from(standard), standard.length, standardLog);
      return table;
    },
  };
}

function repeated(...runs: readonly (readonly [count: number, value: number])[]): number[] {
  return runs.flatMap(([count, value]) => new Array<number>(count).fill(value));
}

export const LITERAL_LENGTHS = sequenceCode(
  0,
  [
    [16, 0],
    [4, 1],
    [2, 2],
    [2, 3],
    [1, 4],
    ...[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map((n) => [1, n] as const),
  ],
  9,
  6,
  [4, 3, ...repeated([11, 2], [3, 1], [9, 2]), 3, 2, ...repeated([5, 1], [4, -1])],
);
export const MATCH_LENGTHS = sequenceCode(
  3,
  [
    [32, 0],
    [4, 1],
    [2, 2],
    [2, 3],
    [2, 4],
    [1, 5],
    ...[7, 8, 9, 10, 11, 12, 13, 14, 15, 16].map((n) => [1, n] as const),
  ],
  9,
  6,
  [1, 4, 3, ...repeated([6, 2], [37, 1], [7, -1])],
);
/** An offset's code is its number of bits. */
export const MATCH_OFFSETS = sequenceCode(0, [[32, 0]], 8, 5, repeated([6, 1], [3, 2], [15, 1], [5, -1]));

/** Reads the table of a stream. Modes: 0 standard table, 1 one symbol, 2 in the block, 3 the previous. */
export function readSequenceTable(
  mode: number,
  input: Uint8Array,
  position: number,
  end: number,
  code: SequenceCode,
  previous: FseTable | null,
): { table: FseTable; position: number } {
  switch (mode) {
    case 0:
      return { table: code.standard, position };
    case 1: {
      if (position >= end || input[position] > code.maximumSymbol) throw new MalformedZstd();
      const symbols = input.slice(position, position + 1);
      return {
        table: { log: 0, symbols, bits: new Uint8Array(1), base: new Uint16Array(1) },
        position: position + 1,
      };
    }
    case 2:
      return readFseTable(input, position, end, code.maximumSymbol, code.maximumLog);
    default:
      if (previous === null) throw new MalformedZstd();
      return { table: previous, position };
  }
}

// -------------------------------------------------------------------------------------------- encoding

export function encodeSequences(sequences: Sequences, output: BitWriter): void {
  const { count } = sequences;
  if (count < 128) {
    output.add(count, 8);
  } else if (count < 0x7f00) {
    output.add((count >> 8) + 128, 8);
    output.add(count & 0xff, 8);
  } else {
    output.add(255, 8);
    output.add(count - 0x7f00, 16);
  }
  if (count === 0) return;
  const lengthCodes = codesOf(sequences.literalLengths, count, literalLengthCode);
  const offsetCodes = codesOf(sequences.offsetValues, count, offsetCode);
  const matchCodes = codesOf(sequences.matchLengths, count, matchLengthCode);
  const lengths = chooseTable(lengthCodes, LITERAL_LENGTHS);
  const offsets = chooseTable(offsetCodes, MATCH_OFFSETS);
  const matches = chooseTable(matchCodes, MATCH_LENGTHS);
  output.add((lengths.mode << 6) | (offsets.mode << 4) | (matches.mode << 2), 8);
  output.append(lengths.description);
  output.append(offsets.description);
  output.append(matches.description);

  let lengthState = 0;
  let offsetState = 0;
  let matchState = 0;
  for (let index = count - 1; index >= 0; index--) {
    const lengthSymbol = lengthCodes[index];
    const offsetSymbol = offsetCodes[index];
    const matchSymbol = matchCodes[index];
    if (index === count - 1) {
      lengthState = lengths.table.first(lengthSymbol);
      offsetState = offsets.table.first(offsetSymbol);
      matchState = matches.table.first(matchSymbol);
    } else {
      offsetState = offsets.table.next(offsetState, offsetSymbol, output);
      matchState = matches.table.next(matchState, matchSymbol, output);
      lengthState = lengths.table.next(lengthState, lengthSymbol, output);
    }
    const { bits: lengthBits, base: lengthBase } = LITERAL_LENGTHS;
    const { bits: matchBits, base: matchBase } = MATCH_LENGTHS;
    output.add(sequences.literalLengths[index] - lengthBase[lengthSymbol], lengthBits[lengthSymbol]);
    output.add(sequences.matchLengths[index] - matchBase[matchSymbol], matchBits[matchSymbol]);
    output.add(sequences.offsetValues[index] - (1 << offsetSymbol), offsetSymbol);
  }
  output.add(matchState, matches.table.log);
  output.add(offsetState, offsets.table.log);
  output.add(lengthState, lengths.table.log);
  output.close();
}

function codesOf(values: Int32Array, count: number, codeOf: (value: number) => number): Uint8Array {
  const codes = new Uint8Array(count);
  for (let index = 0; index < count; index++) codes[index] = codeOf(values[index]);
  return codes;
}

/** Codes of the values below `limit`. */
function smallCodes({ base }: SequenceCode, limit: number): Uint8Array {
  const codes = new Uint8Array(limit);
  for (let value = 0, code = 0; value < limit; value++) {
    while (code + 1 < base.length && base[code + 1] <= value) code++;
    codes[value] = code;
  }
  return codes;
}

/** Literal lengths from 64 on, and match lengths from 131 on, have a code per power of two. */
let smallLengths: Uint8Array | undefined;
let smallMatches: Uint8Array | undefined;
function literalLengthCode(value: number): number {
  smallLengths ??= smallCodes(LITERAL_LENGTHS, 64);
  return value < smallLengths.length ? smallLengths[value] : bitLength(value) + 18;
}
function matchLengthCode(value: number): number {
  smallMatches ??= smallCodes(MATCH_LENGTHS, 131);
  return value < smallMatches.length ? smallMatches[value] : bitLength(value - 3) + 35;
}
const offsetCode = (value: number): number => bitLength(value) - 1;

interface ChosenTable {
  /** 0 the standard table, 1 one symbol, 2 described in the block. */
  readonly mode: number;
  readonly description: Uint8Array;
  readonly table: EncodingTable;
}

const NO_BYTES = new Uint8Array(0);
/** For fewer sequences, a table costs more than it saves. */
const LEAST_DESCRIBED = 24;

function chooseTable(codes: Uint8Array, code: SequenceCode): ChosenTable {
  const counts = new Uint32Array(code.maximumSymbol + 1);
  let largest = 0;
  for (const symbol of codes) {
    counts[symbol]++;
    if (symbol > largest) largest = symbol;
  }
  if (counts[codes[0]] === codes.length) {
    const symbols = Uint8Array.of(codes[0]);
    const table = new EncodingTable({ log: 0, symbols, bits: NO_BYTES, base: new Uint16Array(0) });
    return { mode: 1, description: symbols, table };
  }
  const hasStandard = counts.every((count, symbol) => count === 0 || code.standard.symbols.includes(symbol));
  if (hasStandard && codes.length < LEAST_DESCRIBED) {
    return { mode: 0, description: NO_BYTES, table: new EncodingTable(code.standard) };
  }
  const log = Math.min(code.maximumLog, Math.max(6, bitLength(codes.length) - 2));
  const probabilities = normalize(counts.subarray(0, largest + 1), codes.length, log);
  const output = new BitWriter(128);
  writeProbabilities(probabilities, log, output);
  const table = new EncodingTable(buildFseTable(probabilities, probabilities.length, log));
  return { mode: 2, description: output.bytes(), table };
}
