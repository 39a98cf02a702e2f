/** Threads that a page starts for the pool: Web Workers whose script is `tiltyard/worker`. */

import type { StartThread, WebWorker } from "../platform/thread.js";
import { clearTimeout, setTimeout } from "./timers.js";

/** Milliseconds after which a worker without a message counts as one with another script, or none. */
const START_MS = 30_000;

/** Returns true if threads can share memory with this one: in a page, if it is cross-origin isolated. */
export const canShareMemory = (): boolean => typeof SharedArrayBuffer === "function";

/** Number of processors that a page may use. */
export const pageProcessorCount = (): number =>
  (globalThis.navigator as Partial<Navigator> | undefined)?.hardwareConcurrency ?? 1;

/**
 * Returns a function that starts threads.
 * @param startWorker returns a new worker
 */
export function webThreads(startWorker: () => WebWorker): StartThread {
  return (onMessage, onEnd) => {
    const worker = startWorker();
    /** Messages that wait for the script: a worker loses what it gets before. Null once it runs. */
    let waiting: [message: unknown, moved: ArrayBuffer[]][] | null = [];
    const timer = setTimeout(
      () => onEnd(new Error("the worker does not answer: its script must import tiltyard/worker")),
      START_MS,
    );
    worker.addEventListener("message", ({ data }: { readonly data: unknown }) => {
      clearTimeout(timer);
      const ready = waiting;
      waiting = null;
      for (const [message, moved] of ready ?? []) worker.postMessage(message, moved);
      onMessage(data);
    });
    worker.addEventListener("messageerror", () => onEnd(new Error("a message could not be read")));
    worker.addEventListener("error", ({ message }: { readonly message?: string }) =>
      onEnd(new Error(message ?? "the script of the worker could not be loaded")),
    );
    return {
      post(message, moved = []) {
        if (waiting === null) worker.postMessage(message, [...moved]);
        else waiting.push([message, [...moved]]);
      },
      keepsAlive: () => undefined,
      end() {
        clearTimeout(timer);
        worker.terminate();
      },
    };
  };
}
