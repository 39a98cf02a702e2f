/**
 * What was found in a directory, kept as long as the directory is the same: making, removing or renaming an entry
 * changes its time. Times are coarse, so what was found right after a change is not kept.
 */

import type { Disk, FileStat } from "../io/disk.js";

/** A change of a directory so shortly before it was read may have a second one with the same time. */
const TIME_GRAIN_MS = 50;
/** Directories that something is kept of; the oldest go first. */
const MAX_KEPT = 65_536;

interface Kept<Found> {
  /** Of the directory when it was looked at. */
  readonly stat: FileStat;
  readonly found: Found;
}

export class SettledDirectories<Found> {
  readonly #disk: Disk;
  readonly #look: (path: string) => Promise<Found>;
  readonly #kept = new Map<string, Kept<Found>>();

  /** @param look finds out about a directory that exists */
  constructor(disk: Disk, look: (path: string) => Promise<Found>) {
    this.#disk = disk;
    this.#look = look;
  }

  /** What is in a directory; null where there is none. */
  async find(path: string): Promise<Found | null> {
    const stat = await this.#disk.stat(path);
    const kept = this.#kept.get(path);
    if (stat !== null && kept !== undefined && isSame(kept.stat, stat)) return kept.found;
    if (kept !== undefined) this.#kept.delete(path);
    if (stat === null) return null;
    const readAtMs = Date.now();
    const found = await this.#look(path);
    if (Number(stat.changedNs / 1_000_000n) + TIME_GRAIN_MS < readAtMs) this.#keep(path, { stat, found });
    return found;
  }

  #keep(path: string, kept: Kept<Found>): void {
    if (this.#kept.size >= MAX_KEPT) {
      for (const oldest of this.#kept.keys()) {
        this.#kept.delete(oldest);
        break;
      }
    }
    this.#kept.set(path, kept);
  }
}

const isSame = (a: FileStat, b: FileStat): boolean =>
  a.modifiedNs === b.modifiedNs && a.changedNs === b.changedNs && a.identity === b.identity;
