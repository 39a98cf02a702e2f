/** Messages between a pool of threads (workerPool.ts) and the script of its threads. */

/** First message of a thread: it runs the script of this release. */
export const GREETING = "tiltyard threads 1";

export interface TaskOrder {
  readonly name: string;
  readonly input: unknown;
}

export type Reply = { readonly output: unknown } | { readonly failure: unknown };
