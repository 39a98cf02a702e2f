/**
 * Writes values of variable width, strings and binaries, into pages under the encoding that takes the least
 * room:
 *
 *     dictionary   if few values are distinct: 32-bit indices that are packed or runs, and the values once
 *     FSST         text of some length, and binaries with huge values (fsst.ts)
 *     general      LZ4 or ZSTD, if the column's metadata asks for it: over each chunk, or each full-zip
 *                  value. ZSTD also for huge values if it takes less room than FSST
 *     plain        offsets and bytes
 */

import type { VariableLayout } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { concatBytes } from "../../bytes/concat.js";
import { UnsupportedError } from "../../errors.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import type { CompressionOptions } from "../compression/compressionOptions.js";
import { type Compressor, compressor } from "../compression/compressors.js";
import { encodeFsstInSteps } from "../compression/fsstEncoder.js";
import type { PlainValues } from "../compression/plainValues.js";
import {
  describeVariable,
  encodeVariableBlock,
  encodeVariableChunk,
  MAXIMUM_POSITION,
  variableChunkBytes,
} from "../compression/variable.js";
import type { StructuralVersion } from "../container/page.js";
import { findDictionary } from "./findDictionary.js";
import { compressDictionary, encodeDictionaryIndices } from "./fixedValues.js";
import type { MiniBlockEncoder, MiniBlockValues } from "./miniBlockEncoder.js";

/** Values in the form of a page without a dictionary. */
interface StoredValues extends PlainValues {
  readonly encoding: CompressiveEncoding;
  /** Compresses each chunk or full-zip value as the last step; null for no compression. */
  readonly compressor: Compressor | null;
}

/** Maximum bytes of offsets and values in a chunk. */
const CHUNK_BYTES = { "2.1": 24 * 1024, "2.2": 64 * 1024 } as const;
const VARIABLE_CHUNK_VALUES = 4096;
/** Minimum length of a value for which binaries are tried under FSST, and all values under ZSTD. */
const HUGE_VALUE_BYTES = 32 * 1024;
/** Bytes of values that are compressed to measure the saving of ZSTD. */
const SAMPLE_BYTES = 256 * 1024;
/** Maximum bytes of one value in the sample. */
const SAMPLED_VALUE_BYTES = 64 * 1024;
const STEP_VALUES = 16;
/** Share of the room that ZSTD must save over FSST or plain values, which are faster to read. */
const ZSTD_SAVING = 0.08;
/** A dictionary of text with up to this share of the values' bytes is used without an estimate of FSST. */
const LARGE_DICTIONARY_SHARE = 0.3;

export function* storeValues(
  values: PlainValues,
  offsetBits: 32 | 64,
  text: boolean,
  options: CompressionOptions,
): Steps<StoredValues> {
  const { compression } = options;
  const plain = describeVariable(offsetBits);
  if (compression === "lz4" || compression === "zstd") {
    const chosen = compressor(compression, options.level);
    return { ...values, encoding: chosen.describe(plain), compressor: chosen };
  }
  const insist = compression === "fsst";
  const huge = compression === null && longest(values.offsets) >= HUGE_VALUE_BYTES;
  const fsst = insist || huge || (compression === null && text);
  if (huge && options.structure !== "miniblock") {
    const zstd = compressor("zstd", null);
    if (yield* savesBesideFsst(values, zstd)) {
      return { ...values, encoding: zstd.describe(plain), compressor: zstd };
    }
    yield;
  }
  const codes = fsst ? yield* encodeFsstInSteps(values.offsets, values.bytes, insist) : null;
  if (codes === null) return { ...values, encoding: plain, compressor: null };
  const { offsets, bytes, symbolTable } = codes;
  return { offsets, bytes, encoding: { fsst: { symbolTable, values: plain } }, compressor: null };
}

/** True if a sample takes much less room under this compressor, value by value, than under FSST. */
function* savesBesideFsst(values: PlainValues, { compress }: Compressor): Steps<boolean> {
  const sample = sampleOf(values);
  const { offsets, bytes } = sample;
  let size = 0;
  for (let index = 1; index < offsets.length; index++) {
    if (offsets[index] > offsets[index - 1]) {
      size += compress(bytes.subarray(offsets[index - 1], offsets[index])).length;
      if (index % STEP_VALUES === 0) yield;
    }
  }
  yield;
  const codes = yield* encodeFsstInSteps(offsets, bytes, false);
  if (codes === null) return size < bytes.length * (1 - ZSTD_SAVING);
  // The page has one table of symbols for all its values, so the sample bears its share of that.
  const tableBytes = (codes.symbolTable.length * bytes.length) / values.bytes.length;
  return size < (codes.bytes.length + tableBytes) * (1 - ZSTD_SAVING);
}

/** Takes a sample of values, or of their starts, from all over the page; all if they are few bytes. */
function sampleOf(values: PlainValues): PlainValues {
  if (values.bytes.length < 2 * SAMPLE_BYTES) return values;
  const count = values.offsets.length - 1;
  const step = Math.max(
    1,
    Math.floor(Math.min(values.bytes.length, count * SAMPLED_VALUE_BYTES) / SAMPLE_BYTES),
  );
  const parts: Uint8Array[] = [];
  const ends = [0];
  let size = 0;
  for (let index = step >> 1; index < count && size < 2 * SAMPLE_BYTES; index += step) {
    const start = values.offsets[index];
    const part = values.bytes.subarray(
      start,
      Math.min(values.offsets[index + 1], start + SAMPLED_VALUE_BYTES),
    );
    parts.push(part);
    size += part.length;
    ends.push(size);
  }
  return { offsets: Int32Array.from(ends), bytes: concatBytes(parts, size) };
}

