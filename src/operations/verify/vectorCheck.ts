/**
 * Compares a segment of a vector index with the rows that it covers. Each row with a vector must be in the
 * index. The codes of some rows must be those of their vectors.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { integerWords } from "../../indexes/indexColumns.js";
import type { RowStream } from "../../indexes/kind.js";
import { RowIds } from "../../indexes/rowIds.js";
import { encoderOf } from "../../indexes/vector/codes/encoders.js";
import { numbersPerVector, vectorsIn } from "../../indexes/vector/codes/indexedVectors.js";
import { centroidsOf, newKeys } from "../../indexes/vector/codes/kmeans.js";
import { rotatedCentroids } from "../../indexes/vector/codes/rotatedEncoder.js";
import { centroidMetric } from "../../indexes/vector/distance/metric.js";
import type { IvfIndex } from "../../indexes/vector/ivf/ivfIndex.js";

/** Rows whose codes are compared. */
const SAMPLED_ROWS = 1024;
/** Share of the bytes of a code that may differ, as engines round differently. */
const MAX_DIFFERENT = 0.5;
/** Difference of two values that are the same but for rounding, relative to the greater. */
const ROUNDING = 1e-3;

/** Returns the first mistake of an index, as the end of a sentence; null if there is none. */
export async function checkVectorIndex(
  index: IvfIndex,
  rows: RowStream,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const indexed = await idsOf(index, signal);
  const samples = new Map<string, Float32Array>();
  const { indexed: vectorType } = index.parts;
  const dimension = numbersPerVector(vectorType);
  let seen = 0;
  for await (const { values, ids: idColumn } of rows) {
    signal?.throwIfAborted();
    const ids = integerWords(idColumn, "rows");
    const { vectors, rows: rowOf } = vectorsIn(vectorType, values);
    const isMulti = values.kind === "list";
    const count = vectors.length / dimension;
    for (let vector = 0; vector < count; vector++) {
      const row = rowOf === null ? vector : rowOf[vector];
      const [low, high] = [ids[2 * row], ids[2 * row + 1]];
      if (!indexed.has(high, low)) return `it lacks row ${idText(high, low)}`;
      // Each row of the table has the same chance to be among the samples.
      const slot = seen < SAMPLED_ROWS ? seen : Math.floor(Math.random() * (seen + 1));
      seen++;
      if (isMulti || slot >= SAMPLED_ROWS) continue;
      if (samples.size >= SAMPLED_ROWS) {
        const replaced = samples.keys().next().value;
        if (replaced !== undefined) samples.delete(replaced);
      }
      samples.set(`${high} ${low}`, vectors.slice(vector * dimension, (vector + 1) * dimension));
    }
    await yieldToEventLoop();
  }
  return compareCodes(index, samples, signal);
}

const idText = (high: number, low: number): string => String((BigInt(high) << 32n) | BigInt(low));

async function idsOf(index: IvfIndex, signal: AbortSignal | undefined): Promise<RowIds> {
  let all = RowIds.none;
  for await (const { ids } of index.codedRows(signal))
    all = all.union(RowIds.of(integerWords(ids, index.path)));
  return all;
}

async function compareCodes(
  index: IvfIndex,
  samples: ReadonlyMap<string, Float32Array>,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  if (samples.size === 0) return null;
  const { indexed, model, centroids } = index.parts;
  const shared = centroidsOf(centroids, {
    dimension: numbersPerVector(indexed),
    metric: centroidMetric(indexed.metric),
  });
  const encoder = encoderOf({
    ...{ model, indexed, centroids: shared },
    wordKey: model.kind === "PQ" ? newKeys(model.parts) : 0,
    rotated: model.kind === "RQ" ? rotatedCentroids(model, centroids) : new Float32Array(0),
  });
  const { codeBytes } = encoder;
  for await (const { partition, ids, codes } of index.codedRows(signal)) {
    const words = integerWords(ids, index.path);
    for (let row = 0; row < ids.length; row++) {
      const vector = samples.get(`${words[2 * row + 1]} ${words[2 * row]}`);
      if (vector === undefined) continue;
      const stored = codes.subarray(row * codeBytes, (row + 1) * codeBytes);
      const expected = encoder.encode(vector, Uint32Array.of(partition));
      const isEqual = model.kind === "FLAT" && indexed.item === "float32" ? areNear : areAlike;
      if (!isEqual(stored, expected)) {
        return `its code of row ${idText(words[2 * row + 1], words[2 * row])} is not that of the row's vector`;
      }
    }
    await yieldToEventLoop();
  }
  return null;
}

/** True if at least half of the bytes are equal. */
function areAlike(stored: Uint8Array, expected: Uint8Array): boolean {
  let different = 0;
  for (let index = 0; index < stored.length; index++) if (stored[index] !== expected[index]) different++;
  return different <= MAX_DIFFERENT * stored.length;
}

/** True if two vectors of float32 are the same but for rounding. */
function areNear(stored: Uint8Array, expected: Uint8Array): boolean {
  const [left, right] = [stored, expected].map((bytes) => new Float32Array(bytes.slice().buffer));
  return left.every((value, index) => {
    const scale = Math.max(Math.abs(value), Math.abs(right[index]), 1e-6);
    return Object.is(value, right[index]) || Math.abs(value - right[index]) <= ROUNDING * scale;
  });
}
