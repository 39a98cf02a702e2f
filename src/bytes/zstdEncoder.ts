/**
 * Writes Zstandard frames (RFC 8878; the decoder, zstd.ts, has the picture), for runtimes whose zlib has no encoder.
 *
 * Two hash tables, of eight bytes and of four, find matches; each slot remembers one position. Literals are
 * Huffman-coded, and sequences get tables made for their block, each where that is shorter than the plain form.
 */

import { HASH_PRIME } from "./hash.js";
import {
  buildFseTable,
  type FseTable,
  LITERAL_LENGTHS,
  MATCH_LENGTHS,
  MATCH_OFFSETS,
  MAXIMUM_BLOCK_BYTES,
  type SequenceCode,
} from "./zstd.js";

/** Farthest match: the window that a reader needs memory for. */
const WINDOW_LOG = 20;
const WINDOW_BYTES = 1 << WINDOW_LOG;

/** Encodes `input` as one frame. */
export function encodeZstdFrame(input: Uint8Array): Uint8Array {
  const length = input.length;
  // A block takes at most three bytes more than its content.
  const blocks = Math.max(1, Math.ceil(length / MAXIMUM_BLOCK_BYTES));
  const output = new Uint8Array(18 + length + 4 * blocks);
  let write = writeFrameHeader(output, length);
  const finder = new MatchFinder(input);
  for (let block = 0; block < blocks; block++) {
    const start = block * MAXIMUM_BLOCK_BYTES;
    const end = Math.min(length, start + MAXIMUM_BLOCK_BYTES);
    write = writeBlock(input, start, end, block === blocks - 1, finder, output, write);
  }
  return output.subarray(0, write);
}

/** Writes magic, descriptor, the window where the content is larger than it, and the content size in 4 bytes. */
function writeFrameHeader(output: Uint8Array, length: number): number {
  const single = length <= WINDOW_BYTES;
  output.set([0x28, 0xb5, 0x2f, 0xfd, single ? 0xa0 : 0x80]);
  let write = 5;
  if (!single) output[write++] = (WINDOW_LOG - 10) << 3;
  new DataView(output.buffer).setUint32(write, length, true);
  return write + 4;
}

function writeBlock(
  input: Uint8Array,
  start: number,
  end: number,
  isLast: boolean,
  finder: MatchFinder,
  output: Uint8Array,
  outputOffset: number,
): number {
  const size = end - start;
  const head = (kind: number, blockSize: number) => {
    const header = +isLast | (kind << 1) | (blockSize << 3);
    output[outputOffset] = header;
    output[outputOffset + 1] = header >>> 8;
    output[outputOffset + 2] = header >>> 16;
    return outputOffset + 3;
  };
  if (size > 1 && isRun(input, start, end)) {
    finder.skip(end);
    const at = head(1, size);
    output[at] = input[start];
    return at + 1;
  }
  const recent = finder.recentOffsets.slice();
  const encoded = size < 16 ? null : encodeBlock(input, finder.find(start, end), size);
  if (encoded !== null) {
    const at = head(2, encoded.length);
    output.set(encoded, at);
    return at + encoded.length;
  }
  // A reader sees no offsets in a block that is stored as it is, so the last ones are those before the block.
  finder.recentOffsets.set(recent);
  finder.skip(end);
  const at = head(0, size);
  output.set(input.subarray(start, end), at);
  return at + size;
}

function isRun(input: Uint8Array, start: number, end: number): boolean {
  const first = input[start];
  for (let at = start + 1; at < end; at++) if (input[at] !== first) return false;
  return true;
}

// --------------------------------------------------------------------------------------------- matches

/** What a block is made of: literals, and where among them there are matches. */
interface Sequences {
  count: number;
  /** Literals in front of each match, bytes of the match, and its offset as the format has it. */
  readonly literalLengths: Int32Array;
  readonly matchLengths: Int32Array;
  readonly offsetValues: Int32Array;
  readonly literals: Uint8Array;
  literalCount: number;
}

/** Bounds for the slots of a hash table, as log2; within them, there are about as many slots as positions. */
const LEAST_HASH_LOG = 6;
const MOST_HASH_LOG = 16;
const LONG_PRIME = 0x85ebca6b;
const LEAST_MATCH = 4;
const LONG_BYTES = 8;
/** All frames use these tables in turn: for a frame of 100 KiB, tables take longer to allocate than to fill. */
const shortTable = new Int32Array(1 << MOST_HASH_LOG);
const longTable = new Int32Array(1 << MOST_HASH_LOG);
/** The shortest matches are taken only from nearer than this: farther ones cost more than their literals. */
const NEAR_BYTES = 1 << 8;

/** Fewer bytes than this are copied one by one, others by a call. */
const SHORT_LITERALS = 32;

