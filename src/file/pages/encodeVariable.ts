/**
 * Encodes pages of strings, of binaries, of dictionary-typed values and of packed structs (encodePage.ts).
 * Columns of other types do without this module.
 */

import type {
  DictionaryColumn,
  DictionaryLayout,
  FixedColumn,
  PackedMember,
  PackedMemberColumn,
  PackedStructColumn,
  PackedStructLayout,
  VariableColumn,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { dictionaryValidity } from "../../arrow/columns/dictionaries.js";
import { runSync, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import type { CompressionOptions } from "../compression/compressionOptions.js";
import { largestIndex } from "../compression/dictionaryIndices.js";
import { joinRows, memberBytes, refuseNullBits, refuseNullMembers } from "../compression/packedStruct.js";
import { plainValues } from "../compression/plainValues.js";
import { describeVariable, encodeVariableBlock, variableChunkBytes } from "../compression/variable.js";
import type { EncodedPage } from "../container/page.js";
import { leafLevels, type PageLevels } from "../events/levels.js";
import { encodeAllNull, encodeConstant } from "../structural/constantEncoder.js";
import {
  chooseFixedEncodings,
  compressDictionary,
  encodeFixedValues,
  flat,
} from "../structural/fixedValues.js";
import { encodeFullZipVariable, mayZip } from "../structural/fullZipEncoder.js";
import { zipList } from "../structural/listValues.js";
import { MiniBlockEncoder } from "../structural/miniBlockEncoder.js";
import { encodePackedRows, type PackedPart } from "../structural/packedRowsEncoder.js";
import { forwardFill, slotLevels } from "../structural/slots.js";
import {
  commonValue,
  compressEach,
  encodeVariableChunks,
  encodeVariableDictionary,
  longest,
  storeValues,
} from "../structural/variableValues.js";
import { MAXIMUM_FORCED_VALUE_BYTES, MAXIMUM_MINI_BLOCK_VALUE_BYTES, type PageTarget } from "./pageTarget.js";

// ------------------------------------------------------------------------------------ strings, binaries

export function* encodeVariable(
  layout: VariableLayout,
  column: VariableColumn,
  levels: PageLevels,
  { version, compression, exceeds }: PageTarget,
): Steps<EncodedPage> {
  const definition = slotLevels(column);
  const values = plainValues(column, definition);
  const { offsets, bytes } = values;
  const { offsetBits, text } = layout;
  const mayBeConstant = version !== "2.1" && levels.listDepth === 0;
  const value = mayBeConstant ? commonValue(offsets, bytes, definition) : null;
  if (value !== null) return encodeConstant(value, layout, levels);
  yield;

  const newEncoder = () => new MiniBlockEncoder(version, levels, column.length * 2 + 4096);
  const indexed =
    exceeds === true
      ? null
      : yield* encodeVariableDictionary(newEncoder, values, definition, layout, version, compression);
  if (indexed !== null) return indexed.encoder.finish(indexed.values);
  yield;

  const stored = yield* storeValues(values, offsetBits, text, compression);
  yield;
  const zips =
    compression.structure === null
      ? longest(offsets) >= MAXIMUM_MINI_BLOCK_VALUE_BYTES
      : compression.structure === "fullzip" || longest(offsets) > MAXIMUM_FORCED_VALUE_BYTES;
  // In 2.1, chunks cannot hold values of this length instead.
  const mustZip = version === "2.1" && longest(stored.offsets) > MAXIMUM_FORCED_VALUE_BYTES;
  if (exceeds === true || (zips && (mayZip(levels) || mustZip))) {
    const zipped = stored.compressor === null ? stored : compressEach(stored, stored.compressor);
    return encodeFullZipVariable(offsetBits, zipped.offsets, zipped.bytes, levels, stored.encoding);
  }
  const size = variableChunkBytes(offsetBits, column.length, stored.bytes.length);
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(size * 1.01) + column.length / 4 + 4096);
  return encoder.finish(encodeVariableChunks(encoder, stored, offsetBits, version));
}

// --------------------------------------------------------------------------------------- dictionary-typed

export function encodeDictionaryColumn(
  layout: DictionaryLayout,
  column: DictionaryColumn,
  pageLevels: PageLevels,
  { version, compression }: PageTarget,
): EncodedPage {
  const { length, dictionary } = column;
  const { byteWidth } = layout.index;
  // A row is null if its slot or its dictionary entry is null.
  const definition = slotLevels({ ...column, validity: dictionaryValidity(column) });
  // The levels of a leaf by itself are those of its slots. In lists and structs the levels include the
  // dictionary's nulls.
  const levels = pageLevels.layers.length === 1 ? leafLevels(definition, length) : pageLevels;
  if (definition !== null && definition.indexOf(0) < 0) return encodeAllNull(levels, version);
  const indices = forwardFill(column.indices.values, byteWidth, definition, length);
  const largest = largestIndex(indices, byteWidth);
  if (largest >= dictionary.length) {
    throw new InvalidInputError(`index ${largest} is outside a dictionary of ${dictionary.length} values`);
  }
  const encoder = new MiniBlockEncoder(version, levels, Math.ceil(length * (byteWidth + 0.2)) + 4096);
  const choices = chooseFixedEncodings(byteWidth, indices, length, compression).filter(
    (choice) => choice !== "dictionary",
  );
  const { encoding, block } = encodeDictionaryValues(layout, dictionary);
  const input = { encoder, byteWidth, bytes: indices, count: length, options: compression };
  return encoder.finish({
    ...encodeFixedValues(choices, input),
    dictionary: { ...compressDictionary(encoding, block, version), itemCount: dictionary.length },
  });
}

function encodeDictionaryValues(
  layout: DictionaryLayout,
  dictionary: VariableColumn | FixedColumn,
): { encoding: CompressiveEncoding; block: Uint8Array } {
  const definition = slotLevels(dictionary);
  if (dictionary.kind === "fixed") {
    const { byteWidth, length, values } = dictionary;
    return { encoding: flat(byteWidth * 8), block: forwardFill(values, byteWidth, definition, length) };
  }
  const { offsetBits } = layout.value as VariableLayout;
  const { offsets, bytes } = plainValues(dictionary, definition);
  return { encoding: describeVariable(offsetBits), block: encodeVariableBlock(offsetBits, offsets, bytes) };
}

// ----------------------------------------------------------------------------------------- packed structs

/** The reference reads packed structs of fixed width in mini-blocks only, others in full-zip pages only. */
export function encodePacked(
  layout: PackedStructLayout,
  column: PackedStructColumn,
  levels: PageLevels,
  { version, compression, path }: PageTarget,
): EncodedPage {
  refuseNullMembers(layout, column, path);
  refuseNullBits(layout, column, path);
  const { length } = column;
  const definition = slotLevels(column);
  if (layout.children.every((member) => member.layout.kind === "fixed")) {
    const bitsPerValue = layout.children.map((member) => (memberBytes(member.layout) ?? 0) * 8);
    const rowBytes = bitsPerValue.reduce((sum, bits) => sum + bits, 0) / 8;
    const rows = forwardFill(joinRows(layout, column), rowBytes, definition, length);
    const encoder = new MiniBlockEncoder(version, levels, Math.ceil(length * (rowBytes + 0.2)) + 4096);
    const input = { encoder, byteWidth: rowBytes, bytes: rows, count: length, options: compression };
    const { encoding: values, bufferCount } = encodeFixedValues(["flat"], input);
    return encoder.finish({ encoding: { packedStruct: { bitsPerValue, values } }, bufferCount });
  }
  if (version === "2.1") {
    throw new UnsupportedError(
      `column ${path}: packed structs of other members than numbers need files of version 2.2`,
    );
  }
  if (!mayZip(levels)) {
    throw new UnsupportedError(
      `column ${path}: null structs around lists of packed structs with text are not supported by this release`,
    );
  }
  const parts = layout.children.map((member, index) =>
    storeMember(member.layout, column.children[index], definition, compression),
  );
  const { offsets, bytes, encoding } = encodePackedRows(parts, length, definition);
  return encodeFullZipVariable(32, offsets, bytes, levels, encoding);
}

function storeMember(
  layout: PackedMember["layout"],
  column: PackedMemberColumn,
  definition: Uint16Array | null,
  options: CompressionOptions,
): PackedPart {
  switch (column.kind) {
    case "fixed": {
      const { byteWidth, values: bytes } = column;
      return { kind: "fixed", encoding: flat(byteWidth * 8), pieces: [{ bytes, byteWidth }] };
    }
    case "fixedSizeList": {
      const { parts, encoding } = zipList(column);
      return { kind: "fixed", encoding, pieces: parts };
    }
    case "variable": {
      const { offsetBits, text } = layout as VariableLayout;
      const stored = runSync(storeValues(plainValues(column, definition), offsetBits, text, options));
      const { encoding, compressor } = stored;
      const { offsets, bytes } = compressor === null ? stored : compressEach(stored, compressor);
      return { kind: "variable", encoding, lengthBits: offsetBits, offsets, bytes };
    }
  }
}
