/**
 * Memory for what comes piece by piece and lasts about as long: cut from a few larger blocks, one piece
 * behind the other. What threads are handed of it is then a few blocks, each of which costs them more than
 * all pieces in it.
 */

import { InternalError } from "../../errors.js";
import type { LendableMemory } from "./scratch.js";

/**
 * A block is twice as large as the one before it, up to so many bytes. Pieces of more don't lie in blocks: of
 * sizes that differ much, few are lent again, and what threads have seen is collected late.
 */
const MAX_SLAB_BYTES = 4 * 1024 * 1024;
/** Pieces begin at multiples of so many bytes: that of the widest numbers. */
const ALIGNMENT = 8;

interface Slab {
  readonly bytes: Uint8Array;
  giveBack(): void;
  /** Bytes that were cut from it. */
  used: number;
  /** Pieces of it that nobody gave back. */
  pieces: number;
}

/** Pieces that one borrower gives back together. */
export interface Pieces {
  /** Cuts a piece of so many bytes, 8-byte aligned; its content is arbitrary. */
  lend(byteLength: number): Uint8Array;
  /** Notes that another looks at them, who gives them back as well. */
  share(): void;
  /** Once one of those who look at them no longer does. */
  giveBack(): void;
}

export class Slabs {
  readonly #memory: LendableMemory<ArrayBuffer | SharedArrayBuffer>;
  readonly #large: LendableMemory<ArrayBuffer>;
  /** The block that pieces are cut from; null before the first, and when no more are cut. */
  #current: Slab | null = null;
  #slabBytes = 0;

  /**
   * @param memory of the blocks
   * @param large of pieces that are larger than a block
   */
  constructor(memory: LendableMemory<ArrayBuffer | SharedArrayBuffer>, large: LendableMemory<ArrayBuffer>) {
    this.#memory = memory;
    this.#large = large;
  }

  pieces(): Pieces {
    const slabs: Slab[] = [];
    let borrowers = 1;
    return {
      lend: (byteLength) => {
        const slab =
          byteLength > MAX_SLAB_BYTES ? slabOf(this.#large, byteLength) : this.#withRoomFor(byteLength);
        const start = slab.used;
        slab.used = alignedEnd(start + byteLength);
        slab.pieces++;
        slabs.push(slab);
        return slab.bytes.subarray(start, start + byteLength);
      },
      share: () => {
        borrowers++;
      },
      giveBack: () => {
        if (--borrowers > 0) return;
        // Whoever looks at them now would see what others write.
        if (borrowers < 0) throw new InternalError("memory was given back by more than it was lent to");
        for (const slab of slabs.splice(0)) {
          slab.pieces--;
          this.#giveBackUnused(slab);
        }
      },
    };
  }

  /** Ends the cutting: the last block, too, is given back with the last of its pieces. */
  end(): void {
    const last = this.#current;
    this.#current = null;
    if (last !== null) this.#giveBackUnused(last);
  }

  #withRoomFor(byteLength: number): Slab {
    const before = this.#current;
    if (before !== null && before.used + byteLength <= before.bytes.length) return before;
    this.#slabBytes = Math.max(alignedEnd(byteLength), Math.min(MAX_SLAB_BYTES, this.#slabBytes * 2));
    const slab = slabOf(this.#memory, this.#slabBytes);
    this.#current = slab;
    if (before !== null) this.#giveBackUnused(before);
    return slab;
  }

  #giveBackUnused(slab: Slab): void {
    if (slab.pieces > 0) return;
    if (slab === this.#current) slab.used = 0;
    else slab.giveBack();
  }
}

function slabOf<Memory extends ArrayBuffer | SharedArrayBuffer>(
  memory: LendableMemory<Memory>,
  byteLength: number,
): Slab {
  const bytes = memory.lend(byteLength);
  return { bytes, used: 0, pieces: 0, giveBack: () => memory.giveBack(bytes) };
}

const alignedEnd = (end: number): number => Math.ceil(end / ALIGNMENT) * ALIGNMENT;
