/** Tells apart damage and a version that others removed while it was read. */

import { CorruptFileError } from "../errors.js";
import { TransactionConflictError } from "../table/commit/conflict.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/**
 * Runs `read`, which reads files of a version. Files that are missing because the version was cleaned up
 * after newer ones were committed are a conflict, not damage.
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
