/**
 * Puts the listeners of signals that a package adds when it is loaded before those that the program has added
 * earlier.
 *
 * proper-lockfile releases the locks when a signal ends the process. It does so by signal-exit, which adds a
 * listener of every such signal as soon as it is loaded. That listener counts the listeners that are left:
 * where there are others, the program decides what becomes of the signal; where there are none, it releases
 * the locks, and sends the signal again, which ends the process.
 *
 * Node removes a listener of `process.once` before it calls it. So behind such a listener, which a program
 * has added before its first lock, signal-exit finds itself alone, and ends the process while the program is
 * still cleaning up. In front of it, signal-exit sees it.
 *
 * Importing this module notes which listeners there are. The package is imported after it.
 */

import os from "node:os";

const before = new Map(
  (Object.keys(os.constants.signals) as NodeJS.Signals[]).map((signal) => [
    signal,
    new Set(process.rawListeners(signal)),
  ]),
);

/** Moves the listeners that were added since this module was imported to the front, in their order. */
export function putNewListenersFirst(): void {
  for (const [signal, earlier] of before) {
    if (earlier.size === 0) continue;
    const added = process.rawListeners(signal).filter((listener) => !earlier.has(listener));
    for (const listener of added.reverse() as NodeJS.SignalsListener[]) {
      // Those from before keep the signal from ending the process meanwhile.
      process.removeListener(signal, listener);
      process.prependListener(signal, listener);
    }
  }
}
