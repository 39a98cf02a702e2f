/** Makes and removes trees of directories while other processes may do the same. */

import fs from "node:fs";
import path from "node:path";
import { runParallel } from "../../async/parallel.js";
import { sleep } from "../../async/sleep.js";
import { performance } from "../../async/timers.js";
import { onPool, shortCalls } from "./callRoute.js";
import type { Confinement } from "./confinement.js";
import { codeOf, nowOrNull, nullIfMissing } from "./errno.js";
import { makeOneDirectory, onEntryNow, statOrNull } from "./fileCalls.js";
import { UNCONFINED } from "./localConfinement.js";
import { outlastShortage } from "./shortage.js";

/** Maximum number of attempts to make a directory that other processes make and remove at the same time. */
const MAX_MAKE_ATTEMPTS = 10;

/** Maximum number of attempts to remove a tree that other processes add to or have open. */
const MAX_REMOVE_ATTEMPTS = 6;
/** Milliseconds before the second attempt; the pause grows by as much with each further attempt. */
const REMOVE_PAUSE_MS = 20;
/** Number of a directory's entries that are removed concurrently. */
const REMOVED_AT_ONCE = 64;
/** Milliseconds for removing a small tree in line, as one call. */
const MAX_RUN_MS = 0.4;

/**
 * Removes a directory and all below it, or a file. Does nothing if the path does not exist. Removes a link
 * itself and never its target.
 *
 * Another program may replace a directory by a link at any time. Before it removes the entries of a
 * directory, this function therefore checks the directory's real path (confinement.ts).
 */
export async function removeTree(confinement: Confinement, directory: string): Promise<void> {
  try {
    if (await removeTreeAsOne(confinement, directory)) return;
  } catch {
    // A tree whose entries are in use, or grow in number, needs the slow route.
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await outlastShortage(() => removeTreeOnPool(confinement, directory));
    } catch (error) {
      if (!MAY_PASS.has(codeOf(error)) || attempt === MAX_REMOVE_ATTEMPTS) throw error;
      await sleep(REMOVE_PAUSE_MS * attempt);
    }
  }
}

/** Codes of failures by another process: it added an entry, has one open, or changed its kind. */
const MAY_PASS: ReadonlySet<string | undefined> = new Set([
  "EBUSY",
  "EEXIST",
  "EISDIR",
  "ENOTEMPTY",
  "EPERM",
]);

/** Removes a tree like {@link removeTree}, with synchronous calls. */
export function removeTreeNow(confinement: Confinement, directory: string): void {
  removeEntryUntil(confinement, directory, Number.POSITIVE_INFINITY);
}

/**
 * Removes a small tree in line. Most trees hold a handful of files, which cost less to remove than to
 * schedule.
 * @returns false if entries are left, because calls go to the pool or the time is over
 * @throws the error of the first call that fails
 */
const removeTreeAsOne = (confinement: Confinement, directory: string): Promise<boolean> =>
  shortCalls.runTogether(
    () => removeEntryUntil(confinement, directory, performance.now() + MAX_RUN_MS),
    () => Promise.resolve(false),
  );

/** @returns false if the time was over before all was removed */
function removeEntryUntil(confinement: Confinement, entryPath: string, endMs: number): boolean {
  const name = path.basename(entryPath);
  const inner = confinement.withinNow(path.dirname(entryPath), (alias, parent) => {
    const entry = path.join(alias, name);
    if (fs.lstatSync(entry).isDirectory()) return path.join(parent, name);
    fs.unlinkSync(entry);
    return null;
  });
  return inner === null || removeTreeUntil(confinement, entryPath, inner, endMs);
}

/** @param real path of the directory without links */
function removeTreeUntil(confinement: Confinement, directory: string, real: string, endMs: number): boolean {
  const isOver = () => performance.now() >= endMs;
  const directories = confinement.withinNow(
    directory,
    (alias) => {
      const inner: string[] = [];
      for (const entry of fs.readdirSync(alias, { withFileTypes: true })) {
        if (entry.isDirectory()) inner.push(entry.name);
        else fs.unlinkSync(path.join(alias, entry.name));
        if (isOver()) return null;
      }
      return inner;
    },
    real,
  );
  if (directories === null) return false;
  for (const name of directories) {
    const inner = path.join(directory, name);
    if (!removeTreeUntil(confinement, inner, path.join(real, name), endMs) || isOver()) return false;
  }
  confinement.withinNow(
    path.dirname(directory),
    (alias) => fs.rmdirSync(path.join(alias, path.basename(directory))),
    path.dirname(real),
  );
  return true;
}

/** Removes an entry on the thread pool. If another process removed an entry first, that is not a failure. */
async function removeTreeOnPool(confinement: Confinement, entryPath: string): Promise<void> {
  const name = path.basename(entryPath);
  const step = async (alias: string, parent: string): Promise<string | null> => {
    const entry = path.join(alias, name);
    const stats = await onPool<fs.Stats>((done) => fs.lstat(entry, done));
    if (stats.isDirectory()) return path.join(parent, name);
    await unlinkOnPool(entry);
    return null;
  };
  const real = await confinement.within(path.dirname(entryPath), step).catch(nullIfMissing);
  if (real !== null) await removeDirectoryOnPool(confinement, entryPath, real);
}

