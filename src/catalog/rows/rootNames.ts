/**
 * Lists the entries of the namespace's directory by name. The list is kept, and grows with the tables that
 * are made through it, so that making one table does not list all others.
 *
 * It notices entries that others make. A table of this engine, made by any process, comes with another
 * version of the catalog. An entry of another engine changes the directory's times. If they are too young to
 * tell, it changes the directory's link count, which grows by one with each directory. On a file system that
 * does not count links, the directory is listed each time.
 */

import { ageClockMs } from "../../async/timers.js";
import type { DirectoryEntry, Disk, FileStat } from "../../io/disk/disk.js";
import { isUnchanged, showsNextChange } from "../../io/disk/unchangedDirectories.js";
import { foldName } from "../../io/names/foldName.js";
import type { Catalog } from "./catalogRows.js";

/** Minimum link count of a directory whose subdirectories are counted; on other file systems it is 1. */
const FEWEST_LINKS = 2;
/** Folded suffix of root tables' directories. */
const FOLDED_SUFFIX = ".LANCE";

type Kind = DirectoryEntry["kind"];

export interface Neighbours {
  /** True if the location exists with this spelling. */
  readonly isThere: boolean;
  /** Other entries that some file system treats as the same. */
  readonly others: readonly DirectoryEntry[];
}

interface RootListing {
  /** Stat of the directory, from before it was listed or from when the last name was added. */
  stat: FileStat;
  /** True if the next change of the directory will change its times. */
  showsNextChange: boolean;
  /** Catalog whose tables with a directory are all in the list; null if the list was made without one. */
  catalog: Catalog | null;
  readonly kinds: Map<string, Kind>;
  /** Names with the suffix of root tables, by their {@link keyOf}; null until needed. */
  byKey: Map<string, string[]> | null;
}

export class RootNames {
  readonly #disk: Disk;
  readonly #root: string;
  #list: RootListing | null = null;
  /** Directories that were made here and are not in the list yet. */
  readonly #made = new Set<string>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
  }

  /** Lists the names of all current entries of the directory. */
  all(): Promise<ReadonlySet<string>> {
    return this.#inTurn(async () => {
      const stat = await this.#disk.stat(this.#root);
      if (stat === null) return new Set<string>();
      const list = this.#list;
      const isCurrent = list?.showsNextChange === true && isUnchanged(list.stat, stat);
      return new Set((isCurrent ? list : await this.#read(stat, null)).kinds.keys());
    });
  }

  /**
   * Returns the entries at the location of a root table, as any file system sees it.
   * @param location location of the table
   * @param catalog catalog read before this call
   * @param isMade true if the table's directory certainly exists, under any spelling
   */
  neighbours(location: string, catalog: Catalog, isMade: boolean): Promise<Neighbours> {
    return this.#inTurn(async () => {
      const stat = await this.#disk.stat(this.#root);
      if (stat === null) return { isThere: false, others: [] };
      let list = this.#keptList(stat, catalog);
      if (list === null || (isMade && !list.kinds.has(location))) list = await this.#read(stat, catalog);
      list.byKey ??= byKeyOf(list.kinds.keys());
      const { kinds } = list;
      const names = list.byKey.get(keyOf(location) ?? "") ?? [];
      return {
        isThere: kinds.has(location),
        others: names
          .filter((name) => name !== location)
          .map((name) => ({ name, kind: kinds.get(name) ?? "other" })),
      };
    });
  }

  /** Records a directory that was just made. */
  made(location: string): void {
    this.#made.add(location);
  }

  /** Records that one catalog follows another by a change that was made through this engine. */
  followed(before: Catalog, after: Catalog): void {
    if (this.#list?.catalog === before) this.#list.catalog = after;
  }

  /** Records that a table came to the directory in another way than by being made. */
  forget(): void {
    this.#list = null;
  }

  /** Returns the kept list, if it is complete or lacks only directories that were made here. */
  #keptList(stat: FileStat, catalog: Catalog): RootListing | null {
    const list = this.#list;
    if (list === null) return null;
    const made = [...this.#made].filter((name) => !list.kinds.has(name));
    const isUntouched = isUnchanged(list.stat, stat);
    if (isUntouched && list.showsNextChange && made.length === 0) {
      list.catalog = catalog;
      return list;
    }
    if (list.catalog !== catalog || list.stat.links < FEWEST_LINKS) return null;
    if (stat.links !== list.stat.links + made.length || isUntouched !== (made.length === 0)) return null;
    for (const name of made) {
      list.kinds.set(name, "directory");
      if (list.byKey !== null) addByKey(list.byKey, name);
    }
    this.#made.clear();
    if (!isUntouched) Object.assign(list, { stat, showsNextChange: false });
    return list;
  }

  /** @param stat current stat of the directory */
  async #read(stat: FileStat, catalog: Catalog | null): Promise<RootListing> {
    const readAtMs = ageClockMs();
    const kinds = new Map<string, Kind>();
    for (const { name, kind } of (await this.#disk.list(this.#root)) ?? []) kinds.set(name, kind);
    this.#made.clear();
    this.#list = { stat, showsNextChange: showsNextChange(stat, readAtMs), catalog, kinds, byKey: null };
    return this.#list;
  }

  /** Runs one look at a time, so that an older list never replaces a newer one. */
  #inTurn<T>(look: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(look);
    // The caller of the look gets its failure.
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}

/**
 * Returns a key that root tables share if some file system treats their directories, or their names, as the
 * same. Null for a name that no file system treats as a root table's directory.
 */
function keyOf(entryName: string): string | null {
  const folded = foldName(entryName);
  return folded.endsWith(FOLDED_SUFFIX) ? foldName(folded.slice(0, -FOLDED_SUFFIX.length)) : null;
}

function byKeyOf(names: Iterable<string>): Map<string, string[]> {
  const byKey = new Map<string, string[]>();
  for (const name of names) addByKey(byKey, name);
  return byKey;
}

function addByKey(byKey: Map<string, string[]>, name: string): void {
  const key = keyOf(name);
  if (key === null) return;
  const alike = byKey.get(key);
  if (alike === undefined) byKey.set(key, [name]);
  else alike.push(name);
}
