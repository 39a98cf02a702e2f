/**
 * Every error the engine throws on purpose: one base class, one row and one short subclass per code of the
 * namespace spec. Match on the class or on `code`, never on the text.
 */

/** Code, name and HTTP status of each spec error. The numbers are part of the wire contract. */
export const ERROR_TABLE = {
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
} as const;

/** The name of an error code, e.g. `"TableNotFound"`. */
export type ErrorType = keyof typeof ERROR_TABLE;

/** Base of all errors the engine throws on purpose. */
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
  readonly name: string;
  readonly type: ErrorType;
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly operation?: string;
}

/** A class of errors of one code. */
type ErrorClass = new (message: string, options?: { cause?: unknown }) => NamespaceError;

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

export class UnsupportedError extends errorClass("Unsupported") {}
export class NamespaceNotFoundError extends errorClass("NamespaceNotFound") {}
export class NamespaceAlreadyExistsError extends errorClass("NamespaceAlreadyExists") {}
export class NamespaceNotEmptyError extends errorClass("NamespaceNotEmpty") {}
export class TableNotFoundError extends errorClass("TableNotFound") {}
export class TableAlreadyExistsError extends errorClass("TableAlreadyExists") {}
export class TableIndexNotFoundError extends errorClass("TableIndexNotFound") {}
export class TableIndexAlreadyExistsError extends errorClass("TableIndexAlreadyExists") {}
export class TableTagNotFoundError extends errorClass("TableTagNotFound") {}
export class TableTagAlreadyExistsError extends errorClass("TableTagAlreadyExists") {}
export class TransactionNotFoundError extends errorClass("TransactionNotFound") {}
export class TableVersionNotFoundError extends errorClass("TableVersionNotFound") {}
export class TableColumnNotFoundError extends errorClass("TableColumnNotFound") {}
export class InvalidInputError extends errorClass("InvalidInput") {}
export class ConcurrentModificationError extends errorClass("ConcurrentModification") {}
export class PermissionDeniedError extends errorClass("PermissionDenied") {}
export class UnauthenticatedError extends errorClass("Unauthenticated") {}
export class ServiceUnavailableError extends errorClass("ServiceUnavailable") {}
export class InternalError extends errorClass("Internal") {}
export class InvalidTableStateError extends errorClass("InvalidTableState") {}
export class TableSchemaValidationError extends errorClass("TableSchemaValidation") {}
export class ThrottlingError extends errorClass("Throttling") {}
export class TableBranchNotFoundError extends errorClass("TableBranchNotFound") {}
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
  const { message } = thrown as { readonly message?: unknown };
  if (typeof message === "string") return message;
  try {
    return String(thrown);
  } catch {
    // Not every object converts to a string.
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
