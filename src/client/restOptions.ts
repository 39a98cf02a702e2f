/** Options of a REST client: types, defaults and check. */

import { InvalidInputError } from "../errors.js";
import { DEFAULT_DELIMITER } from "../ident.js";
import { optionalCount } from "../operations/request.js";
import { recordOf } from "../operationTable.js";
import { checkOptionMembers, shortly } from "../optionMembers.js";

/** Headers by name. */
export type HeaderRecord = Readonly<Record<string, string>>;

/** Options for repeating requests that failed on the way. */
export interface RetryOptions {
  /** Maximum number of repetitions of one request, ≥ 0. Default: 3. */
  readonly retries?: number | undefined;
  /** Milliseconds before the first repetition. Each further wait is twice as long. Default: 200. */
  readonly delayMs?: number | undefined;
  /** Maximum milliseconds between two attempts. A longer Retry-After ends the call. Default: 10,000. */
  readonly maxDelayMs?: number | undefined;
}

/** Options of {@link connectRest}. */
export interface RestOptions {
  /** URL of the server, with the base path of its handler: `https://data.example/lance`. */
  readonly uri: string;
  /**
   * Headers of every request, such as `x-api-key` or `authorization`; or a function that returns them, which
   * is called before each attempt. No error message contains their values.
   */
  readonly headers?: HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>) | undefined;
  /** Function that sends requests. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Text between the names of an id in URLs. Default: `$`. */
  readonly delimiter?: string | undefined;
  /**
   * Repetition of failed requests. Requests that only read are repeated after a broken connection and after
   * the statuses 408, 429, 502, 503 and 504. Changes are repeated only after 429, because the server then
   * did nothing.
   */
  readonly retry?: RetryOptions | undefined;
  /** Maximum milliseconds until the server begins its answer. Default: 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Maximum milliseconds between two pieces of an answer. Default: 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Maximum bytes of a JSON answer, and of one event of a watched table. Default: 64 MiB. */
  readonly maxJsonBytes?: number | undefined;
  /** Maximum bytes of one uncompressed batch of rows in an answer. Default: 1 GiB. */
  readonly maxBatchBytes?: number | undefined;
}

/** Checked options. */
export interface RestSettings {
  /** URL without a trailing slash. */
  readonly base: string;
  readonly headers: () => HeaderRecord | Promise<HeaderRecord>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly delimiter: string;
  readonly retry: { readonly retries: number; readonly delayMs: number; readonly maxDelayMs: number };
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxJsonBytes: number;
  readonly maxBatchBytes: number;
}

const OPTION_NAMES: Readonly<Record<keyof RestOptions, true>> = recordOf(
  true,
  "uri headers fetch delimiter retry timeoutMs idleTimeoutMs maxJsonBytes maxBatchBytes",
);
const RETRY_NAMES: Readonly<Record<keyof RetryOptions, true>> = recordOf(true, "retries delayMs maxDelayMs");

/**
 * Checks the options of a client.
 * @throws InvalidInputError naming the option, without values that may be secret
 */
export function checkRestOptions(options: RestOptions): RestSettings {
  checkOptionMembers("options", options, Object.keys(OPTION_NAMES));
  const retry = options.retry ?? {};
  checkOptionMembers("retry", retry, Object.keys(RETRY_NAMES));
  const { headers, fetch: send = globalThis.fetch, delimiter = DEFAULT_DELIMITER } = options;
  if (typeof send !== "function") {
    throw new InvalidInputError(
      `fetch: must be a function, not ${shortly(send)}; this runtime has no global fetch`,
    );
  }
  if (typeof delimiter !== "string" || delimiter === "") {
    throw new InvalidInputError(`delimiter: must be a text of at least one character`);
  }
  return {
    base: baseOf(options.uri),
    headers: headerSource(headers),
    // Browsers refuse to call `fetch` as a method of another object.
    fetch: (url, init) => send(url, init),
    delimiter,
    retry: {
      retries: optionalCount(retry.retries, "retry.retries") ?? 3,
      delayMs: optionalCount(retry.delayMs, "retry.delayMs") ?? 200,
      maxDelayMs: optionalCount(retry.maxDelayMs, "retry.maxDelayMs") ?? 10_000,
    },
    timeoutMs: optionalCount(options.timeoutMs, "timeoutMs", 1) ?? 600_000,
    idleTimeoutMs: optionalCount(options.idleTimeoutMs, "idleTimeoutMs", 1) ?? 60_000,
    maxJsonBytes: optionalCount(options.maxJsonBytes, "maxJsonBytes", 1) ?? 2 ** 26,
    maxBatchBytes: optionalCount(options.maxBatchBytes, "maxBatchBytes", 1) ?? 2 ** 30,
  };
}

/** Returns the URL without a trailing slash. The message leaves the URL out, which may have a password. */
function baseOf(uri: unknown): string {
  const example = 'as in "https://data.example/lance"';
  if (typeof uri !== "string") {
    throw new InvalidInputError(`uri: must be the URL of a server, ${example}, not ${shortly(uri)}`);
  }
  let url: URL;
  try {
    url = new URL(uri);
  } catch {
    throw new InvalidInputError(`uri: must be an absolute URL, ${example}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidInputError(`uri: must begin with http:// or https://, not ${shortly(url.protocol)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidInputError("uri: must not contain a user or a password; pass credentials in headers");
  }
  if (url.search !== "" || url.hash !== "") {
    throw new InvalidInputError("uri: must not contain a query or a fragment");
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

function headerSource(headers: RestOptions["headers"]): RestSettings["headers"] {
  if (typeof headers === "function") return headers;
  const fixed = checkHeaders(headers ?? {});
  return () => fixed;
}

/**
 * Returns a copy of headers that can be sent.
 * @throws InvalidInputError naming the header, without its value
 */
export function checkHeaders(headers: unknown): HeaderRecord {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    throw new InvalidInputError(`headers: must be an object of texts, not ${shortly(headers)}`);
  }
  const checked: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") {
      throw new InvalidInputError(`headers: the value of ${shortly(name)} must be a text`);
    }
    try {
      new Headers([[name, value]]);
    } catch {
      throw new InvalidInputError(`headers: ${shortly(name)} is not a legal header with its value`);
    }
    checked.push([name.toLowerCase(), value]);
  }
  return Object.fromEntries(checked);
}
