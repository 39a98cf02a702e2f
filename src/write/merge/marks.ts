/** Marks of rows: a bit for each, least significant first. */

import type { Steps } from "../../async/eventLoop.js";
import { enlarged } from "../../bytes/growing.js";

/** Rows of a step, after which the thread may yield. */
export const STEP_ROWS = 65_536;

export const hasBit = (marks: Uint8Array, row: number): boolean =>
  ((marks[Math.floor(row / 8)] >>> (row & 7)) & 1) === 1;

export function setBit(marks: Uint8Array, row: number): void {
  marks[Math.floor(row / 8)] |= 1 << (row & 7);
}

/** Marks of the rows of a fragment; grows as rows are marked. */
export class RowMarks {
  #marks = new Uint8Array(64);
  #count = 0;

  add(row: number): void {
    const byte = Math.floor(row / 8);
    if (byte >= this.#marks.length) this.#marks = enlarged(this.#marks, byte + 1);
    const mark = 1 << (row & 7);
    if ((this.#marks[byte] & mark) !== 0) return;
    this.#marks[byte] |= mark;
    this.#count++;
  }

  /** Yields steps; returns the marked rows, ascending. */
  *rows(): Steps<Uint32Array> {
    const marks = this.#marks;
    const rows = new Uint32Array(this.#count);
    let count = 0;
    for (let start = 0; start < marks.length && count < rows.length; start += STEP_ROWS / 8) {
      const end = Math.min(marks.length, start + STEP_ROWS / 8);
      for (let byte = start; byte < end; byte++) {
        for (let left = marks[byte]; left !== 0; left &= left - 1) {
          rows[count++] = 8 * byte + 31 - Math.clz32(left & -left);
        }
      }
      yield;
    }
    return rows;
  }
}
