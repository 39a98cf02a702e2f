/**
 * Memory with one lifetime: that of a scan, a group of pages, a page to write, or a call. What always holds:
 *
 * - Memory that an arena lends belongs to the arena's owners alone. Its content is arbitrary.
 * - Once the last owner has released the arena, nobody has a view of that memory. An owner that cannot
 *   promise this never releases the arena: the garbage collector then frees the memory.
 *
 * Tests move memory whenever it goes back to the pool (test/support/poisonScratch.ts), so each view belongs
 * to one generation of its memory, and reading it later fails.
 */

import { InternalError } from "../../errors.js";

/** Lends memory and takes it back: a pool, or the blocks that a pool lends. */
export interface Lender<Memory extends ArrayBufferLike = ArrayBufferLike> {
  /** Lends `byteLength` bytes at a multiple of 8. */
  lend(byteLength: number): Uint8Array<Memory>;
  /** Takes back what `lend` returned. */
  giveBack(bytes: Uint8Array<Memory>): void;
}

export class Arena<Memory extends ArrayBufferLike = ArrayBufferLike> {
  readonly #lender: Lender<Memory>;
  readonly #lent: Uint8Array<Memory>[] = [];
  #owners = 1;

  /** Has one owner. */
  constructor(lender: Lender<Memory>) {
    this.#lender = lender;
  }

  /** Lends `byteLength` bytes at a multiple of 8. */
  lend(byteLength: number): Uint8Array<Memory> {
    const bytes = this.#lender.lend(byteLength);
    this.#lent.push(bytes);
    return bytes;
  }

  /** Adds an owner. */
  share(): void {
    this.#owners++;
  }

  /** Ends the use by one owner. After the last one, all memory goes back. */
  release(): void {
    // The memory may belong to others already.
    if (this.#owners === 0) throw new InternalError("memory was released by more owners than it has");
    if (--this.#owners === 0) this.recycle();
  }

  /** Gives back all memory lent so far; the arena may lend more. The caller is the only owner. */
  recycle(): void {
    for (const bytes of this.#lent.splice(0)) this.#lender.giveBack(bytes);
  }

  /** Gives back what one call of `lend` returned, before the rest. Ignores any other memory. */
  giveBack(bytes: Uint8Array): void {
    const index = (this.#lent as Uint8Array[]).indexOf(bytes);
    if (index >= 0) this.#lender.giveBack(this.#lent.splice(index, 1)[0]);
  }
}
