/**
 * Sketch of a partition's contiguous vectors. It is kept as bytes in pieces. A search loads each piece into
 * kernel memory: all partition sketches share one slot there, which keeps the last piece.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { KernelUse } from "../../../bytes/wasm/kernel.js";
import type { SearchedPart } from "../../kind.js";
import type { QueryVector } from "../distance/distance.js";
import { ITEM_BYTES, type Metric, numbersIn, type VectorItem } from "../distance/metric.js";
import { SketchQuery } from "./sketchBounds.js";
import { ROW_BYTES, type SketchMetric, SLOT_BYTES, SLOTS, sketchSwitch } from "./sketchKernels.js";
import {
  type PlacedSketch,
  type SelectedRows,
  SketchMaker,
  SketchMemory,
  sketchShape,
} from "./sketchMemory.js";

/** Kernel memory with one slot. */
const memoryUse = new KernelUse(() => {
  const memory = SketchMemory.of(SLOTS + 2 * SLOT_BYTES);
  return memory === null || memory.take(1) === null ? null : memory;
});

/** Piece in the slot; null after a write. */
let held: Uint8Array | null = null;

/** A query vector, prepared for sketches. */
export interface SketchSearch {
  readonly metric: SketchMetric;
  readonly query: SketchQuery;
}

/** Prepares a query vector; null if sketches cannot bound its distances. */
export function prepareSketches(metric: Metric, item: VectorItem, vector: QueryVector): SketchSearch | null {
  if (metric === "hamming" || (item !== "float32" && item !== "float16")) return null;
  const query = SketchQuery.of(metric, vector);
  return query && { metric, query };
}

interface Piece {
  readonly sketch: PlacedSketch;
  /** Slot contents. */
  readonly bytes: Uint8Array;
}

export class PartitionSketch implements SearchedPart {
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
   * Sketches vectors.
   * @param vectors of float32 or float16 values
   * @returns null for vectors that are not worth a sketch, and without kernels
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
    const memory = sketchSwitch.isOn ? memoryUse.get() : null;
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
   * Returns the rows of a piece whose distance may be at most `most`, as offsets in the piece. They are valid
   * until the next call.
   * @param position index of the piece
   * @param among candidate rows of the piece; default all
   */
  select(position: number, asked: SketchSearch, most: number, among?: Uint32Array): SelectedRows {
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

/** Returns the bytes of a sketch of one slot. */
const slotOf = ({ memory, rowCount, width }: PlacedSketch): Uint8Array =>
  new Uint8Array(memory.views.buffer, SLOTS, rowCount * (width + ROW_BYTES));
