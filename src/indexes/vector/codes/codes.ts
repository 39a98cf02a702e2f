/**
 * Encodings of vectors in an index, and distances computed from codes:
 *
 *     flat   the vectors themselves
 *     PQ     number of the nearest codeword of each of M equal subvectors, one of 16 or 256. It encodes the
 *            vector minus its centroid, but by dot product the vector itself. Byte b of row r of a partition
 *            is at b · rows + r if transposed, else at r · bytes + b. Two 4-bit codes share a byte, the first
 *            one in the low half
 *     SQ     each value as one of 256 equal steps between two bounds
 *
 * By cosine, PQ and SQ return the squared distance of unit vectors, which is twice the cosine distance.
 */

import type { LogicalType } from "../../../arrow/types/type.js";
import { UnsupportedError } from "../../../errors.js";
import { Tensor } from "../../../format/vectorIndex.js";
import type { OpenIndexFile } from "../../indexFile.js";
import { distanceToRow, fillDistances, queryVector } from "../distance/distance.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import type { Codebook } from "./codebook.js";
import { cutCodebook } from "./codebookInSettings.js";
import { arrangeWords, fillSquaresInKernel } from "./codebookKernel.js";
import { codeSumsInKernel } from "./codeSumsKernel.js";
import { MAX_STEP_VALUES, stepSquaresInKernel } from "./stepSquaresKernel.js";
import { jsonMembers, type TensorNumbers, tensorValues } from "./tensors.js";
import type { CodeKind } from "./vectorKindNames.js";

export interface Codes {
  /** Name of the code column, a fixed-size list. */
  readonly column: string;
  readonly codeType: LogicalType;
  readonly codeLength: number;
  readonly memoryWeight: number;
  /** Model for encoding further rows. */
  readonly model: CodeModel;
  /** Prepares to measure distances from a vector, which has length 1 for the cosine metric. */
  from(query: Float64Array): CodeDistances;
}

/** Distances of a vector from the rows of a partition. Codes are in file layout. */
export interface CodeDistances {
  /** Measures all rows. */
  all(centroid: TensorNumbers, codes: Uint8Array, distances: Float32Array): void;
  /** Measures some rows. */
  some(centroid: TensorNumbers, codes: Uint8Array, rowCount: number): MeasureRows;
  /** Code of the vector and step width, if distances are squared numbers of steps between codes. */
  readonly steps?: { readonly code: Uint8Array; readonly width: number };
}

/** Writes the distances of rows in their order. */
export type MeasureRows = (rows: Uint32Array, count: number, distances: Float64Array) => void;

const oneByOne =
  (distanceOf: (row: number) => number): MeasureRows =>
  (rows, count, distances) => {
    for (let index = 0; index < count; index++) distances[index] = distanceOf(rows[index]);
  };

/** Parameters of an encoding. */
export type CodeModel =
  | { readonly kind: "FLAT" }
  | ({ readonly kind: "PQ" } & Codebook)
  | { readonly kind: "SQ"; readonly start: number; readonly end: number };

export const BYTE: LogicalType = { kind: "int", bits: 8, signed: false };

/** @throws CorruptFileError; UnsupportedError */
export async function openCodes(
  kind: CodeKind,
  metric: Metric,
  file: OpenIndexFile,
  item: VectorItem,
  dimension: number,
): Promise<Codes> {
  switch (kind) {
    case "FLAT":
      storageMembers(file);
      return flatCodes(metric, item, dimension);
    case "PQ":
      return pqCodes(await readCodebook(file, dimension), metric);
    case "SQ":
      return sqCodes(storageMembers(file), metric, file, { item, dimension });
  }
}

const STORAGE_METADATA = "storage_metadata";

/** Parses the settings: a list with one JSON text. */
function storageMembers(
  file: OpenIndexFile,
  settings: string | null = file.text(STORAGE_METADATA),
): Readonly<Record<string, unknown>> {
  const [text] = Object.values(jsonMembers(file, settings));
  return jsonMembers(file, typeof text === "string" ? text : null);
}

function count(
  members: Readonly<Record<string, unknown>>,
  name: string,
  file: OpenIndexFile,
  most: number,
): number {
  const value = members[name];
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
  return file.fail(`${name} is ${JSON.stringify(value)}`);
}

function flatCodes(metric: Metric, item: VectorItem, dimension: number): Codes {
  const codeType: LogicalType = item === "uint8" ? BYTE : { kind: "float", bits: floatBits(item) };
  return {
    column: "flat",
    codeType,
    codeLength: dimension,
    memoryWeight: 0,
    model: { kind: "FLAT" },
    from(query) {
      const vector = queryVector(item, query);
      return {
        all: (_, codes, distances) => fillDistances(item, metric, [vector], codes, [distances]),
        some: (_, codes) => oneByOne(distanceToRow(item, metric, vector, codes)),
      };
    },
  };
}

