/** Errors of a client: the server's problems as typed errors, and failures on the way to the server. */

import {
  AbortedError,
  ERROR_TABLE,
  type ErrorType,
  InternalError,
  messageOf,
  NamespaceError,
} from "../errors.js";
import { errorOfFailure } from "../typedErrors.js";

/** Maximum characters of a server's text in a message. */
const MAX_DETAIL = 2000;
/** Header values of fewer characters, such as `1`, are no secrets. */
const MIN_SECRET = 6;

/** Types of errors by their numeric codes. */
const TYPES: ReadonlyMap<unknown, ErrorType> = new Map(
  Object.entries(ERROR_TABLE).map(([type, { code }]) => [code, type as ErrorType]),
);

/** Types of errors by statuses, for answers without a code. */
const BY_STATUS: Readonly<Record<number, ErrorType>> = {
  401: "Unauthenticated",
  403: "PermissionDenied",
  404: "Unsupported",
  405: "Unsupported",
  406: "Unsupported",
  408: "ServiceUnavailable",
  409: "ConcurrentModification",
  429: "Throttling",
  501: "Unsupported",
  502: "ServiceUnavailable",
  503: "ServiceUnavailable",
  504: "ServiceUnavailable",
};

/** An answer that reports an error. */
export interface ErrorAnswer {
  readonly status: number;
  /** Parsed body; undefined if it is not JSON. */
  readonly json: unknown;
  /** Path of the request. */
  readonly path: string;
  /** Replaces the wire's names of members in a text. */
  readonly inOurWords?: ((text: string) => string) | undefined;
}

/**
 * Returns the error that an answer reports.
 * @param secrets header values of the request, which the message must not repeat
 */
export function errorOfAnswer(
  { status, json, path, inOurWords = (same) => same }: ErrorAnswer,
  secrets: readonly string[],
): NamespaceError {
  const { code, detail, error, message } = (isRecord(json) ? json : {}) as Readonly<Record<string, unknown>>;
  const text = [detail, error, message].find((each) => typeof each === "string" && each !== "");
  const type = TYPES.get(code) ?? BY_STATUS[status] ?? (status >= 500 ? "Internal" : "InvalidInput");
  const shown =
    typeof text === "string" ? inOurWords(text) : `the server answered ${path} with status ${status}`;
  return errorOfFailure({ type, message: withoutSecrets(shown, secrets) });
}

/** Returns the error that an event or a job reports. */
export function errorOfProblem(problem: unknown, secrets: readonly string[]): NamespaceError {
  const status = isRecord(problem) && typeof problem.status === "number" ? problem.status : 500;
  return errorOfAnswer({ status, json: problem, path: "the request" }, secrets);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Returns a text of limited length in which header values are replaced. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets.flatMap(partsOfSecret)) shown = shown.replaceAll(secret, "…");
  return shown.length > MAX_DETAIL ? `${shown.slice(0, MAX_DETAIL)}…` : shown;
}

/** Returns a value and, for `Bearer token`, its token. The longest comes first. */
const partsOfSecret = (value: string): string[] =>
  [value, ...value.split(" ").slice(1)].filter((part) => part.length >= MIN_SECRET);

/** Returns the error for an answer that does not have its form. */
export const malformedAnswer = (reason: string, cause?: unknown): InternalError =>
  new InternalError(
    `the server's answer is malformed: ${reason.slice(0, MAX_DETAIL)}`,
    cause === undefined ? undefined : { cause },
  );

/** Returns the error to report for a value thrown by a call. */
export function errorOfCall(
  error: unknown,
  operation: string,
  signal: AbortSignal | undefined,
): NamespaceError {
  const isReason =
    error instanceof NamespaceError && error.cause !== undefined && error.cause === signal?.reason;
  const isTyped = error instanceof NamespaceError && !(signal?.aborted === true && isReason);
  const typed = isTyped
    ? error
    : signal?.aborted === true
      ? new AbortedError(`${operation} was aborted`, { cause: signal.reason })
      : new InternalError(messageOf(error), { cause: error });
  typed.operation ??= operation;
  return typed;
}
