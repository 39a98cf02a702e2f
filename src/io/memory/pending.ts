/** Results that may be there at once. */

/**
 * Whether a result is still awaited. A promise is known by its `then`: by its class it is none where another realm made
 * it, or where the global `Promise` was replaced.
 */
export const isPending = (result: unknown): result is Promise<unknown> =>
  typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";
