/**
 * Memory that a namespace leaves to the next one when it is closed: programs open namespaces again and again,
 * and memory used for the first time costs the system as much as what is done with it. It is dropped after
 * some seconds, and keeps no process alive meanwhile.
 */

import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { ScratchMemory } from "./scratch.js";

const IDLE_MS = 5000;
/**
 * Bytes of memory of each kind reused for what is dropped soon: bytes that were read, and values that wait to
 * be written.
 */
const SCRATCH_BYTES = 64 * 1024 * 1024;

/**
 * The memory of the namespace that was closed last; null where another took it, or nobody did for a while.
 */
let spare: { readonly scratch: ScratchMemory; readonly timer: ReturnType<typeof setTimeout> } | null = null;

/** Memory that a namespace has until it is closed. */
export interface TakenScratch {
  readonly scratch: ScratchMemory;
  /**
   * Leaves the memory to the next namespace; once, however often it is called. What is still lent of it may
   * be given back later.
   * @param isQuiet whether no thread that was ended may still write into it: else nobody gets it
   */
  leave(isQuiet: boolean): void;
}

/** Memory for a namespace: that of another, or new. */
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
  // Nobody has to wait for it.
  letProcessEnd(timer);
  spare = { scratch, timer };
}
