/** The least, greatest, first or last value of each group. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { nullsOf } from "../../expression/values/scalars.js";
import type { ValueType } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, nullsOfRows, resultValidity, roomFor } from "./accumulator.js";
import { type Cells, cellsOf } from "./cells.js";

/** `any` is the first value that is not null; `first` and `last` may be null. */
export type Choice = "min" | "max" | "first" | "last" | "any";

/** States of a group: no row came, its value is null, or it has a value. */
const EMPTY = 0;
const NULL = 1;
const VALUE = 2;
/** Rows of a step. */
const STEP_ROWS = 2 ** 14;

export class ChosenValues implements Accumulator {
  readonly #choice: Choice;
  readonly #type: ValueType;
  readonly #cells: Cells;
  #states = new Uint8Array(1);

  constructor(choice: Choice, type: ValueType) {
    this.#choice = choice;
    this.#type = type;
    this.#cells = cellsOf(type);
  }

  get byteLength(): number {
    return this.#states.byteLength + this.#cells.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#states = yield* roomFor(this.#states, groupCount);
    yield* this.#cells.reserve(groupCount);
  }

  *add(operand: Column | null, { groups, rowCount }: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const nulls = nullsOfRows(operand, rowCount);
    this.#cells.open(operand, rowCount);
    for (let start = 0; start < rowCount; start += STEP_ROWS) {
      const end = Math.min(start + STEP_ROWS, rowCount);
      if (this.#choice === "first" || this.#choice === "any") this.#addFirst(groups, nulls, start, end);
      else if (this.#choice === "last") this.#addLast(groups, nulls, start, end);
      else this.#addExtremes(groups, nulls, start, end);
      if (end < rowCount) yield;
    }
  }

  #addExtremes(groups: Uint32Array, nulls: Uint8Array | null, start: number, end: number): void {
    const cells = this.#cells;
    const states = this.#states;
    const sign = this.#choice === "max" ? 1 : -1;
    for (let row = start; row < end; row++) {
      if (nulls !== null && nulls[row] !== 0) continue;
      const group = groups[row];
      if (states[group] === VALUE && sign * cells.compare(row, group) <= 0) continue;
      states[group] = VALUE;
      cells.set(group, row);
    }
  }

  #addFirst(groups: Uint32Array, nulls: Uint8Array | null, start: number, end: number): void {
    const isAny = this.#choice === "any";
    for (let row = start; row < end; row++) {
      const group = groups[row];
      if (this.#states[group] !== EMPTY) continue;
      if (nulls === null || nulls[row] === 0) {
        this.#states[group] = VALUE;
        this.#cells.set(group, row);
      } else if (!isAny) this.#states[group] = NULL;
    }
  }

  #addLast(groups: Uint32Array, nulls: Uint8Array | null, start: number, end: number): void {
    for (let row = start; row < end; row++) {
      const group = groups[row];
      const isNull = nulls !== null && nulls[row] !== 0;
      this.#states[group] = isNull ? NULL : VALUE;
      if (!isNull) this.#cells.set(group, row);
    }
  }

  *results(start: number, end: number): Steps<Column> {
    if (this.#type.kind === "null") return nullsOf(this.#type, end - start);
    const hasValue = this.#states.slice(start, end).map((state) => (state === VALUE ? 1 : 0));
    return {
      ...this.#cells.column(start, end),
      validity: resultValidity(hasValue, 0, end - start),
    } as Column;
  }
}
