/** Disks and threads for tests of pages in memory that is lent. */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Task, WorkerPool } from "../../../src/async/workerPool.js";
import { WatchedDisk } from "../memoryDisk.js";

/** A disk that looks at written bytes at the end of each write. */
export class SlowDisk extends WatchedDisk {
  constructor() {
    super(async (write) => {
      await sleep(3);
      await write();
    });
  }
}

/** Threads whose memory is overwritten once it is returned. */
export function lendingPool() {
  const tasks: string[] = [];
  const lent = new Set<ArrayBufferLike>();
  let givenBack = 0;
  const memory = {
    lend: (byteLength: number) => {
      const room = new Uint8Array(new SharedArrayBuffer(byteLength));
      lent.add(room.buffer);
      return room;
    },
    giveBack: (room: Uint8Array<SharedArrayBuffer>) => {
      expect(lent.delete(room.buffer)).toBe(true);
      new Uint8Array(room.buffer).fill(0xff);
      givenBack++;
    },
  };
  const run = async <Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> => {
    tasks.push(task.name);
    const sent = structuredClone(input);
    await sleep(tasks.length % 5);
    // A pool closes while a thread is about to answer: the work is done again.
    task.run(sent);
    return task.run(sent);
  };
  const pool = { size: 2, run, memory, isWorth: () => true } as unknown as WorkerPool;
  return { pool, tasks, lent, givenBack: () => givenBack };
}
