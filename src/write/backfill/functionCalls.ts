/** Calls a registered function for batches or rows, repeats failed calls, and yields between calls. */

import type { Field, Schema, Vector } from "apache-arrow";
import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import { isSet } from "../../arrow/columns/validity.js";
import { vectorOf } from "../../arrow/exchange/batch.js";
import { isText } from "../../arrow/types/logicalTypes.js";
import { untilAborted, whenAborted } from "../../async/abort.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { runParallel } from "../../async/parallel.js";
import { isPending } from "../../async/pending.js";
import { clearTimeout, performance, setTimeout } from "../../async/timers.js";
import { InternalError, messageOf } from "../../errors.js";
import type { Arena } from "../../io/memory/arena.js";
import type { BatchFunction, RowFunction } from "../../namespace/options.js";
import { textReader } from "../../platform/native.js";
import type { RegisteredFunction } from "../userFunctions.js";
import { columnOfResult, columnOfRows, RowResults } from "./functionResult.js";

/** Milliseconds before a call is first repeated, growth of the wait, and longest wait. */
const FIRST_WAIT_MS = 100;
const WAIT_GROWTH = 4;
const MAX_WAIT_MS = 30_000;
/** Milliseconds between two turns of the event loop and checks of the signal. */
const SLICE_MS = 5;
/** Maximum fast rows between two checks of the clock. */
const MOST_UNSEEN_ROWS = 8;
/** Milliseconds of a check's rows that count as fast. */
const QUICK_MS = 0.1;

/** Rows of one fragment, with the input columns of a function. */
export interface InputRows {
  readonly fragmentId: number;
  /** Physical offsets, ascending. */
  readonly offsets: Uint32Array;
  /** In the order of the function's inputs. */
  readonly columns: readonly Column[];
}

