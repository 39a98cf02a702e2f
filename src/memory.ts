/** What work under way tells of the memory it takes, so that many pieces of work share a bound. Types only. */

/** The part of one piece of work. It has uses of several names, which add up. */
export interface MemoryShare {
  /** Bytes that a use may take without waiting. */
  spareBytes(use: string): number;
  /**
   * Says how many bytes a use takes from now on. Settles once it may take them; undefined where it may at once. Rejects
   * where it may not, and what it took before is taken still.
   */
  hold(use: string, byteLength: number): Promise<void> | undefined;
  /** The same of bytes that are taken already. */
  note(use: string, byteLength: number): void;
}
