/**
 * Stands for workerPool.ts in bundles for browsers. All tasks run in line, unless the program starts workers:
 * the pool of threads is then loaded.
 */

import { FRESH_MEMORY, type SharedMemory } from "./sharedMemory.js";
import type { Task, WorkerPool as ThreadPool, WorkerPoolOptions } from "./workerPool.js";

export class WorkerPool {
  readonly memory: SharedMemory;
  /** Null until it is loaded, and if the program starts no workers. */
  #threads: ThreadPool | null = null;
  #isClosed = false;

  constructor(options: WorkerPoolOptions) {
    this.memory = options.memory ?? FRESH_MEMORY;
    if (options.start !== undefined) void this.#load({ ...options, memory: this.memory });
  }

  async #load(options: WorkerPoolOptions): Promise<void> {
    // Without the module, tasks run in line, as they do without threads.
    const loaded = await import("./workerPool.js").catch(() => null);
    if (loaded !== null && !this.#isClosed) this.#threads = new loaded.WorkerPool(options);
  }

  get size(): number {
    return this.#threads?.size ?? 0;
  }

  get threadCount(): number {
    return this.#threads?.threadCount ?? 0;
  }

  get busyCount(): number {
    return this.#threads?.busyCount ?? 0;
  }

  isWorth(byteCount: number): boolean {
    return this.#threads?.isWorth(byteCount) ?? false;
  }

  async run<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
    return this.#threads === null ? task.run(input) : this.#threads.run(task, input);
  }

  /** @returns true if no thread may still write into shared memory */
  close(): boolean {
    this.#isClosed = true;
    return this.#threads?.close() ?? true;
  }
}
