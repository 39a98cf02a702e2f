/**
 * Codes of rotated vectors (RQ, "RaBitQ"). The vector minus its centroid, r, is rotated; its code has one or
 * more bits per value. The first is the sign: 1 for values of at least 0. The others are low bits. As a
 * number, a code is less 2^(bits - 1) - 1/2, so that it approximates the value times some factor. Let x be
 * those numbers of a row, c the centroid, R the rotation, and q the query:
 *
 *     factor    l2, cosine                              dot
 *     add       r·r + 2 · r·r · (x·Rc) / (x·Rr)         1 - r·c + r·r · (x·Rc) / (x·Rr)
 *     scale     -2 · r·r / (x·Rr)                       -r·r / (x·Rr)
 *     distance  add + |q - c|² + scale · (x·Rq)         add - q·c + scale · (x·Rq)
 *
 * Each row has the factors of the first bit alone, with a bound of their error, and if its code has more
 * bits, the factors of all bits. The columns of the file:
 *
 *     _rabit_codes        first bits, lowest first; in blocks if "packed" (signBlocks.ts)
 *     __add_factors, __scale_factors, __error_factors           of the first bits
 *     __blocked_ex_codes  low bits (lowBits.ts)
 *     __add_factors_ex, __scale_factors_ex                      of all bits
 */

import { runSync, type Steps } from "../../../async/eventLoop.js";
import { isUint8Array } from "../../../bytes/anyRealm.js";
import { concatBytes } from "../../../bytes/concat.js";
import { UnsupportedError } from "../../../errors.js";
import { Tensor } from "../../../format/vectorIndex.js";
import { type FileColumnType, FLOAT32_TYPE } from "../../indexColumns.js";
import type { OpenIndexFile } from "../../indexFile.js";
import type { Metric } from "../distance/metric.js";
import {
  BYTE,
  type CodeDistances,
  type Codes,
  codeColumn,
  countMember,
  oneByOne,
  storageMembers,
} from "./codes.js";
import { lowBitBytes, unpackLowBits } from "./lowBits.js";
import type { RotatedModel } from "./rotatedModel.js";
import { type Rotation, rotate, signBytes } from "./rotation.js";
import { unpackSigns } from "./signBlocks.js";
import { signSums } from "./signSums.js";
import { type TensorNumbers, tensorValues } from "./tensors.js";

const MAX_BITS = 9;
/** Values per step. */
const STEP_VALUES = 2 ** 21;

/** Returns the columns of codes of a model. */
export function rotatedColumns({ rotation: { dimension }, bits }: RotatedModel): FileColumnType[] {
  const bytes = (name: string, size: number) => ({ ...codeColumn(name, BYTE, size), nullable: true });
  const factors = (name: string): FileColumnType => ({ name, type: FLOAT32_TYPE, nullable: true });
  const signs = [
    bytes("_rabit_codes", dimension / 8),
    ...["__add_factors", "__scale_factors", "__error_factors"].map(factors),
  ];
  if (bits === 1) return signs;
  return [
    ...signs,
    bytes("__blocked_ex_codes", lowBitBytes(dimension, bits - 1)),
    ...["__add_factors_ex", "__scale_factors_ex"].map(factors),
  ];
}

/** Returns the bytes of a row in each column. */
export const widthsOf = (columns: readonly FileColumnType[]): number[] =>
  columns.map(({ type }) => (type.kind === "fixedSizeList" ? type.size : 4));

/** @throws CorruptFileError; UnsupportedError for codes of other releases */
export async function openRotatedCodes(
  metric: Metric,
  file: OpenIndexFile,
  dimension: number,
): Promise<Codes> {
  const model = await readModel(file, dimension);
  const columns = rotatedColumns(model);
  const { rotation } = model;
  const widths = widthsOf(columns);
  return {
    columns,
    memoryWeight: rotation.kind === "fast" ? rotation.signs.length : rotation.matrix.byteLength,
    model: { kind: "RQ", ...model },
    needsPartition: model.isPacked,
    join: (parts, rowCount) => measuredLayout(model, parts, rowCount),
    *rowCodes([signs, ...others], rowCount) {
      const unpacked = model.isPacked ? yield* unpackSigns(signs, widths[0]) : signs;
      return rowByRow([unpacked, ...others], widths, rowCount);
    },
    from: (query) => distancesFrom(model, metric, query),
  };
}

async function readModel(file: OpenIndexFile, dimension: number): Promise<RotatedModel> {
  const members = storageMembers(file);
  const codeDimension = countMember(members, "code_dim", file, dimension);
  const bits = countMember(members, "num_bits", file, MAX_BITS);
  if (codeDimension !== dimension || dimension % 8 !== 0)
    return file.fail(`codes of ${codeDimension} dimensions do not fit vectors of ${dimension}`);
  const { query_estimator: estimator, packed, rotation_type: kind, fast_rotation_signs: list } = members;
  if (estimator !== "raw_query") {
    throw new UnsupportedError(`${file.path}: this release does not read RQ codes of older releases`);
  }
  return { rotation: await readRotation(), bits, isPacked: packed === true };

  async function readRotation(): Promise<Rotation> {
    if (kind === "fast") {
      const signs = Array.isArray(list) ? (list as unknown[]) : [];
      const areBytes = signs.every((each) => typeof each === "number" && each >= 0 && each <= 255);
      if (signs.length !== signBytes(dimension) || !areBytes) file.fail("the rotation has wrong signs");
      return { kind, dimension, signs: Uint8Array.from(signs as number[]) };
    }
    if (kind !== "matrix") {
      throw new UnsupportedError(
        `${file.path}: this release does not read rotations of type ${String(kind)}`,
      );
    }
    const number = countMember(members, "rotate_mat_position", file, 2 ** 16);
    const { bytes, byteOffset } = await file.globalBuffer(number);
    const tensor = tensorValues(Tensor.decode(bytes, { path: file.path, byteOffset }), file, dimension);
    if (tensor.rowCount !== dimension || isUint8Array(tensor.numbers))
      return file.fail("the rotation is not a square matrix");
    return { kind, dimension, matrix: tensor.numbers };
  }
}

