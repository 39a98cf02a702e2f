/** Making and removing whole trees of directories, while others may do the same. */

import fs from "node:fs";
import path from "node:path";
import { runParallel } from "../../async/parallel.js";
import { onPool, shortCalls } from "./callRoute.js";
import { codeOf, isMissing } from "./errno.js";
import {
  isSymbolicLink,
  makeOneDirectory,
  readDirectory,
  removeOneDirectory,
  statOrNull,
  unlink,
} from "./fileCalls.js";
import { WINDOWS_ATTEMPTS } from "./onWindows.js";
import { outlastShortage } from "./shortage.js";

/** Attempts to make a directory that others make and remove at the same time. */
const MAX_MAKE_ATTEMPTS = 10;

/** Number of a directory's entries that are removed together, all at the same time where calls are slow. */
const REMOVED_AT_ONCE = 64;
/** A tree of some entries is removed as if by one call, as long as that takes no longer than a short one may. */
const MAX_RUN_MS = 0.4;

/**
 * Removes a directory and all below it, or the file in its place; quiet where there is none. A link in its place is
 * removed, its target stays.
 */
export async function removeTree(directory: string): Promise<void> {
  try {
    if (await removeTreeAsOne(directory)) return;
    // A link in place of the tree is removed; its target is somebody else's.
    if (await isSymbolicLink(directory)) await unlink(directory);
    else await removeTreeInShortCalls(directory);
  } catch {
    // Entries that others add or keep in use meanwhile, and a path that is no directory, take longer.
    await removeStubbornTree(directory);
  }
}

/**
 * Most trees that go hold a handful of files, and each call by itself would take longer to arrange than to make.
 * @returns false where something is left, because calls go to the pool or because these took too long
 * @throws the error of the first call that fails
 */
const removeTreeAsOne = (directory: string): Promise<boolean> =>
  shortCalls.runTogether(
    () => {
      const stats = fs.lstatSync(directory);
      if (stats.isSymbolicLink()) return false;
      if (stats.isDirectory()) return removeTreeUntil(directory, performance.now() + MAX_RUN_MS);
      fs.unlinkSync(directory);
      return true;
    },
    () => Promise.resolve(false),
  );

/** @returns false where the time was over before all was removed */
function removeTreeUntil(directory: string, endMs: number): boolean {
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    const entryPath = path.join(directory, entry.name);
    if (!entry.isDirectory()) fs.unlinkSync(entryPath);
    else if (!removeTreeUntil(entryPath, endMs)) return false;
    if (performance.now() >= endMs) return false;
  }
  fs.rmdirSync(directory);
  return true;
}

/** @throws the error of the first call that fails */
async function removeTreeInShortCalls(directory: string): Promise<void> {
  const entries = await readDirectory(directory);
  await runParallel(entries.length, REMOVED_AT_ONCE, (index) => {
    const entry = entries[index];
    const entryPath = path.join(directory, entry.name);
    return entry.isDirectory() ? removeTreeInShortCalls(entryPath) : unlink(entryPath);
  });
  await removeOneDirectory(directory);
}

async function removeStubbornTree(directory: string): Promise<void> {
  try {
    await outlastShortage(() =>
      onPool<void>((done) =>
        fs.rm(
          directory,
          { recursive: true, force: true, maxRetries: WINDOWS_ATTEMPTS, retryDelay: 20 },
          (error) => done(error, undefined),
        ),
      ),
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Makes a directory and its parents; true where it was not there.
 * @param within a directory on the way that must be there: it is not made
 */
export async function makeDirectories(directory: string, within: string | undefined): Promise<boolean> {
  const isMade = await makeDirectoriesAsOne(directory, within);
  if (isMade !== null) return isMade;
  // What was in the way may be gone again by the time it is looked at; then another attempt is made.
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryMakeDirectories(directory, within);
    } catch (error) {
      const isRace = codeOf(error) === "EEXIST" && (await statOrNull(directory)) === null;
      if (!isRace || attempt === MAX_MAKE_ATTEMPTS) throw error;
    }
  }
}

/** @returns null where that has to be found out call by call: calls go to the pool, or one of them failed */
const makeDirectoriesAsOne = (directory: string, within: string | undefined): Promise<boolean | null> =>
  shortCalls.runTogether<boolean | null>(
    () => {
      try {
        return makeDirectoriesNow(directory, within);
      } catch {
        return null;
      }
    },
    () => Promise.resolve(null),
  );

function makeDirectoriesNow(directory: string, within: string | undefined): boolean {
  if (fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return false;
  const parent = path.dirname(directory);
  if (within !== undefined && parent !== within) makeDirectoriesNow(parent, within);
  fs.mkdirSync(directory);
  return true;
}

async function tryMakeDirectories(directory: string, within: string | undefined): Promise<boolean> {
  // Most directories are there: a stat costs less than a failed attempt to make one.
  if ((await statOrNull(directory))?.isDirectory() === true) return false;
  const parent = path.dirname(directory);
  // Deep below a directory that is there, those in between are often missing, too.
  if (within !== undefined && parent !== within && (await statOrNull(parent)) === null) {
    await makeDirectories(parent, within);
  }
  try {
    try {
      await makeOneDirectory(directory);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || parent === directory || parent === within) throw error;
      await makeDirectories(parent, within);
      await makeOneDirectory(directory);
    }
    return true;
  } catch (error) {
    // Besides EEXIST: some platforms answer EPERM, EISDIR or EROFS for a root or a mount point.
    const stats = codeOf(error) === "ENOENT" ? null : await statOrNull(directory);
    if (stats === null || !stats.isDirectory()) throw error;
    return false;
  }
}
