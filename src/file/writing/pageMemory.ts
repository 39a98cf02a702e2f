/**
 * Memory for copies of rows, until the pages that are made of them are written: that of threads, where there are any, else of this
 * one.
 */

import type { GatherMemory } from "../../arrow/columns/columnGatherer.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { hasMemory, isSharedMemory } from "../../bytes/sharedCopy.js";
import { InternalError } from "../../errors.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";

/** Smaller pieces are made anew: memory that is lent comes in large ones. */
const MIN_LENT_BYTES = 64 * 1024;

export class PageMemory implements GatherMemory {
  readonly #lend: ((byteLength: number) => Uint8Array) | undefined;
  readonly #giveBack: (memory: Uint8Array) => void;
  readonly #lent = new Map<ArrayBufferLike, Uint8Array>();
  #uses = 0;

  constructor(pool: WorkerPool | undefined, scratch: ScratchMemory | undefined) {
    const lender = pool !== undefined && pool.size > 0 ? pool.memory : scratch;
    this.#lend = lender && ((byteLength) => lender.lend(byteLength));
    // Only memory that was lent comes back.
    this.#giveBack = (memory) => lender?.giveBack(memory as never);
  }

  lend(byteLength: number): Uint8Array {
    if (this.#lend === undefined || byteLength < MIN_LENT_BYTES) return new Uint8Array(byteLength);
    const memory = this.#lend(byteLength);
    this.#lent.set(memory.buffer, memory);
    return memory;
  }

  giveBack({ buffer }: Uint8Array): void {
    const memory = this.#lent.get(buffer);
    if (memory === undefined) return;
    this.#lent.delete(buffer);
    this.#giveBack(memory);
  }

  /** Notes that somebody looks at the copies: a page that is made of them, whoever cuts pages. */
  use(): void {
    this.#uses++;
  }

  /** Notes that one of them is done; of a page, that it is written. After the last, the memory is somebody else's. */
  release(): void {
    if (--this.#uses > 0) return;
    // Pages that are still to be written would hold what others write.
    if (this.#uses < 0) throw new InternalError("a page was released more often than it was used");
    for (const memory of this.#lent.values()) this.#giveBack(memory);
    this.#lent.clear();
  }

  /** Leaves the memory to the garbage collector if some of it is part of plain data that lasts longer than the pages. */
  keepFor(lasting: unknown): void {
    // Shared memory that a thread has sent back is another object.
    const mayBeLent = (memory: ArrayBufferLike): boolean => this.#lent.has(memory) || isSharedMemory(memory);
    if (this.#lent.size > 0 && hasMemory(lasting, mayBeLent)) this.#lent.clear();
  }
}
