/**
 * Writes values of a fixed width into the chunks of a mini-block page, under the encoding that is smallest
 * for a sample:
 *
 *     flat         back to back
 *     packed       words of 1, 2, 4 or 8 bytes, bit-packed
 *     runs         such words, run-length encoded
 *     dictionary   values of 8 or 16 bytes, few of them distinct, as 32-bit indices that are packed or runs
 *     general      LZ4 or ZSTD over the bytes of each chunk, if the column's metadata asks for it
 *
 * To build a dictionary, all values must be read. If too many are distinct, the next best encoding is used.
 */

import { bytesOf } from "../../bytes/view.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { PACK_UNIT } from "../compression/bitpack.js";
import { requiredBits } from "../compression/bitpackEncoder.js";
import type { WordBits } from "../compression/bitpackKernel.js";
import { describeByteStreamSplit, splitByteStreams } from "../compression/byteStreamSplit.js";
import type { CompressionOptions } from "../compression/compressionOptions.js";
import { compressor, smallLz4Compressor } from "../compression/compressors.js";
import {
  describeInlineBitpacking,
  encodeInlineBitpacking,
  inlineBitpackedBytes,
} from "../compression/inlineEncoder.js";
import { countRuns, describeRle, RleRuns } from "../compression/rleEncoder.js";
import type { StructuralVersion } from "../container/page.js";
import { countDistinct, findFixedDictionary } from "./findDictionary.js";
import { MAXIMUM_CHUNK_VALUES, type MiniBlockEncoder, type MiniBlockValues } from "./miniBlockEncoder.js";

export type FixedEncoding = "flat" | "packed" | "runs" | "dictionary" | "general";

/** Minimum width of values with levels that go to full-zip pages. */
export const WIDE_VALUE_BYTES = 128;
/** Bytes of values in a chunk. In 2.1 a whole chunk must stay within 32 KiB. */
const CHUNK_BYTES = { "2.1": 16 * 1024, "2.2": 32 * 1024 } as const;
const RUN_CHUNK_VALUES = 4096;
/** Approximate bytes per value of the headers and levels of chunks. */
const CHUNK_OVERHEAD = 0.2;
/**
 * Share of a page that an encoding must save. A limit of a tenth made some pages more than a tenth larger.
 */
const WORTHWHILE_SAVING = 0.08;
/** Units of 1024 values sampled to estimate the savings of encodings. */
const SAMPLE_UNITS = 16;
/** Values sampled to estimate the distinct ones, and the maximum share of them. */
const DICTIONARY_SAMPLE = 4096;
const DICTIONARY_DISTINCT = 0.65;
const MAXIMUM_DICTIONARY_VALUES = 1 << 15;
/** Pages with fewer values are not worth a dictionary. */
const LEAST_DICTIONARY_VALUES = 100;
/** Bytes of a dictionary besides its values: its entry in the file and its description. */
const DICTIONARY_OVERHEAD = 128;

/** Bits of the words that values of `byteWidth` are packed as; null for values that are not packed. */
export const wordBitsOf = (byteWidth: number): WordBits | null =>
  byteWidth === 1 || byteWidth === 2 || byteWidth === 4 || byteWidth === 8
    ? ((byteWidth * 8) as WordBits)
    : null;

export const flat = (bitsPerValue: number): CompressiveEncoding => ({
  flat: { bitsPerValue, data: undefined },
});

/** Returns the encodings worth trying, the best first; the last one always works. */
export function chooseFixedEncodings(
  byteWidth: number,
  bytes: Uint8Array,
  count: number,
  options: CompressionOptions,
): FixedEncoding[] {
  const { compression } = options;
  if (compression === "none" || options.structure === "fullzip") return ["flat"];
  const survey = surveyValues(byteWidth, bytes, count);
  const runs = mayRun(survey, options) ? survey.runs : Number.POSITIVE_INFINITY;
  const best = Math.min(survey.packed, runs, 1 - WORTHWHILE_SAVING);
  const choices: FixedEncoding[] = [];
  if (hasDictionaries(byteWidth) && count >= LEAST_DICTIONARY_VALUES) {
    const share = dictionaryShare(byteWidth, bytes, count, survey.runsPerValue);
    if (share < Math.min(best, options.dictionaryRatio)) choices.push("dictionary");
  }
  if (compression === "lz4" || compression === "zstd") choices.push("general");
  else if (runs <= best) choices.push("runs");
  else if (survey.packed <= best) choices.push("packed");
  else choices.push("flat");
  return choices;
}

/** Words of 32 bits and less have no dictionary: they pack as well as indices would. */
const hasDictionaries = (byteWidth: number): boolean => byteWidth === 8 || byteWidth === 16;

