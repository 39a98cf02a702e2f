/**
 * Errors that the engine throws on purpose: one base class, and one row and one subclass per code of the
 * namespace spec. A test checks that each docstring shows the code and status of its row.
 */

/** Code and HTTP status of an error. */
export interface ErrorCode {
  /** Numeric code of the namespace spec, 0 to 23. */
  readonly code: number;
  /** HTTP status of an answer with this error. */
  readonly status: number;
}

/** The record of errors: one row per code of the namespace spec. The numbers never change. */
const ROWS = {
  Unsupported: { code: 0, status: 406 },
  NamespaceNotFound: { code: 1, status: 404 },
  NamespaceAlreadyExists: { code: 2, status: 409 },
  NamespaceNotEmpty: { code: 3, status: 409 },
  TableNotFound: { code: 4, status: 404 },
  TableAlreadyExists: { code: 5, status: 409 },
  TableIndexNotFound: { code: 6, status: 404 },
  TableIndexAlreadyExists: { code: 7, status: 409 },
  TableTagNotFound: { code: 8, status: 404 },
  TableTagAlreadyExists: { code: 9, status: 409 },
  TransactionNotFound: { code: 10, status: 404 },
  TableVersionNotFound: { code: 11, status: 404 },
  TableColumnNotFound: { code: 12, status: 404 },
  InvalidInput: { code: 13, status: 400 },
  ConcurrentModification: { code: 14, status: 409 },
  PermissionDenied: { code: 15, status: 403 },
  Unauthenticated: { code: 16, status: 401 },
  ServiceUnavailable: { code: 17, status: 503 },
  Internal: { code: 18, status: 500 },
  InvalidTableState: { code: 19, status: 409 },
  TableSchemaValidation: { code: 20, status: 400 },
  Throttling: { code: 21, status: 429 },
  TableBranchNotFound: { code: 22, status: 404 },
  TableBranchAlreadyExists: { code: 23, status: 409 },
} as const satisfies Readonly<Record<string, ErrorCode>>;

/** Name of an error code, such as `"TableNotFound"`. */
export type ErrorType = keyof typeof ROWS;

/** Code and HTTP status of each error, by the name of its code. */
export const ERROR_TABLE: Readonly<Record<ErrorType, ErrorCode>> = ROWS;

/**
 * Base class of all errors that the engine throws on purpose. Match on the class or on `code`, never on the
 * message.
 *
 * @example
 * try {
 *   await ns.dropTable({ id: ["orders"] });
 * } catch (error) {
 *   if (!(error instanceof TableNotFoundError)) throw error;
 * }
 */
export class NamespaceError extends Error {
  /** Numeric code of the namespace spec, 0 to 23. */
  readonly code: number;
  /** Name of the code, such as `"TableNotFound"`. */
  readonly type: ErrorType;
  /** HTTP status of an answer with this error. */
  readonly status: number;
  /** The operation that failed, such as `"insertIntoTable"`. The engine sets it when the error leaves. */
  operation?: string;

  constructor(type: ErrorType, message: string, options?: { cause?: unknown }) {
    // Node.js prints the cause of an error even if it is undefined.
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    const row = ERROR_TABLE[type];
    if (this.name === "Error") this.name = `${type}Error`;
    this.type = type;
    this.code = row.code;
    this.status = row.status;
  }

  /** Returns the form for `JSON.stringify`, without stack and cause, which may reveal paths. */
  toJSON(): NamespaceErrorJson {
    const { name, type, code, status, message, operation } = this;
    return { name, type, code, status, message, ...(operation !== undefined && { operation }) };
  }
}

/** An error as JSON. */
export interface NamespaceErrorJson {
  /** Name of the class. */
  readonly name: string;
  /** Name of the code. */
  readonly type: ErrorType;
  /** Numeric code of the namespace spec, 0 to 23. */
  readonly code: number;
  /** HTTP status. */
  readonly status: number;
  /** Description of the failure. */
  readonly message: string;
  /** The operation that failed, if the error left one. */
  readonly operation?: string;
}

/** Constructor of the errors of one code. */
interface ErrorClass {
  new (message: string, options?: { cause?: unknown }): NamespaceError;
}

const errorClass = (type: ErrorType): ErrorClass => {
  class TypedError extends NamespaceError {
    constructor(message: string, options?: { cause?: unknown }) {
      super(type, message, options);
    }
  }
  // A name on the prototype appears in the first line of the stack and is not printed again as a member.
  setErrorName(TypedError, `${type}Error`);
  return TypedError;
};

/** Sets the name of all errors of a class. */
function setErrorName(errors: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(errors.prototype, "name", { value: name, configurable: true, writable: true });
}

/**
 * This release does not support an operation, a type or a value; the message names it. Nothing was changed.
 * Code 0, HTTP 406.
 */