class MatchFinder {
  /** The last offsets as the reader knows them, most recent first. */
  readonly recentOffsets = Int32Array.of(1, 4, 8);
  /** By hash of four and of eight bytes: where these were last met, plus 1. */
  readonly #short: Int32Array;
  readonly #long: Int32Array;
  readonly #shift: number;
  readonly #input: Uint8Array;
  readonly #view: DataView;
  readonly #found: Sequences;

  constructor(input: Uint8Array) {
    this.#input = input;
    this.#view = new DataView(input.buffer, input.byteOffset, input.byteLength);
    const hashLog = Math.min(MOST_HASH_LOG, Math.max(LEAST_HASH_LOG, bitLength(input.length)));
    this.#short = shortTable.subarray(0, 1 << hashLog).fill(0);
    this.#long = longTable.subarray(0, 1 << hashLog).fill(0);
    this.#shift = 32 - hashLog;
    const most = Math.min(input.length, MAXIMUM_BLOCK_BYTES);
    const mostMatches = Math.ceil(most / LEAST_MATCH) + 1;
    this.#found = {
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
    for (let at = Math.max(0, last - 64); at <= last; at++) this.#remember(at);
  }

  #remember(at: number): void {
    const low = this.#view.getInt32(at, true);
    const high = this.#view.getInt32(at + 4, true);
    this.#short[shortHash(low) >>> this.#shift] = at + 1;
    this.#long[longHash(low, high) >>> this.#shift] = at + 1;
  }

  /** Finds the matches of a block; the result is reused for the next block. */
  find(start: number, end: number): Sequences {
    const input = this.#input;
    const view = this.#view;
    const short = this.#short;
    const long = this.#long;
    const shift = this.#shift;
    const found = this.#found;
    found.count = 0;
    found.literalCount = 0;
    let literals = start;
    let misses = 0;
    const last = end - LONG_BYTES;
    for (let at = start; at <= last; ) {
      const low = view.getInt32(at, true);
      const shortSlot = shortHash(low) >>> shift;
      const longSlot = longHash(low, view.getInt32(at + 4, true)) >>> shift;
      const near = short[shortSlot] - 1;
      const far = long[longSlot] - 1;
      short[shortSlot] = at + 1;
      long[longSlot] = at + 1;

      let from = -1;
      let matchStart = at;
      let length = 0;
      const repeat = at + 1 - this.recentOffsets[0];
      if (at < last && repeat >= 0 && view.getInt32(repeat, true) === view.getInt32(at + 1, true)) {
        from = repeat;
        matchStart = at + 1;
        length = matchLength(input, repeat, matchStart, end);
      } else {
        if (far >= 0 && at - far <= WINDOW_BYTES) {
          const bytes = matchLength(input, far, at, end);
          if (bytes >= LONG_BYTES) {
            from = far;
            length = bytes;
          }
        }
        const back = at - near;
        if (from < 0 && near >= 0 && back <= WINDOW_BYTES && view.getInt32(near, true) === low) {
          length = matchLength(input, near, at, end);
          if (length > LEAST_MATCH || back < NEAR_BYTES) {
            from = near;
            // A longer match may begin a byte later. The search is only for a match that is taken: otherwise the next
            // step would find the position remembered here, which is its own.
            if (at < last) {
              const nextSlot = longHash(view.getInt32(at + 1, true), view.getInt32(at + 5, true)) >>> shift;
              const next = long[nextSlot] - 1;
              long[nextSlot] = at + 2;
              if (next >= 0 && at + 1 - next <= WINDOW_BYTES) {
                const bytes = matchLength(input, next, at + 1, end);
                if (bytes >= LONG_BYTES && bytes > length) {
                  from = next;
                  matchStart = at + 1;
                  length = bytes;
                }
              }
            }
          }
        }
      }
      if (from < 0) {
        // Steps grow where nothing has matched for long.
        at += 1 + (misses++ >> 7);
        continue;
      }
      misses = 0;
      this.#add(literals, matchStart, from, length);
      const matchEnd = matchStart + length;
      if (at + 2 <= last) this.#remember(at + 2);
      if (matchEnd - 2 <= last) this.#remember(matchEnd - 2);
      at = matchEnd;
      literals = matchEnd;
    }
    found.literals.set(input.subarray(literals, end), found.literalCount);
    found.literalCount += end - literals;
    return found;
  }

  /** Adds a match, which also takes the literals in front of it that match as well. */
  #add(literalStart: number, start: number, from: number, matched: number): void {
    const found = this.#found;
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
    const into = found.literals;
    if (literals < SHORT_LITERALS) {
      for (let at = literalStart, write = found.literalCount; at < matchStart; ) into[write++] = input[at++];
    } else {
      into.set(input.subarray(literalStart, matchStart), found.literalCount);
    }
    found.literalCount += literals;
    found.literalLengths[found.count] = literals;
    found.matchLengths[found.count] = length;
    found.offsetValues[found.count++] = this.#offsetValue(distance, literals);
  }

  /** 1 to 3 for recent offsets, shifted by one where there are no literals; others are stored plus 3. */
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
  let at = to;
  for (let other = from; at < end && input[at] === input[other]; other++) at++;
  return at - to;
}

