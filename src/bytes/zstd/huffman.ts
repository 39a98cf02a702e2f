/** Huffman codes of literals: the table of the symbols' weights, its form in a block, and the streams. */

import { BackwardBits, highestBit, MalformedZstd } from "./bitReader.js";
import { BitWriter, MAXIMUM_CODE_BITS } from "./bitWriter.js";
import { buildFseTable, EncodingTable, normalize, readFseTable, writeProbabilities } from "./fse.js";

export interface HuffmanTable {
  /** Length of the longest code. */
  readonly bits: number;
  /** By the next `bits` bits: the symbol in the low byte, and the length of its code above it. */
  readonly entries: Uint16Array;
}

export function readHuffmanTable(
  input: Uint8Array,
  start: number,
  end: number,
): { table: HuffmanTable; position: number } {
  if (start >= end) throw new MalformedZstd();
  const header = input[start];
  const weights = new Uint8Array(256);
  let count: number;
  let position: number;
  if (header >= 128) {
    count = header - 127;
    position = start + 1 + ((count + 1) >>> 1);
    if (position > end) throw new MalformedZstd();
    for (let index = 0; index < count; index++) {
      const byte = input[start + 1 + (index >>> 1)];
      weights[index] = (index & 1) === 0 ? byte >>> 4 : byte & 15;
    }
  } else {
    position = start + 1 + header;
    if (position > end) throw new MalformedZstd();
    count = readWeights(input, start + 1, position, weights);
  }
  return { table: buildHuffmanTable(weights, count), position };
}

/** Weights come from two states of one table that take turns until the bits are used up. */
function readWeights(input: Uint8Array, start: number, end: number, weights: Uint8Array): number {
  const { table, position } = readFseTable(input, start, end, 12, 6);
  const reader = new BackwardBits(input, position, end);
  let state = reader.read(table.log);
  let nextState = reader.read(table.log);
  let count = 0;
  for (;;) {
    if (count >= 254) throw new MalformedZstd();
    weights[count++] = table.symbols[state];
    const bits = reader.readIfLeft(table.bits[state]);
    if (bits === null) {
      weights[count++] = table.symbols[nextState];
      return count;
    }
    const advanced = table.base[state] + bits;
    state = nextState;
    nextState = advanced;
  }
}

/** A weight of w > 0 is a code of `bits + 1 − w` bits; the weight of the last symbol completes the sum. */
function buildHuffmanTable(weights: Uint8Array, count: number): HuffmanTable {
  let sum = 0;
  for (let symbol = 0; symbol < count; symbol++) {
    if (weights[symbol] > MAXIMUM_CODE_BITS) throw new MalformedZstd();
    if (weights[symbol] > 0) sum += 1 << (weights[symbol] - 1);
  }
  if (sum === 0) throw new MalformedZstd();
  const bits = highestBit(sum) + 1;
  const rest = (1 << bits) - sum;
  if (bits > MAXIMUM_CODE_BITS || (rest & (rest - 1)) !== 0) throw new MalformedZstd();
  weights[count] = highestBit(rest) + 1;
  const entries = new Uint16Array(1 << bits);
  let position = 0;
  for (let weight = 1; weight <= bits; weight++) {
    const span = 1 << (weight - 1);
    for (let symbol = 0; symbol <= count; symbol++) {
      if (weights[symbol] !== weight) continue;
      entries.fill(symbol | ((bits + 1 - weight) << 8), position, position + span);
      position += span;
    }
  }
  return { bits, entries };
}

/**
 * Decodes `output[from … to)` from a stream that must hold exactly that.
 * @param input has room for a word after the stream
 */
export function decodeHuffman(
  { bits, entries }: HuffmanTable,
  input: Uint8Array,
  start: number,
  end: number,
  output: Uint8Array,
  from: number,
  to: number,
): void {
  if (start >= end || input[end - 1] === 0) throw new MalformedZstd();
  const mask = (1 << bits) - 1;
  let left = (end - start) * 8 - 8 + highestBit(input[end - 1]);
  let write = from;
  // One word holds two codes of any length.
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  for (const lastPair = to - 1; write < lastPair && left >= 2 * bits; write += 2) {
    const shift = left - 2 * bits;
    const word = view.getUint32(start + (shift >>> 3), true) >>> (shift & 7);
    const entry = entries[(word >>> bits) & mask];
    const length = entry >>> 8;
    const nextEntry = entries[(word >>> (bits - length)) & mask];
    output[write] = entry;
    output[write + 1] = nextEntry;
    left -= length + (nextEntry >>> 8);
  }
  for (; write < to; write++) {
    const shift = left - bits;
    let code: number;
    if (shift >= 0) {
      const offset = start + (shift >>> 3);
      code = ((input[offset] | (input[offset + 1] << 8) | (input[offset + 2] << 16)) >>> (shift & 7)) & mask;
    } else {
      // Fewer bits are left than the longest code has: zeros stand in for the rest.
      if (left <= 0) throw new MalformedZstd();
      const word = input[start] | (input[start + 1] << 8);
      code = (word & ((1 << left) - 1)) << -shift;
    }
    const entry = entries[code];
    output[write] = entry;
    left -= entry >>> 8;
  }
  if (left !== 0) throw new MalformedZstd();
}

// -------------------------------------------------------------------------------------------- encoding

/** Minimum number of literals that are spread over four streams. */
export const ONE_STREAM_LITERALS = 256;

