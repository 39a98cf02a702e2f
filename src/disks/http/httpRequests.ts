/**
 * Requests to a host of files: with retries, a bound of what is read, and a check of what the host sends.
 * A host may ignore ranges, compress, redirect, stall, break off, or send more than it says.
 */

import { Limit } from "../../async/parallel.js";
import { sleep } from "../../async/sleep.js";
import { clearTimeout, setTimeout } from "../../async/timers.js";
import { enlarged } from "../../bytes/growing.js";
import {
  ConcurrentModificationError,
  CorruptFileError,
  messageOf,
  NamespaceError,
  PermissionDeniedError,
  ServiceUnavailableError,
  ThrottlingError,
  UnauthenticatedError,
  UnsupportedError,
} from "../../errors.js";
import type { HttpSite } from "./httpOptions.js";

/** Maximum number of concurrent requests to a host. */
const MAX_CONCURRENT = 16;
/** Number of times that a request is sent. */
const ATTEMPTS = 4;
/** Wait before the second attempt; each later one waits twice as long. */
const FIRST_WAIT_MS = 100;
/** Maximum wait that a host may ask for. */
const MAX_WAIT_MS = 10_000;
/** A response that brings no byte for this long is asked for again. */
const STALLED_MS = 30_000;
/** Memory for a body of unknown length, which grows. */
const FIRST_BODY_BYTES = 64 * 1024;
/** Maximum size of a file that is read whole because its host ignores ranges. */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024;

/** Bytes of a file that a host sent. */
export interface FetchedBytes {
  /** Offset of the first byte in the file. */
  readonly start: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Size of the file; null if the host does not say it. */
  readonly size: number | null;
  /** Validator of the file: its ETag, or else the time of its last change; null if the host sends neither. */
  readonly validator: string | null;
}

/** Range of a file: from a first byte to before a last one, or a number of last bytes. */
export type WantedRange = { readonly start: number; readonly end: number } | { readonly last: number };

/** A failure after which the same request may succeed. */
class PassingFailure extends Error {
  constructor(
    message: string,
    readonly waitMs: number | null,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Thrown for a range of a file of unknown size, if the host does not let a page of another origin see it. */
export class HiddenSize extends Error {}

export class HttpRequests {
  readonly #site: HttpSite;
  readonly #limit = new Limit(MAX_CONCURRENT);
  /** Path of the file that the host sent last; null before the first one. */
  #served: string | null = null;

  constructor(site: HttpSite) {
    this.#site = site;
  }

  /**
   * Reads a whole file; null if it does not exist.
   * @param path names of the way to the file, joined by `/`
   * @param maxBytes the file may have
   * @param isAnew true if no cache on the way may answer
   * @throws CorruptFileError for a longer file
   */
  async whole(path: string, maxBytes: number, isAnew = false): Promise<FetchedBytes | null> {
    return this.#repeated(path, async (signal, onBytes) => {
      const response = await this.#send(path, null, signal, isAnew);
      if (response === null) return null;
      const bytes = await readBody(response, maxBytes, path, onBytes);
      return { start: 0, bytes, size: bytes.length, validator: validatorOf(response) };
    });
  }

