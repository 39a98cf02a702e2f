/** Why a part of a batch can't be done: for good, or for now. */

import { NamespaceError, ServiceUnavailableError, ThrottlingError } from "../../errors.js";
import { codeOf, isUnwritable } from "../../io/disk/errno.js";
import { PublishUncertainError } from "../../io/publish.js";

/** A part can't be done: the table is another one, or another writer came in between. */
export class BatchConflict extends Error {}

/** The platform's codes for a call that will fail again. */
const LASTING_CODES: ReadonlySet<string | undefined> = new Set([
  ...["ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "ENAMETOOLONG", "EXDEV", "EMLINK"],
  ...["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"],
]);

/** True if the reason why a part can't be done will still hold when it is tried again. */
export function isLasting(error: unknown): boolean {
  if (error instanceof BatchConflict) return true;
  if (error instanceof PublishUncertainError) return false;
  if (error instanceof NamespaceError) {
    return !(error instanceof ServiceUnavailableError || error instanceof ThrottlingError);
  }
  return isUnwritable(error) || LASTING_CODES.has(codeOf(error));
}
