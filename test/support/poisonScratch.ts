/**
 * Memory that was given back is overwritten before anybody borrows it again, so that a view somebody kept of it shows
 * other values in every test, and not just where two reads happen to share the memory. That of threads is, too.
 */

import { LendableMemory } from "../../src/io/memory/scratch.js";

const PATCHED = Symbol.for("tiltyard.test.poisonScratch");
const prototype = LendableMemory.prototype as LendableMemory<ArrayBuffer> & { [PATCHED]?: true };

// A process may run several files, each of which comes by here.
if (prototype[PATCHED] !== true) {
  const { giveBack } = prototype;
  prototype[PATCHED] = true;
  prototype.giveBack = function (lent) {
    new Uint8Array(lent.buffer).fill(0xa5);
    giveBack.call(this, lent);
  };
}
