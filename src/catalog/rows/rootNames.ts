/**
 * The entries directly in the namespace's directory, by name. The list is kept, and grows along with the
 * tables that are made through it, so that making one table does not list all the others.
 *
 * Entries made elsewhere are noticed. A table of this engine, made by any process, comes with another version
 * of the catalog. An entry of another engine changes the times of the directory; where they are too young to
 * tell, it changes the count of links, which grows by one with each directory. On a file system that doesn't
 * count links, the directory is listed each time.
 */

import { ageClockMs } from "../../async/timers.js";
import type { DirectoryEntry, Disk, FileStat } from "../../io/disk/disk.js";
import { isRecovered, isUnchanged } from "../../io/disk/unchangedDirectories.js";
import { foldName } from "../../io/names/foldName.js";
import type { Catalog } from "./catalogRows.js";

/** A directory whose subdirectories are counted has two links of its own; others have one in all. */
const FEWEST_LINKS = 2;
/** How the names of root tables' directories end, folded. */
const FOLDED_SUFFIX = ".LANCE";

type Kind = DirectoryEntry["kind"];

/** The result of looking for a place. */
export interface Neighbours {
  /** True if the place is there, spelled as it was asked for. */
  readonly isThere: boolean;
  /** Other entries that some file system treats as the same. */
  readonly others: readonly DirectoryEntry[];
}

interface RootListing {
  /** Stat of the directory, from before it was listed or from when the last name was added. */
  stat: FileStat;
  /** True if the next change of the directory is sure to show in its times. */
  isRecovered: boolean;
  /**
   * Every table that has a row in this catalog and a directory is in the list; null where it was made without
   * one.
   */
  catalog: Catalog | null;
  readonly kinds: Map<string, Kind>;
  /** Names that end as those of root tables do, by their {@link keyOf}; null until they are asked for. */
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

  /** Names of all entries of the directory as it is now. */
  all(): Promise<ReadonlySet<string>> {
    return this.#inTurn(async () => {
      const stat = await this.#disk.stat(this.#root);
      if (stat === null) return new Set<string>();
      const list = this.#list;
      const isCurrent = list?.isRecovered === true && isUnchanged(list.stat, stat);
      return new Set((isCurrent ? list : await this.#read(stat, null)).kinds.keys());
    });
  }

  /**
   * The entries at the place of a root table, as this file system or another one sees it.
   * @param location of the table
   * @param catalog read before this call
   * @param isMade whether the table's directory is known to be there, under any spelling
   */
  neighbours(location: string, catalog: Catalog, isMade: boolean): Promise<Neighbours> {
    return this.#inTurn(async () => {
      const stat = await this.#disk.stat(this.#root);
      if (stat === null) return { isThere: false, others: [] };
      let list = this.#known(stat, catalog);
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

  /** Notes that a directory was made just now, which was not there before. */
  made(location: string): void {
    this.#made.add(location);
  }

  /** Notes that one catalog follows another by a change that was made through this engine. */
  followed(before: Catalog, after: Catalog): void {
    if (this.#list?.catalog === before) this.#list.catalog = after;
  }

  /** Notes that a table came to the directory in another way than by being made. */
  forget(): void {
    this.#list = null;
  }

  /** The list that is kept, if it is complete or lacks only directories that were made here. */
  #known(stat: FileStat, catalog: Catalog): RootListing | null {
    const list = this.#list;
    if (list === null) return null;
    const made = [...this.#made].filter((name) => !list.kinds.has(name));
    const isUntouched = isUnchanged(list.stat, stat);
    if (isUntouched && list.isRecovered && made.length === 0) {
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
    if (!isUntouched) Object.assign(list, { stat, isRecovered: false });
    return list;
  }

  /** @param stat of the directory as it was a moment ago */
  async #read(stat: FileStat, catalog: Catalog | null): Promise<RootListing> {
    const readAtMs = ageClockMs();
    const kinds = new Map<string, Kind>();
    for (const { name, kind } of (await this.#disk.list(this.#root)) ?? []) kinds.set(name, kind);
    this.#made.clear();
    this.#list = { stat, isRecovered: isRecovered(stat, readAtMs), catalog, kinds, byKey: null };
    return this.#list;
  }

  /** Runs one look at a time, so that none replaces a newer list by an older one. */
  #inTurn<T>(look: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(look);
    // The caller that asked for the look is told of its failure.
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}

/**
 * A key that root tables share if some file system treats their directories, or their names, as the same.
 * Null for the name of an entry that no file system treats as a root table's directory.
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
