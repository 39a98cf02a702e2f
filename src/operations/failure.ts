/** Turns all errors into one kind: every error leaves an operation as a `NamespaceError`. */

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
import { isMainBranch } from "../table/refs/refs.js";
import { TableGoneError } from "../table/versions/identity.js";
import { optionalId } from "./request.js";

/**
 * The error to report for a value thrown inside an operation. Errors of the platform become what they mean, or else
 * `InternalError`, with the original as cause; errors caused by an aborted signal become `AbortedError`.
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

/** An error of the engine that only passes on the signal's reason is an abort, too. */
function asAborted(error: NamespaceError, operation: string, signal: AbortSignal): NamespaceError {
  const { reason } = signal;
  if (reason instanceof NamespaceError || error.cause === undefined || error.cause !== reason) return error;
  return new AbortedError(`${operation} was aborted`, { cause: reason });
}

/**
 * The error to report for a table that disappeared during an operation: one that names the table, or the branch, as the
 * request does. Any other error stays as it is.
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
