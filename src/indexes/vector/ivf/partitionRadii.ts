/**
 * Radii of partitions: the largest distance of a row from the centroid. For a row x of the partition with
 * centroid c, the triangle inequality bounds the distance from a query q:
 *
 *     |q - x|  ≥  |q - c| - |x - c|
 *
 * So a partition has none of the nearest rows if |q - c| minus its radius exceeds the distance of enough
 * other rows. Rounding errors of float32 count in favour of the row. With codes, x is the decoded vector.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Codes } from "../codes/codes.js";
import type { TensorNumbers } from "../codes/tensors.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import type { IvfFiles } from "./ivfFiles.js";

/** Query vectors before a radius is measured, which costs one comparison. */
const SEARCHES_BEFORE_MEASURING = 2;
/** Rows per measurement. */
const MEASURED_ROWS = 4096;
/** Exceeds the underflow of float32 sums of squares. */
const TINY = 1e-37;

export class PartitionRadii {
  readonly #codes: Codes;
  readonly #loss: number;
  /** Fixed length of the vectors, or 0. */
  readonly #length: number;
  /** Radius by partition; NaN if unknown. */
  readonly #radii: Float64Array;
  readonly #searchCounts: Uint8Array;

  private constructor(codes: Codes, metric: Metric, dimension: number, partitionCount: number) {
    this.#codes = codes;
    this.#loss = (4 * (dimension + 32)) / 2 ** 24;
    this.#length = metric === "cosine" ? 1 : 0;
    this.#radii = new Float64Array(partitionCount).fill(Number.NaN);
    this.#searchCounts = new Uint8Array(partitionCount);
  }

  /**
   * Returns null if the distances break the triangle inequality, or are computed from another vector than the
   * one compared with centroids: float16 queries are rounded, centroids are not.
   */
  static of({ codes, metric, item, graphs, dimension, starts, centroids }: IvfFiles): PartitionRadii | null {
    const { kind } = codes.model;
    const isMeasured =
      metric === "l2" ? kind === "FLAT" || kind === "PQ" : metric === "cosine" && kind === "PQ";
    const isRounded = item === "float16" && kind === "FLAT";
    if (!isMeasured || graphs !== null || !isShort(item) || isRounded) return null;
    if (centroids.BYTES_PER_ELEMENT !== Float32Array.BYTES_PER_ELEMENT) return null;
    return new PartitionRadii(codes, metric, dimension, starts.length - 1);
  }

  get memoryWeight(): number {
    return this.#radii.byteLength + this.#searchCounts.byteLength;
  }

  /**
   * Counts query vectors of a partition, and measures its radius in time.
   * @param asking number of query vectors
   * @param codes of the partition's rows
   */
  async note(
    partition: number,
    queryCount: number,
    centroid: TensorNumbers,
    codes: Uint8Array,
    rowCount: number,
  ): Promise<void> {
    if (!Number.isNaN(this.#radii[partition])) return;
    this.#searchCounts[partition] = Math.min(
      SEARCHES_BEFORE_MEASURING,
      this.#searchCounts[partition] + queryCount,
    );
    if (this.#searchCounts[partition] < SEARCHES_BEFORE_MEASURING) return;
    const measure = this.#codes.from(Float64Array.from(centroid));
    // PQ codes may be transposed, and are much shorter than vectors.
    const isByRow = this.#codes.model.kind === "FLAT";
    const pieceRows = isByRow ? MEASURED_ROWS : rowCount;
    const rowBytes = codes.length / rowCount;
    let most = 0;
    for (let start = 0; start < rowCount; start += pieceRows) {
      const end = Math.min(rowCount, start + pieceRows);
      const distances = new Float32Array(end - start);
      measure.all(centroid, isByRow ? codes.subarray(start * rowBytes, end * rowBytes) : codes, distances);
      // Distances of vectors with NaN are NaN.
      for (const distance of distances) if (distance > most) most = distance;
      await yieldToEventLoop();
    }
    this.#radii[partition] = Math.sqrt(most + TINY);
  }

  /** True if the radius of a partition is measured. */
  isKnown(partition: number): boolean {
    return !Number.isNaN(this.#radii[partition]);
  }

  /** True if all rows are farther than `most`. @param squared squared distance of the partition's centroid */
  isBeyond(partition: number, squared: number, most: number): boolean {
    const radius = this.#radii[partition];
    const distance = Math.sqrt(squared);
    const lost = this.#loss * (distance + radius + this.#length);
    const least = distance - radius - lost;
    return least > 0 && least * least - lost * (distance + radius + this.#length) - TINY > most;
  }
}

/** Float64 queries are rounded before the comparison with centroids. */
const isShort = (item: VectorItem): boolean => item === "float32" || item === "float16";
