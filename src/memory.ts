/** How work in progress reports the memory it takes, so that many pieces of work share one bound. Types only. */

/** The share of one piece of work. Its memory has several named uses, which add up. */
export interface MemoryShare {
  /** Bytes that a use may take without waiting. */
  spareBytes(use: string): number;
  /**
   * Declares how many bytes a use takes from now on. Returns undefined if it may take them at once; otherwise settles
   * once it may. Rejects if it may not; the bytes it took before then stay counted.
   */
  hold(use: string, byteLength: number): Promise<void> | undefined;
  /** As `hold`, for bytes that are already taken. */
  note(use: string, byteLength: number): void;
}
