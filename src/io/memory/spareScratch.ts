/**
 * Memory that a closed namespace leaves to the next one. Programs open namespaces again and again, and the
 * system takes as long to provide new memory as the work with it takes. The memory is dropped after some
 * seconds, and does not keep the process alive.
 */

import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { ScratchMemory } from "./scratch.js";

/** Time for which unused memory stays. */
const IDLE_MS = 5000;
/** Maximum bytes of each kind of memory that wait to be lent again. */
const SCRATCH_BYTES = 64 * 1024 * 1024;

/** Memory of the namespace that was closed last; null if another has taken it, or after some seconds. */
let spare: { readonly scratch: ScratchMemory; readonly timer: ReturnType<typeof setTimeout> } | null = null;

/** Memory of an open namespace. */
export interface TakenScratch {
  readonly scratch: ScratchMemory;
  /**
   * Leaves the memory to the next namespace. Later calls do nothing. Memory that is still lent may go back
   * later.
   * @param isQuiet true if no ended thread can still write into the memory; otherwise nobody gets it
   */
  leave(isQuiet: boolean): void;
}

/** Returns the memory that a closed namespace left, or new memory. */
export function takeScratch(): TakenScratch {
  const scratch = spareScratch() ?? new ScratchMemory(SCRATCH_BYTES);
  let isLeft = false;
  return {
    scratch,
    leave(isQuiet) {
      if (isLeft) return;
      isLeft = true;
      if (isQuiet) keep(scratch);
      else scratch.clear();
    },
  };
}

function spareScratch(): ScratchMemory | null {
  if (spare === null) return null;
  const { scratch, timer } = spare;
  clearTimeout(timer);
  spare = null;
  return scratch;
}

function keep(scratch: ScratchMemory): void {
  if (spare !== null) {
    clearTimeout(spare.timer);
    spare.scratch.clear();
  }
  const timer = setTimeout(() => {
    scratch.clear();
    spare = null;
  }, IDLE_MS);
  letProcessEnd(timer);
  spare = { scratch, timer };
}
