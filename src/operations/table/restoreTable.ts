/** RestoreTable: commits the content of an older version as the new latest version. Nothing is lost. */

import { TableVersionNotFoundError } from "../../errors.js";
import { Restore } from "../../format/table.js";
import { formatIdentifier } from "../../ident.js";
import { commitTransaction } from "../../table/commit/commit.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { findVersion } from "../../table/versions/versions.js";
import type { OperationBody } from "../operation.js";
import { requireTableId, requireVersion } from "../request.js";
import { openTable } from "../snapshot.js";

export const restoreTable: OperationBody<"restoreTable"> = async (context, request) => {
  const wanted = requireVersion(request.version);
  const { table, latest } = await openTable(context, request);
  const base = latest && (await openVersion(table, latest));
  if (base === null || (await findVersion(table, wanted)) === null) {
    throw new TableVersionNotFoundError(
      `table ${formatIdentifier(requireTableId(request.id))} has no version ${wanted}`,
    );
  }
  const transaction = newTransaction(base.version, "restore", Restore.create({ version: wanted }));
  const { version } = await commitTransaction(base, transaction, { signal: request.signal });
  return { transactionId: transaction.uuid, version };
};
