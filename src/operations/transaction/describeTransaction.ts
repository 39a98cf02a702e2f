/** DescribeTransaction: returns the version that a transaction created, or the progress of a job. */

import { formatIdentifier } from "../../ident.js";
import type { DescribeTransactionResponse } from "../../namespace/transactions.js";
import { operationName, operationOf } from "../../table/commit/transaction.js";
import type { CommittedTransaction } from "../../table/commit/transactionLookup.js";
import { timestampMillis } from "../../table/versions/versionAsOf.js";
import { findCommitted } from "../findCommitted.js";
import { describeAsTransaction, findJobOf } from "../jobAccess.js";
import type { OperationBody } from "../operation.js";
import { optionalId } from "../request.js";

export const describeTransaction: OperationBody<"describeTransaction"> = async (context, request, access) => {
  const path = optionalId(request.id);
  const job = await findJobOf(context, path, "describeTransaction", access);
  if (job !== null) return describeAsTransaction(job);
  const { transaction, tableId } = await findCommitted(
    context,
    path,
    "describeTransaction",
    access,
    request.signal,
  );
  return describe(tableId, transaction);
};

/** The names of properties and operations are those of the reference. */
function describe(
  tableId: readonly string[],
  { transaction, table, version, file }: CommittedTransaction,
): DescribeTransactionResponse {
  const { uuid, readVersion, tag, transactionProperties } = transaction;
  return {
    status: "Succeeded",
    properties: {
      ...Object.fromEntries(transactionProperties),
      uuid,
      table: formatIdentifier(tableId),
      ...(table.branch !== null && { branch: table.branch }),
      version: String(version),
      read_version: String(readVersion),
      operation: operationName(operationOf(transaction)),
      ...(tag !== "" && { tag }),
      timestamp_millis: String(timestampMillis(file.manifest)),
    },
  };
}