export class UnsupportedError extends errorClass("Unsupported") {}
/** The namespace does not exist. Code 1, HTTP 404. */
export class NamespaceNotFoundError extends errorClass("NamespaceNotFound") {}
/** A namespace of that name already exists. Code 2, HTTP 409. */
export class NamespaceAlreadyExistsError extends errorClass("NamespaceAlreadyExists") {}
/** The namespace to drop or replace is not empty. Code 3, HTTP 409. */
export class NamespaceNotEmptyError extends errorClass("NamespaceNotEmpty") {}
/** The table does not exist; or it was dropped, renamed or replaced during the call. Code 4, HTTP 404. */
export class TableNotFoundError extends errorClass("TableNotFound") {}
/** A table of that name already exists. Code 5, HTTP 409. */
export class TableAlreadyExistsError extends errorClass("TableAlreadyExists") {}
/** The table has no such index. Code 6, HTTP 404. */
export class TableIndexNotFoundError extends errorClass("TableIndexNotFound") {}
/** The table already has an index of that name. Code 7, HTTP 409. */
export class TableIndexAlreadyExistsError extends errorClass("TableIndexAlreadyExists") {}
/** The table has no such tag. Code 8, HTTP 404. */
export class TableTagNotFoundError extends errorClass("TableTagNotFound") {}
/** The table already has a tag of that name. Code 9, HTTP 409. */
export class TableTagAlreadyExistsError extends errorClass("TableTagAlreadyExists") {}
/** The transaction or job does not exist. Code 10, HTTP 404. */
export class TransactionNotFoundError extends errorClass("TransactionNotFound") {}
/** The table has no such version: it never existed, or a cleanup removed it. Code 11, HTTP 404. */
export class TableVersionNotFoundError extends errorClass("TableVersionNotFound") {}
/** The table has no such column. Code 12, HTTP 404. */
export class TableColumnNotFoundError extends errorClass("TableColumnNotFound") {}
/**
 * The request is malformed. The message names the member, its value and the values that are allowed. Nothing
 * was changed. Code 13, HTTP 400.
 */
export class InvalidInputError extends errorClass("InvalidInput") {}
/**
 * Another writer committed a change that conflicts with this one, or held a lock for too long. The caller may
 * try again. Code 14, HTTP 409.
 */
export class ConcurrentModificationError extends errorClass("ConcurrentModification") {}
/** `authorize` denied the call, or a file lies outside the allowed directories. Code 15, HTTP 403. */
export class PermissionDeniedError extends errorClass("PermissionDenied") {}
/** The caller sent no valid credentials. Code 16, HTTP 401. */
export class UnauthenticatedError extends errorClass("Unauthenticated") {}
/** The call was aborted, or something was unavailable. The caller may try again. Code 17, HTTP 503. */
export class ServiceUnavailableError extends errorClass("ServiceUnavailable") {}
/** The engine failed unexpectedly; the cause has the details. Code 18, HTTP 500. */
export class InternalError extends errorClass("Internal") {}
/** The table's state forbids the operation: a declared table has no rows. Code 19, HTTP 409. */
export class InvalidTableStateError extends errorClass("InvalidTableState") {}
/** Rows do not match the table's schema; the message names the field. Code 20, HTTP 400. */
export class TableSchemaValidationError extends errorClass("TableSchemaValidation") {}
/**
 * The caller exceeds its rate of requests. Code 21, HTTP 429. Only `authorize` throws it. For too many
 * concurrent requests, the HTTP handler answers with a {@link ServiceUnavailableError} (503).
 */
export class ThrottlingError extends errorClass("Throttling") {}
/** The table has no such branch. Code 22, HTTP 404. */
export class TableBranchNotFoundError extends errorClass("TableBranchNotFound") {}
/** The table already has a branch of that name. Code 23, HTTP 409. */
export class TableBranchAlreadyExistsError extends errorClass("TableBranchAlreadyExists") {}

/** The call's signal was aborted. The error is named `AbortError`; its cause is the signal's reason. */
export class AbortedError extends ServiceUnavailableError {
  static {
    setErrorName(AbortedError, "AbortError");
  }
}

/** Returns the message of any thrown value, including an error of another realm. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    const { message } = thrown as { readonly message?: unknown };
    return typeof message === "string" ? message : String(thrown);
  } catch {
    // Reading a member may throw, and not every object converts to a string.
    return "an object that is no error";
  }
}

/** A file on disk violates its format. Code 18, HTTP 500. */
export class CorruptFileError extends InternalError {
  static {
    setErrorName(CorruptFileError, "CorruptFileError");
  }

  /** Path of the file. */
  readonly path: string;
  /** Offset of the first invalid byte, or of the structure that holds it. */
  readonly byteOffset: number;

  constructor(path: string, byteOffset: number, reason: string, options?: { cause?: unknown }) {
    super(`corrupt file ${path} at byte ${byteOffset}: ${reason}`, options);
    this.path = path;
    this.byteOffset = byteOffset;
  }
}
