/**
 * Runs an aggregation. Rows pass once, batch by batch: each gets the number of its group, and each function
 * has a state per group. If the groups take too much memory, no more groups are added: rows of other groups
 * go to a file, in partitions, which are aggregated one after the other.
 */

import type { Column } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import { positionsOfOnes } from "../../bytes/bits.js";
import { NumberList } from "../../bytes/growing.js";
import { truesOf } from "../../expression/kernels/logic.js";
import type { AllocateResult } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import type { MemoryShare } from "../../memory.js";
import { type Computation, columnsFrom, compute } from "../columns/computedColumns.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { PickedRows } from "../filter/pickedRows.js";
import type { RowSelection } from "../filter/rowSelection.js";
import type { MakeSpillFile } from "../order/sortedRuns.js";
import type { BatchRows } from "../scan/scan.js";
import { type Accumulator, type GroupedRows, pickNumbers } from "./accumulator.js";
import type { AggregateCall, AggregatePlan } from "./aggregatePlan.js";
import { DistinctRows } from "./distinctRows.js";
import { Groups } from "./groups.js";
import { MAX_DEPTH, Overflow } from "./overflow.js";
import { MISSING } from "./wordTable.js";

/** Bytes of groups and states from which on no more groups are added. */
const GROUP_BYTES = 384 * 2 ** 20;
const MIN_GROUP_BYTES = 2 ** 20;
/** Part of the spare memory that groups may take. */
const GROUP_PART = 1 / 2;
/** Groups of a batch of results. */
const RESULT_ROWS = 2 ** 15;
/** Name of this use of memory. */
const GROUPS = "groups";

export interface AggregationOptions {
  readonly makeFile: MakeSpillFile;
  readonly memory?: MemoryShare | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes that groups may take. Default: 384 MiB. */
  readonly groupBytes?: number | undefined;
}

/**
 * Yields one row per group: its keys, and the results of the calls.
 * @param rows as the plan's projection reads them
 */
export async function* aggregatedRows(
  rows: AsyncIterable<BatchRows & Partial<PickedRows>>,
  plan: AggregatePlan,
  numbers: RowNumbers,
  options: AggregationOptions,
): AsyncGenerator<BatchRows> {
  const { memory } = options;
  const spare = memory === undefined ? GROUP_BYTES : memory.spareBytes(GROUPS) * GROUP_PART;
  const maxBytes = Math.min(options.groupBytes ?? GROUP_BYTES, Math.max(MIN_GROUP_BYTES, spare));
  try {
    yield* new Aggregation(plan, options, maxBytes).pass(operandRows(rows, plan, numbers, options.signal), 0);
  } finally {
    memory?.note(GROUPS, 0);
  }
}

/** Columns that an aggregation reads: the keys, and each call's operand and filter, if any. */
interface OperandRows extends BatchRows {
  /** Some rows of the operands that are whole; null or absent for all. Other columns have only these rows. */
  readonly rows?: RowSelection | null;
}

async function* operandRows(
  batches: AsyncIterable<BatchRows & Partial<PickedRows>>,
  { keys, calls }: AggregatePlan,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): AsyncGenerator<OperandRows> {
  /** Memory of the floats that each operand computes. A batch is used before the next one is made. */
  const floats = new Map<Computation, Uint8Array<ArrayBuffer>>();
  for await (const { columns, rowCount, rows = null } of batches) {
    signal?.throwIfAborted();
    const some = new TakenColumns(columns, rows);
    const make = async (computation: Computation): Promise<Column> => {
      if (computation.expression.column === null) {
        const allocate = isFloat64(computation) ? memoryOf(floats, computation) : undefined;
        return compute(computation, numbers, some.of(computation), rowCount, signal, allocate);
      }
      return (await columnsFrom(computation.inputs, numbers, some.of(computation)))[0];
    };
    const made: Column[] = [];
    // Keys look up each value of a dictionary once; functions read plain values.
    for (const key of keys) made.push(await make(key));
    for (const { operand, filter } of calls) {
      if (operand !== null && isWhole(operand)) {
        made.push(plainColumn((await columnsFrom(operand.inputs, numbers, columns))[0]));
      } else if (operand !== null) made.push(plainColumn(await make(operand)));
      if (filter !== null) made.push(plainColumn(await make(filter)));
    }
    yield { columns: made, rowCount, rows };
  }
}

const isFloat64 = ({ expression: { type } }: Computation): boolean =>
  type.kind === "float" && type.bits === 64;

