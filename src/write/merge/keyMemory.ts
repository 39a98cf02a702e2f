/**
 * Memory for the keys of merges, shared by all merges of the process. The first merge takes half of it, each
 * further one half of the rest. A merge with little memory makes more passes over its keys.
 */

/** Bytes of keys of all merges, without the minimum of each. */
const ALL_BYTES = 512 * 1024 * 1024;
/** Minimum bytes of a merge; 256 merges then take a quarter of a gibibyte. */
const LEAST_BYTES = 1024 * 1024;

let takenBytes = 0;

/** @param use gets the bytes that it may use until it ends */
export async function withKeyMemory<Result>(use: (bytes: number) => Promise<Result>): Promise<Result> {
  const bytes = Math.max(LEAST_BYTES, Math.floor((ALL_BYTES - takenBytes) / 2));
  takenBytes += bytes;
  try {
    return await use(bytes);
  } finally {
    takenBytes -= bytes;
  }
}
