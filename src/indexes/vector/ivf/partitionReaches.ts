/**
 * How far the rows of partitions reach from their centroids. A row x of a partition with the centroid c is as far from a
 * vector q as the triangle of the three says, at least:
 *
 *     |q - x|  ≥  |q - c| - |x - c|
 *
 * So a partition whose farthest row is still nearer to c than q is by more than the distance of enough other rows has none
 * of the nearest. What is lost in floats of 32 bits counts as if the row were nearer. With codes, x is what they stand for.
 */

import type { Codes } from "../codes/codes.js";
import type { TensorNumbers } from "../codes/tensors.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import type { IvfFiles } from "./ivfFiles.js";

/** Vectors that look into a partition before its reach is measured, which takes as long as one of them. */
const ASKED_BEFORE_MEASURED = 2;
/** More than sums of squares lose that are too small for floats of 32 bits. */
const TINY = 1e-37;

export class PartitionReaches {
  readonly #codes: Codes;
  readonly #loss: number;
  /** The length of vectors where it is given; else 0. */
  readonly #length: number;
  /** By partition; NaN where it is not known. */
  readonly #reaches: Float64Array;
  readonly #asked: Uint8Array;

  private constructor(codes: Codes, metric: Metric, dimension: number, partitionCount: number) {
    this.#codes = codes;
    this.#loss = (4 * (dimension + 32)) / 2 ** 24;
    this.#length = metric === "cosine" ? 1 : 0;
    this.#reaches = new Float64Array(partitionCount).fill(Number.NaN);
    this.#asked = new Uint8Array(partitionCount);
  }

  /** Null where distances don't obey the triangle, or are not computed from the vector that is compared with centroids. */
  static of({ codes, metric, item, graphs, dimension, starts }: IvfFiles): PartitionReaches | null {
    const { kind } = codes.model;
    const isMeasured = metric === "l2" ? kind !== "SQ" : metric === "cosine" && kind === "PQ";
    if (!isMeasured || graphs !== null || !isShort(item)) return null;
    return new PartitionReaches(codes, metric, dimension, starts.length - 1);
  }

  get memoryWeight(): number {
    return this.#reaches.byteLength + this.#asked.byteLength;
  }

  /** Notes that so many vectors look into a partition. @param codes of its rows */
  note(
    partition: number,
    asking: number,
    centroid: TensorNumbers,
    codes: Uint8Array,
    rowCount: number,
  ): void {
    if (!Number.isNaN(this.#reaches[partition])) return;
    this.#asked[partition] = Math.min(ASKED_BEFORE_MEASURED, this.#asked[partition] + asking);
    if (this.#asked[partition] < ASKED_BEFORE_MEASURED) return;
    const distances = new Float32Array(rowCount);
    this.#codes.from(Float64Array.from(centroid)).all(centroid, codes, distances);
    let most = 0;
    // Vectors with NaN have no distance from any other.
    for (const distance of distances) if (distance > most) most = distance;
    this.#reaches[partition] = Math.sqrt(most + TINY);
  }

  /**
   * Whether no row of a partition has a distance of at most `most`.
   * @param squared distance of its centroid
   */
  isBeyond(partition: number, squared: number, most: number): boolean {
    const reach = this.#reaches[partition];
    const distance = Math.sqrt(squared);
    const lost = this.#loss * (distance + reach + this.#length);
    const least = distance - reach - lost;
    return least > 0 && least * least - lost * (distance + reach + this.#length) - TINY > most;
  }
}

/** Floats of 64 bits are rounded before they are compared with centroids. */
const isShort = (item: VectorItem): boolean => item === "float32" || item === "float16";
