/** Rows that can be among the nearest of one vector, according to sketches. */

import { enlarged } from "../../bytes/growing.js";
import { lowerBound } from "../../bytes/search.js";
import { Beam } from "../../indexes/vector/distance/nearestFirst.js";
import type { SketchQuery } from "../../indexes/vector/sketches/sketchBounds.js";
import type { SketchMetric } from "../../indexes/vector/sketches/sketchKernels.js";
import type { PlacedSketch } from "../../indexes/vector/sketches/sketchMemory.js";
import type { VectorSearch } from "./vectorSearch.js";

const FIRST_ROOM = 1024;
/** Maximum number of candidates; beyond it, a full comparison is as fast. */
const MOST_KEPT = 2 ** 15;

/** A slot of a sketch and its rows in a fragment. */
export interface SketchSlotRows {
  readonly sketch: PlacedSketch;
  readonly slotIndex: number;
  readonly fragmentId: number;
  readonly firstRow: number;
  /** Row offsets, ascending; null for none. */
  readonly deleted: Uint32Array | null;
}

export class SketchCandidates {
  /** Number of wanted rows. */
  readonly most: number;
  readonly #query: { readonly metric: SketchMetric; readonly query: SketchQuery };
  readonly #lowerBound: number;
  /** Upper bounds of the nearest rows so far. */
  readonly #reached: Beam;
  readonly #farthest: number;
  #least = new Float64Array(FIRST_ROOM);
  /** Pairs: row offset, fragment. */
  #addresses = new Uint32Array(2 * FIRST_ROOM);
  #count = 0;
  /** Number of sorted candidates taken. */
  #taken = 0;
  readonly #bounds = new Float64Array(2);

  /** @param farthest distance of the last wanted row among other rows */
  constructor(query: SketchQuery, most: number, search: VectorSearch, farthest: number) {
    this.most = most;
    this.#query = { metric: search.metric as SketchMetric, query };
    this.#lowerBound = search.lowerBound;
    const { upperBound } = search;
    this.#farthest = Number.isNaN(upperBound) ? farthest : Math.min(upperBound, farthest);
    this.#reached = new Beam(most);
  }

  /** Lower bound from which on a row is excluded. */
  get #limit(): number {
    return Math.min(this.#farthest, this.#reached.bound);
  }

  /**
   * Adds rows of a slot.
   * @param count number of rows, listed or first in the slot
   * @returns false if there are too many candidates
   */
  select(slotRows: SketchSlotRows, count: number, isListed: boolean): boolean {
    const { sketch, slotIndex: position, fragmentId, firstRow, deleted } = slotRows;
    const { memory } = sketch;
    const { rows, estimates } = memory.select(sketch, position, this.#query, this.#limit, count, isListed);
    if (rows.length === 0) return true;
    const numbers = memory.numbersOf(sketch, position);
    const bounds = this.#bounds;
    for (let index = 0; index < rows.length; index++) {
      const row = firstRow + rows[index];
      if (deleted !== null && deleted[lowerBound(deleted, row)] === row) continue;
      const slot = 4 * rows[index];
      this.#query.query.bounds(estimates[index], numbers[slot + 1], numbers[slot + 3], bounds);
      const [least, most] = bounds;
      if (!(least <= this.#limit) || most < this.#lowerBound) continue;
      // A row that may lie below the lower bound of the search excludes no other.
      if (least >= this.#lowerBound && most < this.#reached.bound) this.#reached.add(most, 0);
      if (this.#count === this.#least.length && !this.#makeRoom()) return false;
      this.#least[this.#count] = least;
      this.#addresses[2 * this.#count] = row;
      this.#addresses[2 * this.#count + 1] = fragmentId;
      this.#count++;
    }
    return true;
  }

  /** Drops candidates beyond the current limit. */
  #drop(): void {
    let kept = 0;
    for (let index = 0; index < this.#count; index++) {
      if (this.#least[index] > this.#limit) continue;
      this.#least[kept] = this.#least[index];
      this.#addresses.copyWithin(2 * kept, 2 * index, 2 * index + 2);
      kept++;
    }
    this.#count = kept;
  }

  #makeRoom(): boolean {
    this.#drop();
    const room = this.#least.length;
    if (this.#count <= room / 2) return true;
    if (room === MOST_KEPT) return false;
    this.#least = enlarged(this.#least);
    this.#addresses = enlarged(this.#addresses);
    return true;
  }

  /** Sorts the candidates by lower bound; ends the additions. */
  sort(): void {
    this.#drop();
    const [least, addresses] = [this.#least, this.#addresses];
    const order = Uint32Array.from({ length: this.#count }, (_, index) => index);
    order.sort((a, b) => least[a] - least[b]);
    this.#least = Float64Array.from(order, (index) => least[index]);
    this.#addresses = new Uint32Array(2 * order.length);
    for (const [position, index] of order.entries()) {
      this.#addresses[2 * position] = addresses[2 * index];
      this.#addresses[2 * position + 1] = addresses[2 * index + 1];
    }
  }

  /** Takes the addresses of the next candidates, at most `count` and `farthest` away; none at the end. */
  take(count: number, farthest: number): Uint32Array<ArrayBuffer> {
    const start = this.#taken;
    let end = start;
    while (end < this.#count && end - start < count && this.#least[end] <= farthest) end++;
    this.#taken = end;
    return this.#addresses.slice(2 * start, 2 * end);
  }
}