// ---------------------------------------------------------------------------------------------- blocks

/** Encodes a block as literals and sequences; null where that would not be shorter. */
function encodeBlock(input: Uint8Array, found: Sequences, size: number): Uint8Array | null {
  const limit = size - 1;
  const output = new BitWriter(size + 64);
  encodeLiterals(found.literals.subarray(0, found.literalCount), output);
  if (output.length >= limit || input.length === 0) return null;
  encodeSequences(found, output);
  return output.length < limit ? output.bytes() : null;
}

/** Writes bits, the first one lowest; a reader begins at their end. */
class BitWriter {
  #bytes: Uint8Array;
  #position = 0;
  #word = 0;
  #bits = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** Whole bytes written. */
  get length(): number {
    return this.#position;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#position);
  }

  /** Adds up to 24 bits. */
  add(value: number, count: number): void {
    this.#word |= value << this.#bits;
    this.#bits += count;
    if (this.#position + 4 > this.#bytes.length) this.#grow(4);
    while (this.#bits >= 8) {
      this.#bytes[this.#position++] = this.#word;
      this.#word >>>= 8;
      this.#bits -= 8;
    }
  }

  /** Adds the codes of some symbols, at most 11 bits each, the last symbol's first. */
  addCodes(symbols: Uint8Array, codes: Uint16Array, lengths: Uint8Array): void {
    const most = 4 + Math.ceil((symbols.length * MAXIMUM_CODE_BITS) / 8);
    if (this.#position + most > this.#bytes.length) this.#grow(most);
    const bytes = this.#bytes;
    let position = this.#position;
    let word = this.#word;
    let bits = this.#bits;
    for (let at = symbols.length - 1; at >= 0; at--) {
      const symbol = symbols[at];
      word |= codes[symbol] << bits;
      bits += lengths[symbol];
      // Fewer than 16 bits and the next code always fit into a word.
      if (bits >= 16) {
        bytes[position] = word;
        bytes[position + 1] = word >>> 8;
        position += 2;
        word >>>= 16;
        bits -= 16;
      }
    }
    for (; bits >= 8; bits -= 8) {
      bytes[position++] = word;
      word >>>= 8;
    }
    this.#position = position;
    this.#word = word;
    this.#bits = bits;
  }

  /** Pads the last byte with zeros. */
  align(): void {
    if (this.#bits > 0) this.add(0, 8 - this.#bits);
  }

  /** Ends a stream that is read from its end. */
  close(): void {
    this.add(1, 1);
    this.align();
  }

  append(bytes: Uint8Array): void {
    if (this.#position + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  #grow(byteCount: number): void {
    const larger = new Uint8Array(2 * this.#bytes.length + byteCount);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

const bitLength = (value: number): number => 32 - Math.clz32(value);

// -------------------------------------------------------------------------------------------- literals

const LEAST_CODED_LITERALS = 64;
const ONE_STREAM_LITERALS = 256;
const MAXIMUM_CODE_BITS = 11;

function encodeLiterals(literals: Uint8Array, output: BitWriter): void {
  const counts = new Uint32Array(256);
  for (let at = 0; at < literals.length; at++) counts[literals[at]]++;
  const used = counts.reduce((sum, count) => sum + +(count > 0), 0);
  if (used === 1 && literals.length > 3) {
    writeLiteralsHead(1, literals.length, output);
    output.append(literals.subarray(0, 1));
    return;
  }
  const coded = used > 1 && literals.length >= LEAST_CODED_LITERALS ? codeLiterals(literals, counts) : null;
  if (coded === null) {
    writeLiteralsHead(0, literals.length, output);
    output.append(literals);
    return;
  }
  // Kind 2; one stream of up to 1023 bytes, or four under sizes of 10, 14 or 18 bits.
  const isOne = literals.length < ONE_STREAM_LITERALS;
  const sizeBits = literals.length < 1024 ? 10 : literals.length < 16_384 ? 14 : 18;
  output.add(2 | ((isOne ? 0 : (sizeBits - 6) / 4) << 2), 4);
  output.add(literals.length, sizeBits);
  output.add(coded.length, sizeBits);
  output.append(coded);
}

/** Writes the head of literals as they are (0), or of one literal that is repeated (1). */
function writeLiteralsHead(kind: number, count: number, output: BitWriter): void {
  if (count < 32) {
    output.add(kind | (count << 3), 8);
  } else if (count < 4096) {
    output.add(kind | (1 << 2) | (count << 4), 16);
  } else {
    output.add(kind | (3 << 2) | (count << 4), 24);
  }
}

/** Encodes literals as a table and streams; null where that would not be shorter. */
function codeLiterals(literals: Uint8Array, counts: Uint32Array): Uint8Array | null {
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

/** By symbol: bits of its code in a complete code of at most 11 bits; 0 for symbols that are not there. */
function codeLengths(counts: Uint32Array): Uint8Array {
  const symbols = [...counts.keys()].filter((symbol) => counts[symbol] > 0);
  symbols.sort((a, b) => counts[a] - counts[b]);
  // Leaves in ascending order, then the nodes that join two each, which are made in ascending order too.
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
  // How much of the code space the codes take, in units of the longest code.
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
  // Room that is left over goes to the most frequent symbols that can take it.
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

/** Writes the weights of all symbols but the last, which a reader works out. */
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

/** Null where all weights are the same, which a table cannot express, and where the codes take too many bytes. */
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

// ------------------------------------------------------------------------------------------- sequences

function encodeSequences(found: Sequences, output: BitWriter): void {
  const { count } = found;
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
  const lengthCodes = codesOf(found.literalLengths, count, literalLengthCode);
  const offsetCodes = codesOf(found.offsetValues, count, offsetCode);
  const matchCodes = codesOf(found.matchLengths, count, matchLengthCode);
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
    output.add(found.literalLengths[index] - lengthBase[lengthSymbol], lengthBits[lengthSymbol]);
    output.add(found.matchLengths[index] - matchBase[matchSymbol], matchBits[matchSymbol]);
    output.add(found.offsetValues[index] - (1 << offsetSymbol), offsetSymbol);
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

/** The codes of the values below `limit`. */
function smallCodes({ base }: SequenceCode, limit: number): Uint8Array {
  const codes = new Uint8Array(limit);
  for (let value = 0, code = 0; value < limit; value++) {
    while (code + 1 < base.length && base[code + 1] <= value) code++;
    codes[value] = code;
  }
  return codes;
}

const SMALL_LENGTHS = smallCodes(LITERAL_LENGTHS, 64);
const SMALL_MATCHES = smallCodes(MATCH_LENGTHS, 131);

/** Literal lengths from 64 on, and match lengths from 131 on, have a code per power of two. */
const literalLengthCode = (value: number): number =>
  value < SMALL_LENGTHS.length ? SMALL_LENGTHS[value] : bitLength(value) + 18;
const matchLengthCode = (value: number): number =>
  value < SMALL_MATCHES.length ? SMALL_MATCHES[value] : bitLength(value - 3) + 35;
const offsetCode = (value: number): number => bitLength(value) - 1;

interface ChosenTable {
  /** 0 the standard table, 1 one symbol, 2 described in the block. */
  readonly mode: number;
  readonly description: Uint8Array;
  readonly table: EncodingTable;
}

const NO_BYTES = new Uint8Array(0);
/** With fewer sequences, a table costs more than it saves. */
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

// ------------------------------------------------------------------------------------------------- FSE

/** Shares of 2^log in proportion to the counts, at least 1 for each symbol that occurs. */
function normalize(counts: Uint32Array, total: number, log: number): Int16Array {
  const size = 1 << log;
  const shares = Int16Array.from(counts, (count) =>
    count === 0 ? 0 : Math.max(1, Math.round((count * size) / total)),
  );
  let sum = shares.reduce((all, share) => all + share, 0);
  while (sum !== size) {
    // The largest share bears the difference best; it gives up at most half of itself at a time.
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

/** Writes numbers of as many bits as the rest of the sum needs, the lowest of them in one bit less. */
function writeProbabilities(probabilities: Int16Array, log: number, output: BitWriter): void {
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

/** An FSE table for encoding: from a symbol and the state that follows it to a state. */
class EncodingTable {
  readonly log: number;
  /** By symbol: how many states it has, and the first of them in `#slots`. */
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

  /** The state of a symbol that nothing follows: of the symbol's states, one from which a reader takes bits. */
  first(symbol: number): number {
    return this.#slots[this.#starts[symbol]];
  }

  /** The state of a symbol in front of `state`; writes the bits that lead from there to `state`. */
  next(state: number, symbol: number, output: BitWriter): number {
    const count = this.#counts[symbol];
    const whole = state + (1 << this.log);
    // As many bits as leave a number from `count` to twice that.
    let bits = this.log + 1 - bitLength(count);
    if (whole >> bits < count) bits--;
    output.add(whole & ((1 << bits) - 1), bits);
    return this.#slots[this.#starts[symbol] + (whole >> bits) - count];
  }
}
