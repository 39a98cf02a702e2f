/** Errors that another process or thread has reported: back from text to an error of its class. */

import {
  ConcurrentModificationError,
  ERROR_TABLE,
  type ErrorType,
  InternalError,
  InvalidInputError,
  InvalidTableStateError,
  messageOf,
  NamespaceAlreadyExistsError,
  NamespaceError,
  NamespaceNotEmptyError,
  NamespaceNotFoundError,
  PermissionDeniedError,
  ServiceUnavailableError,
  TableAlreadyExistsError,
  TableBranchAlreadyExistsError,
  TableBranchNotFoundError,
  TableColumnNotFoundError,
  TableIndexAlreadyExistsError,
  TableIndexNotFoundError,
  TableNotFoundError,
  TableSchemaValidationError,
  TableTagAlreadyExistsError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
  ThrottlingError,
  TransactionNotFoundError,
  UnauthenticatedError,
  UnsupportedError,
} from "./errors.js";

/** An error, as text. */
export interface FailureRecord {
  readonly type: ErrorType;
  readonly message: string;
}

const MAX_MESSAGE_LENGTH = 8192;

const CLASSES: Readonly<Record<ErrorType, new (message: string, options?: ErrorOptions) => NamespaceError>> =
  {
    Unsupported: UnsupportedError,
    NamespaceNotFound: NamespaceNotFoundError,
    NamespaceAlreadyExists: NamespaceAlreadyExistsError,
    NamespaceNotEmpty: NamespaceNotEmptyError,
    TableNotFound: TableNotFoundError,
    TableAlreadyExists: TableAlreadyExistsError,
    TableIndexNotFound: TableIndexNotFoundError,
    TableIndexAlreadyExists: TableIndexAlreadyExistsError,
    TableTagNotFound: TableTagNotFoundError,
    TableTagAlreadyExists: TableTagAlreadyExistsError,
    TransactionNotFound: TransactionNotFoundError,
    TableVersionNotFound: TableVersionNotFoundError,
    TableColumnNotFound: TableColumnNotFoundError,
    InvalidInput: InvalidInputError,
    ConcurrentModification: ConcurrentModificationError,
    PermissionDenied: PermissionDeniedError,
    Unauthenticated: UnauthenticatedError,
    ServiceUnavailable: ServiceUnavailableError,
    Internal: InternalError,
    InvalidTableState: InvalidTableStateError,
    TableSchemaValidation: TableSchemaValidationError,
    Throttling: ThrottlingError,
    TableBranchNotFound: TableBranchNotFoundError,
    TableBranchAlreadyExists: TableBranchAlreadyExistsError,
  };

/** Whether a text is the name of an error code. */
export const isErrorType = (text: unknown): text is ErrorType =>
  typeof text === "string" && Object.hasOwn(ERROR_TABLE, text);

/** What is told of an error. */
export const failureOf = (error: unknown): FailureRecord => ({
  type: error instanceof NamespaceError ? error.type : "Internal",
  message: messageOf(error).slice(0, MAX_MESSAGE_LENGTH),
});

/** The error again; with its cause, where that is known. */
export const errorOfFailure = ({ type, message }: FailureRecord, cause?: unknown): NamespaceError =>
  new CLASSES[type](message, cause === undefined ? undefined : { cause });
