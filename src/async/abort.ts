/** Waiting for what cannot be ended itself, no longer than somebody wants it. */

/**
 * Settles as the value does, or rejects with the signal's reason where that comes first; what is waited for goes on
 * unheard then.
 */
export function untilAborted<Value>(
  value: Value | PromiseLike<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return Promise.resolve(value);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const settle = () => signal.removeEventListener("abort", abort);
    Promise.resolve(value).then(
      (result) => {
        settle();
        resolve(result);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
