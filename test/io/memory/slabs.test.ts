import { describe, expect, it } from "vitest";
import { Arena } from "../../../src/io/memory/arena.js";
import { MemoryPool } from "../../../src/io/memory/scratch.js";
import { Slabs } from "../../../src/io/memory/slabs.js";
import { Random } from "../../support/generators.js";

/** Memory that is overwritten when it is given back, which each block of it must be once. */
class Watched extends MemoryPool<ArrayBuffer> {
  readonly out = new Set<ArrayBuffer>();
  lentBlocks = 0;

  constructor() {
    super(64 * 1024 * 1024, (byteLength) => new ArrayBuffer(byteLength));
  }

  override lend(byteLength: number): Uint8Array<ArrayBuffer> {
    const lent = super.lend(byteLength);
    this.out.add(lent.buffer);
    this.lentBlocks++;
    return lent;
  }

  override giveBack(lent: Uint8Array<ArrayBuffer>): void {
    expect(this.out.delete(lent.buffer)).toBe(true);
    super.giveBack(lent);
  }
}

describe("a lender of pieces of blocks", () => {
  it("lends each piece to its owners until the last of them releases it", () => {
    const random = new Random(5);
    for (let round = 0; round < 5; round++) {
      const memory = new Watched();
      const slabs = new Slabs(memory, memory);
      const held: { pieces: Arena; parts: Uint8Array[]; mark: number; borrowers: number }[] = [];
      const giveBackOne = (): void => {
        const position = random.below(held.length);
        const one = held[position]!;
        for (const part of one.parts) expect(part.every((byte) => byte === one.mark)).toBe(true);
        one.pieces.release();
        if (--one.borrowers === 0) held.splice(position, 1);
      };
      for (let step = 0; step < 200; step++) {
        const pieces = new Arena(slabs);
        const mark = step % 250;
        const parts = Array.from({ length: random.below(4) }, () =>
          pieces.lend(random.below(40_000)).fill(mark),
        );
        for (const { byteOffset } of parts) expect(byteOffset % 8).toBe(0);
        const isShared = random.below(3) === 0;
        if (isShared) pieces.share();
        held.push({ pieces, parts, mark, borrowers: isShared ? 2 : 1 });
        while (held.length > random.below(30)) giveBackOne();
      }
      slabs.end();
      while (held.length > 0) giveBackOne();
      expect(memory.out.size).toBe(0);
    }
  });

  it("borrows few blocks for many pieces, and one for a large piece", () => {
    const memory = new Watched();
    const slabs = new Slabs(memory, memory);
    const pieces = new Arena(slabs);
    for (let count = 0; count < 100; count++) expect(pieces.lend(256 * 1024).length).toBe(256 * 1024);
    expect(memory.lentBlocks).toBeLessThan(14);
    const before = memory.lentBlocks;
    expect(pieces.lend(9 * 1024 * 1024).length).toBe(9 * 1024 * 1024);
    expect(memory.lentBlocks).toBe(before + 1);
    slabs.end();
    pieces.release();
    expect(memory.out.size).toBe(0);
  });

  it("cuts a block again after all its pieces came back", () => {
    const memory = new Watched();
    const slabs = new Slabs(memory, memory);
    for (let count = 0; count < 100; count++) {
      const pieces = new Arena(slabs);
      pieces.lend(100_000);
      pieces.release();
    }
    expect(memory.lentBlocks).toBe(1);
    slabs.end();
    expect(memory.out.size).toBe(0);
  });
});
