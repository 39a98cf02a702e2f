/** The platform's error codes, and what they mean. */

/**
 * The code of an error, e.g. "ENOENT"; undefined for anything but a failed system call. The error's class is
 * not checked: where the engine runs in a realm of its own (a test runner, `node:vm`), errors of the file
 * system belong to another one.
 */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** A name that is too long, and a symbolic link that leads back to itself, lead nowhere either. */
const MISSING_CODES: ReadonlySet<string | undefined> = new Set([
  "ENOENT",
  "ENOTDIR",
  "ENAMETOOLONG",
  "ELOOP",
]);

/** There is nothing under the path: it, or a directory on the way to it, does not exist. */
export const isMissing = (error: unknown): boolean => MISSING_CODES.has(codeOf(error));

const UNWRITABLE_CODES: ReadonlySet<string | undefined> = new Set(["EROFS", "EACCES", "EPERM"]);

/**
 * The user of the process may not write: the file system is read-only, or its owner does not let others
 * write.
 */
export const isUnwritable = (error: unknown): boolean => UNWRITABLE_CODES.has(codeOf(error));

/** There is no room for what was to be written; removing and renaming may still work. */
export const isDiskFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "");

/** The process, or the system, has as many files open as it may. */
export const hasTooManyOpen = (error: unknown): boolean => ["EMFILE", "ENFILE"].includes(codeOf(error) ?? "");
