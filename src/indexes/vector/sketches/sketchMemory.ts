/**
 * Memory of sketches: allocates slots and runs the kernels. It grows, never shrinks, and reuses freed slots.
 */

import { LEAST_MAGNITUDE, lossOfSums, MOST_MAGNITUDE, type SketchQuery } from "./sketchBounds.js";
import {
  ALL,
  CONSTANT_COUNT,
  CONSTANTS,
  COUNT,
  ESTIMATES,
  INPUT,
  INPUT_BYTES,
  LIST,
  MAX_SLOT_ROWS,
  MAX_WIDTH,
  QUERY,
  ROW_BYTES,
  SELECTED,
  type SketchKernels,
  type SketchMetric,
  SLOT_BYTES,
  SLOTS,
  STATISTICS,
  STEP,
  sketchKernels,
} from "./sketchKernels.js";

const PAGE_BYTES = 64 * 1024;
/** Minimum bytes of a sketch to be worth a slot. */
const LEAST_BYTES = SLOT_BYTES / 8;

/** Views of the memory, valid until it grows. */
interface Views {
  readonly buffer: ArrayBuffer;
  readonly integers: Int32Array;
  readonly floats: Float32Array;
  readonly constants: Float64Array;
  readonly query: Int16Array;
  readonly list: Uint32Array;
  readonly selected: Uint32Array;
  readonly estimates: Float64Array;
}

/** Shape of the vectors of a file column. */
export interface SketchedVectors {
  readonly dimension: number;
  readonly rowCount: number;
}

/** Layout of the rows in slots. */
export interface SketchShape extends SketchedVectors {
  /** Bytes of a row's values. */
  readonly width: number;
  /** Rows per slot; the last slot has the rest. */
  readonly slotRows: number;
  readonly slotCount: number;
}

/** A sketch in slots. */
export interface PlacedSketch extends SketchShape {
  readonly memory: SketchMemory;
  /** Slot numbers. */
  readonly slots: readonly number[];
}

/** Selected rows, valid until the next selection. */
export interface SelectedRows {
  /** Row offsets in the slot. */
  readonly rows: Uint32Array;
  readonly estimates: Float64Array;
}

/** Returns null for vectors that are too long, or so few that comparing them costs as much. */
export function sketchShape(vectors: SketchedVectors): SketchShape | null {
  const { dimension, rowCount } = vectors;
  const width = Math.ceil(dimension / STEP) * STEP;
  if (width > MAX_WIDTH || rowCount * (width + ROW_BYTES) < LEAST_BYTES) return null;
  const slotRows = Math.min(MAX_SLOT_ROWS, Math.floor(SLOT_BYTES / (width + ROW_BYTES)));
  return { dimension, rowCount, width, slotRows, slotCount: Math.ceil(rowCount / slotRows) };
}

export class SketchMemory {
  readonly #free: number[] = [];
  #slotCount = 0;
  #views: Views | null = null;

  private constructor(
    private readonly kernels: SketchKernels,
    private readonly mostSlots: number,
  ) {}

  /** Returns null without kernels. */
  static of(maxBytes: number): SketchMemory | null {
    const kernels = sketchKernels(maxBytes);
    const forSlots = Math.min(maxBytes, 65_536 * PAGE_BYTES) - SLOTS;
    return kernels === null
      ? null
      : new SketchMemory(kernels, Math.max(0, Math.floor(forSlots / SLOT_BYTES)));
  }

  get byteLength(): number {
    return this.kernels.memory.buffer.byteLength;
  }

  /** Number of free slots. */
  get room(): number {
    return this.#free.length + this.mostSlots - this.#slotCount;
  }

