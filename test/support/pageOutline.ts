/**
 * The encoding of a page as one line of text, for regular expressions of tests:
 *
 *     miniBlock(fsst(variable(flat32))) def=outOfLineBitpacking16(flat1) layers=NULLABLE_ITEM
 *     miniBlock(inlineBitpacking32) dictionary=lz4(variable(flat32)) layers=ALL_VALID_ITEM large
 *     fullZipFixed(fixedSizeList70(validity, flat32)) rep=1 def=2 layers=NULLABLE_ITEM,NULL_AND_EMPTY_LIST
 *     constant(inline4) layers=ALL_VALID_ITEM
 *     nullable(someNulls(flat1, flat64))                       an array of 2.0
 */

import { type CompressiveEncoding, type PageLayout, RepDefLayer } from "../../src/format/encodings.js";
import type { ArrayEncoding } from "../../src/format/encodings20.js";
import { dataFilePaths, openFromMemory } from "../file/structural/referencePages.js";

const LAYER_NAMES = new Map<number, string>(
  Object.entries(RepDefLayer).map(([name, number]) => [number, name]),
);
const layerNames = (layers: readonly number[]) =>
  `layers=${layers.map((layer) => LAYER_NAMES.get(layer) ?? layer).join(",")}`;

/** Formats `name(a, b)` without empty parts. */
const call = (name: string, ...inner: (string | false)[]): string => {
  const parts = inner.filter((part) => part !== false && part !== "");
  return parts.length === 0 ? name : `${name}(${parts.join(", ")})`;
};

/** Distinct encodings of the pages of a table's only data file, per physical column. */
export async function tableOutlines(directory: string, name: string): Promise<string[][]> {
  const [path, ...more] = dataFilePaths(directory, name);
  if (path === undefined || more.length > 0) throw new Error(`${name} is not one data file`);
  const { file } = await openFromMemory(path);
  return file.columns.map(({ pages }) => {
    const outlines = pages.map(({ layout }) =>
      layout.array === undefined ? layoutOutline(layout) : arrayOutline(layout.array),
    );
    return [...new Set(outlines)];
  });
}

function layoutOutline(page: PageLayout): string {
  const { miniBlock, fullZip, constant, blob } = page;
  if (miniBlock !== undefined) {
    return words(
      call("miniBlock", compressionOutline(miniBlock.valueCompression)),
      named("rep", miniBlock.repCompression),
      named("def", miniBlock.defCompression),
      named("dictionary", miniBlock.dictionary),
      miniBlock.repetitionIndexDepth > 0 && `repetitionIndex=${miniBlock.repetitionIndexDepth}`,
      layerNames(miniBlock.layers),
      miniBlock.hasLargeChunk && "large",
    );
  }
  if (fullZip !== undefined) {
    const width = fullZip.bitsPerValue === undefined ? `Variable${fullZip.bitsPerOffset}` : "Fixed";
    return words(
      call(`fullZip${width}`, compressionOutline(fullZip.valueCompression)),
      fullZip.repBits > 0 && `rep=${fullZip.repBits}`,
      fullZip.defBits > 0 && `def=${fullZip.defBits}`,
      layerNames(fullZip.layers),
    );
  }
  if (constant !== undefined) {
    return words(
      call("constant", constant.inlineValue !== undefined && `inline${constant.inlineValue.length}`),
      named("rep", constant.repCompression),
      named("def", constant.defCompression),
      layerNames(constant.layers),
    );
  }
  if (blob !== undefined) {
    return words(
      call("blob", blob.innerLayout !== undefined && layoutOutline(blob.innerLayout)),
      layerNames(blob.layers),
    );
  }
  return "unknown";
}

const words = (...parts: (string | false)[]): string => parts.filter((part) => part !== false).join(" ");
const named = (name: string, encoding: CompressiveEncoding | undefined): string | false =>
  encoding !== undefined && `${name}=${compressionOutline(encoding)}`;

