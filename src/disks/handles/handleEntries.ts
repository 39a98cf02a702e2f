/** Finds entries below a directory handle, and gives errors of browsers the codes of the platform. */

import { diskError } from "../../io/disk/errno.js";

/** Names of errors that mean that a path leads nowhere: something is missing, or a file is on the way. */
export const MISSING_ERRORS: ReadonlySet<string> = new Set(["NotFoundError", "TypeMismatchError"]);

/** Name of an error of the browser. */
export const nameOf = (error: unknown): string => (error as Partial<Error> | null)?.name ?? "";

/** Names of errors of browsers, and the codes of the platform that say the same. */
const CODES: Readonly<Record<string, string>> = {
  NotAllowedError: "EACCES",
  NoModificationAllowedError: "EBUSY",
  NotReadableError: "EIO",
  QuotaExceededError: "ENOSPC",
  TypeMismatchError: "ENOTDIR",
  NotFoundError: "ENOENT",
};

/** Gives an error of the browser the code that the platform has for it. */
export function withCode(error: unknown, path: string): unknown {
  const code = CODES[nameOf(error)];
  if (code === undefined) return error;
  return diskError(code, "open", path, error);
}

/**
 * Returns the handle of a directory.
 * @param create true: makes a missing directory, and those above it
 */
export async function directoryOf(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  create: boolean,
): Promise<FileSystemDirectoryHandle> {
  let directory = top;
  for (const name of names) directory = await directory.getDirectoryHandle(name, { create });
  return directory;
}
