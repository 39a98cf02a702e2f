/**
 * How long work on many vectors is divided: threads take large pieces of it, and this thread takes small ones meanwhile,
 * between which the event loop turns. What comes out does not depend on who did which piece.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Task, WorkerPool } from "../../../async/workerPool.js";
import { isSharedMemory } from "../../../bytes/sharedCopy.js";

/** Products of values in a piece of work for this thread, and for another; the first takes a few milliseconds. */
const OWN_PRODUCTS = 2 ** 23;
const THREAD_PRODUCTS = 2 ** 26;
const MAX_ROWS = 8192;

/** Rows of vectors that are worked on piece by piece. */
export interface PieceWork<Input, Output> {
  readonly task: Task<Input, Output>;
  readonly rowCount: number;
  /** Products of values that a row takes. */
  readonly products: number;
  /** What is to be done with rows from one, up to another exclusive; no two pieces have the same lane at a time. */
  inputOf(start: number, end: number, lane: number): Input;
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

  /** Lanes of the work, by which pieces that are worked on at a time are told apart. */
  get lanes(): number {
    return this.threads + 1;
  }

  /** Memory that threads can see where there are any. */
  memory(byteLength: number): ArrayBuffer | SharedArrayBuffer {
    return this.threads === 0 ? new ArrayBuffer(byteLength) : new SharedArrayBuffer(byteLength);
  }

  floats(length: number): Float32Array {
    return new Float32Array(this.memory(length * 4));
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
    // Little is done before a thread would have it.
    const threads = rowCount * products > OWN_PRODUCTS ? this.threads : 0;
    const goAlong = async (
      lane: number,
      most: number,
      work: (input: Input) => Output | Promise<Output>,
    ): Promise<void> => {
      const mostRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(most / products)));
      while (next < rowCount && failure === null) {
        const start = next;
        // Towards the end pieces are smaller, so that nobody has to wait long for the last.
        next += Math.min(mostRows, Math.ceil((rowCount - start) / (2 * (threads + 1))));
        const end = next;
        try {
          this.#signal?.throwIfAborted();
          take(start, await work(inputOf(start, end, lane)));
          await yieldToEventLoop();
        } catch (error) {
          failure ??= { error };
        }
      }
    };
    const pool = this.#pool;
    const others = Array.from({ length: threads }, (_, lane) =>
      goAlong(lane + 1, THREAD_PRODUCTS, (input) => (pool as WorkerPool).run(task, input)),
    );
    await Promise.all([...others, goAlong(0, OWN_PRODUCTS, (input) => task.run(input))]);
    // A lane may have set it, which the compiler does not see.
    const failed = failure as { readonly error: unknown } | null;
    if (failed !== null) throw failed.error;
  }
}
