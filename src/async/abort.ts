/** Bounds the wait for work that cannot be aborted: the wait ends when a signal aborts. */

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal aborts; at once if it already has. The signal gets one listener for all callbacks,
 * because Node.js warns about a leak from eleven listeners on and applications use one signal for many calls.
 * @returns a function that ends the wait
 */
export function whenAborted(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => undefined;
  }
  let callbacks = waiting.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    waiting.set(signal, callbacks);
    signal.addEventListener("abort", callAll, { once: true });
  }
  const entry = () => callback();
  callbacks.add(entry);
  return () => {
    callbacks.delete(entry);
    if (callbacks.size > 0 || waiting.get(signal) !== callbacks) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", callAll);
  };
}

function callAll(this: AbortSignal): void {
  const callbacks = waiting.get(this) ?? [];
  waiting.delete(this);
  for (const callback of callbacks) callback();
}

/**
 * Settles as the value does, or rejects with the signal's reason. If the signal aborts first, the value is
 * ignored.
 */
export function untilAborted<Value>(
  value: Value | PromiseLike<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return Promise.resolve(value);
  return new Promise((resolve, reject) => {
    const endWait = whenAborted(signal, () => reject(signal.reason));
    Promise.resolve(value).finally(endWait).then(resolve, reject);
  });
}
