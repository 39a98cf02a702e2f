/** Results that may be available at once or awaited. */

/**
 * Whether a result is a promise, recognised by its `then`. A check of its class would fail where another realm made it,
 * or where the global `Promise` was replaced.
 */
export const isPending = (result: unknown): result is Promise<unknown> =>
  typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";
