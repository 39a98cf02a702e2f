/** Rows of a partition, compared and offered to what keeps the nearest ones of vectors. */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { lowerBound } from "../../../bytes/search.js";
import { ScratchMemory } from "../../../io/memory/scratch.js";
import type { CodeDistances } from "../codes/codes.js";
import type { TensorNumbers } from "../codes/tensors.js";
import { firstAscending, type NearestRows } from "../distance/nearestRows.js";
import type { PartitionSketch, SketchAsked } from "../sketches/partitionSketch.js";
import type { SelectedRows } from "../sketches/sketchMemory.js";

/** Rows that are compared at once where there are no sketches of them. */
const COMPARED_ROWS = 4096;
/** Rows that are compared at least before sketches tell which of the others need not be. */
const FIRST_ROWS = 256;

/** Is no number of a row. */
const NO_ROW = 0xffff_ffff;
/** For the vectors of rows that are compared with one vector. */
const scratch = new ScratchMemory(2 ** 21);

/** Which rows are wanted. */
interface WantedRows {
  readonly wantedRows: number;
  readonly lowerBound: number;
  /** Distances are below it; NaN for no bound. */
  readonly upperBound: number;
  /** The address of the row of an id, as a pair of words put into `address`; false where it is not to be found. */
  place(low: number, high: number, address: Uint32Array): boolean;
}

/** A partition whose rows are vectors. */
interface ComparedVectors {
  /** Pairs of the ids of rows. */
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly centroid: TensorNumbers;
  readonly sketch: PartitionSketch | null;
}

/** Who compares them. */
interface ComparingVector {
  readonly measure: CodeDistances;
  readonly sketched: SketchAsked | null;
  readonly nearest: NearestRows;
  /** Rows that were offered to it. */
  offered: number;
}

/** Offers each vector the rows that may be among the nearest. All others count as offered too. */
export async function offerNearest(
  partition: ComparedVectors,
  vectors: readonly ComparingVector[],
  wanted: WantedRows,
): Promise<void> {
  const rowCount = partition.words.length / 2;
  const pieceRows = partition.sketch?.pieceRows ?? COMPARED_ROWS;
  for (let start = 0, position = 0; start < rowCount; start += pieceRows, position++) {
    const end = Math.min(rowCount, start + pieceRows);
    for (const vector of vectors) {
      vector.offered += offerPiece(partition, { start, end, place: position }, vector, wanted);
      await yieldToEventLoop();
    }
  }
}

/** A piece of a partition, which has a sketch. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly place: number;
}

function offerPiece(
  { words, bytes, centroid, sketch }: ComparedVectors,
  { start, end, place: rowIndex }: Piece,
  { measure, sketched, nearest }: ComparingVector,
  wanted: WantedRows,
): number {
  const rowBytes = (2 * bytes.length) / words.length;
  const compare = (ownWords: Uint32Array, ownBytes: Uint8Array): number => {
    const distances = new Float32Array(ownWords.length / 2);
    measure.all(centroid, ownBytes, distances);
    return offerAll(ownWords, distances, wanted, nearest);
  };
  const compareAll = (from: number, to: number): number =>
    compare(words.subarray(2 * from, 2 * to), bytes.subarray(from * rowBytes, to * rowBytes));
  if (sketch === null || sketched === null) return compareAll(start, end);
  let from = start;
  let offered = 0;
  // Before enough rows are found, none can be left out.
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
  const { rows, estimates } = selectFrom(sketch.select(rowIndex, sketched, nearest.farthest), from - start);
  if (rows.length > 2 * few) {
    // Those that seem to be the nearest tell which of the others need not be compared.
    const order = new Float32Array(estimates);
    // Products are the larger the nearer.
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
    nearest.settle();
    let left = 0;
    for (let position = 0; position < others.length; position++) {
      if (others[position] !== NO_ROW) others[left++] = others[position];
    }
    compareSome(sketch.select(rowIndex, sketched, nearest.farthest, others.subarray(0, left)).rows);
  } else compareSome(rows);
  return offered + passedOver;
}

/** Those of the rows that follow others. */
function selectFrom({ rows, estimates }: SelectedRows, row: number): SelectedRows {
  const first = lowerBound(rows, row);
  return { rows: rows.subarray(first), estimates: estimates.subarray(first) };
}

/** Offers all rows. @returns how many; rows that are too far away count */
export function offerAll(
  words: Uint32Array,
  distances: Float32Array,
  { lowerBound: least, upperBound, place }: Omit<WantedRows, "wantedRows">,
  nearest: NearestRows,
): number {
  const address = new Uint32Array(2);
  const count = distances.length;
  let offered = count;
  let { farthest } = nearest;
  for (let row = 0; ; row++) {
    // Rows that are too far away count as offered: nothing is gained by looking further for others.
    while (row < count && distances[row] > farthest) row++;
    if (row >= count) break;
    const distance = distances[row];
    const isBetween = distance >= least && !(distance >= upperBound);
    if (isBetween && place(words[2 * row], words[2 * row + 1], address)) {
      nearest.add(distance, address[0], address[1]);
      farthest = nearest.farthest;
    } else offered--;
  }
  return offered;
}
