/**
 * Divides work on many vectors: threads take large pieces, and this thread takes small ones, between which it
 * yields. The result does not depend on the division.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { Task, WorkerPool } from "../../../async/workerPool.js";
import { isSharedMemory } from "../../../bytes/sharedCopy.js";

/**
 * Multiplications per piece: few milliseconds in this thread. Its pieces grow from the first, because kernels
 * are slow until the engine has compiled them well.
 */
const OWN_PIECES = { first: 2 ** 20, most: 2 ** 23 };
const THREAD_PIECES = { first: 2 ** 26, most: 2 ** 26 };
const MAX_ROWS = 8192;

/** Rows to process in pieces. */
export interface PieceWork<Input, Output> {
  readonly task: Task<Input, Output>;
  readonly rowCount: number;
  /** Multiplications per row. */
  readonly products: number;
  /** Returns the input for rows `[start, end)`. Concurrent pieces have different lanes. */
  inputOf(start: number, end: number, lane: number): Input;
  /** Takes the output of a piece; pieces end in any order. */
  take(start: number, output: Output): void;
}

export class VectorWork {
  constructor(
    private readonly pool?: WorkerPool,
    private readonly signal?: AbortSignal,
    /** Called with the number of multiplications of each finished piece. */
    private readonly onProducts?: (products: number) => void,
  ) {}

  get threads(): number {
    return this.pool?.size ?? 0;
  }

  /** Number of lanes. */
  get lanes(): number {
    return this.threads + 1;
  }

  /** Allocates memory, shared if there are threads. */
  memory(byteLength: number): ArrayBuffer | SharedArrayBuffer {
    return this.threads === 0 ? new ArrayBuffer(byteLength) : new SharedArrayBuffer(byteLength);
  }

  floats(length: number): Float32Array {
    return new Float32Array(this.memory(length * 4));
  }

  /** Copies the numbers to shared memory if there are threads. */
  share(values: Float32Array): Float32Array {
    if (this.threads === 0 || isSharedMemory(values.buffer)) return values;
    const shared = this.floats(values.length);
    shared.set(values);
    return shared;
  }

  /** Runs all pieces. @throws the signal's reason */
  async run<Input, Output>({
    task,
    rowCount,
    products,
    inputOf,
    take,
  }: PieceWork<Input, Output>): Promise<void> {
    let next = 0;
    let failure: { readonly error: unknown } | null = null;
    // Small work would end before a thread gets it.
    const threads = rowCount * products > OWN_PIECES.most ? this.threads : 0;
    const goAlong = async (
      lane: number,
      { first, most }: { readonly first: number; readonly most: number },
      work: (input: Input) => Output | Promise<Output>,
    ): Promise<void> => {
      let pieceProducts = first;
      while (next < rowCount && failure === null) {
        const start = next;
        const mostRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(pieceProducts / products)));
        pieceProducts = Math.min(2 * pieceProducts, most);
        // Pieces shrink towards the end, so that no thread waits long for the last.
        next += Math.min(mostRows, Math.ceil((rowCount - start) / (2 * (threads + 1))));
        const end = next;
        try {
          this.signal?.throwIfAborted();
          take(start, await work(inputOf(start, end, lane)));
          this.onProducts?.((end - start) * products);
          await yieldToEventLoop();
        } catch (error) {
          failure ??= { error };
        }
      }
    };
    const pool = this.pool;
    const others = Array.from({ length: threads }, (_, lane) =>
      goAlong(lane + 1, THREAD_PIECES, (input) => (pool as WorkerPool).run(task, input)),
    );
    await Promise.all([...others, goAlong(0, OWN_PIECES, (input) => task.run(input))]);
    // The compiler does not see that a lane may have set it.
    const failed = failure as { readonly error: unknown } | null;
    if (failed !== null) throw failed.error;
  }
}
