/** Options of a disk on a web host. */

import { InvalidInputError } from "../../errors.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";
import { cacheBytesOf } from "./blockCache.js";

/** Options of {@link httpDisk}. */
export interface HttpDiskOptions {
  /** Headers of each request, such as `authorization`; or a function that returns them for each request. */
  readonly headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch | undefined;
  /** Says if a browser sends cookies. Default: that of `fetch`, to the origin of the page only. */
  readonly credentials?: RequestCredentials | undefined;
  /**
   * Milliseconds for which the disk trusts the published index, and the latest versions that it found,
   * before it asks the host again. Default: 10,000.
   */
  readonly refreshMs?: number | undefined;
  /** Maximum bytes of blocks of files that stay in memory. Default: 32 MiB. */
  readonly cacheBytes?: number | undefined;
}

/** A host, and how to ask it. */
export interface HttpSite {
  /** Returns the URL of a file. @param path names joined by `/` */
  url(path: string): string;
  headersOf(): Promise<Headers>;
  readonly fetch: typeof fetch;
  readonly credentials: RequestCredentials | undefined;
  /** True if requests of this runtime have the member `cache`. */
  readonly mayChooseCache: boolean;
  readonly refreshMs: number;
  readonly cacheBytes: number;
}

const CREDENTIALS: readonly unknown[] = ["omit", "same-origin", "include"];
const DEFAULT_REFRESH_MS = 10_000;
/** Headers that the disk sets itself. */
const OWN_HEADERS = ["range", "if-range"];

/** @throws InvalidInputError */
export function siteOf(url: string | URL, options: HttpDiskOptions): HttpSite {
  checkOptionMembers("httpDisk", options, ["headers", "fetch", "credentials", "refreshMs", "cacheBytes"]);
  const { headers, credentials, refreshMs = DEFAULT_REFRESH_MS } = options;
  // A function of the page must be called with the page as `this`.
  const send = options.fetch ?? ((...call: Parameters<typeof fetch>) => globalThis.fetch(...call));
  if (typeof send !== "function")
    throw new InvalidInputError(`fetch: must be a function, not ${shortly(send)}`);
  if (credentials !== undefined && !CREDENTIALS.includes(credentials)) {
    throw new InvalidInputError(
      `credentials: must be "omit", "same-origin" or "include", not ${shortly(credentials)}`,
    );
  }
  if (!(typeof refreshMs === "number" && refreshMs >= 0))
    throw new InvalidInputError(`refreshMs: must be a number of milliseconds, not ${shortly(refreshMs)}`);
  if (typeof headers !== "function") headersFrom(headers ?? {});
  const base = baseOf(url);
  const { search } = base;
  base.search = "";
  const prefix = base.href.endsWith("/") ? base.href : `${base.href}/`;
  return {
    url: (path) => prefix + path.split("/").map(encodeURIComponent).join("/") + search,
    headersOf: async () => headersFrom((typeof headers === "function" ? await headers() : headers) ?? {}),
    fetch: send,
    credentials,
    mayChooseCache: typeof Request === "function" && "cache" in Request.prototype,
    refreshMs,
    cacheBytes: cacheBytesOf(options.cacheBytes),
  };
}

function headersFrom(init: HeadersInit): Headers {
  if (!isObject(init) && !Array.isArray(init))
    throw new InvalidInputError(`headers: must be headers, not ${shortly(init)}`);
  let headers: Headers;
  try {
    headers = new Headers(init);
  } catch (error) {
    throw new InvalidInputError(`headers: ${(error as Error).message}`, { cause: error });
  }
  const owned = OWN_HEADERS.find((name) => headers.has(name));
  if (owned !== undefined) throw new InvalidInputError(`headers: ${owned} is set by the disk`);
  return headers;
}

function baseOf(url: string | URL): URL {
  // Pages may name a directory relative to their own address.
  const page = (globalThis as { document?: { baseURI?: string } }).document?.baseURI;
  let base: URL;
  try {
    base = new URL(url, page);
  } catch (error) {
    throw new InvalidInputError(`url: ${shortly(url)} is not a URL`, { cause: error });
  }
  if (base.protocol !== "http:" && base.protocol !== "https:")
    throw new InvalidInputError(`url: must begin with http: or https:, not ${base.protocol}`);
  if (base.username !== "" || base.password !== "")
    throw new InvalidInputError("url: must not hold a password; use the option headers");
  if (base.hash !== "") throw new InvalidInputError("url: must have no fragment (#)");
  return base;
}
