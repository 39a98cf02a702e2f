/**
 * Every error the engine throws on purpose: one base class, one row and one short subclass per code of the
 * namespace spec. Match on the class or on `code`, never on the text.
 */

/** The name of an error code, e.g. `"TableNotFound"`. */
export type ErrorType =
  | "Unsupported"
  | "NamespaceNotFound"
  | "NamespaceAlreadyExists"
  | "NamespaceNotEmpty"
  | "TableNotFound"
  | "TableAlreadyExists"
  | "TableIndexNotFound"
  | "TableIndexAlreadyExists"
  | "TableTagNotFound"
  | "TableTagAlreadyExists"
  | "TransactionNotFound"
  | "TableVersionNotFound"
  | "TableColumnNotFound"
  | "InvalidInput"
  | "ConcurrentModification"
  | "PermissionDenied"
  | "Unauthenticated"
  | "ServiceUnavailable"
  | "Internal"
  | "InvalidTableState"
  | "TableSchemaValidation"
  | "Throttling"
  | "TableBranchNotFound"
  | "TableBranchAlreadyExists";

/** What clients see of an error besides its text. */
export interface ErrorCode {
  /** Numeric code of the namespace spec, 0 to 23. */
  readonly code: number;
  /** HTTP status that the code maps to. */
  readonly status: number;
}

/** Code and HTTP status of each spec error, by its name. The numbers are part of the wire contract. */
export const ERROR_TABLE: Readonly<Record<ErrorType, ErrorCode>> = {
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
};

/**
 * Base of all errors the engine throws on purpose. Match on the class or on `code`, never on the text.
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
  /** Name of the code, e.g. `"TableNotFound"`. */
  readonly type: ErrorType;
  /** HTTP status the code maps to. */
  readonly status: number;
  /** The operation that failed, e.g. `"insertIntoTable"`; set when the error leaves the operation. */
  operation?: string;

  constructor(type: ErrorType, message: string, options?: { cause?: unknown }) {
    // A cause that is undefined would still be printed.
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    const row = ERROR_TABLE[type];
    if (this.name === "Error") this.name = `${type}Error`;
    this.type = type;
    this.code = row.code;
    this.status = row.status;
  }

  /** What `JSON.stringify` shows: neither the stack nor the cause, which may tell of the machine. */
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
  /** Numeric code. */
  readonly code: number;
  /** HTTP status. */
  readonly status: number;
  /** What went wrong. */
  readonly message: string;
  /** The operation that failed. */
  readonly operation?: string;
}

/** Makes errors of one code. */
interface ErrorClass {
  new (message: string, options?: { cause?: unknown }): NamespaceError;
}

const errorClass = (type: ErrorType): ErrorClass => {
  class TypedError extends NamespaceError {
    constructor(message: string, options?: { cause?: unknown }) {
      super(type, message, options);
    }
  }
  // On the prototype, the name is in the first line of the stack, and is not printed a second time.
  setErrorName(TypedError, `${type}Error`);
  return TypedError;
};

/** Gives the errors of a class their name, before the first of them is made. */
function setErrorName(errors: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(errors.prototype, "name", { value: name, configurable: true, writable: true });
}

/**
 * An operation, a type or a value that this release does not support; the message names it. Nothing was changed.
 * Code 0, HTTP 406.
 */
export class UnsupportedError extends errorClass("Unsupported") {}
/** There is no such namespace. Code 1, HTTP 404. */
export class NamespaceNotFoundError extends errorClass("NamespaceNotFound") {}
/** There is a namespace of that name already. Code 2, HTTP 409. */
export class NamespaceAlreadyExistsError extends errorClass("NamespaceAlreadyExists") {}
/** A namespace that is to be dropped or replaced has something in it. Code 3, HTTP 409. */
export class NamespaceNotEmptyError extends errorClass("NamespaceNotEmpty") {}
/**
 * There is no such table; or it was dropped, renamed or made anew while the call was under way. Code 4, HTTP 404.
 */
