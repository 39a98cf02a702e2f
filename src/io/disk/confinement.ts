/**
 * Confines steps to directories that the engine may work in (places.ts), even if directories are replaced by
 * links meanwhile. Every step that opens, makes, renames or removes an entry goes through here, on the
 * directory of the entry:
 *
 * - On Linux that directory is opened, the system tells its path without links, and the step is made in the
 *   open directory, under the path `/proc/self/fd/<descriptor>/<name>`. No link can come in between.
 * - Elsewhere, and without `/proc`, the directories on the way are looked at, and the step follows at once. A
 *   link that is put in place between the two is followed.
 *
 * No step relies on what an earlier one has found.
 */

import fs from "node:fs";
import path from "node:path";
import { LruCache } from "../memory/cache.js";
import { onPool, shortCalls } from "./callRoute.js";
import type { FileStat } from "./disk.js";
import { isMissing } from "./errno.js";
import { type AdmittedPlaces, ANYWHERE, outside } from "./places.js";
import { realPathNow, realPathOrNull } from "./realPath.js";
import { isShortage } from "./shortage.js";

/**
 * A step on the entries of one directory.
 * @param alias a path that leads to the directory while the step lasts
 * @param real its path without links
 */
export type Step<T> = (alias: string, real: string) => T;

/** Maximum number of directories that are recognised. */
const MAX_CONFIRMED = 65_536;

export interface Confinement {
  readonly places: AdmittedPlaces;
  /** True if a link that is put in place right before a step is followed. */
  readonly mayFollow: boolean;
  /**
   * Makes a step in a directory, in calls of this thread.
   * @param expected path without links that the directory must have. Default: any that is admitted
   * @throws PermissionDeniedError if the directory lies elsewhere; the platform's error if there is none
   */
  withinNow<T>(directory: string, step: Step<T>, expected?: string): T;
  /** Like {@link withinNow}, with a step on the thread pool. */
  within<T>(directory: string, step: Step<Promise<T>>, expected?: string): Promise<T>;
}

/**
 * Confines steps to the places that are admitted.
 * @param means "looks": as without `/proc`. Default: the best that the platform has
 */
export function confinedTo(places: AdmittedPlaces, means?: "looks"): Confinement {
  // Whether there is a `/proc` is asked with the first step: making a namespace touches no disk.
  let chosen: Confinement | null = null;
  const choose = () => {
    const byLook = means === "looks" || !canUseDescriptors();
    chosen ??= byLook ? confinedByLook(places) : confinedByDescriptor(places);
    return chosen;
  };
  return {
    places,
    get mayFollow() {
      return choose().mayFollow;
    },
    withinNow: (directory, step, expected) => choose().withinNow(directory, step, expected),
    within: async (directory, step, expected) => choose().within(directory, step, expected),
  };
}

/** Steps may be made anywhere; trees are removed without following links all the same. */
export const UNCONFINED: Confinement = confinedTo(ANYWHERE);

/**
 * Makes sure that a directory may be worked in. One that is not there may be: it holds nothing.
 * @throws PermissionDeniedError
 */
