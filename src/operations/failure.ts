/** Turns all errors into one kind: every error leaves an operation as a `NamespaceError`. */

import {
  AbortedError,
  InternalError,
  messageOf,
  NamespaceError,
  PermissionDeniedError,
  ServiceUnavailableError,
  TableBranchNotFoundError,
  TableNotFoundError,
} from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { codeOf, hasTooManyOpen, isDiskFull, isUnwritable } from "../io/disk/errno.js";
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
 * What the platform refused, by its code; null for any other failure. The message names no more of a path than its
 * end, as messages of these classes reach a server's clients; the rest is in the cause.
 */
export function platformError(error: unknown, what = "the disk"): NamespaceError | null {
  const code = codeOf(error);
  const { syscall, path } = error as { readonly syscall?: unknown; readonly path?: unknown };
  const name = typeof path === "string" ? path.split(/[/\\]/).at(-1) : undefined;
  const at = typeof syscall === "string" && name ? `: ${syscall} ${name}` : "";
  const told = (reason: string) => `${what}: ${reason} (${code}${at})`;
  if (isUnwritable(error)) {
    const reason =
      code === "EROFS" ? "the file system is read-only" : "the file system does not let this process do that";
    return new PermissionDeniedError(told(reason), { cause: error });
  }
  if (isDiskFull(error)) {
    return new ServiceUnavailableError(told("there is no room left"), { cause: error });
  }
  if (hasTooManyOpen(error)) {
    return new ServiceUnavailableError(told("too many files are open"), { cause: error });
  }
  return null;
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
