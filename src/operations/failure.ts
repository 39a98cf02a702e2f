/** Turns every error that leaves an operation into a `NamespaceError`. */

import {
  AbortedError,
  InternalError,
  messageOf,
  NamespaceError,
  TableBranchNotFoundError,
  TableNotFoundError,
} from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { platformError } from "../io/disk/diskErrors.js";
import { isMainBranch } from "../table/refs/refNames.js";
import { TableGoneError } from "../table/versions/identity.js";
import { optionalId } from "./request.js";

/**
 * Returns the error to report for a value thrown by an operation. A platform error becomes the error that it
 * means, or an `InternalError` with the original as cause. An error of an aborted signal becomes an
 * `AbortedError`.
 */
export function operationError(
  error: unknown,
  operation: string,
  signal: AbortSignal | undefined,
): NamespaceError {
  let typed: NamespaceError;
  if (error instanceof NamespaceError) typed = signal?.aborted ? asAborted(error, operation, signal) : error;
  else if (signal?.aborted) typed = new AbortedError(`${operation} was aborted`, { cause: error });
  else typed = platformError(error) ?? new InternalError(messageOf(error), { cause: error });
  typed.operation ??= operation;
  return typed;
}

/** An error of the engine that only passes on the signal's reason also becomes an `AbortedError`. */
function asAborted(error: NamespaceError, operation: string, signal: AbortSignal): NamespaceError {
  const { reason } = signal;
  if (reason instanceof NamespaceError || error.cause === undefined || error.cause !== reason) return error;
  return new AbortedError(`${operation} was aborted`, { cause: reason });
}

/**
 * Returns the error to report for a table that disappeared during an operation. It names the table or the
 * branch as the request does. Other errors are returned unchanged.
 */
export function inTermsOfRequest(
  error: unknown,
  { id, branch }: { readonly id?: unknown; readonly branch?: unknown },
): unknown {
  if (!(error instanceof TableGoneError)) return error;
  const path = optionalId(id);
  if (path.length === 0) return error;
  const table = `table ${formatIdentifier(path)}`;
  return typeof branch === "string" && !isMainBranch(branch)
    ? new TableBranchNotFoundError(`${table} has no branch ${branch} any more`, { cause: error })
    : new TableNotFoundError(`${table} does not exist any more`, { cause: error });
}