  /**
   * Reads a range of a file; null if the file does not exist. The answer may hold more than the range, if
   * the host ignores ranges and the file is small.
   * @param size of the file, if known
   * @throws UnsupportedError if the host does not send ranges of large files
   */
  async range(path: string, range: WantedRange, size: number | null): Promise<FetchedBytes | null> {
    return this.#repeated(path, async (signal, onBytes) => {
      const response = await this.#send(path, rangeText(range), signal, false);
      if (response === null) return null;
      const validator = validatorOf(response);
      if (response.status === 416) {
        await discard(response);
        return refusedRange(response, range, path, validator);
      }
      if (response.status !== 206) return this.#wholeInstead(response, path, onBytes);
      const encoding = response.headers.get("content-encoding");
      if (encoding !== null && encoding !== "identity") {
        await discard(response);
        throw new UnsupportedError(
          `${path}: the host compresses ranges (content-encoding ${encoding.slice(0, 40)}); it must send the files as they are`,
        );
      }
      const sent = sentRange(response, range, size, path);
      const wantedBytes = sent.end - sent.start;
      const bytes = await readBody(response, wantedBytes, path, onBytes);
      if (bytes.length < wantedBytes)
        throw new PassingFailure(`the host sent ${bytes.length} of ${wantedBytes} bytes`, null);
      return { start: sent.start, bytes, size: sent.size, validator };
    });
  }

  /** Returns the size of a file by `HEAD`; null if it does not exist. @throws if the host does not say it */
  async size(path: string): Promise<number | null> {
    return this.#repeated(path, async (signal) => {
      const response = await this.#send(path, null, signal, false, "HEAD");
      if (response === null) return null;
      const text = response.headers.get("content-length");
      const isPlain = (response.headers.get("content-encoding") ?? "identity") === "identity";
      if (text !== null && isPlain && /^\d{1,15}$/.test(text)) return Number(text);
      throw new UnsupportedError(`${path}: the host does not say how long the file is`);
    });
  }

  /** Takes the whole file in place of a range, if the file is small. */
  async #wholeInstead(response: Response, path: string, onBytes: () => void): Promise<FetchedBytes> {
    try {
      const bytes = await readBody(response, MAX_WHOLE_BYTES, path, onBytes);
      return { start: 0, bytes, size: bytes.length, validator: validatorOf(response) };
    } catch (error) {
      if (!(error instanceof CorruptFileError)) throw error;
      throw new UnsupportedError(
        `${path}: the host ignores the header Range, and the file has more than ${MAX_WHOLE_BYTES} bytes`,
        { cause: error },
      );
    }
  }

  /** Sends a request up to {@link ATTEMPTS} times. */
  async #repeated<Answer>(
    path: string,
    send: (signal: AbortSignal, onBytes: () => void) => Promise<Answer>,
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#limit.run(() => watched(send));
      } catch (error) {
        if (error instanceof NamespaceError || error instanceof HiddenSize) throw error;
        const waitMs = error instanceof PassingFailure ? error.waitMs : null;
        if (attempt === ATTEMPTS) throw lastFailure(path, error);
        await sleep(waitMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1));
      }
    }
  }

  /** Sends a request; null if the file does not exist. Fails for any other answer without a file. */
  async #send(
    path: string,
    range: string | null,
    signal: AbortSignal,
    isAnew: boolean,
    method: "GET" | "HEAD" = "GET",
  ): Promise<Response | null> {
    const response = await this.#fetch(path, range, signal, isAnew, method);
    const { status } = response;
    const isSecure = this.#site.url(path).startsWith("https:");
    if (response.redirected && isSecure && response.url.startsWith("http:")) {
      await discard(response);
      throw new PermissionDeniedError(`${path}: the host redirects from https to http`);
    }
    if (status === 200 || status === 206) {
      // Hosts of web applications answer with a page in place of a missing file.
      if (!/^text\/html\b/i.test(response.headers.get("content-type") ?? "")) {
        this.#served = path;
        return response;
      }
      await discard(response);
      return null;
    }
    if (status === 416 && range !== null) return response;
    await discard(response);
    if (status === 404 || status === 410) return null;
    // Object stores refuse a missing file to callers who may not list the bucket.
    if (status === 403 && (await this.#isKnown(signal))) return null;
    throw failureOf(response, path);
  }

  /** True if the host still sends the caller a file that it has sent before. A signature may have expired. */
  async #isKnown(signal: AbortSignal): Promise<boolean> {
    const path = this.#served;
    if (path === null) return false;
    const response = await this.#fetch(path, "bytes=0-0", signal, false, "GET");
    await discard(response);
    if (isPassing(response.status)) throw failureOf(response, path);
    return response.status !== 401 && response.status !== 403;
  }

  async #fetch(
    path: string,
    range: string | null,
    signal: AbortSignal,
    isAnew: boolean,
    method: "GET" | "HEAD",
  ): Promise<Response> {
    const { fetch, url, headersOf, credentials, mayChooseCache } = this.#site;
    const headers = await headersOf();
    if (range !== null) headers.set("range", range);
    return fetch(url(path), {
      method,
      headers,
      signal,
      redirect: "follow",
      ...(credentials !== undefined && { credentials }),
      // Browsers let only one request for a URL at a time use their cache.
      ...(mayChooseCache && { cache: isAnew ? "reload" : range === null ? "no-cache" : "no-store" }),
    });
  }
}

