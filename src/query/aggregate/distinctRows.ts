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
  readonly #types: readonly ValueType[];
  readonly #options: SpillOptions;
  #pairs: Groups;
  #overflow: Overflow | null = null;
  #depth: number;

  constructor(inner: Accumulator, type: ValueType, options: SpillOptions) {
    this.#inner = inner;
    this.#types = [UINT32, type];
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
    const isFull = this.#pairs.byteLength > this.#options.maxBytes && this.#depth < MAX_DEPTH;
    if (isFull) this.#overflow ??= new Overflow(this.#types, this.#depth, this.#options);
    const isFrozen = this.#overflow !== null;
    const keys = [numbersColumn(groups), operand];
    let next = this.#pairs.count;
    const pairs = yield* this.#pairs.groupsOf(keys, rowCount, isFrozen);
    const nulls = nullsOfRows(operand, rowCount);
    const fresh = new NumberList();
    const missing = new NumberList();
    for (let row = 0; row < rowCount; row++) {
      const isNew = pairs[row] === next;
      if (isNew) next++;
      if (nulls !== null && nulls[row] !== 0) continue;
      if (isNew) fresh.push(row);
      else if (pairs[row] === MISSING) missing.push(row);
    }
    if (missing.length > 0) yield this.#overflow?.add(keys, missing.numbers);
    const rows = fresh.numbers;
    if (rows.length === 0) return;
    yield* this.#inner.add(takeColumn(operand, rows), {
      groups: rows.map((row) => groups[row]),
      rowCount: rows.length,
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
          const words = wordLane({ column: columns[0], step: 1 });
          const groups = new Uint32Array(words.buffer, words.byteOffset, rowCount);
          await runAsync(this.add(columns[1], { groups, rowCount }), this.#options.signal);
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
