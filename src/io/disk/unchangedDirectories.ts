/**
 * Caches a finding about each directory until the directory changes. Making, removing or renaming an entry
 * changes the directory's time. Times are coarse, so a finding from right after a change is not kept.
 */

import { ageClockMs } from "../../async/timers.js";
import { LruCache } from "../memory/cache.js";
import type { Disk, FileStat } from "./disk.js";

/** Milliseconds for which a second change of a directory may have the same time as the first. */
const TIME_GRAIN_MS = 50;
/** Milliseconds as above, on file systems whose times are whole or even seconds. */
const COARSE_GRAIN_MS = 2100;
const NS_PER_SECOND = 1_000_000_000n;
/** Maximum number of directories whose findings are kept. */
const MAX_KEPT = 65_536;

interface Kept<Finding> {
  /** Stat of the directory from before the look. */
  readonly stat: FileStat;
  readonly finding: Finding;
}

export class UnchangedDirectories<Finding> {
  readonly #disk: Disk;
  readonly #look: (path: string) => Promise<Finding>;
  readonly #kept = new LruCache<Kept<Finding>>(MAX_KEPT);

  /** @param look computes the finding about an existing directory */
  constructor(disk: Disk, look: (path: string) => Promise<Finding>) {
    this.#disk = disk;
    this.#look = look;
  }

  /** Returns the finding about a directory; null if it does not exist. */
  async find(path: string): Promise<Finding | null> {
    const stat = await this.#disk.stat(path);
    const kept = this.#kept.peek(path);
    if (stat !== null && kept !== undefined && isUnchanged(kept.stat, stat)) return kept.finding;
    if (kept !== undefined) this.#kept.delete(path);
    if (stat === null) return null;
    const readAtMs = ageClockMs();
    const finding = await this.#look(path);
    if (showsNextChange(stat, readAtMs)) this.#kept.set(path, { stat, finding }, 1);
    return finding;
  }
}

/**
 * Returns true if the next change of a directory will change its times.
 * @param stat stat of the directory at `atMs`
 */
export function showsNextChange({ changedNs }: FileStat, atMs: number): boolean {
  const grainMs = changedNs % NS_PER_SECOND === 0n ? COARSE_GRAIN_MS : TIME_GRAIN_MS;
  return Number(changedNs / 1_000_000n) + grainMs < atMs;
}

/** Returns true if two stats of a directory show no change between them. */
export const isUnchanged = (a: FileStat, b: FileStat): boolean =>
  a.modifiedNs === b.modifiedNs && a.changedNs === b.changedNs && a.identity === b.identity;
