/** Results that are available at once, or awaited. */

/** True for a promise, by its `then`: its class differs across realms and after replacements. */
export const isPending = (result: unknown): result is Promise<unknown> =>
  typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";