  /** Takes at most {@link room} slots; returns null if the system has no memory for them. */
  take(count: number): number[] | null {
    const added = count - this.#free.length;
    if (added > 0) {
      const wanted = Math.ceil((SLOTS + (this.#slotCount + added) * SLOT_BYTES) / PAGE_BYTES);
      const pages = wanted - this.byteLength / PAGE_BYTES;
      try {
        if (pages > 0) this.kernels.memory.grow(pages);
      } catch {
        // The search continues without sketches.
        return null;
      }
      for (let slot = 0; slot < added; slot++) this.#free.push(this.#slotCount++);
    }
    return this.#free.splice(this.#free.length - count, count);
  }

  giveBack(slots: readonly number[]): void {
    this.#free.push(...slots);
  }

  /** Current views of the memory. */
  get views(): Views {
    const { buffer } = this.kernels.memory;
    if (this.#views?.buffer !== buffer) {
      this.#views = {
        buffer,
        integers: new Int32Array(buffer),
        floats: new Float32Array(buffer),
        constants: new Float64Array(buffer, CONSTANTS, CONSTANT_COUNT),
        query: new Int16Array(buffer, QUERY, MAX_WIDTH),
        list: new Uint32Array(buffer, LIST, MAX_SLOT_ROWS),
        selected: new Uint32Array(buffer, SELECTED, MAX_SLOT_ROWS),
        estimates: new Float64Array(buffer, ESTIMATES, MAX_SLOT_ROWS),
      };
    }
    return this.#views;
  }

  /**
   * Writes the candidate rows of a slot, valid until the next yield. @param firstRow first row of the slot
   */
  list(rows: Uint32Array, firstRow: number): void {
    const { list } = this.views;
    for (let index = 0; index < rows.length; index++) list[index] = rows[index] - firstRow;
  }

  /**
   * Selects rows of a slot whose distance from a query may be at most `most`.
   * @param position index of the slot in the sketch
   * @param count number of candidates
   * @param isListed true to read the candidates from the list, false for the slot's first rows
   */
  select(
    { slots, slotRows, width }: PlacedSketch,
    position: number,
    { metric, query }: { readonly metric: SketchMetric; readonly query: SketchQuery },
    most: number,
    count: number,
    isListed: boolean,
  ): SelectedRows {
    const { constants, query: words, integers, selected, estimates } = this.views;
    query.limitTo(most, constants);
    words.set(query.words);
    words.fill(0, query.words.length, width);
    const codes = SLOTS + slots[position] * SLOT_BYTES;
    this.kernels.select[metric](isListed ? LIST : ALL, count, codes, codes + slotRows * width, width);
    const selectedCount = integers[COUNT / 4];
    return { rows: selected.subarray(0, selectedCount), estimates: estimates.subarray(0, selectedCount) };
  }

  /** Returns four numbers per row of a slot: the second is its error, the fourth its inverse length. */
  numbersOf({ slots, slotRows, width }: PlacedSketch, position: number): Float32Array {
    const first = (SLOTS + slots[position] * SLOT_BYTES + slotRows * width) / 4;
    return this.views.floats.subarray(first, first + slotRows * 4);
  }

  /** Sketches the vectors in the input. @param codes address of the first sketch */
  make(rows: number, codes: number, width: number): void {
    this.kernels.make(rows, codes, width, width / STEP);
  }
}

/** Sketches consecutive vectors. */
export class SketchMaker {
  readonly #loss: number;
  #row = 0;

  /** @param onEnd called once at the end */
  constructor(
    private readonly sketch: PlacedSketch,
    private readonly onEnd: (isComplete: boolean) => void,
  ) {
    this.#loss = lossOfSums(sketch.dimension);
  }

  /** Maximum number of rows per {@link put}. */
  get pieceRows(): number {
    return Math.floor(INPUT_BYTES / 4 / this.sketch.width);
  }

  /**
   * Sketches the next rows, at most {@link pieceRows}.
   * @param values float32 values
   * @param isMissing true for a row without a vector
   */
  put(values: Float32Array, isMissing: (row: number) => boolean): void {
    const { dimension, slotRows, width, slots } = this.sketch;
    const rowCount = values.length / dimension;
    for (let row = 0; row < rowCount; ) {
      const position = Math.floor(this.#row / slotRows);
      const within = this.#row % slotRows;
      const count = Math.min(rowCount - row, slotRows - within);
      const { floats } = this.sketch.memory.views;
      const first = INPUT / 4;
      if (dimension === width) floats.set(values.subarray(row * width, (row + count) * width), first);
      else {
        floats.fill(0, first, first + count * width);
        for (let each = 0; each < count; each++) {
          const from = (row + each) * dimension;
          floats.set(values.subarray(from, from + dimension), first + each * width);
        }
      }
      const slot = SLOTS + slots[position] * SLOT_BYTES;
      this.sketch.memory.make(count, slot + within * width, width);
      const from = row;
      this.#finish((slot + slotRows * width) / 4 + within * 4, count, (each) => isMissing(from + each));
      this.#row += count;
      row += count;
    }
  }

  /** Converts statistics to the numbers of rows. @param index index of the first number */
  #finish(index: number, count: number, isMissing: (row: number) => boolean): void {
    const { floats, integers } = this.sketch.memory.views;
    for (let row = 0, from = STATISTICS / 4, to = index; row < count; row++, from += 4, to += 4) {
      const largest = floats[from];
      const length = Math.sqrt(floats[from + 1]);
      let [step, error, squares, inverse] = [0, 0, 0, Number.POSITIVE_INFINITY];
      if (Number.isNaN(largest) || isMissing(row)) {
        error = Number.NaN;
      } else if (largest > MOST_MAGNITUDE || (largest < LEAST_MAGNITUDE && largest > 0)) {
        error = Number.POSITIVE_INFINITY;
        inverse = 1;
      } else if (largest > 0) {
        step = largest / 127;
        const lack = Math.sqrt(floats[from + 2]) * (1 + this.#loss);
        // Rounding to float32 may shrink it.
        error = (lack + length * (this.#loss + 2 ** -21)) * (1 + 2 ** -22);
        squares = integers[from + 3];
        inverse = 1 / length;
      }
      floats[to] = step;
      floats[to + 1] = error;
      integers[to + 2] = squares;
      floats[to + 3] = inverse;
    }
  }

  /** Ends the sketch; it is complete if all rows were written. */
  end(): void {
    this.onEnd(this.#row === this.sketch.rowCount);
  }
}
