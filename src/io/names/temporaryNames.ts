/** Names of files and directories that are being written, or are on their way out: nobody looks at them. */

/** Start of these names. */
export const TEMPORARY_PREFIX = ".tmp-";

/** A fresh name; never taken for a manifest. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + crypto.randomUUID();
}
