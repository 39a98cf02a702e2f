/**
 * Product quantisation (PQ): a vector is cut into M equal subvectors, and each becomes the number of its
 * nearest codeword, one of 16 or 256. It encodes the vector minus its centroid, but by dot product the vector
 * itself. Byte b of row r of a partition is at b · rows + r if transposed, else at r · bytes + b. Two 4-bit
 * codes share a byte, the first one in the low half.
 *
 * A query fills a table with its distance from each codeword. The distance of a row is the sum of the table's
 * entries for its codes.
 */

import type { Steps } from "../../../async/eventLoop.js";
import { UnsupportedError } from "../../../errors.js";
import { Tensor } from "../../../format/vectorIndex.js";
import type { OpenIndexFile } from "../../indexFile.js";
import type { Metric } from "../distance/metric.js";
import type { Codebook } from "./codebook.js";
import { cutCodebook } from "./codebookInSettings.js";
import { arrangeWords, fillSquaresInKernel } from "./codebookKernel.js";
import { codeSumsInKernel } from "./codeSumsKernel.js";
import {
  BYTE,
  type Codes,
  codeColumn,
  countMember,
  oneByOne,
  STORAGE_METADATA,
  storageMembers,
} from "./codes.js";
import { type TensorNumbers, tensorValues } from "./tensors.js";

/** @throws CorruptFileError; UnsupportedError for codes of LanceDB before 0.19 */
export const openProductCodes = async (
  metric: Metric,
  file: OpenIndexFile,
  dimension: number,
): Promise<Codes> => productCodes(await readCodebook(file, dimension), metric);

async function readCodebook(file: OpenIndexFile, dimension: number): Promise<Codebook> {
  const { tensor: tensorInSettings, settings } = await cutCodebook(file, file.text(STORAGE_METADATA) ?? "");
  const members = storageMembers(file, settings);
  if (members.nbits === undefined && members.num_bits !== undefined) {
    throw new UnsupportedError(`${file.path}: this release does not read PQ codes of LanceDB before 0.19`);
  }
  const bits = countMember(members, "nbits", file, 8);
  const parts = countMember(members, "num_sub_vectors", file, dimension);
  if ((bits !== 4 && bits !== 8) || dimension % parts !== 0 || (parts * bits) % 8 !== 0) {
    return file.fail(`vectors of ${dimension} dimensions cannot have ${parts} codes of ${bits} bits`);
  }
  const isInSettings = members.codebook_position === 0 && tensorInSettings.length > 0;
  const { bytes, byteOffset } = isInSettings
    ? { bytes: tensorInSettings, byteOffset: 0 }
    : await file.globalBuffer(countMember(members, "codebook_position", file, 2 ** 16));
  const tensor = tensorValues(Tensor.decode(bytes, { path: file.path, byteOffset }), file, dimension);
  if (tensor.rowCount !== 2 ** bits)
    file.fail(`codes of ${bits} bits cannot have ${tensor.rowCount} codewords`);
  const isTransposed = members.transposed === true;
  return { bits, parts, dimension, words: tensor.numbers, isTransposed, isInSettings };
}