export const floatBits = (item: Exclude<VectorItem, "uint8">): 16 | 32 | 64 =>
  item === "float16" ? 16 : item === "float32" ? 32 : 64;

async function readCodebook(file: OpenIndexFile, dimension: number): Promise<Codebook> {
  const { tensor: tensorInSettings, settings } = await cutCodebook(file, file.text(STORAGE_METADATA) ?? "");
  const members = storageMembers(file, settings);
  if (members.nbits === undefined && members.num_bits !== undefined) {
    throw new UnsupportedError(`${file.path}: this release does not read PQ codes of LanceDB before 0.19`);
  }
  const bits = count(members, "nbits", file, 8);
  const parts = count(members, "num_sub_vectors", file, dimension);
  if ((bits !== 4 && bits !== 8) || dimension % parts !== 0 || (parts * bits) % 8 !== 0) {
    return file.fail(`vectors of ${dimension} dimensions cannot have ${parts} codes of ${bits} bits`);
  }
  const isInSettings = members.codebook_position === 0 && tensorInSettings.length > 0;
  const { bytes, byteOffset } = isInSettings
    ? { bytes: tensorInSettings, byteOffset: 0 }
    : await file.globalBuffer(count(members, "codebook_position", file, 2 ** 16));
  const tensor = tensorValues(Tensor.decode(bytes, { path: file.path, byteOffset }), file, dimension);
  if (tensor.rowCount !== 2 ** bits)
    file.fail(`codes of ${bits} bits cannot have ${tensor.rowCount} codewords`);
  const isTransposed = members.transposed === true;
  return { bits, parts, dimension, words: tensor.numbers, isTransposed, isInSettings };
}

function pqCodes(codebook: Codebook, metric: Metric): Codes {
  const { bits, parts, words } = codebook;
  const wordCount = 2 ** bits;
  const byteCount = (parts * bits) / 8;
  const arranged = metric === "dot" ? null : arrangeWords(codebook);
  return {
    column: "__pq_code",
    codeType: BYTE,
    codeLength: byteCount,
    memoryWeight: words.byteLength + (arranged?.byteLength ?? 0),
    model: { kind: "PQ", ...codebook },
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

function sqCodes(
  members: Readonly<Record<string, unknown>>,
  metric: Metric,
  file: OpenIndexFile,
  { item, dimension }: { readonly item: VectorItem; readonly dimension: number },
): Codes {
  const { start, end } = (members.bounds ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof start !== "number" || typeof end !== "number" || !(end >= start)) {
    return file.fail(`the bounds are ${JSON.stringify(members.bounds)}`);
  }
  const width = (end - start) / 255;
  return {
    column: "__sq_code",
    codeType: BYTE,
    codeLength: dimension,
    memoryWeight: 0,
    model: { kind: "SQ", start, end },
    from(query) {
      // Unit vectors are rounded to the column's type before encoding, like the indexed vectors.
      const rounded = item === "float64" ? query : Float32Array.from(query);
      const steps = Float64Array.from(rounded, (value) => quantized(value, start, end));
      const distanceAt = (codes: Uint8Array, first: number): number => {
        let sum = 0;
        if (metric === "dot") {
          for (let index = 0; index < dimension; index++)
            sum += query[index] * (start + codes[first + index] * width);
          return 1 - sum;
        }
        for (let index = 0; index < dimension; index++) {
          const difference = steps[index] - codes[first + index];
          sum += difference * difference;
        }
        return sum * width * width;
      };
      const queryCode = Uint8Array.from(steps);
      /** Returns false without a kernel. */
      const squares = (codes: Uint8Array, rows: Uint32Array | null, count: number, sums: Float64Array) =>
        metric !== "dot" && stepSquaresInKernel(queryCode, codes, rows, count, sums);
      return {
        all(_, codes, distances) {
          const sums = new Float64Array(distances.length);
          const hasKernel = squares(codes, null, distances.length, sums);
          for (let row = 0; row < distances.length; row++)
            distances[row] = hasKernel ? sums[row] * width * width : distanceAt(codes, row * dimension);
        },
        ...(metric !== "dot" && dimension <= MAX_STEP_VALUES && { steps: { code: queryCode, width } }),
        some: (_, codes) => (rows, count, distances) => {
          const hasKernel = squares(codes, rows, count, distances);
          for (let index = 0; index < count; index++)
            distances[index] = hasKernel
              ? distances[index] * width * width
              : distanceAt(codes, rows[index] * dimension);
        },
      };
    },
  };
}

/** Rounds like the encoder, so that equal vectors have equal codes. */
const quantized = (value: number, start: number, end: number): number =>
  start === end ? 0 : Math.max(0, Math.min(255, Math.trunc(((value - start) * 255) / (end - start))));
