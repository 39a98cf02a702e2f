/** Names of branches and tags, and the directories of branches. */

import { InvalidInputError } from "../../errors.js";
import { branchDirectory } from "../versions/paths.js";

const MAIN = "main";
/** Pattern of a part of a branch's name. A function, because compiling it is slow and seldom needed. */
const segmentPattern = (): RegExp => /^[\p{L}\p{N}._-]+$/u;
/** Maximum bytes of an encoded name. Leaves room for the suffix, and for what the reference appends. */
const MAX_NAME_BYTES = 240;

/** Returns true for names of the main branch: undefined, empty or `main`. */
export const isMainBranch = (branch: string | undefined): branch is undefined | "" | typeof MAIN =>
  branch === undefined || branch === "" || branch === MAIN;

export const formatBranch = (branch: string | null): string =>
  branch === null ? "the main branch" : `branch ${branch}`;

/** @throws InvalidInputError for a name that the format does not allow */
export function checkBranchName(branch: string): void {
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`branch ${JSON.stringify(branch.slice(0, 100))}: ${reason}`);
  };
  if (branch === "") refuse("the name is empty");
  if (branch.startsWith("/") || branch.endsWith("/")) refuse("the name begins or ends with a slash");
  if (branch.includes("//")) refuse("the name has two slashes in a row");
  if (branch.includes("..") || branch.includes("\\")) refuse("the name contains .. or a backslash");
  for (const segment of branch.split("/")) {
    if (!segmentPattern().test(segment)) refuse("only letters, digits, '.', '-', '_' and '/' are allowed");
    if (segment === ".") refuse("a part of the name is a single dot");
  }
  if (branch.endsWith(".lock")) refuse("the name ends in .lock");
  if (branch === MAIN) refuse("it is the table itself");
  if (isTooLong(branch)) refuse("the name is too long");
}

/** Returns true if {@link checkBranchName} accepts a name. */
export function isBranchName(branch: string): boolean {
  try {
    checkBranchName(branch);
    return true;
  } catch (error) {
    if (error instanceof InvalidInputError) return false;
    throw error;
  }
}

/** @throws InvalidInputError for a name that the format does not allow */
export function checkTagName(tag: string): void {
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`tag ${JSON.stringify(tag.slice(0, 100))}: ${reason}`);
  };
  if (tag === "") refuse("the name is empty");
  if (!segmentPattern().test(tag)) refuse("only letters, digits, '.', '-' and '_' are allowed");
  if (tag.startsWith(".") || tag.endsWith(".")) refuse("the name begins or ends with a dot");
  if (tag.endsWith(".lock") || tag.includes("..")) refuse("the name ends in .lock or contains ..");
  if (isTooLong(tag)) refuse("the name is too long");
}

const isTooLong = (name: string): boolean => encodeURIComponent(name).length > MAX_NAME_BYTES;

/** Returns the directory of a branch of the table at `mainRoot`; for the main branch, the table's own. */
export const branchRoot = (mainRoot: string, branch: string | undefined): string =>
  isMainBranch(branch) ? mainRoot : branchDirectory(mainRoot, branch);