export class TableNotFoundError extends errorClass("TableNotFound") {}
/** There is a table of that name already. Code 5, HTTP 409. */
export class TableAlreadyExistsError extends errorClass("TableAlreadyExists") {}
/** The table has no such index. Code 6, HTTP 404. */
export class TableIndexNotFoundError extends errorClass("TableIndexNotFound") {}
/** The table has an index of that name already. Code 7, HTTP 409. */
export class TableIndexAlreadyExistsError extends errorClass("TableIndexAlreadyExists") {}
/** The table has no such tag. Code 8, HTTP 404. */
export class TableTagNotFoundError extends errorClass("TableTagNotFound") {}
/** The table has a tag of that name already. Code 9, HTTP 409. */
export class TableTagAlreadyExistsError extends errorClass("TableTagAlreadyExists") {}
/** There is no such transaction or job. Code 10, HTTP 404. */
export class TransactionNotFoundError extends errorClass("TransactionNotFound") {}
/** The table has no such version: it was never made, or it was cleaned up. Code 11, HTTP 404. */
export class TableVersionNotFoundError extends errorClass("TableVersionNotFound") {}
/** The table has no such column. Code 12, HTTP 404. */
export class TableColumnNotFoundError extends errorClass("TableColumnNotFound") {}
/**
 * A request that is malformed: the message names the member, its value, and what may stand there. Nothing was
 * changed. Code 13, HTTP 400.
 */
export class InvalidInputError extends errorClass("InvalidInput") {}
/**
 * Another writer was first, and its change contradicts this one; or a lock could not be had in time. The call can
 * be made again. Code 14, HTTP 409.
 */
export class ConcurrentModificationError extends errorClass("ConcurrentModification") {}
/** `authorize` denied the call, or a file lies where none may be opened. Code 15, HTTP 403. */
export class PermissionDeniedError extends errorClass("PermissionDenied") {}
/** The caller sent no credentials, or none that are valid. Code 16, HTTP 401. */
export class UnauthenticatedError extends errorClass("Unauthenticated") {}
/**
 * The call was aborted, or can be made again later: something that it needs was not there. Code 17, HTTP 503.
 */
export class ServiceUnavailableError extends errorClass("ServiceUnavailable") {}
/** Something failed that should not: the cause says what. Code 18, HTTP 500. */
export class InternalError extends errorClass("Internal") {}
/**
 * The table is in a state in which the operation makes no sense, such as a read of one that is only declared. Code
 * 19, HTTP 409.
 */
export class InvalidTableStateError extends errorClass("InvalidTableState") {}
/** Rows do not fit the table's schema; the message names the field. Code 20, HTTP 400. */
export class TableSchemaValidationError extends errorClass("TableSchemaValidation") {}
/**
 * A caller makes more requests than it is allowed. Code 21, HTTP 429. The engine and its handler never throw it (too many
 * requests under way are a {@link ServiceUnavailableError}, 503); `authorize` may, to limit a caller's rate.
 */
export class ThrottlingError extends errorClass("Throttling") {}
/** The table has no such branch. Code 22, HTTP 404. */
export class TableBranchNotFoundError extends errorClass("TableBranchNotFound") {}
/** The table has a branch of that name already. Code 23, HTTP 409. */
export class TableBranchAlreadyExistsError extends errorClass("TableBranchAlreadyExists") {}

/**
 * A call that was ended by its signal: a ServiceUnavailableError under the name that the platform gives aborts. Its cause
 * is the signal's reason.
 */
export class AbortedError extends ServiceUnavailableError {
  static {
    setErrorName(AbortedError, "AbortError");
  }
}

/** The message of a thrown value: of an error, from any realm, its own. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    const { message } = thrown as { readonly message?: unknown };
    return typeof message === "string" ? message : String(thrown);
  } catch {
    // Not every object converts to a string, and a member may throw when it is read.
    return "an object that is no error";
  }
}

/** Bytes on disk that contradict the format. */
export class CorruptFileError extends InternalError {
  static {
    setErrorName(CorruptFileError, "CorruptFileError");
  }

  /** The file, as the engine opened it. */
  readonly path: string;
  /** Offset of the first byte that does not fit, or of the structure that holds it. */
  readonly byteOffset: number;

  constructor(path: string, byteOffset: number, reason: string, options?: { cause?: unknown }) {
    super(`corrupt file ${path} at byte ${byteOffset}: ${reason}`, options);
    this.path = path;
    this.byteOffset = byteOffset;
  }
}
