/** Numbers of groups that do not fit in memory: a file holds them, and is sorted by group and value. */

import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { numbersOf } from "../../expression/values/operands.js";
import { FLOAT64, type ValueType } from "../../expression/values/types.js";
import { sortRows } from "../order/externalSort.js";
import { type MakeSpillFile, Run, type SpillFile } from "../order/sortedRuns.js";
import type { BatchRows } from "../scan/scan.js";

const UINT32: ValueType = { kind: "int", bits: 32, signed: false };
/** Rows of a block of the file. */
const BLOCK_ROWS = 2 ** 16;
/** Bytes of a value with its group. */
const ENTRY_BYTES = 12;

export interface SpillOptions {
  readonly makeFile: MakeSpillFile;
  /** Bytes of memory that one function may take before it writes to files. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export class SortedValues {
  readonly #options: SpillOptions;
  #file: SpillFile | null = null;
  #run: Run | null = null;
  /** Number of values of each group. */
  #counts = new Map<number, number>();

  constructor(options: SpillOptions) {
    this.#options = options;
  }

  isFull(count: number): boolean {
    return count * ENTRY_BYTES > this.#options.maxBytes;
  }

  get isUsed(): boolean {
    return this.#run !== null;
  }

  async add(groups: Uint32Array, values: Float64Array): Promise<void> {
    this.#file ??= await this.#options.makeFile();
    this.#run ??= new Run(this.#file, 2);
    for (let start = 0; start < groups.length; start += BLOCK_ROWS) {
      const some = groups.slice(start, start + BLOCK_ROWS);
      for (const group of some) this.#counts.set(group, (this.#counts.get(group) ?? 0) + 1);
      const columns: Column[] = [
        numbersColumn(some),
        numbersColumn(canonical(values.slice(start, start + BLOCK_ROWS))),
      ];
      await this.#run.append({ columns, rowCount: some.length });
      this.#options.signal?.throwIfAborted();
      await yieldToEventLoop();
    }
  }

  /** Writes the quantile of each group that has values. */
  async quantiles(fraction: number, results: Float64Array, isThere: Uint8Array): Promise<void> {
    const { makeFile, maxBytes, signal } = this.#options;
    const order = { ascending: true, nullsFirst: false };
    const sorted = sortRows((this.#run as Run).blocks() as AsyncGenerator<BatchRows>, {
      orders: [
        { ...order, type: UINT32 },
        { ...order, type: FLOAT64 },
      ],
      keyPlaces: [0, 1],
      limit: Number.POSITIVE_INFINITY,
      sortBytes: Math.min(maxBytes, 2 ** 26),
      makeFile,
      signal,
    });
    let group = -1;
    let index = 0;
    let position = { rank: 0, weight: 0 };
    for await (const { columns, rowCount } of sorted) {
      const groups = numbersOf({ column: columns[0], step: 1 }, UINT32);
      const values = numbersOf({ column: columns[1], step: 1 }, FLOAT64);
      for (let row = 0; row < rowCount; row++, index++) {
        if (groups[row] !== group) {
          group = groups[row];
          index = 0;
          position = rankOf(fraction, this.#counts.get(group) ?? 0);
          isThere[group] = 1;
        }
        if (index === position.rank) results[group] = values[row];
        else if (index === position.rank + 1)
          results[group] = between(results[group], values[row], position.weight);
      }
    }
  }

  async discard(): Promise<void> {
    await this.#file?.discard();
    this.#file = null;
    this.#run = null;
  }
}

/** Makes all NaN the one that sorts last, in place. */
function canonical(values: Float64Array): Float64Array {
  for (let index = 0; index < values.length; index++)
    if (Number.isNaN(values[index])) values[index] = Number.NaN;
  return values;
}

/** Returns the rank of a quantile among values, and the weight of the value after it. */
export function rankOf(fraction: number, count: number): { rank: number; weight: number } {
  const position = fraction * (count - 1);
  const rank = Math.floor(position);
  return { rank, weight: position - rank };
}

/** Interpolates between two values. Equal ones, such as infinities, have nothing between them. */
export const between = (value: number, next: number, weight: number): number =>
  weight === 0 || value === next ? value : value + (next - value) * weight;