function compressionOutline(encoding: CompressiveEncoding | undefined): string {
  if (encoding === undefined) return "";
  if (encoding.flat !== undefined) return `flat${encoding.flat.bitsPerValue}`;
  if (encoding.variable !== undefined) return call("variable", compressionOutline(encoding.variable.offsets));
  if (encoding.constant !== undefined) return "constant";
  if (encoding.outOfLineBitpacking !== undefined) {
    const { uncompressedBitsPerValue, values } = encoding.outOfLineBitpacking;
    return call(`outOfLineBitpacking${uncompressedBitsPerValue}`, compressionOutline(values));
  }
  if (encoding.inlineBitpacking !== undefined) {
    return `inlineBitpacking${encoding.inlineBitpacking.uncompressedBitsPerValue}`;
  }
  if (encoding.fsst !== undefined) return call("fsst", compressionOutline(encoding.fsst.values));
  if (encoding.dictionary !== undefined) {
    const { indices, items } = encoding.dictionary;
    return call("dictionary", compressionOutline(indices), compressionOutline(items));
  }
  if (encoding.rle !== undefined) {
    return call("rle", compressionOutline(encoding.rle.values), compressionOutline(encoding.rle.runLengths));
  }
  if (encoding.byteStreamSplit !== undefined) {
    return call("byteStreamSplit", compressionOutline(encoding.byteStreamSplit.values));
  }
  if (encoding.general !== undefined) {
    const scheme = ["unspecified", "lz4", "zstd"][encoding.general.compression?.scheme ?? 0];
    return call(scheme ?? "unknown", compressionOutline(encoding.general.values));
  }
  if (encoding.fixedSizeList !== undefined) {
    const { itemsPerValue, hasValidity, values } = encoding.fixedSizeList;
    return call(`fixedSizeList${itemsPerValue}`, hasValidity && "validity", compressionOutline(values));
  }
  if (encoding.packedStruct !== undefined) {
    const { bitsPerValue, values } = encoding.packedStruct;
    return call("packedStruct", bitsPerValue.join("+"), compressionOutline(values));
  }
  if (encoding.variablePackedStruct !== undefined) {
    return call(
      "variablePackedStruct",
      ...encoding.variablePackedStruct.fields.map((field) => compressionOutline(field.value)),
    );
  }
  return "unknown";
}

function arrayOutline(encoding: ArrayEncoding | undefined): string {
  if (encoding === undefined) return "";
  const inner = arrayOutline;
  if (encoding.flat !== undefined) {
    const { bitsPerValue, compression } = encoding.flat;
    return compression === undefined ? `flat${bitsPerValue}` : `${compression.scheme}(flat${bitsPerValue})`;
  }
  if (encoding.nullable !== undefined) {
    const { noNulls, someNulls, allNulls } = encoding.nullable;
    if (noNulls !== undefined) return call("noNulls", inner(noNulls.values));
    if (someNulls !== undefined) return call("someNulls", inner(someNulls.validity), inner(someNulls.values));
    return allNulls === undefined ? "unknown" : "allNulls";
  }
  if (encoding.fixedSizeList !== undefined) {
    const { dimension, items } = encoding.fixedSizeList;
    return call(`fixedSizeList${dimension}`, inner(items));
  }
  if (encoding.list !== undefined) return call("list", inner(encoding.list.offsets));
  if (encoding.struct !== undefined) return "struct";
  if (encoding.binary !== undefined) {
    return call("binary", inner(encoding.binary.indices), inner(encoding.binary.bytes));
  }
  if (encoding.dictionary !== undefined) {
    return call("dictionary", inner(encoding.dictionary.indices), inner(encoding.dictionary.items));
  }
  if (encoding.fsst !== undefined) return call("fsst", inner(encoding.fsst.binary));
  if (encoding.packedStruct !== undefined) {
    return call("packedStruct", ...encoding.packedStruct.inner.map(inner));
  }
  if (encoding.bitpacked !== undefined) return "bitpacked";
  if (encoding.bitpackedForNonNeg !== undefined) return "bitpackedForNonNeg";
  if (encoding.fixedSizeBinary !== undefined)
    return call("fixedSizeBinary", inner(encoding.fixedSizeBinary.bytes));
  if (encoding.constant !== undefined) return "constant";
  return "unknown";
}
