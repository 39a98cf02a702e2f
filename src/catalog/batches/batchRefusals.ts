/** Classifies the reasons against a part of a batch: lasting or passing. */

import { NamespaceError, ServiceUnavailableError, ThrottlingError } from "../../errors.js";
import { codeOf, isUnwritable } from "../../io/disk/errno.js";
import { PublishUncertainError } from "../../io/publish.js";

/** Thrown when a part cannot be done: the table is another one, or another writer got in between. */
export class BatchConflict extends Error {}

/** Codes of platform calls that would fail again. */
const LASTING_CODES: ReadonlySet<string | undefined> = new Set([
  ...["ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "ENAMETOOLONG", "EXDEV", "EMLINK"],
  ...["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"],
]);

/** Returns true if the reason against a part will still hold at the next attempt. */
export function isLasting(error: unknown): boolean {
  if (error instanceof BatchConflict) return true;
  if (error instanceof PublishUncertainError) return false;
  if (error instanceof NamespaceError) {
    return !(error instanceof ServiceUnavailableError || error instanceof ThrottlingError);
  }
  return isUnwritable(error) || LASTING_CODES.has(codeOf(error));
}
