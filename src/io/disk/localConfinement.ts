/**
 * Confines steps on the local file system to directories where the engine may work, even if somebody replaces
 * a directory by a link meanwhile:
 *
 * - On Linux, this module opens the directory, asks the system for its path without links, and makes the step
 *   through `/proc/self/fd/<descriptor>/<name>`. No link can come in between.
 * - On other platforms, and without `/proc`, it looks for links on the way to the directory and makes the
 *   step right after. The step follows a link that appears in between.
 *
 * Every step repeats the check: none relies on the result of an earlier one.
 */

import fs from "node:fs";
import path from "node:path";
import { type AdmittedDirectories, ANYWHERE, outside } from "./admittedDirectories.js";
import { onPool, shortCalls } from "./callRoute.js";
import type { Confinement } from "./confinement.js";
import { hasTooManyOpen, isMissing, nowOrNull, nullIfMissing } from "./errno.js";
import { realPathNow, realPathOrNull } from "./realPath.js";

/** A way to make steps. */
type Means = Omit<Confinement, "confirm">;

/**
 * Confines steps to the admitted directories.
 * @param means "looks": as on a platform without `/proc`. Default: the best means of the platform
 */
export function confinedTo(admitted: AdmittedDirectories, means?: "looks"): Confinement {
  // The first step looks for `/proc`, because making a namespace must not touch the disk.
  let chosen: Means | null = null;
  const choose = () => {
    const byLook = means === "looks" || !canUseDescriptors();
    chosen ??= byLook ? confinedByLook(admitted) : confinedByDescriptor(admitted);
    return chosen;
  };
  return {
    admitted,
    get mayFollow() {
      return choose().mayFollow;
    },
    withinNow: (directory, step, expected) => choose().withinNow(directory, step, expected),
    within: async (directory, step, expected) => choose().within(directory, step, expected),
    confirm: (directory) =>
      shortCalls.runTogether(
        () => choose().withinNow(directory, () => undefined),
        () => choose().within(directory, async () => undefined),
      ),
  };
}

/** Allows steps anywhere. Removing a tree still follows no links. */
export const UNCONFINED: Confinement = confinedTo(ANYWHERE);

// -------------------------------------------------------------------------------------------- by descriptors

const DESCRIPTORS = "/proc/self/fd/";
/**
 * Linux flag that opens a directory for use in paths only. It needs no more rights than a path through the
 * directory. The number is the same on all architectures.
 */
const O_PATH = 0o10000000;
const DIRECTORY_FLAGS = O_PATH | (fs.constants.O_DIRECTORY ?? 0);

/** True if open directories have paths; null before the first check. */
let hasDescriptorPaths: boolean | null = null;

function canUseDescriptors(): boolean {
  hasDescriptorPaths ??= findDescriptorPaths();
  return hasDescriptorPaths;
}

/** @throws the platform's error if no descriptor is free, because that answers nothing */
function findDescriptorPaths(): boolean {
  if (process.platform !== "linux" && process.platform !== "android") return false;
  // Under Node's permission model, paths below /proc are unreadable.
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
    if (hasTooManyOpen(error)) throw error;
    return false;
  }
}

function confinedByDescriptor(admitted: AdmittedDirectories): Means {
  /** Throws the platform's error for a missing directory; a PermissionDeniedError if it lies elsewhere. */
  const failNow = (directory: string, error: unknown): never => {
    const home = isMissing(error) ? admitted.homeOf(directory) : directory;
    // The error must not reveal what exists outside.
    if (home === null) throw outside(directory);
    if (home !== directory) confinement.withinNow(path.dirname(directory), () => undefined);
    throw error;
  };
  const fail = async (directory: string, error: unknown): Promise<never> => {
    const home = isMissing(error) ? admitted.homeOf(directory) : directory;
    if (home === null) throw outside(directory);
    if (home !== directory) await confinement.within(path.dirname(directory), async () => undefined);
    throw error;
  };
  const confinement: Means = {
    admitted,
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
        const isRight = expected === undefined ? admitted.admitsNow(real) : real === expected;
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
        // Neither this call nor `closeSync` reaches a device.
        const real = fs.readlinkSync(alias);
        const isRight = expected === undefined ? await admitted.admits(real) : real === expected;
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

/** Returns true if an open directory was removed: the system then appends " (deleted)" to its path. */
const isGone = (fd: number, real: string): boolean =>
  real.endsWith(" (deleted)") && fs.fstatSync(fd).nlink === 0;

/** Replaces the path of a descriptor by the path of its directory in an error of the platform. */
function withoutAlias(error: unknown, alias: string, directory: string): unknown {
  if (typeof error !== "object" || error === null) return error;
  const failure = error as { message?: unknown; stack?: unknown; path?: unknown; dest?: unknown };
  for (const member of ["message", "stack", "path", "dest"] as const) {
    const text = failure[member];
    if (typeof text !== "string" || !text.includes(alias)) continue;
    // The lookahead spares descriptors whose number starts with the same digits.
    failure[member] = text.replaceAll(new RegExp(`${alias}(?!\\d)`, "g"), () => directory);
  }
  return error;
}

// -------------------------------------------------------------------------------------------------- by looks

function confinedByLook(admitted: AdmittedDirectories): Means {
  const check = (directory: string, real: string, isAdmitted: boolean, expected?: string): string => {
    if (expected === undefined ? isAdmitted : real === expected) return real;
    throw outside(directory);
  };
  /**
   * Returns the parent of a missing directory, or null at a home. The caller checks the parent too, so that
   * errors do not reveal what exists outside.
   */
  const around = (directory: string): string | null => {
    const home = admitted.homeOf(directory);
    if (home === null) throw outside(directory);
    return home === directory ? null : path.dirname(directory);
  };
  const confinement: Means = {
    admitted,
    mayFollow: true,
    withinNow(directory, step, expected) {
      const way = wayTo(directory, admitted);
      if (way !== null && !way.some(isLinkNow)) {
        return step(directory, check(directory, directory, true, expected));
      }
      const real = realPathNow(directory);
      if (real !== null) return step(directory, check(directory, real, admitted.admitsNow(real), expected));
      const parent = around(directory);
      if (parent !== null) confinement.withinNow(parent, () => undefined);
      throw missing(directory);
    },
    async within(directory, step, expected) {
      const way = wayTo(directory, admitted);
      if (way !== null && !(await hasLink(way))) {
        return step(directory, check(directory, directory, true, expected));
      }
      const real = await realPathOrNull(directory);
      if (real !== null) {
        return step(directory, check(directory, real, await admitted.admits(real), expected));
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

/** Returns the directories from below the home down to `directory`, or null if it lies below no home. */
function wayTo(directory: string, admitted: AdmittedDirectories): string[] | null {
  const home = admitted.homeOf(directory);
  if (home === null) return null;
  const way: string[] = [];
  for (let each = directory; each !== home && each.length > home.length; each = path.dirname(each)) {
    way.unshift(each);
  }
  return way;
}

const isLinkNow = (entryPath: string): boolean =>
  nowOrNull(() => fs.lstatSync(entryPath, { throwIfNoEntry: false }))?.isSymbolicLink() ?? false;

async function hasLink(way: readonly string[]): Promise<boolean> {
  for (const entryPath of way) {
    const stats = await onPool<fs.Stats>((done) => fs.lstat(entryPath, done)).catch(nullIfMissing);
    if (stats === null) return false;
    if (stats.isSymbolicLink()) return true;
  }
  return false;
}
