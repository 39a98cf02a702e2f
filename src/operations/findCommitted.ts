/** Finds a committed transaction by its id, for callers that may see its table. */

import { mapAhead } from "../async/parallel.js";
import { listAllTableNames } from "../catalog/listing.js";
import { findTable, requireTable } from "../catalog/locations/tables.js";
import {
  CorruptFileError,
  InvalidInputError,
  NamespaceNotFoundError,
  TransactionNotFoundError,
} from "../errors.js";
import { formatIdentifier, parseIdentifier, UUID_FORM } from "../ident.js";
import { type CommittedTransaction, findTransaction } from "../table/commit/transactionLookup.js";
import { tableAt } from "../table/versions/tableAt.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { isVisible } from "./jobAccess.js";

/** Maximum number of tables searched concurrently. */
const PARALLELISM = 16;

/** A committed transaction and its table. */
interface LocatedTransaction {
  readonly transaction: CommittedTransaction;
  readonly tableId: readonly string[];
}

/**
 * Finds a committed transaction.
 * @param path id of the transaction, possibly after the path of its table
 * @param operation operation that `authorize` is asked about, for the table and the branch
 * @throws InvalidInputError for a malformed id; TransactionNotFoundError
 */
export async function findCommitted(
  context: OperationContext,
  path: readonly string[],
  operation: string,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<LocatedTransaction> {
  const allow = (tableId: readonly string[], branch?: string | null) =>
    access.require(operation, tableId, { branch: branch ?? undefined });
  const tableId = path.slice(0, -1);
  const id = path[path.length - 1]?.toLowerCase();
  if (id === undefined || !UUID_FORM.test(id)) {
    throw new InvalidInputError("id: its last part must be the id of a transaction, a UUID");
  }
  if (tableId.length === 0) {
    const located = await findAnywhere(context, id, signal);
    if (!(await isVisible(located.tableId, access))) throw absent(id);
    await allow(located.tableId);
    await allow(located.tableId, located.transaction.table.branch);
    return located;
  }
  await allow(tableId);
  const entry = await requireTable(context, tableId);
  const transaction = await findTransaction(tableAt(context, entry.directory), id, {
    thorough: true,
    signal,
  });
  if (transaction === null) {
    throw new TransactionNotFoundError(`table ${formatIdentifier(tableId)} has no transaction ${id}`);
  }
  await allow(tableId, transaction.table.branch);
  return { transaction, tableId };
}

const absent = (id: string): TransactionNotFoundError =>
  new TransactionNotFoundError(`there is no transaction ${id}`);

/**
 * Searches all tables.
 * @throws TransactionNotFoundError; CorruptFileError if it may be in an unreadable table
 */
async function findAnywhere(
  context: OperationContext,
  id: string,
  signal: AbortSignal | undefined,
): Promise<LocatedTransaction> {
  let unreadable: CorruptFileError | null = null;
  const lookInto = async (tableId: readonly string[]): Promise<LocatedTransaction | null> => {
    try {
      const entry = await findTable(context, tableId);
      const options = { thorough: false, signal };
      const transaction = entry && (await findTransaction(tableAt(context, entry.directory), id, options));
      return transaction && { transaction, tableId };
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
  throw absent(id);
}
