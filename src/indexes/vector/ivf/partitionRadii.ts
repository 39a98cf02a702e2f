/**
 * How far the rows of partitions reach from their centroids. A row x of a partition with the centroid c is as far from a
 * vector q as the triangle of the three says, at least:
 *
 *     |q - x|  ≥  |q - c| - |x - c|
 *
 * So a partition whose farthest row is still nearer to c than q is by more than the distance of enough other rows has none
 * of the nearest. What is lost in floats of 32 bits counts as if the row were nearer. With codes, x is what they stand for.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Codes } from "../codes/codes.js";
import type { TensorNumbers } from "../codes/tensors.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import type { IvfFiles } from "./ivfFiles.js";

/** Vectors that look into a partition before its reach is measured, which takes as long as one of them. */
const ASKED_BEFORE_MEASURED = 2;
/** Vectors that are measured at once. */
const MEASURED_ROWS = 4096;
/** More than sums of squares lose that are too small for floats of 32 bits. */
const TINY = 1e-37;

export class PartitionRadii {
  readonly #codes: Codes;
  readonly #loss: number;
  /** The length of vectors where it is given; else 0. */
  readonly #length: number;
  /** By partition; NaN where it is not known. */
  readonly #radii: Float64Array;
  readonly #asked: Uint8Array;

  private constructor(codes: Codes, metric: Metric, dimension: number, partitionCount: number) {
    this.#codes = codes;
    this.#loss = (4 * (dimension + 32)) / 2 ** 24;
    this.#length = metric === "cosine" ? 1 : 0;
    this.#radii = new Float64Array(partitionCount).fill(Number.NaN);
    this.#asked = new Uint8Array(partitionCount);
  }

  /**
   * Null where distances don't obey the triangle, or are not computed from the vector that is compared with centroids: vectors of
   * 16 bits are compared with one that is rounded, their centroids are not.
   */
  static of({ codes, metric, item, graphs, dimension, starts, centroids }: IvfFiles): PartitionRadii | null {
    const { kind } = codes.model;
    const isMeasured = metric === "l2" ? kind !== "SQ" : metric === "cosine" && kind === "PQ";
    const isRounded = item === "float16" && kind === "FLAT";
    if (!isMeasured || graphs !== null || !isShort(item) || isRounded) return null;
    if (centroids.BYTES_PER_ELEMENT !== Float32Array.BYTES_PER_ELEMENT) return null;
    return new PartitionRadii(codes, metric, dimension, starts.length - 1);
  }

  get memoryWeight(): number {
    return this.#radii.byteLength + this.#asked.byteLength;
  }

  /** Notes that so many vectors look into a partition. @param codes of its rows */
  async note(
    partition: number,
    asking: number,
    centroid: TensorNumbers,
    codes: Uint8Array,
    rowCount: number,
  ): Promise<void> {
    if (!Number.isNaN(this.#radii[partition])) return;
    this.#asked[partition] = Math.min(ASKED_BEFORE_MEASURED, this.#asked[partition] + asking);
    if (this.#asked[partition] < ASKED_BEFORE_MEASURED) return;
    const measure = this.#codes.from(Float64Array.from(centroid));
    // Codes of PQ may lie byte by byte, not row by row; they are much shorter than vectors.
    const isByRow = this.#codes.model.kind === "FLAT";
    const pieceRows = isByRow ? MEASURED_ROWS : rowCount;
    const rowBytes = codes.length / rowCount;
    let most = 0;
    for (let start = 0; start < rowCount; start += pieceRows) {
      const end = Math.min(rowCount, start + pieceRows);
      const distances = new Float32Array(end - start);
      measure.all(centroid, isByRow ? codes.subarray(start * rowBytes, end * rowBytes) : codes, distances);
      // Vectors with NaN have no distance from any other.
      for (const distance of distances) if (distance > most) most = distance;
      await yieldToEventLoop();
    }
    this.#radii[partition] = Math.sqrt(most + TINY);
  }

  /**
   * Whether no row of a partition has a distance of at most `most`.
   * @param squared distance of its centroid
   */
  isBeyond(partition: number, squared: number, most: number): boolean {
    const radius = this.#radii[partition];
    const distance = Math.sqrt(squared);
    const lost = this.#loss * (distance + radius + this.#length);
    const least = distance - radius - lost;
    return least > 0 && least * least - lost * (distance + radius + this.#length) - TINY > most;
  }
}

/** Floats of 64 bits are rounded before they are compared with centroids. */
const isShort = (item: VectorItem): boolean => item === "float32" || item === "float16";
