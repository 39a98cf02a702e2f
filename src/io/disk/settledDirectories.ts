/**
 * What was found in a directory, kept as long as the directory is the same: making, removing or renaming an entry
 * changes its time. Times are coarse, so what was found right after a change is not kept.
 */

import { LruCache } from "../memory/cache.js";
import type { Disk, FileStat } from "./disk.js";

/** A change of a directory so shortly before it was read may have a second one with the same time. */
const TIME_GRAIN_MS = 50;
/** The same where times are of whole seconds, or of every other, as some file systems keep them. */
const COARSE_GRAIN_MS = 2100;
const NS_PER_SECOND = 1_000_000_000n;
/** Directories that something is kept of. */
const MAX_KEPT = 65_536;

interface Kept<Found> {
  /** Of the directory when it was looked at. */
  readonly stat: FileStat;
  readonly found: Found;
}

export class SettledDirectories<Found> {
  readonly #disk: Disk;
  readonly #look: (path: string) => Promise<Found>;
  readonly #kept = new LruCache<Kept<Found>>(MAX_KEPT);

  /** @param look finds out about a directory that exists */
  constructor(disk: Disk, look: (path: string) => Promise<Found>) {
    this.#disk = disk;
    this.#look = look;
  }

  /** What is in a directory; null where there is none. */
  async find(path: string): Promise<Found | null> {
    const stat = await this.#disk.stat(path);
    const kept = this.#kept.peek(path);
    if (stat !== null && kept !== undefined && isUnchanged(kept.stat, stat)) return kept.found;
    if (kept !== undefined) this.#kept.delete(path);
    if (stat === null) return null;
    const readAtMs = Date.now();
    const found = await this.#look(path);
    if (isSettled(stat, readAtMs)) this.#kept.set(path, { stat, found }, 1);
    return found;
  }
}

/** Whether a directory's next change will show in its times, that being what was known of it at `atMs`. */
export function isSettled({ changedNs }: FileStat, atMs: number): boolean {
  const grainMs = changedNs % NS_PER_SECOND === 0n ? COARSE_GRAIN_MS : TIME_GRAIN_MS;
  return Number(changedNs / 1_000_000n) + grainMs < atMs;
}

/** Whether two looks at a directory show no change between them. */
export const isUnchanged = (a: FileStat, b: FileStat): boolean =>
  a.modifiedNs === b.modifiedNs && a.changedNs === b.changedNs && a.identity === b.identity;
