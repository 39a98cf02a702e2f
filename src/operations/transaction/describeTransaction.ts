/** DescribeTransaction: which version a transaction made, and how; or how far a job is. */

import { mapAhead } from "../../async/parallel.js";
import { listAllTableNames } from "../../catalog/listing.js";
import { findTable, requireTable } from "../../catalog/places/tables.js";
import {
  CorruptFileError,
  InvalidInputError,
  NamespaceNotFoundError,
  TransactionNotFoundError,
} from "../../errors.js";
import { formatIdentifier, parseIdentifier, UUID_FORM } from "../../ident.js";
import type { DescribeTransactionRequest, DescribeTransactionResponse } from "../../namespace.js";
import { timestampMillis } from "../../table/commit/apply.js";
import { operationOf } from "../../table/commit/transaction.js";
import { type CommittedTransaction, findTransaction } from "../../table/commit/transactionLookup.js";
import { tableAt } from "../../table/versions/tableAt.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { describeAsTransaction, findJobOf } from "../job/jobAccess.js";
import { optionalId } from "../request.js";

/** Maximum number of tables searched at once. */
const PARALLELISM = 16;

export async function describeTransaction(
  context: OperationContext,
  request: DescribeTransactionRequest,
  access: Access,
): Promise<DescribeTransactionResponse> {
  const path = optionalId(request.id);
  const allow = (tableId: readonly string[], branch?: string | null) =>
    access.require("describeTransaction", tableId, { branch: branch ?? undefined });
  const tableId = path.slice(0, -1);
  const id = path[path.length - 1]?.toLowerCase();
  if (id === undefined || !UUID_FORM.test(id)) {
    throw new InvalidInputError("id: its last part must be the id of a transaction, a UUID");
  }
  const job = await findJobOf(context, path, "describeTransaction", access);
  if (job !== null) return describeAsTransaction(job);
  if (tableId.length === 0) {
    const { found, foundIn } = await findAnywhere(context, id, request.signal);
    await allow(foundIn);
    await allow(foundIn, found.at.branch);
    return describe(foundIn, found);
  }
  await allow(tableId);
  const table = await requireTable(context, tableId);
  const options = { thorough: true, signal: request.signal };
  const found = await findTransaction(tableAt(context, table.directory), id, options);
  if (found === null) {
    throw new TransactionNotFoundError(`table ${formatIdentifier(tableId)} has no transaction ${id}`);
  }
  await allow(tableId, found.at.branch);
  return describe(tableId, found);
}

interface Found {
  readonly found: CommittedTransaction;
  readonly foundIn: readonly string[];
}

/** @throws TransactionNotFoundError; CorruptFileError if it may be in a table that can't be read */
async function findAnywhere(
  context: OperationContext,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Found> {
  let unreadable: CorruptFileError | null = null;
  const lookInto = async (tableId: readonly string[]): Promise<Found | null> => {
    try {
      const table = await findTable(context, tableId);
      const options = { thorough: false, signal };
      const found = table && (await findTransaction(tableAt(context, table.directory), id, options));
      return found && { found, foundIn: tableId };
    } catch (error) {
      // A missing or corrupt table must not hide a transaction of another table.
      if (error instanceof NamespaceNotFoundError) return null;
      if (!(error instanceof CorruptFileError)) throw error;
      unreadable = error;
      return null;
    }
  };
  const hinted = context.recentTransactions.tableOf(id);
  const hit = hinted === undefined ? null : await lookInto(hinted);
  if (hit !== null) return hit;
  const all = { after: "", limit: Number.POSITIVE_INFINITY };
  const { names } = await listAllTableNames(context, all, true, null);
  const limit = { weigh: () => 1, maxWeight: PARALLELISM, signal };
  for await (const outcome of mapAhead(names, (name) => lookInto(parseIdentifier(name)), limit)) {
    signal?.throwIfAborted();
    if (outcome !== null) return outcome;
  }
  if (unreadable !== null) throw unreadable;
  throw new TransactionNotFoundError(`there is no transaction ${id}`);
}

/** Names of properties and operations are the reference's. */
function describe(
  tableId: readonly string[],
  { transaction, at, version, file }: CommittedTransaction,
): DescribeTransactionResponse {
  const { uuid, readVersion, tag, transactionProperties } = transaction;
  const { kind } = operationOf(transaction);
  return {
    status: "Succeeded",
    properties: {
      ...Object.fromEntries(transactionProperties),
      uuid,
      table: formatIdentifier(tableId),
      ...(at.branch !== null && { branch: at.branch }),
      version: String(version),
      read_version: String(readVersion),
      operation: kind[0].toUpperCase() + kind.slice(1),
      ...(tag !== "" && { tag }),
      timestamp_millis: String(timestampMillis(file.manifest)),
    },
  };
}
