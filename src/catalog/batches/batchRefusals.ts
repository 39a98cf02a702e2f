/** What stands against a part of a batch: for good, or for now. */

import { NamespaceError, ServiceUnavailableError, ThrottlingError } from "../../errors.js";
import { codeOf, isUnwritable } from "../../io/disk/errno.js";
import { PublishUncertainError } from "../../io/publish.js";

/** A part can't be done: the table is another, or another writer was there in between. */
export class BatchConflict extends Error {}

/** What a platform answers to a call that will fail again. */
const LASTING_CODES: ReadonlySet<string | undefined> = new Set([
  ...["ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "ENAMETOOLONG", "EXDEV", "EMLINK"],
  ...["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"],
]);

/** Whether what stands against a part will still do so when it is tried again. */
export function isLasting(error: unknown): boolean {
  if (error instanceof BatchConflict) return true;
  if (error instanceof PublishUncertainError) return false;
  if (error instanceof NamespaceError) {
    return !(error instanceof ServiceUnavailableError || error instanceof ThrottlingError);
  }
  return isUnwritable(error) || LASTING_CODES.has(codeOf(error));
}
