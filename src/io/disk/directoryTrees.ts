/** Making and removing whole trees of directories, while others may do the same. */

import fs from "node:fs";
import path from "node:path";
import { runParallel } from "../../async/parallel.js";
import { sleep } from "../../async/sleep.js";
import { performance } from "../../async/timers.js";
import { onPool, shortCalls } from "./callRoute.js";
import { type Confinement, UNCONFINED } from "./confinement.js";
import { codeOf, isMissing } from "./errno.js";
import { makeOneDirectory, onEntryNow, statOrNull } from "./fileCalls.js";
import { outlastShortage } from "./shortage.js";

/** Attempts to make a directory that others make and remove at the same time. */
const MAX_MAKE_ATTEMPTS = 10;

/** Attempts to remove a tree that others add to, or whose entries they have open for a moment. */
const MAX_REMOVE_ATTEMPTS = 6;
/** Milliseconds before the second attempt; each further one is later by as much. */
const REMOVE_PAUSE_MS = 20;
/** Number of a directory's entries that are removed together, all at the same time. */
const REMOVED_AT_ONCE = 64;
/**
 * A tree of some entries is removed as if by one call, as long as that takes no longer than a short one may.
 */
const MAX_RUN_MS = 0.4;

/**
 * Removes a directory and all below it, or the file in its place; quiet where there is none. A link is
 * removed, in its place or anywhere below: its target stays.
 *
 * Others may put a link in place of a directory at any time. So each directory below must have the path
 * without links that it has by its name, when its entries are removed (confinement.ts).
 */
export async function removeTree(confinement: Confinement, directory: string): Promise<void> {
  try {
    if (await removeTreeAsOne(confinement, directory)) return;
  } catch {
    // Entries that others add or keep in use meanwhile take longer.
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

/**
 * Codes of failures because of other processes: one added an entry, has one open, or put an entry of another
 * kind in its place.
 */
const MAY_PASS: ReadonlySet<string | undefined> = new Set([
  "EBUSY",
  "EEXIST",
  "EISDIR",
  "ENOTEMPTY",
  "EPERM",
]);

/** Removes a tree as {@link removeTree} does, in calls of this thread. */
export function removeTreeNow(confinement: Confinement, directory: string): void {
  removeEntryUntil(confinement, directory, Number.POSITIVE_INFINITY);
}

/**
 * Most trees that go hold a handful of files, and each call by itself would take longer to arrange than to
 * make.
 * @returns false where something is left, because calls go to the pool or because these took too long
 * @throws the error of the first call that fails
 */
const removeTreeAsOne = (confinement: Confinement, directory: string): Promise<boolean> =>
  shortCalls.runTogether(
    () => removeEntryUntil(confinement, directory, performance.now() + MAX_RUN_MS),
    () => Promise.resolve(false),
  );

/** @returns false where the time was over before all was removed */
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

/** @param real path without links of the directory */
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

/** What is not there any more was removed by somebody else. */
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

/** @param real path without links of the directory */
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

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/**
 * Makes a directory and its parents; true where it was not there.
 * @param within a directory on the way that must be there: it is not made
 */
export async function makeDirectories(
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): Promise<boolean> {
  if (confinement.places.isOnTheWay(directory)) confinement = UNCONFINED;
  const isMade = await makeDirectoriesAsOne(confinement, directory, within);
  if (isMade !== null) return isMade;
  // What was in the way may be gone again by the time it is looked at; then another attempt is made.
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryMakeDirectories(confinement, directory, within);
    } catch (error) {
      const isRace = codeOf(error) === "EEXIST" && (await statOrNull(directory)) === null;
      if (!isRace || attempt === MAX_MAKE_ATTEMPTS) throw error;
    }
  }
}

/** @returns null where that has to be found out call by call: calls go to the pool, or one of them failed */
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

function makeDirectoriesNow(
  confinement: Confinement,
  directory: string,
  within: string | undefined,
): boolean {
  if (confinement.places.isOnTheWay(directory)) confinement = UNCONFINED;
  if (isThereNow(confinement, directory)) return false;
  const parent = path.dirname(directory);
  if (within !== undefined && parent !== within) makeDirectoriesNow(confinement, parent, within);
  onEntryNow(confinement, directory, (entry) => fs.mkdirSync(entry));
  return true;
}

function isThereNow(confinement: Confinement, directory: string): boolean {
  try {
    // Only a directory is opened.
    return confinement.withinNow(
      directory,
      (alias) => !confinement.mayFollow || fs.statSync(alias).isDirectory(),
    );
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
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
  // Most directories are there: a look costs less than a failed attempt to make one.
  if (await isThere(confinement, directory)) return false;
  const parent = path.dirname(directory);
  // Deep below a directory that is there, those in between are often missing, too.
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
    // Besides EEXIST: some platforms answer EPERM, EISDIR or EROFS for a root or a mount point.
    const stats = codeOf(error) === "ENOENT" ? null : await statOrNull(directory);
    if (stats === null || !stats.isDirectory()) throw error;
    return false;
  }
}
