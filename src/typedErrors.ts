/** Errors by the name of their code, and errors as text that another process or thread reports. */

import * as errors from "./errors.js";
import { ERROR_TABLE, type ErrorType, messageOf, NamespaceError } from "./errors.js";

/** An error as text. */
export interface FailureRecord {
  readonly type: ErrorType;
  readonly message: string;
}

/** Errors that report a missing table, or a missing version, branch or tag of it. */
export const ABSENCES = [
  errors.NamespaceNotFoundError,
  errors.TableNotFoundError,
  errors.TableBranchNotFoundError,
  errors.TableTagNotFoundError,
  errors.TableVersionNotFoundError,
] as const;

const MAX_MESSAGE_LENGTH = 8192;

/** The compiler checks that each code has a class of its name. */
const CLASSES: Readonly<
  Record<`${ErrorType}Error`, new (message: string, options?: ErrorOptions) => NamespaceError>
> = errors;

/** True if a text is the name of an error code. */
export const isErrorType = (text: unknown): text is ErrorType =>
  typeof text === "string" && Object.hasOwn(ERROR_TABLE, text);

/** Returns the record of an error. */
export const failureOf = (error: unknown): FailureRecord => ({
  type: error instanceof NamespaceError ? error.type : "Internal",
  message: messageOf(error).slice(0, MAX_MESSAGE_LENGTH),
});

/** Returns an error of the class that a record names. */
export const errorOfFailure = ({ type, message }: FailureRecord, cause?: unknown): NamespaceError =>
  new CLASSES[`${type}Error`](message, cause === undefined ? undefined : { cause });
