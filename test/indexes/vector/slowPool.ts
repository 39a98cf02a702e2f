/** A pool for tests of shared memory, which runs slow tasks in this thread. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Task, WorkerPool } from "../../../src/async/workerPool.js";
import { randomNumbers } from "../../support/vectorTables.js";

/** Copies all but shared memory, as threads do, and puts the names of the tasks into `tasks`. */
export function slowPool(size: number, tasks: string[]): WorkerPool {
  const next = randomNumbers(size);
  const run = async <Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> => {
    tasks.push(task.name);
    await sleep(next() * 4);
    return task.run(copyOf(input) as Input);
  };
  return { size, run } as unknown as WorkerPool;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof WebAssembly.Memory) return value;
  if (ArrayBuffer.isView(value)) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)]));
}
