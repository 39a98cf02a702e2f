/** Results that are available at once, or awaited. */

/** True for a promise, by its `then`: its class differs across realms and after replacements. */
export const isPending = (result: unknown): result is Promise<unknown> =>
  typeof result === "object" && result !== null && "then" in result && typeof result.then === "function";

/** Uses a result at once if it is there, else when it is. */
export const whenReady = <Result, Used>(
  result: Result | Promise<Result>,
  use: (result: Result) => Used | Promise<Used>,
): Used | Promise<Used> =>
  isPending(result) ? (result as Promise<Result>).then(use) : use(result as Result);
