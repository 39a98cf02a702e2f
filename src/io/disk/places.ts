/**
 * Says where an engine may work: below the namespace's directory and below the further ones that its host
 * allows, with links resolved. Manifests, and links that somebody has put into a directory, may lead anywhere
 * else. The paths of the host's directories themselves may be links: those above them are trusted.
 *
 * What is asked here is the text of a path, or a path without links. confinement.ts finds out, at each step,
 * whether a path leads where its text says.
 */

import path from "node:path";
import { PermissionDeniedError } from "../../errors.js";
import { realPathNow, realPathOrNull } from "./realPath.js";

/** Where steps may be made. */
export interface AdmittedPlaces {
  /** The directory chosen by the host that a path is or lies below, by its text; null if there is none. */
  homeOf(entryPath: string): string | null;
  /**
   * True if the engine may work in a directory.
   * @param realPath its path without links
   */
  admits(realPath: string): Promise<boolean>;
  /** Like {@link admits}, at once. */
  admitsNow(realPath: string): boolean;
  /**
   * True if a path is one that the engine makes by itself, by its text: below the root, or on the way there.
   */
  isOwn(entryPath: string): boolean;
  /** True if a path is the root, or on the way there, by its text. */
  isOnTheWay(entryPath: string): boolean;
}

/** Admits everything. */
export const ANYWHERE: AdmittedPlaces = {
  homeOf: (entryPath) => path.parse(entryPath).root,
  admits: async () => true,
  admitsNow: () => true,
  isOwn: () => true,
  isOnTheWay: () => false,
};

export class Places implements AdmittedPlaces {
  readonly #root: string;
  readonly #bases: readonly string[];
  /** Paths without links of the root and the bases, as far as these were there. */
  #realHomes: readonly string[] = [];

  /**
   * @param root directory of the namespace; it may be a link
   * @param bases further directories whose content may be used
   */
  constructor(root: string, bases: readonly string[] = []) {
    this.#root = root;
    this.#bases = bases;
  }

  homeOf(entryPath: string): string | null {
    return [this.#root, ...this.#bases].find((home) => isBelow(entryPath, home)) ?? null;
  }

  async admits(realPath: string): Promise<boolean> {
    if (this.#isInHome(realPath)) return true;
    // They may be there only now, or have been replaced.
    const homes = await Promise.all([this.#root, ...this.#bases].map((home) => realPathOrNull(home)));
    this.#realHomes = homes.filter((home) => home !== null);
    return this.#isInHome(realPath);
  }

  admitsNow(realPath: string): boolean {
    if (this.#isInHome(realPath)) return true;
    this.#realHomes = [this.#root, ...this.#bases].map(realPathNow).filter((home) => home !== null);
    return this.#isInHome(realPath);
  }

  isOwn(entryPath: string): boolean {
    return isBelow(entryPath, this.#root) || this.isOnTheWay(entryPath);
  }

  isOnTheWay(entryPath: string): boolean {
    return isBelow(this.#root, entryPath);
  }

  /** True if the host allows a directory outside the root, with the links as they are now. */
  async isAllowedBase(directory: string): Promise<boolean> {
    if (!path.isAbsolute(directory)) return false;
    const real = await realPathOrNull(directory);
    if (real === null) return false;
    const homes = await Promise.all(this.#bases.map((base) => realPathOrNull(base)));
    return homes.some((home) => home !== null && isBelow(real, home));
  }

  #isInHome(realPath: string): boolean {
    return this.#realHomes.some((home) => isBelow(realPath, home));
  }
}

/** True if a path is that of a directory or lies below it, by their texts. */
function isBelow(entryPath: string, directory: string): boolean {
  if (!entryPath.startsWith(directory)) return false;
  const next = entryPath.charAt(directory.length);
  return next === "" || next === path.sep || directory.endsWith(path.sep);
}

export const outside = (entryPath: string): PermissionDeniedError =>
  new PermissionDeniedError(
    `${entryPath} lies neither in the namespace's directory nor in one that it lets tables refer to (allowedBases)`,
  );
