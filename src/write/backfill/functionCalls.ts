/**
 * Calls a registered function for rows of a fragment: for a batch at once, or row by row. A call that fails is made again a
 * few times. The host's event loop turns between calls, however quick or slow each of them is.
 */

import { DataType, type Schema, type Vector } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { vectorOf } from "../../arrow/exchange/batch.js";
import { untilAborted, whenAborted } from "../../async/abort.js";
import { breathe } from "../../async/eventLoop.js";
import { runParallel } from "../../async/parallel.js";
import { InternalError, messageOf } from "../../errors.js";
import type { BatchFunction, RowFunction } from "../../namespace/options.js";
import { asciiTexts, isAscii } from "../../platform/native.js";
import type { RegisteredFunction } from "../userFunctions.js";
import { columnOfResult, isVector, type Lend } from "./functionResult.js";
import type { DirectReads, LentTexts } from "./lentTexts.js";

/** Milliseconds before the first repetition of a call, how much longer each further one waits, and the longest wait. */
const FIRST_WAIT_MS = 100;
const WAIT_GROWTH = 4;
const MAX_WAIT_MS = 30_000;
/** Milliseconds for which rows are computed without a look at the event loop and the signal. */
const SLICE_MS = 5;
/** Most rows that are computed without a look at the clock, where rows are quick. */
const MOST_UNSEEN_ROWS = 8;
/** Milliseconds that quick rows take. */
const QUICK_MS = 0.1;

/** Rows of one fragment, with the columns that a function is handed. */
export interface InputRows {
  readonly fragmentId: number;
  /** Physical offsets, ascending. */
  readonly offsets: Uint32Array;
  /** In the order of the function's inputs. */
  readonly columns: readonly Column[];
  /** Where texts of the columns lie. */
  readonly texts: LentTexts;
}

export interface CallOptions {
  /** Makes the memory of values. */
  readonly lend: Lend;
  /** Rows that are under way at a time, of a function that computes row by row. */
  readonly rowsAtOnce: number;
  readonly signal: AbortSignal;
  /** Told of an error that fails the whole work, before other calls are waited for: it is to abort the signal. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The values of some rows.
 * @param schema of the inputs, by the names under which the function is handed them
 * @throws InternalError naming the rows, with the function's own error as its cause; TableSchemaValidationError for a
 *   result that is not as declared; the signal's reason
 */
export async function callFunction(
  owner: RegisteredFunction,
  schema: Schema,
  rows: InputRows,
  options: CallOptions,
): Promise<Column> {
  const { offsets, fragmentId, texts } = rows;
  const rowCount = offsets.length;
  const { call } = owner;
  // A function that computes row by row gets no vector.
  const inputs = call.kind === "batch" ? rows.columns.map((column) => texts.rowsOf(column)) : rows.columns;
  const columns: Record<string, Vector> = {};
  for (const [index, name] of owner.inputNames.entries()) {
    const vector = vectorOf(schema.fields[index], inputs[index], rowCount);
    const reads = texts.directReads();
    if (call.kind === "batch") texts.hidePage(vector, inputs[index], reads);
    readAscii(vector, inputs[index], reads);
    define(columns, name, vector);
  }
  const { lend } = options;
  const rowOf = (index: number): number => offsets[index];
  const maker = `function ${owner.name}, fragment ${fragmentId}`;
  if (call.kind === "row") {
    const values = await callForRows(owner, call.row, columns, rows, options);
    const column = columnOfResult(owner, values, { rowCount, maker, label: maker, rowOf, lend });
    texts.giveBack();
    return column;
  }
  const where =
    rowCount === 1
      ? `row ${offsets[0]}`
      : `rows ${offsets[0]} to ${offsets[rowCount - 1]} (${rowCount} of them)`;
  const label = `${maker}, ${where}`;
  const result = await repeated(owner, label, options, () =>
    call.batch(columns, { rowCount, signal: options.signal } satisfies Parameters<BatchFunction["batch"]>[1]),
  );
  const column = columnOfResult(owner, result, { rowCount, maker, label, rowOf, lend });
  // A vector may lie in the memory of the inputs.
  if (isVector(result)) texts.keep();
  else texts.giveBack();
  return column;
}

/** Members may have any name, `__proto__` too. */
function define<Value>(target: Record<string, Value>, name: string, value: Value): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

async function callForRows(
  owner: RegisteredFunction,
  row: RowFunction["row"],
  columns: Readonly<Record<string, Vector>>,
  { offsets, fragmentId }: InputRows,
  options: CallOptions,
): Promise<unknown[]> {
  const { rowsAtOnce, signal } = options;
  const calls = new RowCalls(row, columns, offsets.length, signal);
  const labelOf = (index: number) => `function ${owner.name}, fragment ${fragmentId}, row ${offsets[index]}`;
  for (;;) {
    // Here, and not for every few rows: while rows are computed at once, nothing else runs that could abort the work.
    signal.throwIfAborted();
    const halt = calls.run();
    const { next, results } = calls;
    switch (halt.kind) {
      case "end":
        return results;
      case "due":
        await breathe();
        calls.beginSlice();
        break;
      case "failed":
        results[next] = await repeated(owner, labelOf(next), options, () => calls.once(next), halt);
        calls.next++;
        break;
      case "begun": {
        let begun: unknown = halt.result;
        const one = async (place: number): Promise<void> => {
          const index = next + place;
          results[index] = await repeated(owner, labelOf(index), options, () => {
            const result = place === 0 && begun !== null ? begun : calls.once(index);
            if (place === 0) begun = null;
            return result;
          });
          await breathe();
        };
        await runParallel(offsets.length - next, rowsAtOnce, one, signal);
        return results;
      }
    }
  }
}

/** Why no further row is computed at once: there is none, the event loop has to turn, or the next one is awaited or has failed. */
type Halt =
  | { readonly kind: "end" | "due" }
  | { readonly kind: "begun"; readonly result: PromiseLike<unknown> }
  | { readonly kind: "failed"; readonly cause: unknown };

/**
 * Computes rows whose results are at hand at once, which need no promises. V8 puts what is called into the code of its loop,
 * which holds nothing that differs from one job to the next, such as looks at a signal: the code would be made anew each time.
 */
class RowCalls {
  readonly results: unknown[];
  /** The first row that has no result. */
  next = 0;
  readonly #row: RowFunction["row"];
  readonly #names: readonly string[];
  readonly #vectors: readonly Vector[];
  readonly #call: Parameters<RowFunction["row"]>[1];
  #sliceMs = performance.now();
  #lookMs = this.#sliceMs;
  #unseenRows = 1;