const mayRun = ({ runsPerValue }: Survey, { rleThreshold }: CompressionOptions): boolean =>
  rleThreshold === null || runsPerValue < rleThreshold;

interface Survey {
  /** Size under each encoding, as a share of the plain size; infinite if the encoding does not apply. */
  readonly packed: number;
  readonly runs: number;
  readonly runsPerValue: number;
}

const NOTHING_TO_SAVE: Survey = {
  packed: Number.POSITIVE_INFINITY,
  runs: Number.POSITIVE_INFINITY,
  runsPerValue: 1,
};

function surveyValues(byteWidth: number, bytes: Uint8Array, count: number): Survey {
  const wordBits = wordBitsOf(byteWidth);
  if (wordBits === null && !hasDictionaries(byteWidth)) return NOTHING_TO_SAVE;
  const units = Math.ceil(count / PACK_UNIT);
  const step = Math.max(1, Math.floor(units / SAMPLE_UNITS));
  let packedBytes = 0;
  let runCount = 0;
  let valueCount = 0;
  for (let unit = 0; unit < units; unit += step) {
    const start = unit * PACK_UNIT;
    const unitCount = Math.min(PACK_UNIT, count - start);
    valueCount += unitCount;
    if (wordBits !== null) {
      const packedBits = requiredBits(wordBits, bytes, start * byteWidth, unitCount);
      packedBytes += inlineBitpackedBytes(wordBits, packedBits);
    }
    runCount += countRuns(byteWidth, bytes, start * byteWidth, unitCount);
  }
  const plainBytes = Math.max(1, valueCount * byteWidth);
  if (wordBits === null) return { ...NOTHING_TO_SAVE, runsPerValue: runCount / valueCount };
  return {
    packed: packedBytes / plainBytes,
    runs: (runCount * (byteWidth + 1)) / plainBytes,
    runsPerValue: runCount / Math.max(1, valueCount),
  };
}

/** Minimum size of a dictionary and its indices, as a share of the plain size. */
function dictionaryShare(byteWidth: number, bytes: Uint8Array, count: number, runsPerValue: number): number {
  const sampleCount = Math.min(count, DICTIONARY_SAMPLE);
  const limit = Math.floor(sampleCount * DICTIONARY_DISTINCT);
  const distinct = countDistinct(byteWidth, bytes, count, sampleCount, limit);
  if (distinct > limit) return Number.POSITIVE_INFINITY;
  const dictionaryBytes = distinct * byteWidth + DICTIONARY_OVERHEAD;
  return (dictionaryBytes + count * indexBytes(distinct, runsPerValue)) / (count * byteWidth);
}

/** Average bytes of an index into a dictionary of `itemCount` values. */
const indexBytes = (itemCount: number, runsPerValue: number): number =>
  Math.min(Math.ceil(Math.log2(Math.max(2, itemCount))) / 8, runsPerValue * 5);

/** Values of a fixed width, and the encoder that lays out their chunks. */
export interface FixedInput {
  readonly encoder: MiniBlockEncoder;
  readonly byteWidth: number;
  /** Whole values; the slots of nulls may hold anything. */
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly options: CompressionOptions;
}

/** Writes the values as chunks, under the first encoding of `choices` that works. */
export function encodeFixedValues(choices: readonly FixedEncoding[], input: FixedInput): MiniBlockValues {
  const wordBits = wordBitsOf(input.byteWidth);
  for (const choice of choices) {
    if (choice === "dictionary") {
      const encoded = encodeWithDictionary(input);
      if (encoded !== null) return encoded;
    } else if (choice === "general") {
      return encodeGeneral(input);
    } else if (choice === "runs" && wordBits !== null) {
      return encodeRuns(input, wordBits);
    } else if (choice === "packed" && wordBits !== null) {
      return input.encoder.isPlain
        ? encodePackedPieces(input.encoder, wordBits, [
            input.bytes.subarray(0, input.count * input.byteWidth),
          ])
        : encodePacked(input, wordBits);
    }
  }
  encodeChunks(input, (chunk) => chunk);
  return { encoding: flat(input.byteWidth * 8), bufferCount: 1 };
}

/** Approximate size of chunks of plain values, with their headers and levels. */
const plainChunkBytes = (byteWidth: number, count: number): number =>
  Math.ceil(count * (byteWidth + CHUNK_OVERHEAD)) + 4096;

