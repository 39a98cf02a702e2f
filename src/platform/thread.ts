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
