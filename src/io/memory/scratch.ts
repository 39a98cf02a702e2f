/**
 * Pools of memory for bytes that are dropped soon. The system takes as long to provide new memory as a copy
 * into it takes, so a pool keeps used memory, up to a bound, and lends it again. Most borrowers use an arena
 * (arena.ts); a function that gives back what it borrowed before it returns needs none.
 *
 * Threads get shared memory, which they read without a copy. It never reaches callers of the package.
 */

import type { Lender } from "./arena.js";

const GRAIN_BYTES = 64 * 1024;

/** A pool of one kind of memory. */
export class MemoryPool<Memory extends ArrayBufferLike> implements Lender<Memory> {
  readonly #maxKept: number;
  readonly #make: (byteLength: number) => Memory;
  readonly #free: Memory[] = [];
  #kept = 0;

  /** @param maxKept maximum bytes that wait to be lent again */
  constructor(maxKept: number, make: (byteLength: number) => Memory) {
    this.#maxKept = maxKept;
    this.#make = make;
  }

  /** Bytes that wait to be lent again. */
  get weight(): number {
    return this.#kept;
  }

  lend(byteLength: number): Uint8Array<Memory> {
    let best = -1;
    // Begin with the last piece: memory that was returned last is still in the processor's caches.
    for (let index = this.#free.length - 1; index >= 0; index--) {
      const size = this.#free[index].byteLength;
      if (size >= byteLength && (best < 0 || size < this.#free[best].byteLength)) best = index;
    }
    if (best < 0) {
      return new Uint8Array(this.#make(Math.ceil(byteLength / GRAIN_BYTES) * GRAIN_BYTES), 0, byteLength);
    }
    const [memory] = this.#free.splice(best, 1);
    this.#kept -= memory.byteLength;
    return new Uint8Array(memory, 0, byteLength);
  }

  giveBack({ buffer: memory }: Uint8Array<Memory>): void {
    if (memory.byteLength > this.#maxKept) return;
    while (this.#kept + memory.byteLength > this.#maxKept) {
      // A smaller piece serves fewer borrowers.
      let smallest = -1;
      for (let index = 0; index < this.#free.length; index++) {
        const size = this.#free[index].byteLength;
        if (smallest < 0 || size < this.#free[smallest].byteLength) smallest = index;
      }
      if (smallest < 0 || this.#free[smallest].byteLength >= memory.byteLength) return;
      this.#kept -= this.#free.splice(smallest, 1)[0].byteLength;
    }
    this.#free.push(memory);
    this.#kept += memory.byteLength;
  }

  /** Drops all kept memory. */
  clear(): void {
    this.#free.length = 0;
    this.#kept = 0;
  }
}

export class ScratchMemory extends MemoryPool<ArrayBuffer> {
  /** Used only if there are threads: some hosts have no shared memory. */
  readonly shared: MemoryPool<SharedArrayBuffer>;

  /** @param maxKept maximum bytes of each kind that wait to be lent again */
  constructor(maxKept: number) {
    super(maxKept, (byteLength) => new ArrayBuffer(byteLength));
    this.shared = new MemoryPool(maxKept, (byteLength) => new SharedArrayBuffer(byteLength));
  }

  override clear(): void {
    super.clear();
    this.shared.clear();
  }
}
