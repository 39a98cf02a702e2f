/** Results that are available at once, or awaited. */

/**
 * True if a result is a promise, which its `then` tells. A check of its class fails across realms and after
 * the global `Promise` was replaced.
 */
export const isPending = (result: unknown): result is Promise<unknown> =>
  typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";
