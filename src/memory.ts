/** Memory accounts through which concurrent work shares one bound. Types only. */

/** Account of one piece of work. It adds up the bytes of several named uses. */
export interface MemoryShare {
  /** Returns the number of bytes that a use may take without waiting. */
  spareBytes(use: string): number;
  /**
   * Sets the number of bytes of a use. Returns undefined if they are granted at once, and otherwise a promise
   * that settles when they are granted. A rejection leaves the earlier bytes counted.
   */
  hold(use: string, byteLength: number): Promise<void> | undefined;
  /** Sets the number of bytes of a use that are already taken. */
  note(use: string, byteLength: number): void;
}
