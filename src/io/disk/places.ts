/**
 * Checks where an engine may work: below the namespace's directory and below the further ones that its host allows,
 * with links resolved. Manifests, and links that somebody has put into a directory, may lead anywhere else.
 *
 * A directory is proven by the path to it: below its home, which the host has chosen, each directory is either no link
 * or leads to where the engine may work. A proof holds for a moment, so that a directory asked about many times a
 * second costs a look or two; a table that is opened again is recognised by its directory's identity. This does not
 * keep out another program on the same machine that has the rights to replace directories by links at any time.
 */

import path from "node:path";
import { PermissionDeniedError } from "../../errors.js";
import { LruCache } from "../memory/cache.js";
import type { Disk, FileStat } from "./disk.js";

/** Milliseconds for which a proof holds. */
const PROVEN_MS = 250;
const MAX_PROVEN = 65_536;

/** What tells a directory from another one under the same path. */
type Seen = Pick<FileStat, "inode" | "birthNs">;

export class Places {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #bases: readonly string[];
  /** When each directory was last proven. */
  readonly #proven = new LruCache<number>(MAX_PROVEN);
  /** What each directory looked like when it was proven. */
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
   * Makes sure that the engine may work in a directory. A directory that is not there proves nothing, but also holds
   * nothing.
   * @returns undefined where there is nothing to wait for
   * @throws PermissionDeniedError
   */
  confirm(directory: string): Promise<void> | undefined {
    const provenMs = this.#proven.peek(directory);
    if (provenMs !== undefined && performance.now() - provenMs < PROVEN_MS) return undefined;
    return this.#prove(directory, false);
  }

  /** The same for a directory whose identity is known: it is proven once per identity. */
  confirmSeen(directory: string, { inode, birthNs }: Seen): Promise<void> | undefined {
    const seen = this.#seen.peek(directory);
    if (seen?.inode === inode && seen.birthNs === birthNs) return undefined;
    // The directory is new here, or another than before: what was proven a moment ago may be what it has replaced.
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

  /** Whether the host allows a directory outside the root, with the links as they are now. */
  async isAllowedBase(directory: string): Promise<boolean> {
    if (!path.isAbsolute(directory)) return false;
    const real = await this.#disk.realPath(directory);
    return real !== null && this.#holds(this.#bases, real);
  }

  /**
   * The path of a file with all links resolved.
   * @returns null where there is nothing
   * @throws PermissionDeniedError where it lies outside the directories that the engine may work in
   */
  async resolve(filePath: string): Promise<string | null> {
    const real = await this.#disk.realPath(filePath);
    if (real === null) {
      // The caller must not learn whether there is something outside.
      if (this.#homeOf(filePath) === null) throw denied(filePath);
      return null;
    }
    if (await this.#holds([this.#root, ...this.#bases], real)) return real;
    throw denied(filePath);
  }

  /** @param anew whether the directories that it lies in are proven again, too */
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

  /** The directory chosen by the host that a path is or lies below, by its text; null where there is none. */
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

/** Whether a path is that of a directory or lies below it, by their texts. */
function isBelow(entryPath: string, directory: string): boolean {
  if (!entryPath.startsWith(directory)) return false;
  const next = entryPath.charAt(directory.length);
  return next === "" || next === path.sep || directory.endsWith(path.sep);
}

const denied = (entryPath: string): PermissionDeniedError =>
  new PermissionDeniedError(
    `${entryPath} lies neither in the namespace's directory nor in one that it lets tables refer to (allowedBases)`,
  );
