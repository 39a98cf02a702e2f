/**
 * Compares the rows of a partition with query vectors and offers them to the collectors of the nearest rows.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { lowerBound } from "../../../bytes/search.js";
import { ScratchMemory } from "../../../io/memory/scratch.js";
import type { CodeDistances } from "../codes/codes.js";
import type { TensorNumbers } from "../codes/tensors.js";
import { firstAscending, type NearestRows } from "../distance/nearestRows.js";
import type { PartitionSketch, SketchSearch } from "../sketches/partitionSketch.js";
import type { SelectedRows } from "../sketches/sketchMemory.js";

/** Rows per comparison without sketches. */
const COMPARED_ROWS = 4096;
/** Minimum number of rows to compare before sketches exclude others. */
const FIRST_ROWS = 256;

/** Marks a row as compared. */
const NO_ROW = 0xffff_ffff;
/** Vectors of selected rows. */
const scratch = new ScratchMemory(2 ** 21);

/** Limits of the wanted rows. */
export interface WantedRows {
  /** Wanted rows per query vector. */
  readonly wantedRows: number;
  readonly lowerBound: number;
  /** Exclusive upper bound of distances; NaN for none, which also admits infinity. */
  readonly upperBound: number;
  /** Writes the address of a row id as a pair of words. Returns false if the search excludes the row. */
  locate(low: number, high: number, address: Uint32Array): boolean;
}

/** A partition of uncompressed vectors. */
interface ComparedVectors {
  /** Row ids, as pairs of words. */
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly centroid: TensorNumbers;
  readonly sketch: PartitionSketch | null;
}

/** A query vector. */
export interface ComparingVector {
  readonly measure: CodeDistances;
  /** Sketch query; null if sketches cannot serve it. */
  readonly sketched: SketchSearch | null;
  readonly nearest: NearestRows;
  /** Number of rows offered so far. */
  offered: number;
}

/** Offers each query vector the rows that can be among its nearest. Excluded rows count as offered too. */
export async function offerNearest(
  partition: ComparedVectors,
  vectors: readonly ComparingVector[],
  wanted: WantedRows,
): Promise<void> {
  const rowCount = partition.words.length / 2;
  const pieceRows = partition.sketch?.pieceRows ?? COMPARED_ROWS;
  for (let start = 0, pieceIndex = 0; start < rowCount; start += pieceRows, pieceIndex++) {
    const end = Math.min(rowCount, start + pieceRows);
    for (const vector of vectors) {
      vector.offered += offerPiece(partition, { start, end, pieceIndex }, vector, wanted);
      await yieldToEventLoop();
    }
  }
}

/** A piece of a partition with one sketch. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly pieceIndex: number;
}

function offerPiece(
  { words, bytes, centroid, sketch }: ComparedVectors,
  { start, end, pieceIndex }: Piece,
  { measure, sketched, nearest }: ComparingVector,
  wanted: WantedRows,
): number {
  const rowBytes = (2 * bytes.length) / words.length;
  const compare = (rowWords: Uint32Array, rowVectors: Uint8Array): number => {
    const distances = new Float32Array(rowWords.length / 2);
    measure.all(centroid, rowVectors, distances);
    return offerAll(rowWords, distances, wanted, nearest);
  };
  const compareAll = (from: number, to: number): number =>
    compare(words.subarray(2 * from, 2 * to), bytes.subarray(from * rowBytes, to * rowBytes));
  if (sketch === null || sketched === null) return compareAll(start, end);
  let from = start;
  let offered = 0;
  // Without a farthest distance, no row can be excluded.
  if (nearest.farthest === Number.POSITIVE_INFINITY) {
    from = Math.min(end, start + Math.max(FIRST_ROWS, 4 * wanted.wantedRows));
    offered += compareAll(start, from);
    if (from === end) return offered;
    if (nearest.farthest === Number.POSITIVE_INFINITY) return offered + compareAll(from, end);
  }
  let passedOver = end - from;
  const compareSome = (rows: Uint32Array): void => {
    const [someWords, someBytes] = [new Uint32Array(2 * rows.length), scratch.lend(rows.length * rowBytes)];
    for (let offset = 0; offset < rows.length; offset++) {
      const row = start + rows[offset];
      someWords[2 * offset] = words[2 * row];
      someWords[2 * offset + 1] = words[2 * row + 1];
      someBytes.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), offset * rowBytes);
    }
    offered += compare(someWords, someBytes);
    passedOver -= rows.length;
    scratch.giveBack(someBytes);
  };
  const few = 2 * wanted.wantedRows;
  const { rows, estimates } = selectFrom(sketch.select(pieceIndex, sketched, nearest.farthest), from - start);
  if (rows.length > 2 * few) {
    // The apparently nearest rows tighten the bound for the others.
    const order = new Float32Array(estimates);
    // Larger products are nearer.
    if (sketched.metric === "dot")
      for (let index = 0; index < order.length; index++) order[index] = -order[index];
    const others = rows.slice();
    const first = firstAscending(order, few);
    for (let slot = 0; slot < first.length; slot++) {
      const row = others[first[slot]];
      others[first[slot]] = NO_ROW;
      first[slot] = row;
    }
    compareSome(first);
    nearest.updateFarthest();
    let left = 0;
    for (let position = 0; position < others.length; position++) {
      if (others[position] !== NO_ROW) others[left++] = others[position];
    }
    compareSome(sketch.select(pieceIndex, sketched, nearest.farthest, others.subarray(0, left)).rows);
  } else compareSome(rows);
  return offered + passedOver;
}

/** Returns the selected rows from `row` on. */
function selectFrom({ rows, estimates }: SelectedRows, row: number): SelectedRows {
  const first = lowerBound(rows, row);
  return { rows: rows.subarray(first), estimates: estimates.subarray(first) };
}

/** Offers all rows. @returns their number; rows beyond the farthest count */
export function offerAll(
  words: Uint32Array,
  distances: Float32Array,
  { lowerBound: least, upperBound, locate }: Omit<WantedRows, "wantedRows">,
  nearest: NearestRows,
): number {
  const address = new Uint32Array(2);
  const count = distances.length;
  let offered = count;
  let { farthest } = nearest;
  for (let row = 0; ; row++) {
    // Rows beyond the farthest count as offered: probing further partitions would gain nothing.
    while (row < count && distances[row] > farthest) row++;
    if (row >= count) break;
    const distance = distances[row];
    const isBetween = distance >= least && !(distance >= upperBound);
    if (isBetween && locate(words[2 * row], words[2 * row + 1], address)) {
      nearest.add(distance, address[0], address[1]);
      farthest = nearest.farthest;
    } else offered--;
  }
  return offered;
}
