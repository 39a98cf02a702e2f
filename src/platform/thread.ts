/** A thread that works for this one. */
export interface Thread {
  /**
   * Sends a message; shared memory in it is not copied.
   * @param moved memory in the message that moves to the thread
   */
  post(message: unknown, moved?: readonly ArrayBuffer[]): void;
  /** Sets whether this thread keeps the process alive; it does while it works. */
  keepsAlive(isBusy: boolean): void;
  end(): void;
}

/**
 * Starts a thread; returns null if the runtime has none.
 * @param onMessage called with each message of the thread
 * @param onEnd called with the reason if the thread ends by itself
 * @throws the platform's error if the host forbids threads or has no room for one
 */
export type StartThread = (
  onMessage: (message: unknown) => void,
  onEnd: (reason: unknown) => void,
) => Thread | null;

/** Web Worker, as far as the engine uses it. */
export interface WebWorker {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  terminate(): void;
  addEventListener(
    type: "message" | "messageerror" | "error",
    // biome-ignore lint/suspicious/noExplicitAny: events have the types of the runtime
    listener: (event: any) => void,
  ): void;
}