/** Joins columns to one code per row. */
function rowByRow(columns: readonly Uint8Array[], widths: readonly number[], rowCount: number): Uint8Array {
  const rowBytes = widths.reduce((sum, width) => sum + width, 0);
  const codes = new Uint8Array(rowCount * rowBytes);
  for (let index = 0, first = 0; index < columns.length; first += widths[index++]) {
    const [column, width] = [columns[index], widths[index]];
    for (let row = 0; row < rowCount; row++)
      codes.set(column.subarray(row * width, (row + 1) * width), row * rowBytes + first);
  }
  return codes;
}

/**
 * Arranges the codes of a partition for measuring. The add factors of all bits come first, then their scale
 * factors, the sign bits row by row, and the low bits, a byte per value.
 */
function* measuredLayout(
  { rotation: { dimension }, bits, isPacked }: RotatedModel,
  [signs, add, scale, , low, addAll, scaleAll]: readonly Uint8Array[],
  rowCount: number,
): Steps<Uint8Array> {
  const signCodes = isPacked ? yield* unpackSigns(signs, dimension / 8) : signs;
  if (bits === 1) return concatBytes([add, scale, signCodes]);
  const lowBits = new Uint8Array(rowCount * dimension);
  const width = lowBitBytes(dimension, bits - 1);
  const stepRows = rowsPerStep(dimension);
  for (let row = 0; row < rowCount; row++) {
    if (row % stepRows === 0) yield;
    const packed = low.subarray(row * width, (row + 1) * width);
    unpackLowBits(bits - 1, packed, lowBits.subarray(row * dimension, (row + 1) * dimension));
  }
  return concatBytes([addAll, scaleAll, signCodes, lowBits]);
}

/** Prepares to measure the distances of rows from a vector. */
function distancesFrom({ rotation, bits }: RotatedModel, metric: Metric, query: Float64Array): CodeDistances {
  const { dimension } = rotation;
  const rotated = new Float32Array(dimension);
  rotate(rotation, query, rotated);
  const sums = signSums(rotated);
  const signBytesOfRow = dimension / 8;
  const signWeight = 2 ** (bits - 1);
  const middle = Math.fround((signWeight - 0.5) * sumOf(rotated));
  function* inSteps(centroid: TensorNumbers, codes: Uint8Array, distances: Float32Array): Steps<void> {
    const rowCount = distances.length;
    const factors = new Float32Array(codes.buffer, codes.byteOffset, 2 * rowCount);
    const signs = codes.subarray(8 * rowCount, (8 + signBytesOfRow) * rowCount);
    const low = codes.subarray((8 + signBytesOfRow) * rowCount);
    const fromCentroid = centroidPart(metric, query, centroid);
    const stepRows = rowsPerStep(dimension);
    for (let start = 0; start < rowCount; start += stepRows) {
      const end = Math.min(rowCount, start + stepRows);
      const someSigns = signs.subarray(start * signBytesOfRow, end * signBytesOfRow);
      sums.fill(someSigns, start, rowCount, distances.subarray(start, end));
      for (let row = start; row < end; row++) {
        let product = signWeight * distances[row];
        if (bits > 1) {
          const first = row * dimension;
          let lowSum = 0;
          for (let index = 0; index < dimension; index++) lowSum += rotated[index] * low[first + index];
          product = Math.fround(product + Math.fround(lowSum));
        }
        const scaled = Math.fround(Math.fround(product - middle) * factors[rowCount + row]);
        distances[row] = Math.fround(scaled + factors[row]) + fromCentroid;
      }
      yield;
    }
  }
  const all = (centroid: TensorNumbers, codes: Uint8Array, distances: Float32Array): void =>
    runSync(inSteps(centroid, codes, distances));
  return {
    all,
    inSteps,
    some(centroid, codes, rowCount) {
      const distances = new Float32Array(rowCount);
      all(centroid, codes, distances);
      return oneByOne((row) => distances[row]);
    },
  };
}

/** Returns the number of rows of a step, which takes a few milliseconds. */
const rowsPerStep = (dimension: number): number => Math.max(1, Math.floor(STEP_VALUES / dimension));

/** Returns the part of the distance that all rows of a partition share, in 32 bits. */
function centroidPart(metric: Metric, query: Float64Array, centroid: TensorNumbers): number {
  let sum = 0;
  for (let index = 0; index < query.length; index++) {
    const difference = query[index] - centroid[index];
    sum += metric === "dot" ? -query[index] * centroid[index] : difference * difference;
  }
  return Math.fround(sum);
}

/** Adds in 32 bits. */
function sumOf(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum = Math.fround(sum + value);
  return sum;
}
