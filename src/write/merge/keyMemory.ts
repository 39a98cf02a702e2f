/**
 * Memory for the keys of merges. All that are under way in the process share it: the first takes half of it,
 * each further one half of what is left. One that gets little goes through its keys in more passes.
 */

/** Bytes of keys of all merges at once, but for the least that each has. */
const ALL_BYTES = 512 * 1024 * 1024;
/** What a merge has in any case: of this, 256 take a quarter of a gibibyte. */
const LEAST_BYTES = 1024 * 1024;

let takenBytes = 0;

/** @param use is told how many bytes it may take until it ends */
export async function withKeyMemory<Result>(use: (bytes: number) => Promise<Result>): Promise<Result> {
  const bytes = Math.max(LEAST_BYTES, Math.floor((ALL_BYTES - takenBytes) / 2));
  takenBytes += bytes;
  try {
    return await use(bytes);
  } finally {
    takenBytes -= bytes;
  }
}