const memoryOf =
  (floats: Map<Computation, Uint8Array<ArrayBuffer>>, computation: Computation): AllocateResult =>
  (byteLength) => {
    const before = floats.get(computation);
    if (before !== undefined && before.length >= byteLength) return before.subarray(0, byteLength);
    const larger = new Uint8Array(byteLength);
    floats.set(computation, larger);
    return larger;
  };

/** True if the operand is a stored column, which is not taken apart. */
const isWhole = ({ expression, inputs }: Computation): boolean =>
  expression.column !== null && inputs[0].kind === "stored";

/** Takes some rows of columns, of each column once. */
class TakenColumns {
  readonly #columns: readonly Column[];
  readonly #rows: RowSelection | null;
  readonly #taken: Column[];

  constructor(columns: readonly Column[], rows: RowSelection | null) {
    this.#columns = columns;
    this.#rows = rows;
    this.#taken = new Array(columns.length);
  }

  /** Returns the columns, of which those that an expression needs have only the rows. */
  of({ inputs }: Computation): readonly Column[] {
    const rows = this.#rows;
    if (rows === null) return this.#columns;
    for (const input of inputs) {
      const index = input.kind === "stored" ? input.output : this.#columns.length - 1;
      this.#taken[index] ??= takeColumn(this.#columns[index], rows.positions);
    }
    return this.#taken;
  }
}

class Aggregation {
  readonly #plan: AggregatePlan;
  readonly #options: AggregationOptions;
  readonly #maxBytes: number;
  /** Group of each row if there are no keys. */
  #zeros = new Uint32Array(0);

  constructor(plan: AggregatePlan, options: AggregationOptions, maxBytes: number) {
    this.#plan = plan;
    this.#options = options;
    this.#maxBytes = maxBytes;
  }