export async function confirmDirectory(confinement: Confinement, directory: string): Promise<void> {
  try {
    await shortCalls.runTogether(
      () => confinement.withinNow(directory, () => undefined),
      () => confinement.within(directory, async () => undefined),
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** What tells a directory from another one under the same path. */
type Seen = Pick<FileStat, "inode" | "birthNs">;

/** Directories that are recognised by their identity once they were confirmed. */
export class ConfirmedDirectories {
  readonly #confinement: Confinement;
  /** What each directory looked like when it was confirmed. */
  readonly #seen = new LruCache<Seen>(MAX_CONFIRMED);

  constructor(confinement: Confinement) {
    this.#confinement = confinement;
  }

  /**
   * Makes sure that a directory may be worked in.
   * @param stat of the directory, from a moment ago
   * @returns undefined if there is nothing to wait for
   * @throws PermissionDeniedError
   */
  confirm(directory: string, { inode, birthNs }: Seen): Promise<void> | undefined {
    const seen = this.#seen.peek(directory);
    if (seen?.inode === inode && seen.birthNs === birthNs) return undefined;
    return confirmDirectory(this.#confinement, directory).then(() =>
      this.#seen.set(directory, { inode, birthNs }, 1),
    );
  }
}

// --------------------------------------------------------------------------------------------- by descriptors

const DESCRIPTORS = "/proc/self/fd/";
/**
 * Opens a directory for use in paths only: that takes no more rights than a path through it. All of Linux has
 * this number.
 */
const O_PATH = 0o10000000;
const DIRECTORY_FLAGS = O_PATH | (fs.constants.O_DIRECTORY ?? 0);

/** Found out once: whether open directories have paths. */
let hasDescriptorPaths: boolean | null = null;

function canUseDescriptors(): boolean {
  hasDescriptorPaths ??= findDescriptorPaths();
  return hasDescriptorPaths;
}

/** @throws the platform's error while no descriptor is left: that says nothing */
function findDescriptorPaths(): boolean {
  if (process.platform !== "linux" && process.platform !== "android") return false;
  // Node running with permissions taken away knows of no path below /proc.
  if ((process as { readonly permission?: unknown }).permission !== undefined) return false;
  try {
    const fd = fs.openSync("/", DIRECTORY_FLAGS);
    try {
      const [seen, root] = [fs.statSync(`${DESCRIPTORS}${fd}/.`), fs.statSync("/")];
      return fs.readlinkSync(DESCRIPTORS + fd) === "/" && seen.ino === root.ino && seen.dev === root.dev;
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (isShortage(error)) throw error;
    return false;
  }
}

function confinedByDescriptor(places: AdmittedPlaces): Confinement {
  /** Fails for a directory that is not there as the platform does, unless it would have to lie elsewhere. */
  const failNow = (directory: string, error: unknown): never => {
    const home = isMissing(error) ? places.homeOf(directory) : directory;
    // The caller must not learn whether there is something outside.
    if (home === null) throw outside(directory);
    if (home !== directory) confinement.withinNow(path.dirname(directory), () => undefined);
    throw error;
  };
  const fail = async (directory: string, error: unknown): Promise<never> => {
    const home = isMissing(error) ? places.homeOf(directory) : directory;
    if (home === null) throw outside(directory);
    if (home !== directory) await confinement.within(path.dirname(directory), async () => undefined);
    throw error;
  };
  const confinement: Confinement = {
    places,
    mayFollow: false,
    withinNow(directory, step, expected) {
      let fd: number;
      try {
        fd = fs.openSync(directory, DIRECTORY_FLAGS);
      } catch (error) {
        return failNow(directory, error);
      }
      const alias = DESCRIPTORS + fd;
      try {
        const real = fs.readlinkSync(alias);
        const isRight = expected === undefined ? places.admitsNow(real) : real === expected;
        if (!isRight) throw isGone(fd, real) ? missing(directory) : outside(directory);
        return step(alias, real);
      } catch (error) {
        throw withoutAlias(error, alias, directory);
      } finally {
        fs.closeSync(fd);
      }
    },
    async within(directory, step, expected) {
      let fd: number;
      try {
        fd = await onPool<number>((done) => fs.open(directory, DIRECTORY_FLAGS, done));
      } catch (error) {
        return fail(directory, error);
      }
      const alias = DESCRIPTORS + fd;
      try {
        // Neither this call nor the closing reaches a device.
        const real = fs.readlinkSync(alias);
        const isRight = expected === undefined ? await places.admits(real) : real === expected;
        if (!isRight) throw isGone(fd, real) ? missing(directory) : outside(directory);
        return await step(alias, real);
      } catch (error) {
        throw withoutAlias(error, alias, directory);
      } finally {
        fs.closeSync(fd);
      }
    },
  };
  return confinement;
}

/** True if an open directory was removed: the system then tells a path that leads nowhere. */
const isGone = (fd: number, real: string): boolean =>
  real.endsWith(" (deleted)") && fs.fstatSync(fd).nlink === 0;

/** An error of the platform with the path of a directory in place of that of its descriptor. */
function withoutAlias(error: unknown, alias: string, directory: string): unknown {
  if (typeof error !== "object" || error === null) return error;
  const failure = error as { message?: unknown; stack?: unknown; path?: unknown; dest?: unknown };
  for (const member of ["message", "stack", "path", "dest"] as const) {
    const text = failure[member];
    if (typeof text !== "string" || !text.includes(alias)) continue;
    // Not that of a descriptor whose number goes on.
    failure[member] = text.replaceAll(new RegExp(`${alias}(?!\\d)`, "g"), () => directory);
  }
  return error;
}

// --------------------------------------------------------------------------------------------------- by looks

function confinedByLook(places: AdmittedPlaces): Confinement {
  const check = (directory: string, real: string, isAdmitted: boolean, expected?: string): string => {
    if (expected === undefined ? isAdmitted : real === expected) return real;
    throw outside(directory);
  };
  /**
   * The directory around one that is not there, which must be right: nobody must learn that it is not there
   * outside.
   */
  const around = (directory: string): string | null => {
    const home = places.homeOf(directory);
    if (home === null) throw outside(directory);
    return home === directory ? null : path.dirname(directory);
  };
  const confinement: Confinement = {
    places,
    mayFollow: true,
    withinNow(directory, step, expected) {
      const way = wayTo(directory, places);
      if (way !== null && !way.some(isLinkNow)) {
        return step(directory, check(directory, directory, true, expected));
      }
      const real = realPathNow(directory);
      if (real !== null) return step(directory, check(directory, real, places.admitsNow(real), expected));
      const parent = around(directory);
      if (parent !== null) confinement.withinNow(parent, () => undefined);
      throw missing(directory);
    },
    async within(directory, step, expected) {
      const way = wayTo(directory, places);
      if (way !== null && !(await hasLink(way))) {
        return step(directory, check(directory, directory, true, expected));
      }
      const real = await realPathOrNull(directory);
      if (real !== null) {
        return step(directory, check(directory, real, await places.admits(real), expected));
      }
      const parent = around(directory);
      if (parent !== null) await confinement.within(parent, async () => undefined);
      throw missing(directory);
    },
  };
  return confinement;
}

const missing = (directory: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, open '${directory}'`), {
    code: "ENOENT",
    path: directory,
  });

/** The directories below the host's one down to `directory`, itself included; null if it is not below one. */
function wayTo(directory: string, places: AdmittedPlaces): string[] | null {
  const home = places.homeOf(directory);
  if (home === null) return null;
  const way: string[] = [];
  for (let each = directory; each !== home && each.length > home.length; each = path.dirname(each)) {
    way.unshift(each);
  }
  return way;
}

function isLinkNow(entryPath: string): boolean {
  try {
    return fs.lstatSync(entryPath, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function hasLink(way: readonly string[]): Promise<boolean> {
  for (const entryPath of way) {
    try {
      if ((await onPool<fs.Stats>((done) => fs.lstat(entryPath, done))).isSymbolicLink()) return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }
  return false;
}
