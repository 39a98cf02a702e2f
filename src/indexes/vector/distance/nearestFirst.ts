/** Rows of a partition in the order of their distances, as walks through graphs keep them. */

import { enlarged } from "../../../bytes/growing.js";

/** Rows still to be looked at; the nearest is taken first. */
export class NearestFirst {
  #distances = new Float64Array(256);
  #rows = new Uint32Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Distance of the nearest. */
  get nearest(): number {
    return this.#distances[0];
  }

  clear(): void {
    this.#length = 0;
  }

  add(distance: number, row: number): void {
    if (this.#length === this.#rows.length) {
      this.#distances = enlarged(this.#distances);
      this.#rows = enlarged(this.#rows);
    }
    const [distances, rows] = [this.#distances, this.#rows];
    let position = this.#length++;
    while (position > 0) {
      const parent = (position - 1) >>> 1;
      if (distances[parent] <= distance) break;
      distances[position] = distances[parent];
      rows[position] = rows[parent];
      position = parent;
    }
    distances[position] = distance;
    rows[position] = row;
  }

  /** Takes the nearest row out; there must be one. */
  take(): number {
    const [distances, rows] = [this.#distances, this.#rows];
    const row = rows[0];
    const last = --this.#length;
    const distance = distances[last];
    let position = 0;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= last) break;
      if (child + 1 < last && distances[child + 1] < distances[child]) child++;
      if (distances[child] >= distance) break;
      distances[position] = distances[child];
      rows[position] = rows[child];
      position = child;
    }
    distances[position] = distance;
    rows[position] = rows[last];
    return row;
  }
}

/** The nearest of all rows that were offered, at most so many, in order. */
export class Beam {
  readonly distances: Float64Array;
  readonly rows: Uint32Array;
  #length = 0;

  constructor(readonly size: number) {
    this.distances = new Float64Array(size);
    this.rows = new Uint32Array(size);
  }

  get length(): number {
    return this.#length;
  }

  /** A row that is not nearer is of no use. */
  get bound(): number {
    return this.#length < this.size ? Number.POSITIVE_INFINITY : this.distances[this.size - 1];
  }

  clear(): void {
    this.#length = 0;
  }

  /** Says how many rows were put in without it, in order. */
  setLength(length: number): void {
    this.#length = length;
  }

  /**
   * @param distance below the bound
   * @returns the place of the row
   */
  add(distance: number, row: number): number {
    const [distances, rows] = [this.distances, this.rows];
    const last = this.#length < this.size ? this.#length++ : this.size - 1;
    let position = 0;
    for (let end = last; position < end; ) {
      const middle = (position + end) >>> 1;
      if (distances[middle] <= distance) position = middle + 1;
      else end = middle;
    }
    distances.copyWithin(position + 1, position, last);
    rows.copyWithin(position + 1, position, last);
    distances[position] = distance;
    rows[position] = row;
    return position;
  }
}
