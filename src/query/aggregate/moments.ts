/** Variances and standard deviations, by the method of Welford, which is stable for large values. */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import type { Steps } from "../../async/eventLoop.js";
import { type NumberLane, numbersOf } from "../../expression/values/operands.js";
import { FLOAT64 } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, presentRows, resultValidity, roomFor } from "./accumulator.js";

export interface MomentForm {
  /** True for the standard deviation, false for the variance. */
  readonly isRoot: boolean;
  /** True for that of a sample, which has one degree of freedom less. */
  readonly isOfSample: boolean;
}

export class Moments implements Accumulator {
  readonly takesSomeRows = true;
  readonly #form: MomentForm;
  #counts = new Float64Array(1);
  #means = new Float64Array(1);
  /** Sums of the squared distances from the mean. */
  #squares = new Float64Array(1);

  constructor(form: MomentForm) {
    this.#form = form;
  }

  get byteLength(): number {
    return 3 * this.#counts.byteLength;
  }

  *reserve(groupCount: number): Steps<void> {
    this.#counts = yield* roomFor(this.#counts, groupCount);
    this.#means = yield* roomFor(this.#means, groupCount);
    this.#squares = yield* roomFor(this.#squares, groupCount);
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *add(operand: Column | null, grouped: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    this.#addNumbers(numbersOf({ column: operand, step: 1 }, FLOAT64), presentRows(operand, grouped));
  }

  #addNumbers(lane: NumberLane, { groups, rowCount, rows = null }: GroupedRows): void {
    const [counts, means, squares] = [this.#counts, this.#means, this.#squares];
    for (let row = 0; row < rowCount; row++) {
      const group = groups[row];
      const value = lane[rows === null ? row : rows[row]];
      const count = ++counts[group];
      const distance = value - means[group];
      const mean = means[group] + distance / count;
      means[group] = mean;
      squares[group] += distance * (value - mean);
    }
  }

  // biome-ignore lint/correctness/useYield: the others take steps
  *results(start: number, end: number): Steps<Column> {
    const { isRoot, isOfSample } = this.#form;
    const results = new Float64Array(end - start);
    const degrees = new Float64Array(end - start);
    for (let group = start; group < end; group++) {
      const index = group - start;
      degrees[index] = Math.max(0, this.#counts[group] - (isOfSample ? 1 : 0));
      const variance = this.#squares[group] / degrees[index];
      results[index] = isRoot ? Math.sqrt(variance) : variance;
    }
    return { ...numbersColumn(results), validity: resultValidity(degrees, 0, degrees.length) };
  }
}
