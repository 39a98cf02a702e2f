/** Makes one kind of error of all: whatever went wrong leaves an operation as a `NamespaceError`. */

import { InternalError, messageOf, NamespaceError, ServiceUnavailableError } from "../errors.js";

/**
 * The error to report for what was thrown inside an operation. Errors of the platform become `InternalError` with
 * the original as cause; what an aborted signal caused becomes `ServiceUnavailableError`.
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
