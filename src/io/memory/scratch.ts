/**
 * Memory for bytes that are looked at and dropped. Memory used for the first time costs the system as much as
 * copying the bytes into it, so used memory is kept, up to a bound, and lent again. What always holds:
 *
 * - Lent memory belongs to its borrower alone until it is given back; its content is arbitrary.
 * - Nobody keeps a view of memory that was given back. A borrower that is not sure does not give it back.
 *
 * What threads look at is lent in shared memory, which they see without a copy. It never reaches callers of
 * the package.
 */

const GRAIN_BYTES = 64 * 1024;

/** Memory of one kind. */
export class LendableMemory<Memory extends ArrayBuffer | SharedArrayBuffer> {
  readonly #maxKept: number;
  readonly #make: (byteLength: number) => Memory;
  readonly #free: Memory[] = [];
  #kept = 0;

  /** @param maxKept Bytes kept for the next borrowers */
  constructor(maxKept: number, make: (byteLength: number) => Memory) {
    this.#maxKept = maxKept;
    this.#make = make;
  }

  /** Bytes kept at the moment. */
  get weight(): number {
    return this.#kept;
  }

  /** Lends `byteLength` bytes, 8-byte aligned. */
  lend(byteLength: number): Uint8Array<Memory> {
    let best = -1;
    for (let index = 0; index < this.#free.length; index++) {
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

  /** Gives back what `lend` returned. */
  giveBack(lent: Uint8Array<Memory>): void {
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

/** Pieces that one borrower is lent one by one, and gives back together. */
export class Loan<Memory extends ArrayBuffer | SharedArrayBuffer = ArrayBuffer | SharedArrayBuffer> {
  readonly #memory: LendableMemory<Memory>;
  readonly #lent: Uint8Array<Memory>[] = [];

  constructor(memory: LendableMemory<Memory>) {
    this.#memory = memory;
  }

  lend(byteLength: number): Uint8Array<Memory> {
    const lent = this.#memory.lend(byteLength);
    this.#lent.push(lent);
    return lent;
  }

  giveBack(): void {
    for (const lent of this.#lent.splice(0)) this.#memory.giveBack(lent);
  }
}

export class ScratchMemory extends LendableMemory<ArrayBuffer> {
  /** Asked only where there are threads: other hosts may have no such memory. */
  readonly shared: LendableMemory<SharedArrayBuffer>;

  /** @param maxKept Bytes of each kind kept for the next borrowers */
  constructor(maxKept: number) {
    super(maxKept, (byteLength) => new ArrayBuffer(byteLength));
    this.shared = new LendableMemory(maxKept, (byteLength) => new SharedArrayBuffer(byteLength));
  }

  override clear(): void {
    super.clear();
    this.shared.clear();
  }
}
