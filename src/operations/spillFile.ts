/** Files for rows that are too many for memory. */

import { PermissionDeniedError } from "../errors.js";
import { isUnwritable } from "../io/disk/errno.js";
import { TemporaryFile } from "../io/temporaryFile.js";
import type { SpillFile } from "../query/order/sortedRuns.js";
import type { TableAt } from "../table/versions/tableAt.js";
import type { OperationContext } from "./context.js";

/**
 * Creates a file in the table's directory. A cleanup removes it after a crash.
 * @param label request member that needs the file
 * @param remedy what the caller can do if the directory is not writable
 */
export async function makeSpillFile(
  { disk, root }: TableAt<OperationContext>,
  label: string,
  remedy: string,
): Promise<SpillFile> {
  try {
    return await TemporaryFile.create(disk, root);
  } catch (cause) {
    if (!isUnwritable(cause)) throw cause;
    throw new PermissionDeniedError(
      `${label}: there are too many rows for memory, and the table's directory, which would hold them, is not ` +
        `writable; ${remedy}`,
      { cause },
    );
  }
}
