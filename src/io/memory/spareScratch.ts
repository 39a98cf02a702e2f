/**
 * Memory that a namespace leaves to the next one when it is closed: programs open namespaces again and again, and memory used for
 * the first time costs the system as much as what is done with it. It is dropped after some seconds, and keeps no process alive
 * meanwhile.
 */

import { ScratchMemory } from "./scratch.js";

const IDLE_MS = 5000;

/** The memory of the namespace that was closed last; null where another took it, or nobody did for a while. */
let spare: { readonly scratch: ScratchMemory; readonly timer: ReturnType<typeof setTimeout> } | null = null;

/**
 * Memory for a namespace: that of another, or new.
 * @param maxKept bytes of each kind kept for the next borrowers; the same in all calls
 */
export function takeScratch(maxKept: number): ScratchMemory {
  if (spare === null) return new ScratchMemory(maxKept);
  const { scratch, timer } = spare;
  clearTimeout(timer);
  spare = null;
  return scratch;
}

/** Leaves memory that `takeScratch` returned. What is still lent of it may be given back later. */
export function leaveScratch(scratch: ScratchMemory): void {
  if (spare !== null) {
    clearTimeout(spare.timer);
    spare.scratch.clear();
  }
  const timer = setTimeout(() => {
    scratch.clear();
    spare = null;
  }, IDLE_MS);
  // Nobody has to wait for it.
  (timer as { unref?: () => void }).unref?.();
  spare = { scratch, timer };
}
