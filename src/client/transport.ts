/**
 * Sends requests with `fetch`: headers, timeouts, retries and bounded answers. It follows no redirects,
 * because credentials in headers would go to another server.
 */

import { untilAborted, whenAborted } from "../async/abort.js";
import { clearTimeout, MAX_TIMER_MS, onNextTurn, setTimeout } from "../async/timers.js";
import { tagOf } from "../bytes/anyRealm.js";
import { enlarged } from "../bytes/growing.js";
import { messageOf, NamespaceError, ServiceUnavailableError } from "../errors.js";
import type { ClientDialect, RefusedRequest } from "./clientDialect.js";
import { malformedAnswer, withoutSecrets } from "./problems.js";
import { checkHeaders, type HeaderRecord, type RestSettings } from "./restOptions.js";

/** Maximum bytes of an answer that reports an error. */
const MAX_PROBLEM_BYTES = 2 ** 18;
const THROTTLED = 429;

/** Body of a request. */
export interface RequestBody {
  readonly type: string;
  /** Whole body, which can be sent again; or a stream of it. */
  readonly content: string | Uint8Array | Blob | ReadableStream<Uint8Array>;
  /** Error of the body's source, which made sending fail. */
  readonly failure?: () => unknown;
}

/** A request to send. */
export interface Outgoing {
  readonly method: string;
  /** Path and query, after the base URL. */
  readonly target: string;
  /** Headers beside those of the options, which they replace. */
  readonly headers: HeaderRecord;
  readonly body: RequestBody | null;
  /** True if repeating the request changes nothing. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
  /** Statuses that count as success beside 200 to 299. */
  readonly acceptedStatuses?: readonly number[] | undefined;
  /** Path of the route, with parameters in braces. */
  readonly route: string;
  /** Replaces the wire's names of members in the text of an error. */
  readonly inOurWords?: (text: string) => string;
}

/** A successful answer. Its body is read once, or cancelled. */
export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  /** Values that no error message may repeat. */
  readonly secrets: readonly string[];
  /** Yields the body. Ends the request if the caller stops early. */
  pieces(): AsyncGenerator<Uint8Array, void, undefined>;
  /** Ends the request without reading the body. */
  cancel(): void;
}

/** Conditions for sending a failed request again. */
interface Retry {
  /** True if the server did nothing. */
  readonly isRefusal: boolean;
  /** Milliseconds that the server asks to wait. */
  readonly afterMs?: number | undefined;
}

/** Errors after which a request may be sent again. */
const retries = new WeakMap<object, Retry>();

/** True if a request that failed with this error may be sent again, if repeating it changes nothing. */
export const isPassing = (error: unknown): boolean => retries.has(error as object);

export class Transport {
  readonly #settings: RestSettings;
  readonly #dialect: ClientDialect;

  constructor(settings: RestSettings, dialect: ClientDialect) {
    this.#settings = settings;
    this.#dialect = dialect;
  }

  /**
   * Sends a request, and reads its answer as a part of the attempt: a cut answer also leads to a retry.
   * @param read reads the answer, or its beginning
   * @throws NamespaceError; the signal's reason
   */
  async send<Result>(outgoing: Outgoing, read: (incoming: Incoming) => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      outgoing.signal?.throwIfAborted();
      try {
        return await read(await this.#attempt(outgoing));
      } catch (error) {
        outgoing.signal?.throwIfAborted();
        const retry = retries.get(error as object);
        const mayRepeat = (outgoing.isRepeatable || retry?.isRefusal === true) && isWhole(outgoing.body);
        const delayMs = retry === undefined || !mayRepeat ? null : this.#delayMs(attempt, retry);
        if (delayMs === null && retry !== undefined && attempt > 0) {
          throw this.#dialect.afterRetries(error as NamespaceError, attempt);
        }
        if (delayMs === null) throw error;
        await pause(delayMs, outgoing.signal);
      }
    }
  }

  /** Returns the wait before the next attempt; null if the options allow none. */
  #delayMs(attempt: number, { afterMs }: Retry): number | null {
    const { retries: most, delayMs, maxDelayMs } = this.#settings.retry;
    if (attempt >= most) return null;
    if (afterMs !== undefined) return afterMs <= maxDelayMs ? afterMs : null;
    // Clients that failed together must not come back together.
    return Math.min(maxDelayMs, delayMs * 2 ** attempt) * (0.5 + Math.random() / 2);
  }

  async #attempt(outgoing: Outgoing): Promise<Incoming> {
    const { method, target, headers: added, body, signal, inOurWords } = outgoing;
    const { base, headers: source, fetch: send, timeoutMs } = this.#settings;
    const headers = { ...checkHeaders(await untilAborted(source(), signal)), ...added };
    const secrets = Object.values(headers);
    if (!outgoing.isRepeatable) await untilClosingsShow();
    const exchange = new Exchange(signal, this.#settings.idleTimeoutMs);
    exchange.limit(timeoutMs, "did not begin its answer");
    let response: Response;
    try {
      response = await send(base + target, {
        method,
        headers: body === null ? headers : { ...headers, "content-type": body.type },
        signal: exchange.signal,
        redirect: "manual",
        cache: "no-store",
        ...(body !== null && { body: body.content, ...(!isWhole(body) && { duplex: "half" }) }),
      } as RequestInit);
    } catch (error) {
      exchange.end();
      throw exchange.failure(body?.failure?.() ?? error, secrets, "the request failed");
    }
    exchange.unlimit();
    const incoming = incomingOf(response, exchange, secrets);
    const { status } = response;
    if ((status >= 200 && status < 300) || outgoing.acceptedStatuses?.includes(status)) return incoming;
    if (isRedirect(response)) {
      incoming.cancel();
      throw malformedAnswer("it is a redirect, which the client does not follow; check the uri");
    }
    throw await this.#refusal(incoming, response, {
      ...{
        path: new URL(base + target).pathname,
        route: outgoing.route,
        requestHeaders: headers,
        inOurWords,
      },
    });
  }

  /** Returns the error of an answer that is not a success. */
  async #refusal(
    incoming: Incoming,
    response: Response,
    context: Pick<RefusedRequest, "path" | "inOurWords" | "route" | "requestHeaders">,
  ): Promise<NamespaceError> {
    const { status, statusText } = response;
    let text = "";
    let json: unknown;
    try {
      text = await readText(incoming.pieces(), MAX_PROBLEM_BYTES);
      json = JSON.parse(text);
    } catch {
      // Proxies answer with pages.
    }
    const error = this.#dialect.errorOf({ ...context, status, statusText, text, json }, incoming.secrets);
    if (this.#dialect.passingStatuses.has(status)) {
      retries.set(error, { isRefusal: status === THROTTLED, afterMs: retryAfterMs(incoming.headers) });
    }
    return error;
  }
}

