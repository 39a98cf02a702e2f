/** Expected times of the steps of a build, for its progress. The unit is one multiplication of a scan. */

import type { VectorKindName } from "../../kind.js";
import { codeKindOf, hasGraphs } from "../codes/vectorKindNames.js";

export const DEFAULT_M = 20;
export const DEFAULT_EF_CONSTRUCTION = 300;

/** A multiplication in a graph, whose rows lie scattered in memory. */
const GRAPH_PRODUCT = 8;
/** Part of a row's candidates in a graph whose distances are measured. */
const MEASURED_PART = 1 / 4;
/** Reading a value of a vector. */
const READ_VALUE = 16;
/** Usual number of rounds of k-means, for centroids and for codewords. */
const CENTROID_ROUNDS = 10;
const WORD_ROUNDS = 18;
/** Codewords, and vectors that train them. */
const WORDS = 256;
const WORD_SAMPLE = 65_536;

interface GraphParameters {
  readonly m?: number;
  readonly efConstruction?: number;
}

/**
 * Returns the times to encode a row and to add it to a graph.
 * @param codeProducts multiplications to find the partition and the code of a row
 */
export function rowTimes(
  kind: VectorKindName,
  dimension: number,
  codeProducts: number,
  { m = DEFAULT_M, efConstruction = DEFAULT_EF_CONSTRUCTION }: GraphParameters,
): readonly [encode: number, link: number] {
  const measured = hasGraphs(kind) ? efConstruction * 2 * m * MEASURED_PART : 0;
  return [codeProducts + READ_VALUE * dimension, GRAPH_PRODUCT * measured * dimension];
}

/** Returns the multiplications of the training. */
export function trainingProducts(
  kind: VectorKindName,
  dimension: number,
  sampleCount: number,
  centroidCount: number,
): number {
  const wordProducts = Math.min(sampleCount, WORD_SAMPLE) * WORDS * WORD_ROUNDS;
  const hasWords = codeKindOf(kind) === "PQ";
  return dimension * (sampleCount * centroidCount * CENTROID_ROUNDS + (hasWords ? wordProducts : 0));
}

/** Returns the multiplications to find the partition and the code of a row, before the model is trained. */
export const codeProducts = (kind: VectorKindName, dimension: number, centroidCount: number): number =>
  dimension * (centroidCount + (codeKindOf(kind) === "PQ" ? WORDS : 1));