/** Runs a request, and ends it if no bytes come for a while. */
async function watched<Answer>(
  send: (signal: AbortSignal, onBytes: () => void) => Promise<Answer>,
): Promise<Answer> {
  const stalled = new AbortController();
  const abort = (): void => stalled.abort(new PassingFailure(`no bytes for ${STALLED_MS} ms`, null));
  let timer = setTimeout(abort, STALLED_MS);
  const onBytes = (): void => {
    clearTimeout(timer);
    timer = setTimeout(abort, STALLED_MS);
  };
  try {
    return await send(stalled.signal, onBytes);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a body. @throws CorruptFileError if it has more than `maxBytes` */
async function readBody(
  response: Response,
  maxBytes: number,
  path: string,
  onBytes: () => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLong = (): CorruptFileError =>
    new CorruptFileError(path, maxBytes, `the host sends more than ${maxBytes} bytes`);
  const encoding = response.headers.get("content-encoding") ?? "identity";
  const stated = Number(response.headers.get("content-length") ?? Number.NaN);
  if (encoding === "identity" && stated > maxBytes) {
    await discard(response);
    throw tooLong();
  }
  if (response.body === null) return new Uint8Array(0);
  const reader = response.body.getReader();
  let memory = new Uint8Array(encoding === "identity" && stated <= maxBytes ? stated : FIRST_BODY_BYTES);
  let byteLength = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    onBytes();
    if (byteLength + value.length > maxBytes) {
      await reader.cancel();
      throw tooLong();
    }
    if (byteLength + value.length > memory.length) memory = enlarged(memory, byteLength + value.length);
    memory.set(value, byteLength);
    byteLength += value.length;
  }
  if (encoding === "identity" && byteLength < stated)
    throw new PassingFailure(`the host broke off after ${byteLength} of ${stated} bytes`, null);
  return byteLength === memory.length ? memory : memory.slice(0, byteLength);
}

/** Ends a response whose body is not read. Its connection may be lost; nothing else can fail. */
const discard = async (response: Response): Promise<void> => {
  await response.body?.cancel().catch(() => undefined);
};

const rangeText = (range: WantedRange): string =>
  "last" in range ? `bytes=-${range.last}` : `bytes=${range.start}-${range.end - 1}`;

/** Returns a strong or weak ETag without its mark, since only equality matters here. */
function validatorOf({ headers }: Response): string | null {
  const tag = headers.get("etag");
  return tag !== null ? tag.replace(/^W\//, "") : headers.get("last-modified");
}

/** Returns the range that a host says it sends. @throws if it is not the range that was asked for */
function sentRange(
  { headers }: Response,
  range: WantedRange,
  size: number | null,
  path: string,
): { start: number; end: number; size: number | null } {
  const text = headers.get("content-range");
  // Pages of other origins see this header only if the host exposes it.
  if (text === null && size !== null) {
    return "start" in range ? { ...range, size } : { start: Math.max(0, size - range.last), end: size, size };
  }
  if (text === null) throw new HiddenSize();
  const [, first, last, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(text.trim()) ?? [];
  if (first === undefined) throw wrongRange(path, text);
  const start = Number(first);
  const end = Number(last) + 1;
  const stated = total === "*" ? size : Number(total);
  if (size !== null && stated !== size) throw changedFile(path);
  const isAsked =
    "start" in range
      ? start === range.start && end === range.end
      : stated !== null && end === stated && start === Math.max(0, stated - range.last);
  if (!isAsked) throw wrongRange(path, text);
  return { start, end, size: stated };
}

/** Returns the answer for a range that the host cannot send: the file is empty, or was cut. */
function refusedRange(
  { headers }: Response,
  range: WantedRange,
  path: string,
  validator: string | null,
): FetchedBytes {
  const isEmpty = /^bytes \*\/0$/.test(headers.get("content-range") ?? "");
  if (isEmpty && "last" in range) return { start: 0, bytes: new Uint8Array(0), size: 0, validator };
  throw "last" in range ? wrongRange(path, "none, with status 416") : changedFile(path);
}

const wrongRange = (path: string, sent: string): CorruptFileError =>
  new CorruptFileError(path, 0, `the host sends another range than asked for: ${sent.slice(0, 80)}`);

/** Returns the error for a file that is no longer the one that was opened. */
export const changedFile = (path: string): ConcurrentModificationError =>
  new ConcurrentModificationError(
    `${path}: the file changed on its host while it was read; open the table again`,
  );

/** True for a status after which the same request may succeed. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

function failureOf({ status, headers }: Response, path: string): Error {
  const message = `${path}: the host answered with status ${status}`;
  if (status === 401) return new UnauthenticatedError(message);
  if (status === 403) return new PermissionDeniedError(message);
  if (isPassing(status))
    return new PassingFailure(message, retryAfter(headers.get("retry-after")), { cause: { status } });
  return new UnsupportedError(message);
}

/** Returns the milliseconds that a host asks to wait; null if it does not say. */
function retryAfter(text: string | null): number | null {
  return text !== null && /^\d{1,6}$/.test(text) ? Math.min(MAX_WAIT_MS, Number(text) * 1000) : null;
}

function lastFailure(path: string, error: unknown): Error {
  const message = messageOf(error);
  const { status } = (error as { cause?: { status?: unknown } }).cause ?? {};
  const text = message.startsWith(`${path}:`) ? message : `${path}: the host cannot be read: ${message}`;
  return status === 429
    ? new ThrottlingError(text, { cause: error })
    : new ServiceUnavailableError(text, { cause: error });
}
