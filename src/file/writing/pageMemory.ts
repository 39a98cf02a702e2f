/** Memory for copies of rows, until the pages that are made of them are written: that of threads, where there are any. */

import type { GatherMemory } from "../../arrow/columns/columnGatherer.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { isSharedMemory } from "../../bytes/sharedCopy.js";

/** Smaller pieces are made anew: memory that is lent comes in large ones. */
const MIN_LENT_BYTES = 64 * 1024;

export class PageMemory implements GatherMemory {
  readonly #pool: WorkerPool | undefined;
  readonly #lent = new Set<Uint8Array<SharedArrayBuffer>>();
  #uses = 0;

  constructor(pool: WorkerPool | undefined) {
    this.#pool = pool !== undefined && pool.size > 0 ? pool : undefined;
  }

  lend(byteLength: number): Uint8Array {
    if (this.#pool === undefined || byteLength < MIN_LENT_BYTES) return new Uint8Array(byteLength);
    const memory = this.#pool.memory.lend(byteLength);
    this.#lent.add(memory);
    return memory;
  }

  giveBack(memory: Uint8Array): void {
    const { buffer } = memory;
    if (!isSharedMemory(buffer) || !this.#lent.delete(memory as Uint8Array<SharedArrayBuffer>)) return;
    this.#pool?.memory.giveBack(memory as Uint8Array<SharedArrayBuffer>);
  }

  /** Notes that somebody looks at the copies: a page that is made of them, whoever cuts pages. */
  use(): void {
    this.#uses++;
  }

  /** Notes that one of them is done; of a page, that it is written. After the last, the memory is somebody else's. */
  release(): void {
    if (--this.#uses > 0) return;
    for (const memory of this.#lent) this.#pool?.memory.giveBack(memory);
    this.#lent.clear();
  }

  /** Leaves the memory to the garbage collector: something that lasts longer than the pages is part of it. */
  keep(): void {
    this.#lent.clear();
  }
}
