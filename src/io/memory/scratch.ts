/**
 * Memory for bytes that are looked at and dropped. Memory used for the first time costs the system as much as copying
 * the bytes into it, so used memory is kept, up to a bound, and lent again. What always holds:
 *
 * - Lent memory belongs to its borrower alone until it is given back; its content is arbitrary.
 * - Nobody keeps a view of memory that was given back. A borrower that is not sure does not give it back.
 */

const GRAIN_BYTES = 64 * 1024;

export class ScratchMemory {
  readonly #maxKept: number;
  readonly #free: ArrayBuffer[] = [];
  #kept = 0;

  /** @param maxKept Bytes kept for the next borrowers */
  constructor(maxKept: number) {
    this.#maxKept = maxKept;
  }

  /** Bytes kept at the moment. */
  get weight(): number {
    return this.#kept;
  }

  /** Lends `byteLength` bytes, 8-byte aligned. */
  lend(byteLength: number): Uint8Array<ArrayBuffer> {
    let best = -1;
    for (let index = 0; index < this.#free.length; index++) {
      const size = this.#free[index].byteLength;
      if (size >= byteLength && (best < 0 || size < this.#free[best].byteLength)) best = index;
    }
    if (best < 0) {
      return new Uint8Array(
        new ArrayBuffer(Math.ceil(byteLength / GRAIN_BYTES) * GRAIN_BYTES),
        0,
        byteLength,
      );
    }
    const [memory] = this.#free.splice(best, 1);
    this.#kept -= memory.byteLength;
    return new Uint8Array(memory, 0, byteLength);
  }

  /** Gives back what `lend` returned. */
  giveBack(lent: Uint8Array<ArrayBuffer>): void {
    const memory = lent.buffer;
    if (memory.byteLength > this.#maxKept) return;
    while (this.#kept + memory.byteLength > this.#maxKept) {
      // Smaller pieces serve fewer borrowers.
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