/** @param real path of the directory without links */
async function removeDirectoryOnPool(
  confinement: Confinement,
  directory: string,
  real: string,
): Promise<void> {
  const step = async (alias: string): Promise<string[]> => {
    const entries = await onPool<fs.Dirent[]>((done) => fs.readdir(alias, { withFileTypes: true }, done));
    const files = entries.filter((entry) => !entry.isDirectory());
    await runParallel(files.length, REMOVED_AT_ONCE, (index) =>
      unlinkOnPool(path.join(alias, files[index].name)),
    );
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  };
  const names = (await confinement.within(directory, step, real).catch(nullIfMissing)) ?? [];
  for (const name of names) {
    await removeDirectoryOnPool(confinement, path.join(directory, name), path.join(real, name));
  }
  const remove = (alias: string) =>
    onPool<void>((done) =>
      fs.rmdir(path.join(alias, path.basename(directory)), (error) => done(error, undefined)),
    );
  await confinement.within(path.dirname(directory), remove, path.dirname(real)).catch(nullIfMissing);
}

const unlinkOnPool = async (entry: string): Promise<void> => {
  await onPool<void>((done) => fs.unlink(entry, (error) => done(error, undefined))).catch(nullIfMissing);
};

/**
 * Makes a directory and its missing parents.
 * @param within existing directory on the way, which is never made
 * @returns true if the directory did not exist
 */
export async function makeDirectories(
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): Promise<boolean> {
  if (confinement.admitted.isRootOrAbove(directory)) confinement = UNCONFINED;
  const isMade = await makeDirectoriesAsOne(confinement, directory, within);
  if (isMade !== null) return isMade;
  // An obstacle may disappear before the look at it; then the next attempt succeeds.
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryMakeDirectories(confinement, directory, within);
    } catch (error) {
      const isRace = codeOf(error) === "EEXIST" && (await statOrNull(directory)) === null;
      if (!isRace || attempt === MAX_MAKE_ATTEMPTS) throw error;
    }
  }
}

/** @returns null if the slow route must decide, because calls go to the pool or one failed */
const makeDirectoriesAsOne = (
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): Promise<boolean | null> =>
  shortCalls.runTogether<boolean | null>(
    () => {
      try {
        return makeDirectoriesNow(confinement, directory, within);
      } catch {
        return null;
      }
    },
    () => Promise.resolve(null),
  );

/** @returns null if something else lies there */
function makeDirectoriesNow(
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): boolean | null {
  if (confinement.admitted.isRootOrAbove(directory)) confinement = UNCONFINED;
  const parent = path.dirname(directory);
  if (within !== undefined && parent !== within) {
    if (isThereNow(confinement, directory)) return false;
    makeDirectoriesNow(confinement, parent, within);
  }
  // Opening a missing directory would cost an error.
  const isMade = onEntryNow(confinement, directory, (entry) => {
    if (fs.lstatSync(entry, { throwIfNoEntry: false }) !== undefined) return false;
    fs.mkdirSync(entry);
    return true;
  });
  return isMade || (isThereNow(confinement, directory) ? false : null);
}

function isThereNow(confinement: Confinement, directory: string): boolean {
  // A descriptor of `directory` proves that it is a directory.
  const isDirectory = (alias: string) => !confinement.mayFollow || fs.statSync(alias).isDirectory();
  return nowOrNull(() => confinement.withinNow(directory, isDirectory)) ?? false;
}

/** @throws PermissionDeniedError for one that lies where the engine may not work */
const isThere = (confinement: Confinement, directory: string): Promise<boolean> =>
  shortCalls.runTogether(
    () => isThereNow(confinement, directory),
    async () => {
      const stat = (alias: string) => onPool<fs.Stats>((done) => fs.stat(alias, done));
      return (await confinement.within(directory, stat).catch(nullIfMissing))?.isDirectory() ?? false;
    },
  );

async function tryMakeDirectories(
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): Promise<boolean> {
  // Most directories exist: a look costs less than a failed attempt to make one.
  if (await isThere(confinement, directory)) return false;
  const parent = path.dirname(directory);
  // If a deep directory is missing, its parents are often missing, too.
  if (within !== undefined && parent !== within && (await statOrNull(parent)) === null) {
    await makeDirectories(confinement, parent, within);
  }
  try {
    try {
      await makeOneDirectory(confinement, directory);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || parent === directory || parent === within) throw error;
      await makeDirectories(confinement, parent, within);
      await makeOneDirectory(confinement, directory);
    }
    return true;
  } catch (error) {
    // Some platforms report EPERM, EISDIR or EROFS for a root or a mount point, in place of EEXIST.
    const stats = codeOf(error) === "ENOENT" ? null : await statOrNull(directory);
    if (stats === null || !stats.isDirectory()) throw error;
    return false;
  }
}
