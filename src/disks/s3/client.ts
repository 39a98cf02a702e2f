/**
 * Requests to one bucket: signed, sent, and sent again after failures that may pass.
 *
 * A request is sent again after a lost connection, an answer that breaks off, and the statuses 408, 429 and
 * 5xx. Each wait is random, up to a bound that doubles, and at least what `Retry-After` says. A lost answer
 * leaves open whether the server carried the request out. So all requests can be sent twice: conditional ones
 * find out by themselves (conditionalPut.ts), and the others do the same work again.
 */

import { AwsV4Signer } from "aws4fetch";
import { Limit } from "../../async/parallel.js";
import { sleep } from "../../async/sleep.js";
import { toHex } from "../../bytes/hex.js";
import { InternalError, NamespaceError, ServiceUnavailableError } from "../../errors.js";
import { dropBody, IdleTimer, readBody } from "./bodies.js";
import type { CredentialSource } from "./credentials.js";
import {
  type AttemptFailure,
  answerFailure,
  type FailedAnswer,
  lateFailure,
  S3UnavailableError,
} from "./failures.js";
import type { S3Credentials, S3Settings } from "./options.js";
import { MAX_XML_BYTES } from "./xml.js";

/** A request for a key, or for the bucket. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Whole key; undefined for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** In private memory, and unchanged until the call settles. */
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Statuses of failures that the caller handles. */
  readonly accepts?: readonly number[];
  /** Maximum bytes of the answer's body. Default: those of an answer in XML. */
  readonly maxBytes?: number;
  /** Memory of at least `maxBytes` for the body of a success. */
  readonly memory?: Uint8Array;
  /** Refuses an answer that breaks off. @throws Error */
  readonly check?: (answer: S3Answer) => void;
  /**
   * Name of the root element of a success. The server sends the status before it does the work, so an answer
   * with the status 200 may report a failure in its body.
   */
  readonly resultName?: string;
}

/** An answer that was read to its end. */
export interface S3Answer extends FailedAnswer {
  /** Attempts before this one that the server may have carried out. */
  readonly uncertainAttempts: number;
}

/** Requests of one disk that are under way at a time. */
const MAX_REQUESTS = 64;
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 10_000;
/** Maximum wait that a server may ask for. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Minimum bytes per millisecond of an upload that is not given up. */
const LEAST_UPLOADED_PER_MS = 32;
/** Difference of clocks that Amazon's servers tolerate is 15 minutes. */
const TOLERATED_SKEW_MS = 4 * 60_000;

/** Signatures have years of four digits. A day is left for the time until the next attempt. */
const END_OF_DATES_MS = Date.UTC(9999, 11, 31);

const EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export class S3Client {
  readonly settings: S3Settings;
  readonly #credentials: CredentialSource;
  readonly #limit = new Limit(MAX_REQUESTS);
  /** Signing keys, one for each day and key. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  /** Milliseconds that the server's clock is ahead of this machine's, if it refused the machine's time. */
  #skewMs = 0;

  constructor(settings: S3Settings, credentials: CredentialSource) {
    this.settings = settings;
    this.#credentials = credentials;
  }

  /**
   * Sends a request until it succeeds, or fails for good.
   * @throws S3UnavailableError after the last attempt; the error of {@link answerFailure} at once
   */
  send(request: S3Request): Promise<S3Answer> {
    return this.#limit.run(() => this.#sendAgain(request));
  }

  async #sendAgain(request: S3Request): Promise<S3Answer> {
    const { maxAttempts } = this.settings;
    let uncertainAttempts = 0;
    for (let attempt = 1; ; attempt++) {
      const signing = { credentials: await this.#credentials.current(), skewMs: this.#skewMs };
      const result = await this.#attempt(request, signing);
      if (!("error" in result)) return { ...result, uncertainAttempts };
      const { error, kind, retryAfterMs } = result;
      if (kind === "uncertain") uncertainAttempts++;
      const isLast = attempt >= maxAttempts;
      const isRefused =
        kind === "final" || (kind === "credentials" && (isLast || !this.#renew(result, signing)));
      // A refusal does not tell whether an earlier attempt stored the object.
      if (isRefused && (uncertainAttempts === 0 || !isWrite(request))) throw error;
      if (isRefused || isLast) {
        const message = `${error.message} (${attempt} attempts)`;
        throw new S3UnavailableError(message, uncertainAttempts > 0, { cause: error });
      }
      await sleep(Math.max(retryAfterMs, waitMs(attempt)));
    }
  }

  /** Returns true if the next attempt has other credentials or another time than the refused one. */
  #renew({ dateMs }: FailedAttempt, refused: Signing): boolean {
    const skewMs = dateMs === null ? 0 : dateMs - Date.now();
    if (Math.abs(skewMs - refused.skewMs) > TOLERATED_SKEW_MS) {
      this.#skewMs = skewMs;
      return true;
    }
    return this.#credentials.renew(refused.credentials);
  }

  async #attempt(
    request: S3Request,
    signing: Signing,
  ): Promise<Omit<S3Answer, "uncertainAttempts"> | FailedAttempt> {
    const { timeoutMs, fetch } = this.settings;
    const { body, maxBytes = MAX_XML_BYTES, memory } = request;
    const { url, headers } = await this.#sign(request, signing);
    const timer = new IdleTimer(timeoutMs, timeoutMs + (body?.length ?? 0) / LEAST_UPLOADED_PER_MS);
    const what = describe(request);
    try {
      const response = await fetch(url, {
        method: request.method,
        headers,
        redirect: "manual",
        cache: "no-store",
        signal: timer.signal,
        ...(body !== undefined && { body }),
      });
      timer.renew();
      const isSuccess = response.status >= 200 && response.status < 300;
      if (request.method === "HEAD") dropBody(response);
      const answer = {
        status: response.status,
        headers: response.headers,
        body:
          request.method === "HEAD"
            ? new Uint8Array(0)
            : await readBody(
                response,
                isSuccess ? maxBytes : MAX_XML_BYTES,
                timer,
                isSuccess ? memory : undefined,
              ),
      };
      const { resultName } = request;
      const refused = isSuccess && resultName !== undefined ? lateFailure(answer, resultName) : null;
      if (isSuccess && refused === null) {
        request.check?.({ ...answer, uncertainAttempts: 0 });
        return answer;
      }
      const failed = refused ?? answer;
      const failure = answerFailure(what, failed, this.settings);
      const isAccepted = request.accepts?.includes(failed.status) ?? false;
      if (isAccepted && failure.kind === "final" && !isOfBucket(failure)) return failed;
      return { ...failure, ...timesOf(answer) };
    } catch (cause) {
      // A write whose answer is unreadable may have been carried out.
      const isRefusal = cause instanceof NamespaceError && !(cause instanceof ServiceUnavailableError);
      if (isRefusal && !isWrite(request)) {
        return { error: cause, kind: "final", retryAfterMs: 0, dateMs: null };
      }
      const error = new ServiceUnavailableError(`${what}: the connection failed`, { cause });
      return { error, kind: "uncertain", retryAfterMs: 0, dateMs: null };
    } finally {
      timer.end();
    }
  }

  async #sign(
    { method, key, query, headers: ownHeaders, body }: S3Request,
    { credentials, skewMs }: Signing,
  ): Promise<{ url: string; headers: Headers }> {
    const { bucketUrl, region } = this.settings;
    const search = Object.entries(query ?? {})
      .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
      .join("&");
    const path = key === undefined ? "" : `/${key.split("/").map(encodePart).join("/")}`;
    const url = `${bucketUrl}${path === "" ? "/" : path}${search === "" ? "" : `?${search}`}`;
    const headers = new Headers(ownHeaders);
    headers.set("x-amz-content-sha256", body === undefined ? EMPTY_HASH : await sha256Of(body));
    if (credentials === null) return { url, headers };
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const time = new Date(Date.now() + skewMs);
    // Yesterday's signing keys are of no use.
    if (this.#signingKeys.size > 16) this.#signingKeys.clear();
    const signed = await new AwsV4Signer({
      url,
      method,
      headers,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: "s3",
      region,
      cache: this.#signingKeys,
      datetime: time.toISOString().replace(/[:-]|\.\d{3}/g, ""),
    }).sign();
    return { url: signed.url.href, headers: signed.headers };
  }
}

/** Credentials and clock of an attempt. */
interface Signing {
  readonly credentials: S3Credentials | null;
  /** Milliseconds that are added to this machine's time. */
  readonly skewMs: number;
}

interface FailedAttempt extends AttemptFailure {
  /** Milliseconds that the server asks to wait. */
  readonly retryAfterMs: number;
  /** Time of the server; null if it sent none that a signature can have. */
  readonly dateMs: number | null;
}

/** True if a request may store an object. */
const isWrite = ({ method }: S3Request): boolean => method === "PUT" || method === "POST";

/** True if a failure concerns the whole bucket, so that no caller may take it as a missing key. */
const isOfBucket = ({ error }: AttemptFailure): boolean => !(error instanceof InternalError);

function timesOf({ headers }: FailedAnswer): Pick<FailedAttempt, "retryAfterMs" | "dateMs"> {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const dateMs = Date.parse(headers.get("date") ?? "");
  return {
    retryAfterMs: seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : 0,
    dateMs: dateMs >= 0 && dateMs < END_OF_DATES_MS ? dateMs : null,
  };
}

/** Returns a wait after a failed attempt. It is random: writers that collided would collide again. */
const waitMs = (attempt: number): number =>
  Math.random() * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);

/** Request in a few words. Nothing in it is secret. */
const describe = ({ method, key, query }: S3Request): string =>
  `${method} ${key ?? `list ${query?.prefix ?? ""}`}`.slice(0, 300);

/** Encodes a part of a path or query as signatures need it. */
const encodePart = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

const sha256Of = async (body: Uint8Array<ArrayBuffer>): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", body)));
