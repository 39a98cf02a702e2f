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

/** Maximum number of tables searched at once. */
const PARALLELISM = 16;

interface Found {
  readonly found: CommittedTransaction;
  readonly foundIn: readonly string[];
}

/**
 * @param path the transaction's id, possibly after that of its table
 * @param operation that is asked about the table, and about the branch
 * @throws InvalidInputError for what is no id of a transaction, TransactionNotFoundError
 */
export async function findCommitted(
  context: OperationContext,
  path: readonly string[],
  operation: string,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const allow = (tableId: readonly string[], branch?: string | null) =>
    access.require(operation, tableId, { branch: branch ?? undefined });
  const tableId = path.slice(0, -1);
  const id = path[path.length - 1]?.toLowerCase();
  if (id === undefined || !UUID_FORM.test(id)) {
    throw new InvalidInputError("id: its last part must be the id of a transaction, a UUID");
  }
  if (tableId.length === 0) {
    const { found, foundIn } = await findAnywhere(context, id, signal);
    if (!(await isVisible(foundIn, access))) throw absent(id);
    await allow(foundIn);
    await allow(foundIn, found.table.branch);
    return { found, foundIn };
  }
  await allow(tableId);
  const entry = await requireTable(context, tableId);
  const found = await findTransaction(tableAt(context, entry.directory), id, { thorough: true, signal });
  if (found === null) {
    throw new TransactionNotFoundError(`table ${formatIdentifier(tableId)} has no transaction ${id}`);
  }
  await allow(tableId, found.table.branch);
  return { found, foundIn: tableId };
}

const absent = (id: string): TransactionNotFoundError =>
  new TransactionNotFoundError(`there is no transaction ${id}`);

/** @throws TransactionNotFoundError; CorruptFileError if it may be in a table that can't be read */
async function findAnywhere(
  context: OperationContext,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Found> {
  let unreadable: CorruptFileError | null = null;
  const lookInto = async (tableId: readonly string[]): Promise<Found | null> => {
    try {
      const entry = await findTable(context, tableId);
      const options = { thorough: false, signal };
      const found = entry && (await findTransaction(tableAt(context, entry.directory), id, options));
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
  throw absent(id);
}