/** Encodes literals as a table and streams; null if that would not be shorter. */
export function codeLiterals(literals: Uint8Array, counts: Uint32Array): Uint8Array | null {
  const lengths = codeLengths(counts);
  const bits = lengths.reduce((most, length) => Math.max(most, length), 0);
  const weights = lengths.map((length) => (length === 0 ? 0 : bits + 1 - length));
  const output = new BitWriter(literals.length + 256);
  writeWeights(weights, output);
  const codes = canonicalCodes(weights, bits);
  if (literals.length < ONE_STREAM_LITERALS) {
    writeStream(literals, codes, lengths, output);
  } else {
    const perStream = (literals.length + 3) >>> 2;
    const streams = [0, 1, 2, 3].map((stream) => {
      const writer = new BitWriter(perStream + 64);
      const part = literals.subarray(stream * perStream, Math.min(literals.length, (stream + 1) * perStream));
      writeStream(part, codes, lengths, writer);
      return writer.bytes();
    });
    for (const stream of streams.slice(0, 3)) output.add(stream.length, 16);
    for (const stream of streams) output.append(stream);
  }
  return output.length < literals.length - (literals.length >> 6) ? output.bytes() : null;
}

function writeStream(literals: Uint8Array, codes: Uint16Array, lengths: Uint8Array, output: BitWriter): void {
  output.addCodes(literals, codes, lengths);
  output.close();
}

/** Code length of each symbol in a complete code of at most 11 bits; 0 for symbols that do not occur. */
function codeLengths(counts: Uint32Array): Uint8Array {
  const symbols = [...counts.keys()].filter((symbol) => counts[symbol] > 0);
  symbols.sort((a, b) => counts[a] - counts[b]);
  // Leaves in ascending order, then the nodes that each join two others; these come in ascending order, too.
  const leafCount = symbols.length;
  const weights = Float64Array.from({ length: 2 * leafCount - 1 }, (_, node) => counts[symbols[node]] ?? 0);
  const parents = new Uint16Array(2 * leafCount - 1);
  let leaf = 0;
  let inner = leafCount;
  for (let node = leafCount; node < parents.length; node++) {
    for (let child = 0; child < 2; child++) {
      const takesLeaf = leaf < leafCount && (inner >= node || weights[leaf] <= weights[inner]);
      const taken = takesLeaf ? leaf++ : inner++;
      parents[taken] = node;
      weights[node] += weights[taken];
    }
  }
  const depths = new Uint8Array(parents.length);
  for (let node = parents.length - 2; node >= 0; node--) depths[node] = depths[parents[node]] + 1;
  const lengths = new Uint8Array(counts.length);
  // Code space that the codes take, in units of the longest code.
  let taken = 0;
  const room = 1 << MAXIMUM_CODE_BITS;
  for (let index = 0; index < leafCount; index++) {
    const length = Math.min(depths[index], MAXIMUM_CODE_BITS);
    lengths[symbols[index]] = length;
    taken += room >> length;
  }
  // Codes that were cut to the maximum take too much room: the rarest of the others get longer until all fit.
  for (let index = 0; taken > room; index = (index + 1) % leafCount) {
    const symbol = symbols[index];
    if (lengths[symbol] < MAXIMUM_CODE_BITS) taken -= room >> ++lengths[symbol];
  }
  // The most frequent symbols that can take the remaining room get it.
  for (let index = leafCount - 1; taken < room && index >= 0; index--) {
    const symbol = symbols[index];
    while (lengths[symbol] > 1 && room >> lengths[symbol] <= room - taken) taken += room >> lengths[symbol]--;
  }
  return lengths;
}

/** Codes in the order in which a reader fills its table. */
function canonicalCodes(weights: Uint8Array, bits: number): Uint16Array {
  const codes = new Uint16Array(weights.length);
  let position = 0;
  for (let weight = 1; weight <= bits; weight++) {
    for (let symbol = 0; symbol < weights.length; symbol++) {
      if (weights[symbol] !== weight) continue;
      codes[symbol] = position >> (weight - 1);
      position += 1 << (weight - 1);
    }
  }
  return codes;
}

const MAXIMUM_PLAIN_WEIGHTS = 128;
const WEIGHT_LOG = 6;

/** Writes the weights of all symbols but the last, which readers compute. */
function writeWeights(weights: Uint8Array, output: BitWriter): void {
  let count = weights.length - 1;
  while (weights[count] === 0) count--;
  const listed = weights.subarray(0, count);
  const coded = count < 2 ? null : codeWeights(listed);
  if (coded !== null && (count > MAXIMUM_PLAIN_WEIGHTS || coded.length < (count + 1) >>> 1)) {
    output.add(coded.length, 8);
    output.append(coded);
    return;
  }
  output.add(127 + count, 8);
  for (let index = 0; index < count; index += 2) {
    output.add((listed[index] << 4) | (listed[index + 1] ?? 0), 8);
  }
}

/** Null if all weights are equal, which a table cannot express, or if the codes take too many bytes. */
function codeWeights(weights: Uint8Array): Uint8Array | null {
  const counts = new Uint32Array(MAXIMUM_CODE_BITS + 2);
  for (const weight of weights) counts[weight]++;
  if (counts.some((count) => count === weights.length)) return null;
  const probabilities = normalize(counts, weights.length, WEIGHT_LOG);
  const output = new BitWriter(weights.length + 64);
  writeProbabilities(probabilities, WEIGHT_LOG, output);
  const table = new EncodingTable(buildFseTable(probabilities, probabilities.length, WEIGHT_LOG));
  // Two states take turns; the last weight of either costs no bits.
  const states = [0, 0];
  for (let index = weights.length - 1; index >= 0; index--) {
    const turn = index & 1;
    states[turn] =
      index >= weights.length - 2
        ? table.first(weights[index])
        : table.next(states[turn], weights[index], output);
  }
  output.add(states[1], WEIGHT_LOG);
  output.add(states[0], WEIGHT_LOG);
  output.close();
  return output.length < MAXIMUM_PLAIN_WEIGHTS ? output.bytes() : null;
}