  constructor(
    row: RowFunction["row"],
    columns: Readonly<Record<string, Vector>>,
    rowCount: number,
    signal: AbortSignal,
  ) {
    this.#row = row;
    this.#names = Object.keys(columns);
    this.#vectors = this.#names.map((name) => columns[name]);
    this.#call = { signal };
    this.results = new Array<unknown>(rowCount);
  }

  once(index: number): unknown {
    const names = this.#names;
    const values: Record<string, unknown> = {};
    for (let input = 0; input < names.length; input++) {
      define(values, names[input], this.#vectors[input].get(index));
    }
    // Not as a method of this.
    const row = this.#row;
    return row(values, this.#call);
  }

  /** The event loop has turned. */
  beginSlice(): void {
    this.#sliceMs = performance.now();
    this.#lookMs = this.#sliceMs;
  }

  run(): Halt {
    while (this.next < this.results.length) {
      const nowMs = performance.now();
      const wasQuick = nowMs - this.#lookMs < QUICK_MS;
      this.#unseenRows = wasQuick ? Math.min(MOST_UNSEEN_ROWS, this.#unseenRows + 1) : 1;
      this.#lookMs = nowMs;
      if (nowMs - this.#sliceMs >= SLICE_MS) return { kind: "due" };
      const halt = this.#runSome(Math.min(this.results.length, this.next + this.#unseenRows));
      if (halt !== null) return halt;
    }
    return { kind: "end" };
  }

  /** Computes rows up to `end`; null where all of them have their results. */
  #runSome(end: number): Halt | null {
    for (; this.next < end; this.next++) {
      let result: unknown;
      try {
        result = this.once(this.next);
      } catch (cause) {
        return { kind: "failed", cause };
      }
      if (isThenable(result)) return { kind: "begun", result };
      this.results[this.next] = result;
    }
    return null;
  }
}

/**
 * Has a vector of texts that are all ASCII read single ones several times as fast as it does by itself. A vector that lies in
 * one piece has a `get` of its own, which is put in place here by another.
 */
function readAscii(vector: Vector, column: Column, reads: DirectReads): void {
  if (asciiTexts === null || column.kind !== "variable" || !DataType.isUtf8(vector.type)) return;
  const { offsets, bytes, validity, length } = column;
  if (!areNarrow(offsets) || length === 0 || !Object.hasOwn(vector, "get")) return;
  const start = offsets[0];
  const own = bytes.subarray(start, offsets[length]);
  if (own.byteLength === 0 || !isAscii(own)) return;
  const textOf = asciiTexts(own);
  const otherwise = vector.get;
  vector.get = (index: number) => {
    const isRow = Number.isInteger(index) && index >= 0 && index < length;
    if (!isRow || !reads.mayBe || (validity !== null && !isSet(validity, index))) return otherwise(index);
    return textOf(offsets[index] - start, offsets[index + 1] - start);
  };
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

/**
 * The result of a call, which is made again where it fails.
 * @param failure of a call that was made already
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
        if (isThenable(result)) return await untilAborted(result, signal);
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
