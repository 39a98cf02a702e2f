/** Encodes vectors as rotated codes (rotatedCodes.ts). */

import type { Column } from "../../../arrow/columns/column.js";
import { TENSOR_TYPES, Tensor } from "../../../format/vectorIndex.js";
import { type FileColumnType, fixedWidthColumn } from "../../indexColumns.js";
import { encodeVector, type Metric } from "../distance/metric.js";
import type { Encoder } from "./encoder.js";
import type { IndexedVectors } from "./indexedVectors.js";
import { lowBitBytes, packLowBits } from "./lowBits.js";
import { rotatedColumns, widthsOf } from "./rotatedCodes.js";
import type { RotatedModel } from "./rotatedModel.js";
import { rotate } from "./rotation.js";

/** Probable number of standard deviations of the error that its factor covers. */
const DEVIATIONS = 1.9;
/** Candidate scales of the numbers of a vector when its low bits are chosen. */
const SCALES = 40;

/** Rotates centroids. @param centroids row-major */
export function rotatedCentroids({ rotation }: RotatedModel, centroids: Float32Array): Float32Array {
  const { dimension } = rotation;
  const rotated = new Float32Array(centroids.length);
  const buffer = new Float64Array(dimension);
  for (let start = 0; start < centroids.length; start += dimension) {
    rotate(rotation, centroids.subarray(start, start + dimension), buffer);
    rotated.set(buffer, start);
  }
  return rotated;
}

/** @param rotated centroids, rotated */
export function rotatedEncoder(
  model: RotatedModel,
  { metric }: IndexedVectors,
  centroids: Float32Array,
  rotated: Float32Array,
): Encoder {
  const { dimension } = model.rotation;
  const columns = rotatedColumns(model);
  const codeBytes = widthsOf(columns).reduce((sum, width) => sum + width, 0);
  return {
    model: { kind: "RQ", ...model, isPacked: false },
    columns,
    codeBytes,
    codebook: matrixOf(model),
    products: dimension * (16 + (model.bits > 1 ? SCALES : 0)),
    storage: (position) => storageOf(model, position),
    columnsOf: (codes, rowCount) => columnsOf(codes, columns, rowCount),
    encode(vectors, partitions) {
      const codes = new Uint8Array(partitions.length * codeBytes);
      const encode = rowEncoder(model, metric);
      for (let row = 0; row < partitions.length; row++) {
        const start = partitions[row] * dimension;
        encode(
          vectors.subarray(row * dimension, (row + 1) * dimension),
          centroids.subarray(start, start + dimension),
          rotated.subarray(start, start + dimension),
          codes.subarray(row * codeBytes, (row + 1) * codeBytes),
        );
      }
      return codes;
    },
  };
}

/** Returns the matrix of a rotation; null for a fast rotation. */
function matrixOf({ rotation }: RotatedModel): Tensor | null {
  if (rotation.kind === "fast") return null;
  const { dimension, matrix } = rotation;
  const item = matrix.BYTES_PER_ELEMENT === 4 ? "float32" : "float64";
  const data = encodeVector(item, matrix);
  return Tensor.create({ dataType: TENSOR_TYPES.indexOf(item), shape: [dimension, dimension], data });
}

/** @param matrixPosition number of the global buffer of the matrix */
function storageOf({ rotation, bits }: RotatedModel, matrixPosition: number): object {
  const { dimension } = rotation;
  return {
    rotate_mat_position: rotation.kind === "matrix" ? matrixPosition : null,
    fast_rotation_signs: rotation.kind === "fast" ? [...rotation.signs] : null,
    rotation_type: rotation.kind,
    code_dim: dimension,
    num_bits: bits,
    packed: false,
    query_estimator: "raw_query",
  };
}

/** Cuts codes into the columns of the file. */
function columnsOf(codes: Uint8Array, columns: readonly FileColumnType[], rowCount: number): Column[] {
  const codeBytes = codes.length / Math.max(1, rowCount);
  const widths = widthsOf(columns);
  let first = 0;
  return columns.map(({ type }, index) => {
    const width = widths[index];
    const values = new Uint8Array(rowCount * width);
    for (let row = 0; row < rowCount; row++) {
      const start = row * codeBytes + first;
      values.set(codes.subarray(start, start + width), row * width);
    }
    first += width;
    if (type.kind !== "fixedSizeList") return fixedWidthColumn(values, 4);
    const items = fixedWidthColumn(values, 1);
    return { kind: "fixedSizeList", length: rowCount, validity: null, dimension: width, items };
  });
}

