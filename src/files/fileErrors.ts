/** Translates failures of files that the caller named. */

import { InvalidInputError, NamespaceError } from "../errors.js";
import { platformError } from "../io/disk/diskErrors.js";
import { codeOf } from "../io/disk/errno.js";

/** Failures that another path avoids. */
const WRONG_PATH: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file or directory"],
  ["EISDIR", "a directory has this name"],
  ["ENOTDIR", "a file has the name of a directory on the path"],
  ["ELOOP", "its symbolic links lead in a circle"],
  ["ENAMETOOLONG", "the path is too long"],
]);

/**
 * Returns the error to report for a failure of a file.
 * @param name name of the reader or writer
 */
export function fileError(error: unknown, path: string, name: string): unknown {
  if (error instanceof NamespaceError) return error;
  const reason = WRONG_PATH.get(String(codeOf(error)));
  if (reason !== undefined) return new InvalidInputError(`${name}: ${path}: ${reason}`, { cause: error });
  return platformError(error, `${name}: ${path}`) ?? error;
}