/** Turns of the event loop after which the closing of an idle connection has shown. */
const CLOSING_TURNS = 4;

/** Lets `fetch` see which idle connections are closed: a change sent on one could not be repeated. */
async function untilClosingsShow(): Promise<void> {
  for (let turn = 0; turn < CLOSING_TURNS; turn++) await new Promise<void>(onNextTurn);
}

const isRedirect = ({ type, status }: Response): boolean =>
  type === "opaqueredirect" || (status >= 300 && status < 400);

const isWhole = (body: RequestBody | null): boolean => tagOf(body?.content) !== "ReadableStream";

/** Signal and timer of one attempt. */
class Exchange {
  readonly idleTimeoutMs: number;
  readonly #controller = new AbortController();
  readonly #endWait: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timeout: ServiceUnavailableError | undefined;

  constructor(signal: AbortSignal | undefined, idleTimeoutMs: number) {
    this.idleTimeoutMs = idleTimeoutMs;
    this.#endWait =
      signal === undefined ? () => {} : whenAborted(signal, () => this.#controller.abort(signal.reason));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the attempt after some time, unless {@link unlimit} is called. */
  limit(milliseconds: number, what: string): void {
    this.#timer = setTimeout(
      () => {
        this.#timeout = new ServiceUnavailableError(`the server ${what} within ${milliseconds} ms`);
        this.#controller.abort(this.#timeout);
      },
      Math.min(milliseconds, MAX_TIMER_MS),
    );
  }

  unlimit(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the attempt and its wait for the caller's signal. */
  end(): void {
    this.unlimit();
    this.#endWait();
  }

  /** Aborts what is left of the attempt. */
  abort(): void {
    this.end();
    this.#controller.abort();
  }

  /** Returns the error for a failure of the connection. It may be repeated unless it is a timeout. */
  failure(error: unknown, secrets: readonly string[], what: string): unknown {
    if (this.#timeout !== undefined) return this.#timeout;
    if (error instanceof NamespaceError) return error;
    const { cause } = error as { readonly cause?: unknown };
    const reasons = [error, ...(cause === undefined || cause === null ? [] : [cause])].map(messageOf);
    const text = withoutSecrets(`${what}: ${[...new Set(reasons)].join(": ")}`, secrets);
    const failure = new ServiceUnavailableError(text, { cause: error });
    retries.set(failure, { isRefusal: false });
    return failure;
  }
}

function incomingOf(response: Response, exchange: Exchange, secrets: readonly string[]): Incoming {
  return {
    status: response.status,
    headers: response.headers,
    secrets,
    async *pieces() {
      const reader = response.body?.getReader();
      let isEnded = false;
      try {
        while (reader !== undefined) {
          exchange.limit(exchange.idleTimeoutMs, "sent nothing more of its answer");
          const { done, value } = await reader.read();
          exchange.unlimit();
          if (done) break;
          yield value;
        }
        isEnded = true;
      } catch (error) {
        throw exchange.failure(error, secrets, "the answer broke off");
      } finally {
        exchange.end();
        if (!isEnded) {
          exchange.abort();
          reader?.cancel().catch(() => undefined);
        }
      }
    },
    cancel() {
      exchange.abort();
      response.body?.cancel().catch(() => undefined);
    },
  };
}

/** Returns the wait that a server asks for, in seconds or as a date. */
function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/**
 * Reads a JSON answer.
 * @returns undefined without a body
 * @throws InternalError for anything else than JSON, and beyond the bound
 */
export async function readJsonAnswer(incoming: Incoming, maxBytes: number): Promise<unknown> {
  const text = await readText(incoming.pieces(), maxBytes);
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw malformedAnswer("it is not JSON");
  }
}

/**
 * Reads a text in UTF-8.
 * @throws InternalError for other bytes, and beyond the bound
 */
export async function readText(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  // A piece of one byte takes far more memory than its byte, so pieces are copied as they come.
  let bytes = new Uint8Array(0);
  let byteLength = 0;
  for await (const piece of pieces) {
    const end = byteLength + piece.length;
    if (end > maxBytes) throw malformedAnswer(`it has more than ${maxBytes} bytes of JSON`);
    if (end > bytes.length) bytes = enlarged(bytes, end, maxBytes);
    bytes.set(piece, byteLength);
    byteLength = end;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, byteLength));
  } catch {
    throw malformedAnswer("it is not UTF-8");
  }
}

/** Waits some time. @throws the signal's reason */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let endWait = (): void => {};
    const timer = setTimeout(() => {
      endWait();
      resolve();
    }, milliseconds);
    if (signal === undefined) return;
    endWait = whenAborted(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
