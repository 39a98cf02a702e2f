/** Makes names of files and directories that are being written or removed. Readers ignore them. */

export const TEMPORARY_PREFIX = ".tmp-";

/** Makes a unique name, which is never taken for a manifest. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + crypto.randomUUID();
}
