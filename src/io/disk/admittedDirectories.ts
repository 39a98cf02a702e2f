/**
 * Defines where an engine may work: below the namespace's directory, and below the further directories that
 * its host allows, with links resolved. A manifest, or a link inside a directory, may lead anywhere else. The
 * host's own directories may be links, and directories above them are trusted.
 *
 * This module compares paths as texts. confinement.ts checks, at each step, that a path leads where its text
 * says.
 */

import { PermissionDeniedError } from "../../errors.js";
import { dirname, isAbsolute, resolve, sep } from "../../platform/native.js";
import { realPathNow, realPathOrNull } from "./realPath.js";

/** Directories where the engine may work. */
export interface AdmittedDirectories {
  /** Returns the host's directory that contains a path, by its text; null if none does. */
  homeOf(entryPath: string): string | null;
  /**
   * Returns true if the engine may work in a directory.
   * @param realPath path of the directory without links
   */
  admits(realPath: string): Promise<boolean>;
  /** Like {@link admits}, synchronously. */
  admitsNow(realPath: string): boolean;
  /** Returns true if the text of a path lies below the root, or on the way there. */
  isOnRootPath(entryPath: string): boolean;
  /** Returns true if the text of a path is the root, or on the way there. */
  isRootOrAbove(entryPath: string): boolean;
}

/** Returns the directory above all others on the way to a path. */
function topOf(entryPath: string): string {
  for (let directory = resolve(entryPath); ; directory = dirname(directory)) {
    if (dirname(directory) === directory) return directory;
  }
}

export const ANYWHERE: AdmittedDirectories = {
  homeOf: topOf,
  admits: async () => true,
  admitsNow: () => true,
  isOnRootPath: () => true,
  isRootOrAbove: () => false,
};

/** Ways to resolve links. A disk without links has none. */
interface LinkResolver {
  now(entryPath: string): string | null;
  later(entryPath: string): Promise<string | null>;
}

const LOCAL_LINKS: LinkResolver = { now: realPathNow, later: realPathOrNull };
const NO_LINKS: LinkResolver = { now: (entryPath) => entryPath, later: async (entryPath) => entryPath };

export class HostDirectories implements AdmittedDirectories {
  readonly #root: string;
  readonly #bases: readonly string[];
  readonly #links: LinkResolver;
  /** Paths without links of the root and the bases that existed at the last check. */
  #realHomes: readonly string[] = [];

  /**
   * @param root directory of the namespace, or a link to it
   * @param bases further directories whose content the engine may use
   * @param hasLinks false for a disk without links
   */
  constructor(root: string, bases: readonly string[] = [], hasLinks = true) {
    this.#root = root;
    this.#bases = bases;
    this.#links = hasLinks ? LOCAL_LINKS : NO_LINKS;
  }

  homeOf(entryPath: string): string | null {
    return [this.#root, ...this.#bases].find((home) => isBelow(entryPath, home)) ?? null;
  }

  async admits(realPath: string): Promise<boolean> {
    if (this.#isInHome(realPath)) return true;
    // The homes may have appeared or changed since the last check.
    const homes = await Promise.all([this.#root, ...this.#bases].map((home) => this.#links.later(home)));
    this.#realHomes = homes.filter((home) => home !== null);
    return this.#isInHome(realPath);
  }

  admitsNow(realPath: string): boolean {
    if (this.#isInHome(realPath)) return true;
    this.#realHomes = [this.#root, ...this.#bases]
      .map((home) => this.#links.now(home))
      .filter((home) => home !== null);
    return this.#isInHome(realPath);
  }

  isOnRootPath(entryPath: string): boolean {
    return isBelow(entryPath, this.#root) || this.isRootOrAbove(entryPath);
  }

  isRootOrAbove(entryPath: string): boolean {
    return isBelow(this.#root, entryPath);
  }

  /** Returns true if the host allows a directory outside the root, with links as they are now. */
  async isAllowedBase(directory: string): Promise<boolean> {
    if (!isAbsolute(directory)) return false;
    const real = await this.#links.later(directory);
    if (real === null) return false;
    const homes = await Promise.all(this.#bases.map((base) => this.#links.later(base)));
    return homes.some((home) => home !== null && isBelow(real, home));
  }

  #isInHome(realPath: string): boolean {
    return this.#realHomes.some((home) => isBelow(realPath, home));
  }
}

/** Returns true if a path is a directory or lies below it, by their texts. */
function isBelow(entryPath: string, directory: string): boolean {
  if (!entryPath.startsWith(directory)) return false;
  const next = entryPath.charAt(directory.length);
  return next === "" || next === sep || directory.endsWith(sep);
}

export const outside = (entryPath: string): PermissionDeniedError =>
  new PermissionDeniedError(
    `${entryPath} lies neither in the namespace's directory nor in one that it lets tables refer to (allowedBases)`,
  );
