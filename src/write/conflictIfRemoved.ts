/** Tells damaged files from a version that was removed while it was read. */

import { CorruptFileError } from "../errors.js";
import { TransactionConflictError } from "../table/commit/conflictError.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/**
 * Runs `read`, which reads files of a version. Missing files are a conflict, not damage, if a cleanup removed
 * the version after a newer commit.
 * @throws TransactionConflictError
 */
export async function conflictIfRemoved<T>(
  { table, version, path, file }: OpenVersion,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CorruptFileError)) throw error;
    const current = await table.environment.manifests.read(table.disk, path);
    if (current?.isCopyOf(file) === true) throw error;
    throw new TransactionConflictError("retryable", `version ${version} was removed while it was read`);
  }
}
