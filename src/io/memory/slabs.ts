/**
 * Lends small pieces of a few large blocks, for values that come piece by piece and last about as long. A
 * thread then gets few blocks, each of which costs it more than all pieces in it.
 */

import { InternalError } from "../../errors.js";
import type { Lender } from "./arena.js";

/**
 * A block is twice as large as the one before it, up to this size. Larger pieces get memory of their own
 * size: memory of many sizes is seldom lent again, and threads free what they have seen late.
 */
const MAX_SLAB_BYTES = 4 * 1024 * 1024;
/** Pieces begin at multiples of this: the width of the widest numbers. */
const ALIGNMENT = 8;

interface Slab {
  readonly bytes: Uint8Array;
  readonly lender: Lender;
  /** Bytes that are cut off. */
  used: number;
  /** Number of pieces that are still lent. */
  pieces: number;
}

export class Slabs implements Lender {
  readonly #lender: Lender;
  readonly #largeLender: Lender;
  readonly #slabs = new Map<ArrayBufferLike, Slab>();
  /** The block that pieces are cut from; null before the first piece and after the end. */
  #current: Slab | null = null;
  #slabBytes = 0;

  /**
   * @param lender lends the blocks
   * @param largeLender lends the pieces that are larger than a block
   */
  constructor(lender: Lender, largeLender: Lender) {
    this.#lender = lender;
    this.#largeLender = largeLender;
  }

  lend(byteLength: number): Uint8Array {
    const slab =
      byteLength > MAX_SLAB_BYTES ? this.#open(this.#largeLender, byteLength) : this.#withRoomFor(byteLength);
    const start = slab.used;
    slab.used = alignedEnd(start + byteLength);
    slab.pieces++;
    return slab.bytes.subarray(start, start + byteLength);
  }

  giveBack({ buffer }: Uint8Array): void {
    const slab = this.#slabs.get(buffer);
    if (slab === undefined) throw new InternalError("memory was given back to blocks that did not lend it");
    slab.pieces--;
    this.#closeUnused(slab);
  }

  /** Lets the current block go back to its lender with the last of its pieces. */
  end(): void {
    const last = this.#current;
    this.#current = null;
    if (last !== null) this.#closeUnused(last);
  }

  #withRoomFor(byteLength: number): Slab {
    const before = this.#current;
    if (before !== null && before.used + byteLength <= before.bytes.length) return before;
    this.#slabBytes = Math.max(alignedEnd(byteLength), Math.min(MAX_SLAB_BYTES, this.#slabBytes * 2));
    const slab = this.#open(this.#lender, this.#slabBytes);
    this.#current = slab;
    if (before !== null) this.#closeUnused(before);
    return slab;
  }

  #open(lender: Lender, byteLength: number): Slab {
    const slab = { bytes: lender.lend(byteLength), lender, used: 0, pieces: 0 };
    this.#slabs.set(slab.bytes.buffer, slab);
    return slab;
  }

  #closeUnused(slab: Slab): void {
    if (slab.pieces > 0) return;
    if (slab === this.#current) {
      slab.used = 0;
      return;
    }
    this.#slabs.delete(slab.bytes.buffer);
    slab.lender.giveBack(slab.bytes);
  }
}

const alignedEnd = (end: number): number => Math.ceil(end / ALIGNMENT) * ALIGNMENT;