function productCodes(codebook: Codebook, metric: Metric): Codes {
  const { bits, parts, words } = codebook;
  const wordCount = 2 ** bits;
  const byteCount = (parts * bits) / 8;
  const arranged = metric === "dot" ? null : arrangeWords(codebook);
  return {
    columns: [codeColumn("__pq_code", BYTE, byteCount)],
    needsPartition: codebook.isTransposed,
    memoryWeight: words.byteLength + (arranged?.byteLength ?? 0),
    model: { kind: "PQ", ...codebook },
    *rowCodes([codes], rowCount) {
      return codebook.isTransposed ? yield* rowByRow(codes, rowCount) : codes;
    },
    from(query) {
      const table = new Float32Array(parts * wordCount);
      const residual = new Float64Array(query.length);
      // By dot product, all partitions share the table.
      if (metric === "dot") fillTable(codebook, true, query, table);
      const moveTo = (centroid: TensorNumbers): void => {
        if (metric === "dot") return;
        for (let index = 0; index < residual.length; index++)
          residual[index] = query[index] - centroid[index];
        if (arranged !== null && fillSquaresInKernel(codebook, arranged, residual, table)) return;
        fillTable(codebook, false, residual, table);
      };
      return {
        all(centroid, codes, distances) {
          moveTo(centroid);
          addUpCodes(codebook, table, codes, distances);
          if (metric === "dot") {
            for (let row = 0; row < distances.length; row++) distances[row] = 1 - distances[row];
          }
        },
        some(centroid, codes, rowCount) {
          moveTo(centroid);
          const sumOf = sumOfCodes(codebook, table, codes, rowCount);
          return oneByOne(metric === "dot" ? (row) => 1 - sumOf(row) : sumOf);
        },
      };
    },
  };
}

/** Transposes column-major codes to row-major. */
function* rowByRow(codes: Uint8Array, rowCount: number): Steps<Uint8Array> {
  const codeBytes = codes.length / rowCount;
  const turned = new Uint8Array(codes.length);
  for (let byte = 0, from = 0; byte < codeBytes; byte++) {
    for (let row = 0; row < rowCount; row++, from++) turned[row * codeBytes + byte] = codes[from];
    yield;
  }
  return turned;
}

/** Fills the table with squared distances of subvectors from their codewords, or with dot products. */
function fillTable(
  { parts, bits, words, dimension }: Codebook,
  isByDot: boolean,
  vector: Float64Array,
  table: Float32Array,
): void {
  const width = dimension / parts;
  for (let entry = 0, slot = 0; entry < table.length; entry++) {
    const start = (entry >>> bits) * width;
    let sum = 0;
    for (let index = start; index < start + width; index++, slot++) {
      const difference = vector[index] - words[slot];
      sum += isByDot ? vector[index] * words[slot] : difference * difference;
    }
    table[entry] = sum;
  }
}

/** Sums the table entries of each row's codes. */
function addUpCodes(
  { bits, parts, isTransposed }: Codebook,
  table: Float32Array,
  codes: Uint8Array,
  sums: Float32Array,
): void {
  if (bits === 8 && codeSumsInKernel(table, codes, isTransposed, sums)) return;
  const rowCount = sums.length;
  const byteCount = (parts * bits) / 8;
  const [step, stride] = isTransposed ? [1, rowCount] : [byteCount, 1];
  sums.fill(0);
  for (let byte = 0; byte < byteCount; byte++) {
    let offset = byte * stride;
    if (bits === 8) {
      const entries = table.subarray(byte * 256, (byte + 1) * 256);
      for (let row = 0; row < rowCount; row++, offset += step) sums[row] += entries[codes[offset]];
    } else {
      const low = table.subarray(byte * 32, byte * 32 + 16);
      const high = table.subarray(byte * 32 + 16, byte * 32 + 32);
      for (let row = 0; row < rowCount; row++, offset += step)
        sums[row] += low[codes[offset] & 15] + high[codes[offset] >>> 4];
    }
  }
}

/** Returns a function that sums the table entries of a row's codes. */
function sumOfCodes(
  { bits, parts, isTransposed }: Codebook,
  table: Float32Array,
  codes: Uint8Array,
  rowCount: number,
): (row: number) => number {
  const byteCount = (parts * bits) / 8;
  const [step, stride] = isTransposed ? [1, rowCount] : [byteCount, 1];
  return (row) => {
    let sum = 0;
    for (let byte = 0, offset = row * step; byte < byteCount; byte++, offset += stride) {
      const code = codes[offset];
      sum +=
        bits === 8
          ? table[byte * 256 + code]
          : table[byte * 32 + (code & 15)] + table[byte * 32 + 16 + (code >>> 4)];
    }
    return sum;
  };
}
