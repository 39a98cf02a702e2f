/**
 * How long work on many vectors is divided: threads take large pieces of it, and this thread takes small ones meanwhile,
 * between which the event loop turns. What comes out does not depend on who did which piece.
 */

import { breathe } from "../../async/eventLoop.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { isSharedMemory } from "../../bytes/sharedCopy.js";

/** Products of values in a piece of work for this thread, and for another; the first takes a few milliseconds. */
const OWN_PRODUCTS = 2 ** 23;
const THREAD_PRODUCTS = 2 ** 26;
const MIN_ROWS = 16;
const MAX_ROWS = 8192;

/** Rows of vectors that are worked on piece by piece. */
export interface PieceWork<Input, Output> {
  readonly task: Task<Input, Output>;
  readonly rowCount: number;
  /** Products of values that a row takes. */
  readonly products: number;
  /** What is to be done with rows from one, up to another exclusive. */
  inputOf(start: number, end: number): Input;
  /** Takes what came out. Pieces end in any order. */
  take(start: number, output: Output): void;
}

export class VectorWork {
  readonly #pool: WorkerPool | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(pool?: WorkerPool, signal?: AbortSignal) {
    this.#pool = pool;
    this.#signal = signal;
  }

  get threads(): number {
    return this.#pool?.size ?? 0;
  }

  /** Room for numbers that threads can see where there are any. */
  floats(length: number): Float32Array {
    return this.threads === 0
      ? new Float32Array(length)
      : new Float32Array(new SharedArrayBuffer(length * 4));
  }

  /** The same numbers where threads can see them. */
  share(values: Float32Array): Float32Array {
    if (this.threads === 0 || isSharedMemory(values.buffer)) return values;
    const shared = this.floats(values.length);
    shared.set(values);
    return shared;
  }

  /** @throws the signal's reason */
  async run<Input, Output>({
    task,
    rowCount,
    products,
    inputOf,
    take,
  }: PieceWork<Input, Output>): Promise<void> {
    let next = 0;
    let failure: { readonly error: unknown } | null = null;
    const lane = async (most: number, work: (input: Input) => Output | Promise<Output>): Promise<void> => {
      const rows = Math.max(MIN_ROWS, Math.min(MAX_ROWS, Math.floor(most / products)));
      while (next < rowCount && failure === null) {
        const start = next;
        next = Math.min(rowCount, start + rows);
        try {
          this.#signal?.throwIfAborted();
          take(start, await work(inputOf(start, next)));
          await breathe();
        } catch (error) {
          failure ??= { error };
        }
      }
    };
    const pool = this.#pool;
    // Little is done before a thread would have it.
    const threads = rowCount * products > OWN_PRODUCTS ? this.threads : 0;
    const lanes = Array.from({ length: threads }, () =>
      lane(THREAD_PRODUCTS, (input) => (pool as WorkerPool).run(task, input)),
    );
    await Promise.all([...lanes, lane(OWN_PRODUCTS, (input) => task.run(input))]);
    // A lane may have set it, which the compiler does not see.
    const failed = failure as { readonly error: unknown } | null;
    if (failed !== null) throw failed.error;
  }
}
