/**
 * Where an engine may work: below the namespace's directory, and below those that its host allows besides, links
 * resolved. Manifests, and links that somebody has put into a directory, may lead anywhere else.
 *
 * A directory is proven by the way to it: of its home, which the host has chosen, every further directory is either no
 * link or leads to where the engine may work. What is proven holds for a moment, so that what is asked for many times a
 * second costs a look or two; a table that is opened again is told by its directory's identity. Who may replace
 * directories by links at any time, with the rights of another program on the same machine, is not kept out by this.
 */

import path from "node:path";
import { PermissionDeniedError } from "../../errors.js";
import { LruCache } from "../memory/cache.js";
import type { Disk, FileStat } from "./disk.js";

/** What is proven holds for so long. */
const PROVEN_MS = 250;
const MAX_PROVEN = 65_536;

/** What tells a directory from another under its path. */
type Seen = Pick<FileStat, "inode" | "birthNs">;

export class Places {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #bases: readonly string[];
  /** Directories, by the time that they were proven at. */
  readonly #proven = new LruCache<number>(MAX_PROVEN);
  /** Directories that were proven when they looked so. */
  readonly #seen = new LruCache<Seen>(MAX_PROVEN);

  /**
   * @param root directory of the namespace; it may be a link
   * @param bases further directories whose content may be used
   */
  constructor(disk: Disk, root: string, bases: readonly string[] = []) {
    this.#disk = disk;
    this.#root = root;
    this.#bases = bases;
  }

  /**
   * Makes sure that the engine may work in a directory; one that is not there proves nothing, and nothing is in it.
   * @returns undefined where there is nothing to wait for
   * @throws PermissionDeniedError
   */
  confirm(directory: string): Promise<void> | undefined {
    const provenMs = this.#proven.peek(directory);
    if (provenMs !== undefined && performance.now() - provenMs < PROVEN_MS) return undefined;
    return this.#prove(directory, false);
  }

  /** The same of a directory of which its look is known: it is proven once for each. */
  confirmSeen(directory: string, { inode, birthNs }: Seen): Promise<void> | undefined {
    const seen = this.#seen.peek(directory);
    if (seen?.inode === inode && seen.birthNs === birthNs) return undefined;
    // It is another than before, or new here: what was proven a moment ago may be what it has replaced.
    return this.#prove(directory, true).then(() => this.#seen.set(directory, { inode, birthNs }, 1));
  }

  /** Whether a path is, by its text, one that the engine makes by itself: below the root, or on the way there. */
  isOwn(entryPath: string): boolean {
    return isBelow(entryPath, this.#root) || isBelow(this.#root, entryPath);
  }

  /** Whether a path is the root, or on the way there. */
  isOnTheWay(entryPath: string): boolean {
    return isBelow(this.#root, entryPath);
  }

  /** Whether the host allows a directory outside the root, as it is now. */
  async isAllowedBase(directory: string): Promise<boolean> {
    if (!path.isAbsolute(directory)) return false;
    const real = await this.#disk.realPath(directory);
    return real !== null && this.#holds(this.#bases, real);
  }

  /**
   * The path that a file has without links.
   * @returns null where there is nothing
   * @throws PermissionDeniedError where it lies elsewhere
   */
  async resolve(filePath: string): Promise<string | null> {
    const real = await this.#disk.realPath(filePath);
    if (real === null) {
      // Whether there is something is nobody's to know.
      if (this.#homeOf(filePath) === null) throw denied(filePath);
      return null;
    }
    if (await this.#holds([this.#root, ...this.#bases], real)) return real;
    throw denied(filePath);
  }

  /** @param anew also the directories that it lies in */
  async #prove(directory: string, anew: boolean): Promise<void> {
    const home = this.#homeOf(directory);
    if (home !== directory) {
      if (home === null) {
        await this.resolve(directory);
      } else {
        const parent = path.dirname(directory);
        await (anew ? this.#prove(parent, true) : this.confirm(parent));
        const isLink = this.#disk.isLink === undefined || (await this.#disk.isLink(directory));
        if (isLink) await this.resolve(directory);
      }
    }
    this.#proven.set(directory, performance.now(), 1);
  }

  /** The directory of the host's choice that another lies below, by its text. */
  #homeOf(directory: string): string | null {
    if (isBelow(directory, this.#root)) return this.#root;
    return this.#bases.find((base) => isBelow(directory, base)) ?? null;
  }

  async #holds(homes: readonly string[], real: string): Promise<boolean> {
    for (const home of homes) {
      const realHome = await this.#disk.realPath(home);
      if (realHome !== null && isBelow(real, realHome)) return true;
    }
    return false;
  }
}

/** Whether a path is another one, or below it, by their texts. */
function isBelow(entryPath: string, directory: string): boolean {
  if (!entryPath.startsWith(directory)) return false;
  const next = entryPath.charAt(directory.length);
  return next === "" || next === path.sep || directory.endsWith(path.sep);
}

const denied = (entryPath: string): PermissionDeniedError =>
  new PermissionDeniedError(
    `${entryPath} lies neither in the namespace's directory nor in one that it lets tables refer to (allowedBases)`,
  );