/** Writes values as chunks of one buffer, which `convert` makes from their bytes. */
function encodeChunks(
  { encoder, byteWidth, bytes, count }: FixedInput,
  convert: (bytes: Uint8Array) => Uint8Array,
): void {
  const perChunk = valuesPerChunk(byteWidth, encoder.version);
  encoder.expect(plainChunkBytes(byteWidth, count));
  for (let start = 0; start < count; ) {
    const chunkCount = encoder.fittingValues(Math.min(perChunk, count - start));
    encoder.addChunk(chunkCount, [
      convert(bytes.subarray(start * byteWidth, (start + chunkCount) * byteWidth)),
    ]);
    start += chunkCount;
  }
}

/** Packs values with levels. */
function encodePacked({ encoder, byteWidth, bytes, count }: FixedInput, wordBits: WordBits): MiniBlockValues {
  encoder.expect(plainChunkBytes(byteWidth, count));
  for (let start = 0; start < count; ) {
    const chunkCount = encoder.fittingValues(Math.min(PACK_UNIT, count - start));
    const packedBits = requiredBits(wordBits, bytes, start * byteWidth, chunkCount);
    const index = encoder.beginChunk(chunkCount, [inlineBitpackedBytes(wordBits, packedBits)]);
    encodeInlineBitpacking(wordBits, packedBits, bytes, start * byteWidth, chunkCount, encoder.data, index);
    start += chunkCount;
  }
  return { encoding: describeInlineBitpacking(wordBits), bufferCount: 1 };
}

/**
 * Packs values without levels. Reads their widths first, so that the chunks take no more memory than they
 * need: large memory that is dropped soon makes the garbage collector run.
 * @param pieces the values, back to back
 */
export function encodePackedPieces(
  encoder: MiniBlockEncoder,
  wordBits: WordBits,
  pieces: readonly Uint8Array[],
): MiniBlockValues {
  const wordBytes = wordBits / 8;
  const widths: number[] = [];
  let byteCount = 0;
  for (const { bytes, byteOffset, count } of unitsOf(pieces, wordBytes)) {
    const width = requiredBits(wordBits, bytes, byteOffset, count);
    widths.push(width);
    byteCount += inlineBitpackedBytes(wordBits, width) + count * CHUNK_OVERHEAD;
  }
  encoder.expect(byteCount);
  let unit = 0;
  for (const { bytes, byteOffset, count } of unitsOf(pieces, wordBytes)) {
    const width = widths[unit++];
    const target = encoder.beginChunk(count, [inlineBitpackedBytes(wordBits, width)]);
    encodeInlineBitpacking(wordBits, width, bytes, byteOffset, count, encoder.data, target);
  }
  return { encoding: describeInlineBitpacking(wordBits), bufferCount: 1 };
}

interface PackUnit {
  readonly bytes: Uint8Array;
  readonly byteOffset: number;
  /** Number of values: PACK_UNIT, except in the last unit. */
  readonly count: number;
}

/** Yields the values of pieces in units. A unit that lies in several pieces is copied. */
function* unitsOf(pieces: readonly Uint8Array[], wordBytes: number): Generator<PackUnit> {
  const unitBytes = PACK_UNIT * wordBytes;
  const joined = new Uint8Array(pieces.length > 1 ? unitBytes : 0);
  let joinedBytes = 0;
  for (const [index, bytes] of pieces.entries()) {
    let byteOffset = 0;
    if (joinedBytes > 0) {
      byteOffset = Math.min(bytes.length, unitBytes - joinedBytes);
      joined.set(bytes.subarray(0, byteOffset), joinedBytes);
      joinedBytes += byteOffset;
      if (joinedBytes === unitBytes) {
        yield { bytes: joined, byteOffset: 0, count: PACK_UNIT };
        joinedBytes = 0;
      }
    }
    for (; byteOffset + unitBytes <= bytes.length; byteOffset += unitBytes) {
      yield { bytes, byteOffset, count: PACK_UNIT };
    }
    const rest = bytes.length - byteOffset;
    if (rest === 0) continue;
    if (index === pieces.length - 1) {
      yield { bytes, byteOffset, count: rest / wordBytes };
    } else {
      joined.set(bytes.subarray(byteOffset));
      joinedBytes = rest;
    }
  }
  if (joinedBytes > 0) yield { bytes: joined, byteOffset: 0, count: joinedBytes / wordBytes };
}

