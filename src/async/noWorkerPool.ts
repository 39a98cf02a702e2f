/** Stands for workerPool.ts in bundles for browsers, which have no threads: all tasks run in line. */

import type { Task, WorkerPoolOptions } from "./workerPool.js";

const FRESH_MEMORY: NonNullable<WorkerPoolOptions["memory"]> = {
  lend: (byteLength) => new Uint8Array(new SharedArrayBuffer(byteLength)),
  giveBack: () => undefined,
};

export class WorkerPool {
  readonly memory: NonNullable<WorkerPoolOptions["memory"]>;
  readonly size = 0;
  readonly threadCount = 0;
  readonly busyCount = 0;

  constructor({ memory = FRESH_MEMORY }: WorkerPoolOptions) {
    this.memory = memory;
  }

  isWorth(_byteCount: number): boolean {
    return false;
  }

  async run<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
    return task.run(input);
  }

  /** @returns true: no thread may still write into shared memory */
  close(): boolean {
    return true;
  }
}