/** Writes the values as indices and dictionary; null if that saves too little, or FSST takes less room. */
export function* encodeVariableDictionary(
  newEncoder: () => MiniBlockEncoder,
  { offsets, bytes }: PlainValues,
  definition: Uint16Array | null,
  { offsetBits, text }: VariableLayout,
  version: StructuralVersion,
  options: CompressionOptions,
): Steps<{ encoder: MiniBlockEncoder; values: MiniBlockValues } | null> {
  const distinct = yield* findDictionary(offsets, bytes, definition, options.dictionaryRatio);
  if (distinct === null) return null;
  const plain = encodeVariableBlock(offsetBits, distinct.offsets, distinct.bytes);
  const dictionary = compressDictionary(describeVariable(offsetBits), plain, version);
  const { length } = distinct.indices;
  if (text && dictionary.block.length > LARGE_DICTIONARY_SHARE * bytes.length) {
    const stored = yield* storeValues({ offsets, bytes }, offsetBits, text, options);
    const size = variableChunkBytes(offsetBits, length, stored.bytes.length);
    const indexBytes = (length * Math.log2(distinct.offsets.length)) / 8;
    if (stored.compressor === null && size < dictionary.block.length + indexBytes) return null;
  }
  const encoder = newEncoder();
  const indices = encodeDictionaryIndices(encoder, distinct.indices, options);
  const itemCount = distinct.offsets.length - 1;
  return { encoder, values: { ...indices, dictionary: { ...dictionary, itemCount } } };
}

export function encodeVariableChunks(
  encoder: MiniBlockEncoder,
  { offsets, bytes, encoding, compressor: chunkCompressor }: StoredValues,
  offsetBits: 32 | 64,
  version: StructuralVersion,
): MiniBlockValues {
  const valueCount = offsets.length - 1;
  const sizeOf = (start: number, count: number) =>
    variableChunkBytes(offsetBits, count, offsets[start + count] - offsets[start]);
  const fits = (start: number, count: number) =>
    count <= VARIABLE_CHUNK_VALUES && sizeOf(start, count) <= CHUNK_BYTES[version];
  for (let start = 0; start < valueCount; ) {
    let count = valueCount - start;
    // Only the last chunk may have one value, so the last two values stay together at any size.
    if (count > 2 && !fits(start, count)) {
      count = 2 ** Math.floor(Math.log2(Math.min(count - 1, VARIABLE_CHUNK_VALUES)));
      while (count > 2 && !fits(start, count)) count /= 2;
    }
    count = encoder.fittingValues(count);
    const size = sizeOf(start, count);
    if (chunkCompressor === null) {
      const index = encoder.beginChunk(count, [size]);
      encodeVariableChunk(offsetBits, offsets, bytes, start, count, encoder.data, index);
    } else {
      const plain = new Uint8Array(size);
      encodeVariableChunk(offsetBits, offsets, bytes, start, count, plain, 0);
      encoder.addChunk(count, [chunkCompressor.compress(plain)]);
    }
    start += count;
  }
  return { encoding, bufferCount: 1 };
}

/** Compresses each value by itself, as full-zip pages store them; empty values stay empty. */
export function compressEach({ offsets, bytes }: PlainValues, { compress }: Compressor): PlainValues {
  const positions = new Int32Array(offsets.length);
  const parts: Uint8Array[] = [];
  let position = 0;
  for (let index = 1; index < offsets.length; index++) {
    if (offsets[index] > offsets[index - 1]) {
      const part = compress(bytes.subarray(offsets[index - 1], offsets[index]));
      parts.push(part);
      position += part.length;
      if (position > MAXIMUM_POSITION)
        throw new UnsupportedError("one page cannot hold more than 2 GiB of values");
    }
    positions[index] = position;
  }
  return { offsets: positions, bytes: concatBytes(parts, position) };
}

/** Returns the value that all valid rows share, or null. */
export function commonValue(
  offsets: Int32Array,
  bytes: Uint8Array,
  definition: Uint16Array | null,
): Uint8Array | null {
  const count = offsets.length - 1;
  const first = definition === null ? 0 : definition.indexOf(0);
  const start = offsets[first];
  const length = offsets[first + 1] - start;
  for (let row = first + 1; row < count; row++) {
    if (definition !== null && definition[row] !== 0) continue;
    const offset = offsets[row];
    if (offsets[row + 1] - offset !== length) return null;
    for (let byte = 0; byte < length; byte++) if (bytes[offset + byte] !== bytes[start + byte]) return null;
  }
  return bytes.subarray(start, start + length);
}

export function longest(offsets: Int32Array): number {
  let length = 0;
  for (let index = 1; index < offsets.length; index++) {
    length = Math.max(length, offsets[index] - offsets[index - 1]);
  }
  return length;
}
