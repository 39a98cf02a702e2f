/**
 * Makes stale views of lent memory fail in every test: memory that returns to a pool moves to another buffer,
 * which detaches old views. Shared memory cannot move: it is overwritten.
 */

import { MemoryPool } from "../../src/io/memory/scratch.js";

const PATCHED = Symbol.for("tiltyard.test.poisonScratch");
const POISON = 0xa5;
const pool = MemoryPool.prototype as MemoryPool<ArrayBuffer> & { [PATCHED]?: true };

// A process may run several files, and each loads this one.
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
