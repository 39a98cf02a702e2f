/** Errors on the wire: one flat JSON object, for the interface document and the namespace spec. */

import { ERROR_TABLE, type ErrorType, NamespaceError } from "../../errors.js";

/** Body of every answer that is not a success. */
export interface Problem {
  /** URI reference that identifies the HTTP status. */
  readonly type: string;
  /** Sentence that describes the HTTP status. */
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
  /** Description of this failure. */
  readonly detail: string;
  /** Path of the request. */
  readonly instance: string;
  /** Copy of `detail` under the namespace spec's name. */
  readonly error: string;
  /** Numeric code of the namespace spec. */
  readonly code: number;
}

const KINDS: Readonly<Record<number, readonly [type: string, title: string]>> = {
  400: ["/errors/bad-request", "Malformed request"],
  401: ["/errors/unauthorized-request", "No valid authentication credentials for the operation"],
  403: ["/errors/forbidden-request", "Not authorized to make this request"],
  404: ["/errors/not-found-error", "Not found"],
  405: ["/errors/method-not-allowed", "The method is not allowed here"],
  406: ["/errors/unsupported-operation", "The server does not support this operation"],
  408: ["/errors/request-timeout", "The request took too long to arrive"],
  409: ["/errors/conflict", "The request conflicts with the state of the object"],
  413: ["/errors/content-too-large", "The request's body is too large"],
  415: ["/errors/unsupported-media-type", "The request's body is of an unsupported media type"],
  417: ["/errors/expectation-failed", "The server cannot do what the request expects"],
  421: ["/errors/misdirected-request", "The server does not answer for this host"],
  429: ["/errors/too-many-requests", "Too many requests"],
  431: ["/errors/header-fields-too-large", "The request's header is too large"],
  503: ["/errors/service-unavailable", "Slow down"],
};
const SERVER_ERROR = ["/errors/server-error", "Internal Server Error"] as const;

/** Returns the sentence that describes an HTTP status. */
export const titleOf = (status: number): string => (KINDS[status] ?? SERVER_ERROR)[1];

/** Maximum length of a text that is sent to a client. It may contain the client's own input. */
const MAX_DETAIL = 2000;

/** A request that is refused before it reaches the engine, or an error with its own status or headers. */
export class Refusal extends Error {
  readonly status: number;
  readonly errorType: ErrorType;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    errorType: ErrorType,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    super(detail, cause === undefined ? undefined : { cause });
    this.status = status;
    this.errorType = errorType;
    this.headers = headers;
  }
}

/** Returns the refusal of a request that may succeed after some seconds. */
export const unavailable = (detail: string, seconds = "1", cause?: unknown): Refusal =>
  new Refusal(503, "ServiceUnavailable", detail, { "retry-after": seconds }, cause);

/** Context of a problem. */
export interface ProblemContext {
  /** Path of the request. */
  readonly instance: string;
  /** Paths of the namespace's directory, which no answer reveals. */
  readonly roots: readonly string[];
  /** HTTP status that replaces the error's status. */
  readonly status?: number;
  /** Replaces the names of request members in a text with the client's names. */
  inTheirWords(text: string): string;
}

/** Returns the problem for an error. It hides everything about errors inside the server. */
export function problemOf(thrown: unknown, context: ProblemContext): Problem {
  const { instance, roots, inTheirWords } = context;
  const error = refusalIn(thrown) ?? thrown;
  const { status: errorStatus, type } = kindOf(error);
  const status = context.status ?? errorStatus;
  const [kind, title] = KINDS[status] ?? SERVER_ERROR;
  // Refusals are written for the client, regardless of their status.
  const isRevealed = status < 500 || type === "ServiceUnavailable" || error instanceof Refusal;
  const text = isRevealed
    ? withoutRoots((error as Error).message, roots)
    : "the request failed inside the server";
  const detail = error instanceof Refusal ? text : inTheirWords(text);
  return { type: kind, title, status, detail, instance, error: detail, code: ERROR_TABLE[type].code };
}

/** Returns the message of a failed job for a client. It hides as much as the answer to a failed request. */
export const failureText = (type: ErrorType, message: string, roots: readonly string[]): string =>
  ERROR_TABLE[type].status < 500 || type === "ServiceUnavailable"
    ? withoutRoots(message, roots)
    : "the job failed inside the server";

/** Returns the refusal that an error is, or that caused it while the engine read the body. */
export function refusalIn(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  return error instanceof NamespaceError && error.cause instanceof Refusal ? error.cause : null;
}

function kindOf(error: unknown): { readonly status: number; readonly type: ErrorType } {
  if (error instanceof Refusal) return { status: error.status, type: error.errorType };
  if (error instanceof NamespaceError) return { status: error.status, type: error.type };
  return { status: 500, type: "Internal" };
}

/** True if the reported text of an error may contain a path. */
export function mayNamePath(thrown: unknown): boolean {
  const error = refusalIn(thrown) ?? thrown;
  return /[/\\]|%2f|%5c/i.test(String((error as { readonly message?: unknown } | null)?.message ?? ""));
}

/** Removes the namespace's directory from paths below it. */
function withoutRoots(text: string, roots: readonly string[]): string {
  let relative = text;
  // Longer paths come first, because one may contain another: the temporary directory of macOS lies below a
  // directory of the same name.
  const forms = [...new Set(roots.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  for (const form of forms) {
    for (const separator of SEPARATORS) relative = relative.replaceAll(form + separator, "");
    relative = relative.replaceAll(form, ".");
  }
  return relative.length > MAX_DETAIL ? `${relative.slice(0, MAX_DETAIL)}…` : relative;
}

const SEPARATORS = ["/", "\\\\", "\\", "%2F", "%5C"];

/** Returns the forms of a path in texts: plain, in a URL, and in JSON. */
function formsOf(root: string): string[] {
  // The root of a file system reveals nothing.
  if (/^(?:[a-z]:)?[/\\]*$/i.test(root)) return [];
  const slashed = root.replaceAll("\\", "/");
  return [root, slashed, encodeURI(slashed), encodeURIComponent(root), JSON.stringify(root).slice(1, -1)];
}