function encodeRuns({ encoder, byteWidth, bytes, count }: FixedInput, wordBits: WordBits): MiniBlockValues {
  encoder.expect(plainChunkBytes(byteWidth, count));
  const runs = new RleRuns(wordBits, Math.min(count, RUN_CHUNK_VALUES));
  for (let start = 0; start < count; ) {
    let chunkCount = encoder.fittingValues(Math.min(RUN_CHUNK_VALUES, count - start));
    runs.encode(bytes, start * byteWidth, chunkCount);
    while (runs.runCount * (byteWidth + 1) > CHUNK_BYTES[encoder.version] && chunkCount > PACK_UNIT) {
      chunkCount = 2 ** (31 - Math.clz32(chunkCount - 1));
      runs.encode(bytes, start * byteWidth, chunkCount);
    }
    const values = runs.values.subarray(0, runs.runCount * byteWidth);
    encoder.addChunk(chunkCount, [values, runs.lengths.subarray(0, runs.runCount)]);
    start += chunkCount;
  }
  return { encoding: describeRle(wordBits), bufferCount: 2 };
}

/** Returns null if too many values are distinct. */
function encodeWithDictionary({
  encoder,
  byteWidth,
  bytes,
  count,
  options,
}: FixedInput): MiniBlockValues | null {
  const limit = Math.min(MAXIMUM_DICTIONARY_VALUES, Math.floor((count * options.dictionaryRatio) / 2));
  const dictionary = findFixedDictionary(byteWidth, bytes, count, limit);
  if (dictionary === null) return null;
  const { indices, values, itemCount } = dictionary;
  const block = compressDictionary(flat(byteWidth * 8), values, encoder.version);
  return { ...encodeDictionaryIndices(encoder, indices, options), dictionary: { ...block, itemCount } };
}

/** Writes a dictionary's indices packed or as runs, unless `options` ask for LZ4, ZSTD or none. */
export function encodeDictionaryIndices(
  encoder: MiniBlockEncoder,
  indices: Uint32Array,
  options: CompressionOptions,
): MiniBlockValues {
  const bytes = bytesOf(indices);
  const [choice] = chooseFixedEncodings(4, bytes, indices.length, { ...options, structure: null });
  const choices: FixedEncoding[] = [choice === "flat" && options.compression !== "none" ? "packed" : choice];
  return encodeFixedValues(choices, { encoder, byteWidth: 4, bytes, count: indices.length, options });
}

/** Compresses a dictionary's block if that saves enough: packs at most one unit; 2.2 may use LZ4. */
export function compressDictionary(
  encoding: CompressiveEncoding,
  block: Uint8Array,
  version: StructuralVersion,
): { encoding: CompressiveEncoding; block: Uint8Array } {
  const limit = block.length * (1 - WORTHWHILE_SAVING);
  const packed = packDictionary(encoding, block);
  const best = packed !== null && packed.block.length <= limit ? packed : { encoding, block };
  if (version === "2.1") return best;
  const compressed = smallLz4Compressor.compress(block);
  if (compressed.length > Math.min(limit, best.block.length * (1 - WORTHWHILE_SAVING))) return best;
  return { encoding: smallLz4Compressor.describe(encoding), block: compressed };
}

/** Returns null if the values are not words, or more than one unit of them. */
function packDictionary(
  { flat: plain }: CompressiveEncoding,
  block: Uint8Array,
): { encoding: CompressiveEncoding; block: Uint8Array } | null {
  const wordBits = plain === undefined ? null : wordBitsOf(plain.bitsPerValue / 8);
  if (wordBits === null) return null;
  const count = block.length / (wordBits / 8);
  if (count > PACK_UNIT) return null;
  const packedBits = requiredBits(wordBits, block, 0, count);
  const packed = new Uint8Array(inlineBitpackedBytes(wordBits, packedBits));
  encodeInlineBitpacking(wordBits, packedBits, block, 0, count, packed, 0);
  return { encoding: describeInlineBitpacking(wordBits), block: packed };
}

/** Compresses each chunk, as it is or after byte-stream split. */
function encodeGeneral(input: FixedInput): MiniBlockValues {
  const { byteWidth, options } = input;
  const { compress, describe } = compressor(options.compression === "zstd" ? "zstd" : "lz4", options.level);
  const split = (byteWidth === 4 || byteWidth === 8) && options.byteStreamSplit !== "off";
  const convert = (plain: Uint8Array) => compress(split ? splitByteStreams(byteWidth, plain) : plain);
  encodeChunks(input, convert);
  const encoding = split ? describeByteStreamSplit(byteWidth === 4 ? 32 : 64) : flat(byteWidth * 8);
  return { encoding: describe(encoding), bufferCount: 1 };
}

/** Values in a chunk, at `valueBytes` bytes (or a fraction) each: a power of two, at least 2. */
export function valuesPerChunk(valueBytes: number, version: StructuralVersion): number {
  const fitting = Math.min(MAXIMUM_CHUNK_VALUES, CHUNK_BYTES[version] / valueBytes);
  return 2 ** Math.max(1, Math.floor(Math.log2(fitting)));
}
