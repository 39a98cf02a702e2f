/** Turns all errors into one kind: every error leaves an operation as a `NamespaceError`. */

import {
  InternalError,
  messageOf,
  NamespaceError,
  ServiceUnavailableError,
  TableBranchNotFoundError,
  TableNotFoundError,
} from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { isMainBranch } from "../table/refs/refs.js";
import { TableGoneError } from "../table/versions/identity.js";

/**
 * The error to report for a value thrown inside an operation. Errors of the platform become `InternalError` with the
 * original as cause; errors caused by an aborted signal become `ServiceUnavailableError`.
 */
export function operationError(
  error: unknown,
  operation: string,
  signal: AbortSignal | undefined,
): NamespaceError {
  let typed: NamespaceError;
  if (error instanceof NamespaceError) typed = error;
  else if (signal?.aborted) typed = new ServiceUnavailableError(`${operation} was aborted`, { cause: error });
  else typed = new InternalError(messageOf(error), { cause: error });
  typed.operation ??= operation;
  return typed;
}

/**
 * The error to report for a table that disappeared during an operation: one that names the table, or the branch, as the
 * request does. Any other error stays as it is.
 */
export function inTermsOfRequest(
  error: unknown,
  { id, branch }: { readonly id?: readonly string[]; readonly branch?: unknown },
): unknown {
  if (!(error instanceof TableGoneError) || id === undefined || id.length === 0) return error;
  const table = `table ${formatIdentifier(id)}`;
  return typeof branch === "string" && !isMainBranch(branch)
    ? new TableBranchNotFoundError(`${table} has no branch ${branch} any more`, { cause: error })
    : new TableNotFoundError(`${table} does not exist any more`, { cause: error });
}
