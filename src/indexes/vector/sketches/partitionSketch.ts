/**
 * The sketch of the vectors of a partition, which lie one behind the other. It is kept as bytes, in pieces, and each piece is
 * brought into the memory of kernels when it is asked: all sketches of partitions share one slot there, which keeps what it
 * was asked last.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { KernelUse } from "../../../bytes/wasm/kernel.js";
import type { KernelPart } from "../../kind.js";
import type { QueryVector } from "../distance/distance.js";
import { ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "../distance/metric.js";
import { SketchQuery } from "./sketchBounds.js";
import { ROW_BYTES, type SketchMetric, SLOT_BYTES, SLOTS } from "./sketchKernels.js";
import {
  type PlacedSketch,
  type SelectedRows,
  SketchMaker,
  SketchMemory,
  sketchShape,
} from "./sketchMemory.js";

/** A memory with one slot. */
const memoryUse = new KernelUse(() => {
  const memory = SketchMemory.of(SLOTS + 2 * SLOT_BYTES);
  return memory === null || memory.take(1) === null ? null : memory;
});

/** What was put into the slot last; null where it was written to since. */
let held: Uint8Array | null = null;

/** What a vector is compared with sketches by. */
export interface SketchAsked {
  readonly metric: SketchMetric;
  readonly query: SketchQuery;
}

/** Null where sketches tell nothing of the distances of a vector. */
export function askSketches(metric: Metric, item: VectorItem, vector: QueryVector): SketchAsked | null {
  if (metric === "hamming" || (item !== "float32" && item !== "float16")) return null;
  const query = SketchQuery.of(metric, vector);
  return query && { metric, query };
}

interface Piece {
  readonly sketch: PlacedSketch;
  /** What the slot holds. */
  readonly bytes: Uint8Array;
}

export class PartitionSketch implements KernelPart {
  readonly kind = "packed";
  readonly memoryWeight: number;
  readonly pieceRows: number;
  readonly #pieces: readonly Piece[];

  private constructor(pieces: readonly Piece[], pieceRows: number) {
    this.#pieces = pieces;
    this.pieceRows = pieceRows;
    this.memoryWeight = pieces.reduce((sum, { bytes }) => sum + bytes.length, 256);
  }

  /**
   * @param vectors of floats of 32 or 16 bits
   * @returns null for vectors that are not worth it, and where there are no kernels
   */
  static async make(
    item: VectorItem,
    dimension: number,
    vectors: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<PartitionSketch | null> {
    const rowBytes = dimension * ITEM_BYTES[item];
    const rowCount = vectors.length / rowBytes;
    const shape = sketchShape({ dimension, rowCount });
    const memory = memoryUse.get();
    if (shape === null || memory === null) return null;
    const pieceRows = Math.ceil(rowCount / shape.slotCount);
    const pieces: Piece[] = [];
    for (let start = 0; start < rowCount; start += pieceRows) {
      const rows = Math.min(pieceRows, rowCount - start);
      const sketch = {
        ...shape,
        ...{ rowCount: rows, slotRows: rows, slotCount: 1, memory, slots: [0] },
      };
      held = null;
      const maker = new SketchMaker(sketch, () => {});
      for (let row = 0; row < rows; row += maker.pieceRows) {
        const [from, to] = [start + row, start + Math.min(rows, row + maker.pieceRows)];
        const values = numbersIn(item, vectors.subarray(from * rowBytes, to * rowBytes));
        maker.put(values as Float32Array, () => false);
      }
      pieces.push({ sketch, bytes: slotOf(sketch).slice() });
      signal?.throwIfAborted();
      await yieldToEventLoop();
    }
    return new PartitionSketch(pieces, pieceRows);
  }

  /**
   * The rows of a piece whose distance may be at most `most`, by their numbers in it; they are good until others are selected.
   * @param position of the piece
   * @param among rows of the piece; all by default
   */
  select(position: number, asked: SketchAsked, most: number, among?: Uint32Array): SelectedRows {
    const { sketch, bytes } = this.#pieces[position];
    const { memory } = sketch;
    if (held !== bytes) slotOf(sketch).set(bytes);
    held = bytes;
    if (among === undefined) return memory.select(sketch, 0, asked, most, sketch.rowCount, false);
    if (among.length === 0) return { rows: among, estimates: new Float64Array(0) };
    memory.list(among, 0);
    return memory.select(sketch, 0, asked, most, among.length, true);
  }
}

/** The bytes of a sketch of one slot. */
const slotOf = ({ memory, rowCount, width }: PlacedSketch): Uint8Array =>
  new Uint8Array(memory.views.buffer, SLOTS, rowCount * (width + ROW_BYTES));