type EncodeRow = (
  vector: Float32Array,
  centroid: Float32Array,
  rotatedCentroid: Float32Array,
  code: Uint8Array,
) => void;

/** Returns a function that encodes one row after the other. */
function rowEncoder({ rotation, bits }: RotatedModel, metric: Metric): EncodeRow {
  const { dimension } = rotation;
  const rotated = new Float64Array(dimension);
  const numbers = new Float64Array(dimension);
  const low = new Uint8Array(dimension);
  const lowBits = bits - 1;
  const isByDot = metric === "dot";
  const factorsAt = dimension / 8;
  const lowAt = factorsAt + 12;
  const factorsOfAllAt = lowAt + lowBitBytes(dimension, lowBits);
  return (vector, centroid, rotatedCentroid, code) => {
    rotate(rotation, vector, rotated);
    let squares = 0;
    let constant = isByDot ? 1 : 0;
    for (let index = 0; index < dimension; index++) {
      rotated[index] -= rotatedCentroid[index];
      squares += rotated[index] * rotated[index];
      if (isByDot) constant -= (vector[index] - centroid[index]) * centroid[index];
      const isPositive = rotated[index] >= 0;
      if (isPositive) code[index >>> 3] |= 1 << (index & 7);
      numbers[index] = isPositive ? 0.5 : -0.5;
    }
    if (!isByDot) constant = squares;
    const factors = new DataView(code.buffer, code.byteOffset, code.byteLength);
    const weight = (isByDot ? 1 : 2) * squares;
    const write = (position: number): number => {
      let [product, centre] = [0, 0];
      for (let index = 0; index < dimension; index++) {
        product += numbers[index] * rotated[index];
        centre += numbers[index] * rotatedCentroid[index];
      }
      const scale = squares === 0 ? 0 : weight / product;
      factors.setFloat32(position, constant + scale * centre, true);
      factors.setFloat32(position + 4, -scale, true);
      return product;
    };
    const product = write(factorsAt);
    const spread = squares === 0 ? 0 : (squares * dimension) / 4 / (product * product) - 1;
    const error = Math.sqrt(Math.max(0, spread) / Math.max(1, dimension - 1));
    const scaleOfError = (isByDot ? 1 : 2) * Math.sqrt(squares) * DEVIATIONS;
    factors.setFloat32(factorsAt + 8, scaleOfError * error, true);
    if (lowBits === 0) return;
    chooseLowBits(rotated, lowBits, low, numbers);
    packLowBits(lowBits, low, code.subarray(lowAt, factorsOfAllAt));
    write(factorsOfAllAt);
  };
}

/**
 * Chooses low bits such that the numbers of the code point in nearly the direction of the vector.
 * @param numbers receives the numbers
 */
function chooseLowBits(vector: Float64Array, bits: number, low: Uint8Array, numbers: Float64Array): void {
  const most = 2 ** bits - 1;
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  let best = { cosine: -1, scale: 0 };
  for (let step = 1; step <= SCALES && largest > 0; step++) {
    const scale = ((most + 1) / largest) * (0.2 + (1.1 * step) / SCALES);
    let [product, squares] = [0, 0];
    for (let index = 0; index < vector.length; index++) {
      const size = Math.abs(vector[index]);
      const number = Math.min(most, Math.floor(size * scale)) + 0.5;
      product += number * size;
      squares += number * number;
    }
    const cosine = product / Math.sqrt(squares);
    if (cosine > best.cosine) best = { cosine, scale };
  }
  for (let index = 0; index < vector.length; index++) {
    const size = Math.min(most, Math.floor(Math.abs(vector[index]) * best.scale));
    const isPositive = vector[index] >= 0;
    // The bits of a negative value are inverted.
    low[index] = isPositive ? size : most - size;
    numbers[index] = isPositive ? size + 0.5 : -size - 0.5;
  }
}