export interface CallOptions {
  /** Rows that run at a time, for a function that computes row by row. */
  readonly rowsAtOnce: number;
  readonly signal: AbortSignal;
  /** Lends memory for the values; null: the garbage collector frees it. */
  readonly memory: Arena | null;
  /** Called with an error that fails the whole work, before waiting for other calls. Aborts the signal. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Returns the values of some rows.
 * @param schema of the inputs, with the names that the function expects
 * @throws InternalError naming the rows, with the function's error as its cause; TableSchemaValidationError
 *   for a result that does not match the declaration; the signal's reason
 */
export async function callFunction(
  owner: RegisteredFunction,
  schema: Schema,
  rows: InputRows,
  options: CallOptions,
): Promise<Column> {
  const { offsets, fragmentId } = rows;
  const rowCount = offsets.length;
  const { call } = owner;
  const { memory } = options;
  const rowOf = (index: number): number => offsets[index];
  const maker = `function ${owner.name}, fragment ${fragmentId}`;
  if (call.kind === "row") {
    const results = await callForRows(owner, call.row, schema, rows, options);
    return columnOfRows(owner, results, { rowCount, maker, label: maker, rowOf, memory });
  }
  const columns: Record<string, Vector> = {};
  for (const [index, name] of owner.inputNames.entries()) {
    define(columns, name, vectorOf(schema.fields[index], rows.columns[index], rowCount));
  }
  const label = `${maker}, ${rowsInWords(offsets)}`;
  const context = { rowCount, signal: options.signal } satisfies Parameters<BatchFunction["batch"]>[1];
  const origin = { rowCount, maker, label, rowOf, memory };
  const columnOf = (result: unknown): Column => columnOfResult(owner, result, origin);
  let made = null as (() => Column) | null;
  const result = await repeated(owner, label, options, () => {
    const returned = call.batch(columns, context);
    // Copy a result at once: another call of the function may reuse its memory before this call is awaited.
    made = isPending(returned) ? null : attempted(() => columnOf(returned));
    return returned;
  });
  return made === null ? columnOf(result) : made();
}

/** Names rows of a fragment, for messages. */
export const rowsInWords = (offsets: Uint32Array): string =>
  offsets.length === 1
    ? `row ${offsets[0]}`
    : `rows ${offsets[0]} to ${offsets[offsets.length - 1]} (${offsets.length} of them)`;

/** Does work at once. The returned function gives its result, or throws its error. */
function attempted<Result>(work: () => Result): () => Result {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Sets a member of any name, even `__proto__`. */
function define<Value>(target: Record<string, Value>, name: string, value: Value): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

async function callForRows(
  owner: RegisteredFunction,
  row: RowFunction["row"],
  { fields }: Schema,
  { offsets, columns, fragmentId }: InputRows,
  options: CallOptions,
): Promise<RowResults> {
  const { rowsAtOnce, signal } = options;
  const rowCount = offsets.length;
  const results = new RowResults(owner.outputType, owner.layout, rowCount, options.memory);
  const inputs = columns.map((column, index) => inputOf(fields[index], column, rowCount));
  const calls = new RowCalls(row, { names: owner.inputNames, inputs, rowCount, results, signal });
  const labelOf = (index: number) => `function ${owner.name}, fragment ${fragmentId}, row ${offsets[index]}`;
  for (;;) {
    // Checking once is enough: while rows are computed synchronously, no other code can abort the work.
    signal.throwIfAborted();
    const halt = calls.run();
    const { next } = calls;
    switch (halt.kind) {
      case "end":
        return results;
      case "due":
        await yieldToEventLoop();
        calls.beginSlice();
        break;
      case "failed":
        results.add(next, await repeated(owner, labelOf(next), options, () => calls.once(next), halt));
        calls.next++;
        break;
      case "begun": {
        let begun: unknown = halt.result;
        const one = async (position: number): Promise<void> => {
          const index = next + position;
          const value = await repeated(owner, labelOf(index), options, () => {
            const result = position === 0 && begun !== null ? begun : calls.once(index);
            if (position === 0) begun = null;
            return result;
          });
          results.add(index, value);
          await yieldToEventLoop();
        };
        await runParallel(rowCount - next, rowsAtOnce, one, signal);
        return results;
      }
    }
  }
}

/** Reason to leave the synchronous loop: the end, a due yield, a result that is a promise, or a failure. */
type Halt =
  | { readonly kind: "end" | "due" }
  | { readonly kind: "begun"; readonly result: PromiseLike<unknown> }
  | { readonly kind: "failed"; readonly cause: unknown };

/** Returns the value of a row. */
interface Input {
  get(index: number): unknown;
}

/** Returns the values of a column, which has `rowCount` rows. */
const inputOf = (field: Field, column: Column, rowCount: number): Input =>
  column.kind === "variable" && isText(field.type) ? new Texts(column) : vectorOf(field, column, rowCount);

/** Reads the texts of a column in half of the time that a vector of apache-arrow takes. */
class Texts implements Input {
  readonly #validity: VariableColumn["validity"];
  readonly #offsets: VariableColumn["offsets"];
  readonly #textAt: (start: number, end: number) => string;

  constructor({ validity, offsets, bytes }: VariableColumn) {
    this.#validity = validity;
    this.#offsets = offsets;
    this.#textAt = textReader(bytes);
  }

  get(index: number): string | null {
    if (this.#validity !== null && !isSet(this.#validity, index)) return null;
    return this.#textAt(Number(this.#offsets[index]), Number(this.#offsets[index + 1]));
  }
}

interface RowsToCall {
  /** Names of the inputs in the function's calls. */
  readonly names: readonly string[];
  readonly inputs: readonly Input[];
  readonly rowCount: number;
  readonly results: RowResults;
  readonly signal: AbortSignal;
}

/** Computes synchronous rows. Nothing here varies between jobs: V8 would compile the loop again. */
class RowCalls {
  /** First row without a result. */
  next = 0;
  readonly #row: RowFunction["row"];
  readonly #names: readonly string[];
  readonly #inputs: readonly Input[];
  readonly #rowCount: number;
  readonly #results: RowResults;
  readonly #call: Parameters<RowFunction["row"]>[1];
  #sliceMs = performance.now();
  #lookMs = this.#sliceMs;
  #unseenRows = 1;

  constructor(row: RowFunction["row"], { names, inputs, rowCount, results, signal }: RowsToCall) {
    this.#row = row;
    this.#names = names;
    this.#inputs = inputs;
    this.#rowCount = rowCount;
    this.#results = results;
    this.#call = { signal };
  }

  once(index: number): unknown {
    const names = this.#names;
    const values: Record<string, unknown> = {};
    for (let input = 0; input < names.length; input++) {
      define(values, names[input], this.#inputs[input].get(index));
    }
    // A local, so that the function is not called as a method.
    const row = this.#row;
    return row(values, this.#call);
  }

  /** Call it after the event loop has turned. */
  beginSlice(): void {
    this.#sliceMs = performance.now();
    this.#lookMs = this.#sliceMs;
  }

  /** Computes rows until it must leave the loop. */
  run(): Halt {
    // Keep this block rare and away from the calls: V8 would inline them into it and not optimise their
    // loops.
    try {
      return this.#runAhead();
    } catch (cause) {
      return { kind: "failed", cause };
    }
  }

  #runAhead(): Halt {
    while (this.next < this.#rowCount) {
      const nowMs = performance.now();
      const wasQuick = nowMs - this.#lookMs < QUICK_MS;
      this.#unseenRows = wasQuick ? Math.min(MOST_UNSEEN_ROWS, this.#unseenRows + 1) : 1;
      this.#lookMs = nowMs;
      if (nowMs - this.#sliceMs >= SLICE_MS) return { kind: "due" };
      const halt = this.#runSome(Math.min(this.#rowCount, this.next + this.#unseenRows));
      if (halt !== null) return halt;
    }
    return { kind: "end" };
  }

  /** Computes rows up to `end`; null once all have their results. */
  #runSome(end: number): Halt | null {
    for (; this.next < end; this.next++) {
      const result = this.once(this.next);
      if (isThenable(result)) return { kind: "begun", result };
      this.#results.add(this.next, result);
    }
    return null;
  }
}

/** Like `isPending`, but only for rows: V8 reads members faster if all results have one shape. */
const isThenable = (result: unknown): result is PromiseLike<unknown> =>
  typeof result === "object" && result !== null && typeof (result as { then?: unknown }).then === "function";

/**
 * Returns the result of a call, repeating a failed one.
 * @param failure of an earlier call
 */
async function repeated(
  owner: RegisteredFunction,
  label: string,
  { signal, onFailure }: CallOptions,
  call: () => unknown,
  failure: { readonly cause: unknown } | null = null,
): Promise<unknown> {
  let failed = failure;
  for (let attempt = 0; ; attempt++) {
    if (failed === null) {
      try {
        signal.throwIfAborted();
        const result = call();
        if (isPending(result)) return await untilAborted(result, signal);
        signal.throwIfAborted();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        failed = { cause: error };
      }
    }
    if (attempt === owner.retries) {
      const calls = attempt === 0 ? "" : ` ${attempt + 1} times`;
      const error = new InternalError(`${label}: failed${calls}: ${messageOf(failed.cause)}`, failed);
      onFailure(error);
      throw error;
    }
    failed = null;
    await pause(Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * WAIT_GROWTH ** attempt), signal);
  }
}

/** @throws the signal's reason */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      resolve();
    }, ms);
    const stop = whenAborted(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
