/**
 * Scores rows of a multivector column from the vectors that an index returns for each query vector. The
 * distance of a row is a sum. Each query vector adds the distance of the row's nearest returned vector. If
 * the index returned none of the row, it adds the distance of the farthest returned vector. So each query
 * vector needs more rows than the search wants.
 */

import { type NearestRowList, NearestRows } from "../../indexes/vector/distance/nearestRows.js";

/** Vectors that each query vector finds per wanted row. */
export const VECTORS_PER_ROW = 10;

const WORD = 2 ** 32;

/** Bounds of the scores. */
interface ScoreBounds {
  readonly lowerBound: number;
  /** Exclusive; NaN for none. */
  readonly upperBound: number;
}

/**
 * Returns the rows with the smallest distances.
 * @param lists of vectors by query vector, nearest first; vectors of a row share its address
 */
export function scoredRows(
  lists: readonly NearestRowList[],
  { lowerBound, upperBound }: ScoreBounds,
  most: number,
): NearestRows {
  const sums = new Map<number, number>();
  let missed = 0;
  for (const { distances, addresses } of lists) {
    const nearest = new Map<number, number>();
    for (let index = 0; index < distances.length; index++) {
      const key = addresses[2 * index + 1] * WORD + addresses[2 * index];
      if (!nearest.has(key)) nearest.set(key, distances[index]);
    }
    const farthest = distances.length === 0 ? 1 : distances[distances.length - 1];
    for (const [key, sum] of sums) sums.set(key, sum + (nearest.get(key) ?? farthest));
    for (const [key, distance] of nearest) if (!sums.has(key)) sums.set(key, missed + distance);
    missed += farthest;
  }
  const rows = new NearestRows(most);
  for (const [key, sum] of sums) {
    const high = Math.floor(key / WORD);
    const distance = Math.fround(sum);
    if (distance >= lowerBound && !(distance >= upperBound)) rows.add(distance, key - high * WORD, high);
  }
  return rows;
}
