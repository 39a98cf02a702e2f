/** Passes on only the first row of each value in a group: `count(DISTINCT x)`, `sum(DISTINCT x)`. */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync, type Steps } from "../../async/eventLoop.js";
import { NumberList } from "../../bytes/growing.js";
import { wordLane } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import { type Accumulator, type GroupedRows, nullsOfRows } from "./accumulator.js";
import { Groups } from "./groups.js";
import { MAX_DEPTH, Overflow } from "./overflow.js";
import type { SpillOptions } from "./sortedValues.js";
import { MISSING } from "./wordTable.js";

const UINT32: ValueType = { kind: "int", bits: 32, signed: false };

export class DistinctRows implements Accumulator {
  readonly #inner: Accumulator;
  readonly #isOne: boolean;
  /** Types of the keys: the group, unless there is only one, and the value. */
  readonly #types: readonly ValueType[];
  readonly #options: SpillOptions;
  #pairs: Groups;
  #overflow: Overflow | null = null;
  #depth: number;

  /** @param isOne true if there is only one group */
  constructor(inner: Accumulator, type: ValueType, options: SpillOptions, isOne: boolean) {
    this.#inner = inner;
    this.#isOne = isOne;
    this.#types = isOne ? [type] : [UINT32, type];
    this.#options = options;
    this.#pairs = new Groups(this.#types);
    this.#depth = 0;
  }

  get byteLength(): number {
    return this.#pairs.byteLength + this.#inner.byteLength;
  }

  reserve(groupCount: number): Steps<void> {
    return this.#inner.reserve(groupCount);
  }

  *add(operand: Column | null, { groups, rowCount }: GroupedRows): Steps<void> {
    if (operand === null || operand.kind === "null") return;
    const nulls = nullsOfRows(operand, rowCount);
    if (nulls !== null) {
      // New values then have the next numbers, in the order of their rows.
      const rows = rowsWhere(rowCount, (row) => nulls[row] === 0);
      yield* this.#addValues(takeColumn(operand, rows), groupsOfRows(groups, rows));
    } else yield* this.#addValues(operand, groups.subarray(0, rowCount));
  }

  /** Adds rows without nulls. */
  *#addValues(values: Column, groups: Uint32Array): Steps<void> {
    const isFull = this.#pairs.byteLength > this.#options.maxBytes && this.#depth < MAX_DEPTH;
    if (isFull) this.#overflow ??= new Overflow(this.#types, this.#depth, this.#options);
    const isFrozen = this.#overflow !== null;
    const keys = this.#isOne ? [values] : [numbersColumn(groups), values];
    let next = this.#pairs.count;
    const pairs = yield* this.#pairs.groupsOf(keys, groups.length, isFrozen);
    if (isFrozen) {
      const missing = rowsWhere(groups.length, (row) => pairs[row] === MISSING);
      if (missing.length > 0) yield this.#overflow?.add(keys, missing);
      return;
    }
    const rows = rowsWhere(groups.length, (row) => pairs[row] === next && next++ >= 0);
    if (rows.length === 0) return;
    yield* this.#inner.add(takeColumn(values, rows), {
      groups: groupsOfRows(groups, rows),
      rowCount: rows.length,
      isOne: this.#isOne,
    });
  }

  *finish(): Steps<void> {
    const overflow = this.#overflow;
    if (overflow !== null) yield this.#finishOverflow(overflow);
    if (this.#inner.finish !== undefined) yield* this.#inner.finish();
  }

  /** Adds the rows that did not fit, one partition after the other. */
  async #finishOverflow(overflow: Overflow): Promise<void> {
    this.#depth++;
    try {
      for (const partition of overflow.partitions()) {
        this.#pairs = new Groups(this.#types);
        this.#overflow = null;
        for await (const { columns, rowCount } of partition) {
          const groups = this.#isOne ? new Uint32Array(rowCount) : groupsIn(columns[0], rowCount);
          await runAsync(this.add(columns[columns.length - 1], { groups, rowCount }), this.#options.signal);
        }
        const deeper: Overflow | null = this.#overflow;
        if (deeper !== null) await this.#finishOverflow(deeper);
      }
    } finally {
      this.#depth--;
      await overflow.discard();
    }
  }

  results(start: number, end: number): Steps<Column> {
    return this.#inner.results(start, end);
  }

  async discard(): Promise<void> {
    await this.#overflow?.discard();
    await this.#inner.discard?.();
  }
}

function rowsWhere(rowCount: number, isWanted: (row: number) => boolean): Uint32Array {
  const rows = new NumberList();
  for (let row = 0; row < rowCount; row++) if (isWanted(row)) rows.push(row);
  return rows.numbers;
}

const groupsOfRows = (groups: Uint32Array, rows: Uint32Array): Uint32Array => rows.map((row) => groups[row]);

function groupsIn(column: Column, rowCount: number): Uint32Array {
  const words = wordLane({ column, step: 1 });
  return new Uint32Array(words.buffer, words.byteOffset, rowCount);
}