  /** Aggregates rows. @param depth number of partitions around these rows */
  async *pass(rows: AsyncIterable<OperandRows>, depth: number): AsyncGenerator<BatchRows> {
    const { signal } = this.#options;
    const types = this.#plan.keys.map(({ expression }) => expression.type);
    const overflow = new Overflow(types, depth, this.#spillOptions);
    try {
      yield* this.#inMemory(rows, types, depth, overflow);
      for (const partition of overflow.partitions()) {
        signal?.throwIfAborted();
        yield* this.pass(partition, depth + 1);
      }
    } finally {
      await overflow.discard();
    }
  }

  /** Functions that keep values share half of the memory. */
  get #spillOptions() {
    const { makeFile, signal } = this.#options;
    const keeping = this.#plan.calls.filter((call) => call.isDistinct || call.function.keepsValues === true);
    return { makeFile, signal, maxBytes: this.#maxBytes / (2 * Math.max(1, keeping.length)) };
  }

  async *#inMemory(
    rows: AsyncIterable<OperandRows>,
    types: readonly ValueType[],
    depth: number,
    overflow: Overflow,
  ): AsyncGenerator<BatchRows> {
    const { signal, memory } = this.#options;
    const groups = types.length === 0 ? null : new Groups(types);
    const accumulators = this.#plan.calls.map((call) => this.#accumulatorOf(call));
    const groupCount = () => groups?.count ?? 1;
    let isFull = false;
    try {
      for (const each of accumulators) await runAsync(each.reserve(1), signal);
      for await (const batch of rows) {
        signal?.throwIfAborted();
        const numbers =
          groups === null
            ? this.#zerosFor(batch.rowCount)
            : await runAsync(
                groups.groupsOf(batch.columns.slice(0, types.length), batch.rowCount, isFull),
                signal,
              );
        const kept = isFull
          ? await withoutMissing(this.#taken(batch), numbers, overflow)
          : { ...batch, groups: numbers };
        await this.#add(accumulators, kept, types.length, groupCount());
        const byteLength = accumulators.reduce((sum, each) => sum + each.byteLength, groups?.byteLength ?? 0);
        memory?.note(GROUPS, byteLength);
        isFull ||= groups !== null && byteLength > this.#maxBytes && depth < MAX_DEPTH;
      }
      for (const each of accumulators) if (each.finish !== undefined) await runAsync(each.finish(), signal);
      const keysOf = groups === null ? null : await runAsync(groups.reader(), signal);
      for (let start = 0; start < groupCount(); start += RESULT_ROWS) {
        signal?.throwIfAborted();
        const end = Math.min(start + RESULT_ROWS, groupCount());
        const columns = keysOf === null ? [] : keysOf(start, end);
        for (const each of accumulators) columns.push(await runAsync(each.results(start, end), signal));
        yield { columns, rowCount: end - start };
        await yieldToEventLoop();
      }
    } finally {
      for (const each of accumulators) await each.discard?.();
    }
  }

  #accumulatorOf({ function: { make }, type, fraction, isDistinct }: AggregateCall): Accumulator {
    const accumulator = make(type, fraction, this.#spillOptions);
    const isOne = this.#plan.keys.length === 0;
    return isDistinct ? new DistinctRows(accumulator, type, this.#spillOptions, isOne) : accumulator;
  }

  /** Takes the rows of the operands that are whole. */
  #taken({ columns, rowCount, rows = null }: OperandRows): BatchRows {
    if (rows === null) return { columns, rowCount };
    const { keys, calls } = this.#plan;
    const areWhole = calls.flatMap(({ operand, filter }) => [
      ...(operand === null ? [] : [isWhole(operand)]),
      ...(filter === null ? [] : [false]),
    ]);
    return {
      columns: columns.map((column, index) =>
        areWhole[index - keys.length] ? takeColumn(column, rows.positions) : column,
      ),
      rowCount,
    };
  }

  #zerosFor(rowCount: number): Uint32Array {
    if (this.#zeros.length < rowCount) this.#zeros = new Uint32Array(rowCount);
    return this.#zeros.subarray(0, rowCount);
  }

  /** Adds the rows of a batch to the states of their groups. */
  async #add(
    accumulators: readonly Accumulator[],
    { columns, rowCount, groups, rows = null }: GroupedBatch,
    keyCount: number,
    groupCount: number,
  ): Promise<void> {
    const { signal } = this.#options;
    const isOne = keyCount === 0;
    let next = keyCount;
    for (const [index, { operand, filter }] of this.#plan.calls.entries()) {
      const values = operand === null ? null : columns[next++];
      const positions = filter === null ? null : rowsWhere(columns[next++], rowCount);
      const accumulator = accumulators[index];
      await runAsync(accumulator.reserve(groupCount), signal);
      const selected = operand !== null && isWhole(operand) ? rows : null;
      if (
        isOne &&
        values !== null &&
        selected !== null &&
        filter === null &&
        accumulator.addWhere !== undefined
      ) {
        accumulator.addWhere(values, selected.present(values));
        await yieldToEventLoop();
        continue;
      }
      const grouped = { groups, rowCount, isOne, rows: selected?.positions ?? null };
      await runAsync(addRows(accumulator, values, grouped, positions), signal);
      await yieldToEventLoop();
    }
  }
}

/** Adds the rows at some positions; null for all. */
function addRows(
  accumulator: Accumulator,
  values: Column | null,
  { groups, rowCount, isOne = false, rows = null }: GroupedRows,
  positions: Uint32Array | null,
): Steps<void> {
  const some =
    positions === null
      ? { groups, rowCount, isOne, rows }
      : {
          groups: isOne ? groups : pickNumbers(groups, positions),
          rowCount: positions.length,
          isOne,
          rows: rows === null ? positions : pickNumbers(rows, positions),
        };
  if (values === null || some.rows === null || accumulator.takesSomeRows === true)
    return accumulator.add(values, some);
  return accumulator.add(takeColumn(values, some.rows), { ...some, rows: null });
}

interface GroupedBatch extends OperandRows {
  readonly groups: Uint32Array;
}

/** Moves the rows of new groups to a file, and returns the others. */
async function withoutMissing(
  { columns, rowCount }: BatchRows,
  numbers: Uint32Array,
  overflow: Overflow,
): Promise<GroupedBatch> {
  const missing = new NumberList();
  const present = new NumberList();
  for (let row = 0; row < rowCount; row++) (numbers[row] === MISSING ? missing : present).push(row);
  if (missing.length === 0) return { columns, rowCount, groups: numbers };
  await overflow.add(columns, missing.numbers);
  const rows = present.numbers;
  return {
    columns: columns.map((column) => takeColumn(column, rows)),
    rowCount: rows.length,
    groups: pickNumbers(numbers, rows),
  };
}

/** Returns the rows in which a condition is true; null for all rows. */
const rowsWhere = (column: Column, rowCount: number): Uint32Array | null =>
  positionsOfOnes(truesOf({ column, step: 1 }, rowCount), rowCount);
