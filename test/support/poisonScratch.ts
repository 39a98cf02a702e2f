/**
 * Gives each lending of memory a generation, in every test: memory that goes back to a pool moves to another
 * buffer before anybody borrows it again. A view of the old generation is then detached: it has no bytes, and
 * its methods throw. Memory that threads share cannot move: it is overwritten.
 */

import { MemoryPool } from "../../src/io/memory/scratch.js";

const PATCHED = Symbol.for("tiltyard.test.poisonScratch");
const POISON = 0xa5;
const pool = MemoryPool.prototype as MemoryPool<ArrayBuffer> & { [PATCHED]?: true };

// A process may run several files, each of which loads this one.
if (pool[PATCHED] !== true) {
  pool[PATCHED] = true;
  const { giveBack } = pool;
  pool.giveBack = function (bytes) {
    const { buffer } = bytes;
    new Uint8Array(buffer).fill(POISON);
    const moved = buffer instanceof ArrayBuffer ? structuredClone(buffer, { transfer: [buffer] }) : buffer;
    giveBack.call(this, new Uint8Array(moved));
  };
}
