/**
 * A cache of findings about directories, each kept as long as its directory is unchanged: making, removing or
 * renaming an entry changes the directory's time. Times are coarse, so a finding from right after a change is
 * not kept.
 */

import { ageClockMs } from "../../async/timers.js";
import { LruCache } from "../memory/cache.js";
import type { Disk, FileStat } from "./disk.js";

/**
 * A change of a directory this shortly before it was read may be followed by a second one with the same time.
 */
const TIME_GRAIN_MS = 50;
/** The same where times are of whole seconds, or of every other, as some file systems keep them. */
const COARSE_GRAIN_MS = 2100;
const NS_PER_SECOND = 1_000_000_000n;
/** Maximum number of directories that a finding is kept for. */
const MAX_KEPT = 65_536;

interface Kept<Found> {
  /** Of the directory when it was looked at. */
  readonly stat: FileStat;
  readonly found: Found;
}

export class UnchangedDirectories<Found> {
  readonly #disk: Disk;
  readonly #look: (path: string) => Promise<Found>;
  readonly #kept = new LruCache<Kept<Found>>(MAX_KEPT);

  /** @param look finds out about a directory that exists */
  constructor(disk: Disk, look: (path: string) => Promise<Found>) {
    this.#disk = disk;
    this.#look = look;
  }

  /** The finding about a directory; null where there is no directory. */
  async find(path: string): Promise<Found | null> {
    const stat = await this.#disk.stat(path);
    const kept = this.#kept.peek(path);
    if (stat !== null && kept !== undefined && isUnchanged(kept.stat, stat)) return kept.found;
    if (kept !== undefined) this.#kept.delete(path);
    if (stat === null) return null;
    const readAtMs = ageClockMs();
    const found = await this.#look(path);
    if (isRecovered(stat, readAtMs)) this.#kept.set(path, { stat, found }, 1);
    return found;
  }
}

/** True if the next change of a directory will show in its times, given its stat from `atMs`. */
export function isRecovered({ changedNs }: FileStat, atMs: number): boolean {
  const grainMs = changedNs % NS_PER_SECOND === 0n ? COARSE_GRAIN_MS : TIME_GRAIN_MS;
  return Number(changedNs / 1_000_000n) + grainMs < atMs;
}

/** True if two looks at a directory show no change between them. */
export const isUnchanged = (a: FileStat, b: FileStat): boolean =>
  a.modifiedNs === b.modifiedNs && a.changedNs === b.changedNs && a.identity === b.identity;
