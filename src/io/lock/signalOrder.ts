/**
 * Puts the signal listeners that a package adds on import before those that the program has added earlier.
 *
 * proper-lockfile releases the locks when a signal ends the process, by the package signal-exit. On import,
 * signal-exit adds a listener for every such signal. That listener counts the remaining listeners. If others
 * exist, the program decides about the signal. If none does, it releases the locks and sends the signal
 * again, which ends the process.
 *
 * Node removes a listener of `process.once` before it calls that listener. If the program has added such a
 * listener before its first lock, signal-exit runs after it, finds no other listener, and ends the process
 * while the program still cleans up. If signal-exit runs first, it sees that listener.
 *
 * Importing this module records the existing listeners. The package must be imported after it.
 */

import os from "node:os";

const before = new Map(
  (Object.keys(os.constants.signals) as NodeJS.Signals[]).map((signal) => [
    signal,
    new Set(process.rawListeners(signal)),
  ]),
);

/** Moves listeners that were added after this module's import to the front, in their order. */
export function putNewListenersFirst(): void {
  for (const [signal, earlier] of before) {
    if (earlier.size === 0) continue;
    const added = process.rawListeners(signal).filter((listener) => !earlier.has(listener));
    for (const listener of added.reverse() as NodeJS.SignalsListener[]) {
      // The earlier listeners keep the signal from ending the process in between.
      process.removeListener(signal, listener);
      process.prependListener(signal, listener);
    }
  }
}
