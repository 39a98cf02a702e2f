/** Answers of an S3 server that report a failure: what they mean, and whether another attempt may help. */

import {
  InternalError,
  InvalidInputError,
  type NamespaceError,
  NamespaceNotFoundError,
  PermissionDeniedError,
  ServiceUnavailableError,
} from "../../errors.js";
import type { S3Settings } from "./options.js";
import { rootOf, textOf } from "./xml.js";

/** Consequence of a failed attempt for the next one. */
export type RetryKind =
  /** Another attempt fails in the same way. */
  | "final"
  /** The server did nothing; another attempt may succeed. */
  | "retry"
  /** The server may have done the work; another attempt may succeed. */
  | "uncertain"
  /** The server refused the credentials, or the clock of this machine. */
  | "credentials";

/** A failed attempt. */
export interface AttemptFailure {
  readonly error: NamespaceError;
  readonly kind: RetryKind;
}

/** An answer whose body, if any, was read. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** All attempts of a request failed. */
export class S3UnavailableError extends ServiceUnavailableError {
  /** True if the server may have carried the request out. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived: boolean, options: { cause: unknown }) {
    super(message, options);
    this.mayHaveArrived = mayHaveArrived;
  }
}

const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidToken",
  "TokenRefreshRequired",
  "RequestTimeTooSkewed",
  "RequestExpired",
]);

/** Codes of answers to requests that the server did not begin. */
const NOT_BEGUN_CODES: ReadonlySet<string> = new Set([
  "SlowDown",
  "SlowDownRead",
  "SlowDownWrite",
  "TooManyRequests",
  "ThrottlingException",
  "RequestLimitExceeded",
]);

/** Codes of refusals that say: a request for this key is under way, try again. */
const BUSY_CODES: ReadonlySet<string> = new Set([
  "ConditionalRequestConflict",
  "OperationAborted",
  "RequestTimeout",
]);

/** Returns the code of a failed answer, such as `NoSuchKey`; undefined if it has none, as of HEAD. */
function codeOfAnswer({ body }: FailedAnswer): string | undefined {
  const root = rootOf(body);
  return root?.name === "Error" ? textOf(root, "Code") : undefined;
}

/** Statuses of failures that an answer with the status 200 reports in its body. Others have 500. */
const LATE_STATUSES: ReadonlyMap<string | undefined, number> = new Map([
  ["AccessDenied", 403],
  ["EntityTooSmall", 400],
  ["InvalidPart", 400],
  ["InvalidPartOrder", 400],
  ["MalformedXML", 400],
  ["NoSuchBucket", 404],
  ["NoSuchKey", 404],
  ["NoSuchUpload", 404],
  ["PreconditionFailed", 412],
]);

/**
 * Returns the failure that an answer of success reports in its body, with the status that the failure has by
 * itself; null if the body is the result.
 * @param resultName name of the root element of a result
 */
export function lateFailure<Answer extends FailedAnswer>(answer: Answer, resultName: string): Answer | null {
  if (rootOf(answer.body)?.name === resultName) return null;
  return { ...answer, status: LATE_STATUSES.get(codeOfAnswer(answer)) ?? 500 };
}

/**
 * Classifies an answer that is not a success.
 * @param what request in a few words, such as `GET lake/t.lance/_versions/1.manifest`
 */
export function answerFailure(what: string, answer: FailedAnswer, settings: S3Settings): AttemptFailure {
  const { status, headers } = answer;
  const root = rootOf(answer.body);
  const error = root?.name === "Error" ? root : null;
  const code = error === null ? undefined : textOf(error, "Code");
  const reason = code === undefined ? `HTTP ${status}` : `${code} (HTTP ${status})`;
  const { bucket } = settings;
  const region = headers.get("x-amz-bucket-region") ?? (error === null ? undefined : textOf(error, "Region"));
  if (isRedirect(status) || isOfAnotherRegion(status, code, region, settings)) {
    return final(new InvalidInputError(redirectMessage(status, region, settings)));
  }
  if (code === "NoSuchBucket") {
    return final(new NamespaceNotFoundError(`the bucket ${bucket} does not exist on this server`));
  }
  if (code !== undefined && CREDENTIAL_CODES.has(code)) {
    return { error: denied(what, reason), kind: "credentials" };
  }
  if (status === 401 || status === 403) {
    // Answers to HEAD have no code. The credentials may have expired.
    return { error: denied(what, reason), kind: code === undefined ? "credentials" : "final" };
  }
  if (code !== undefined && BUSY_CODES.has(code)) {
    return { error: new ServiceUnavailableError(`${what}: ${reason}`), kind: "retry" };
  }
  if (status === 429 || (code !== undefined && NOT_BEGUN_CODES.has(code))) {
    return { error: new ServiceUnavailableError(`${what}: ${reason}`), kind: "retry" };
  }
  if (status === 501 || code === "NotImplemented") {
    return final(new InternalError(`${what}: the server does not implement this request`));
  }
  if (status >= 500 || status === 408) {
    return { error: new ServiceUnavailableError(`${what}: ${reason}`), kind: "uncertain" };
  }
  return final(new InternalError(`${what}: the S3 server refused the request: ${reason}`));
}

const final = (error: NamespaceError): AttemptFailure => ({ error, kind: "final" });

const denied = (what: string, reason: string): PermissionDeniedError =>
  new PermissionDeniedError(`${what}: the S3 server denied access: ${reason}`);

/** A redirect that fetch did not follow. Browsers show its status as 0. */
const isRedirect = (status: number): boolean => status === 0 || (status >= 300 && status < 400);

function isOfAnotherRegion(
  status: number,
  code: string | undefined,
  region: string | null | undefined,
  settings: S3Settings,
): boolean {
  if (code === "IllegalLocationConstraintException") return true;
  const isOther = typeof region === "string" && region !== "" && region !== settings.region;
  return isOther && status >= 400 && status < 404 && code !== "AccessDenied";
}

function redirectMessage(
  status: number,
  region: string | null | undefined,
  { bucket, region: ours }: S3Settings,
): string {
  return region
    ? `region: the bucket ${bucket} is in ${region.slice(0, 64)}, not in ${ours}`
    : `endpoint: the server redirects requests for the bucket ${bucket} elsewhere (HTTP ${status}). ` +
        "Use the endpoint and region of the bucket";
}
