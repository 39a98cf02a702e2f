/** A thread that does work for this one. */
export interface Thread {
  /**
   * Sends a message; memory that is shared is not copied.
   * @param moved memory in it that goes to the thread
   */
  post(message: unknown, moved?: readonly ArrayBuffer[]): void;
  /** Whether the process goes on while nothing else keeps it: as long as the thread is at work. */
  keepsAlive(isBusy: boolean): void;
  end(): void;
}
