/** Shared memory that a pool of threads (workerPool.ts) lends for their input. */

export interface SharedMemory {
  lend(byteLength: number): Uint8Array<SharedArrayBuffer>;
  /** Takes memory back that neither the thread nor this one reads any more. */
  giveBack(lent: Uint8Array<SharedArrayBuffer>): void;
}

/** Memory that is used once. */
export const FRESH_MEMORY: SharedMemory = {
  lend: (byteLength) => new Uint8Array(new SharedArrayBuffer(byteLength)),
  giveBack: () => undefined,
};
