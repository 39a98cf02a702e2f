/** Queues of rows by distance, for graph searches. */

import { enlarged } from "../../../bytes/growing.js";

/** A min-heap of rows to expand. */
export class NearestFirst {
  #distances = new Float64Array(256);
  #rows = new Uint32Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Least distance. */
  get nearest(): number {
    return this.#distances[0];
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

  /** Removes the nearest row of a non-empty heap. */
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

/** The nearest offered rows in order, at most `size`. */
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

  /** Exclusive bound of useful distances. */
  get bound(): number {
    return this.#length < this.size ? Number.POSITIVE_INFINITY : this.distances[this.size - 1];
  }

  clear(): void {
    this.#length = 0;
  }

  /** Sets the number of entries after a kernel wrote them in order. */
  setLength(length: number): void {
    this.#length = length;
  }

  /** @param distance below the bound @returns the position of the row */
  add(distance: number, row: number): number {
    const [distances, rows] = [this.distances, this.rows];
    const last = this.#length < this.size ? this.#length++ : this.size - 1;
    // The binary search is inlined, because a walk adds a row for most distances that it computes.
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
