/**
 * Rows that a full table cannot take. They go to a file, in partitions by the hash of their keys, and each
 * partition is read on its own later. Rows with equal keys are in one partition, in their order.
 */

import type { Column } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { NumberList } from "../../bytes/growing.js";
import { RowHash } from "../../expression/kernels/rowHash.js";
import type { ValueType } from "../../expression/values/types.js";
import { Run, type SpillFile } from "../order/sortedRuns.js";
import type { BatchRows } from "../scan/scan.js";
import type { SpillOptions } from "./sortedValues.js";

const PARTITION_BITS = 4;
const PARTITIONS = 2 ** PARTITION_BITS;
/** Depth from which on the bits of a hash are used up: a table then grows on. */
export const MAX_DEPTH = 32 / PARTITION_BITS;

export class Overflow {
  readonly #options: SpillOptions;
  readonly #types: readonly ValueType[];
  readonly #depth: number;
  #file: SpillFile | null = null;
  #runs: (Run | null)[] = [];

  /**
   * @param types of the first columns, which are the keys
   * @param depth number of partitions around these rows
   */
  constructor(types: readonly ValueType[], depth: number, options: SpillOptions) {
    this.#types = types;
    this.#depth = depth;
    this.#options = options;
  }

  /** Adds rows of a batch. @param columns first the keys */
  async add(columns: readonly Column[], rows: Uint32Array): Promise<void> {
    this.#file ??= await this.#options.makeFile();
    const plain = columns.map((column) => plainColumn(takeColumn(column, rows)));
    const hashes = this.#types.map((type, index) => new RowHash(plain[index], type));
    const parts = Array.from({ length: PARTITIONS }, () => new NumberList());
    const shift = this.#depth * PARTITION_BITS;
    for (let row = 0; row < rows.length; row++) {
      let hash = 0;
      for (const each of hashes) hash = Math.imul(hash, 31) + each.of(row);
      parts[(hash >>> shift) & (PARTITIONS - 1)].push(row);
    }
    for (const [index, part] of parts.entries()) {
      if (part.length === 0) continue;
      const run = (this.#runs[index] ??= new Run(this.#file, columns.length));
      const taken = plain.map((column) => takeColumn(column, part.numbers));
      await run.append({ columns: taken, rowCount: part.length });
    }
    await yieldToEventLoop();
  }

  /** Returns the rows, one iterable for each partition that has some. */
  partitions(): AsyncIterable<BatchRows>[] {
    return this.#runs.flatMap((run) => (run === null || run === undefined ? [] : [run.blocks()]));
  }

  async discard(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    this.#runs = [];
    await file?.discard();
  }
}
