/**
 * Browser protection: the hosts that a handler answers for, and the web pages that may call it. Headers alone
 * decide, before anything else of a request is processed.
 *
 * A page of any site can make a browser send requests to addresses that only that browser reaches. A form
 * needs no permission; `sec-fetch-site` and `origin` reveal such requests. A site that resolves its own name
 * to the reader's machine may even read the answers; the name in `host` reveals such requests.
 */

import { InvalidInputError } from "../../errors.js";
import { Refusal } from "../wire/problem.js";

export interface OriginOptions {
  /**
   * Names of this server, each with a port or for all ports: `"tables.example.com"`, `"10.0.0.7:8080"`,
   * `"*.example.com"` (every name below it), `"*"` (any name). Requests for other hosts are refused with 421.
   * A list replaces the default. Default: any name; with `auth.anonymous`, only names of the machine itself:
   * `localhost` and names below it, 127.0.0.0/8 and `[::1]`.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Origins of other web pages that may call the server, such as `"https://app.example.com"`. `"*"` allows
   * every page whose origin has a name. Other pages are refused with 403. Browsers are never asked to send
   * cookies or certificates. Default: none.
   */
  readonly allowedOrigins?: readonly string[];
}

const ANY = "*";
/** Seconds for which a browser may cache the answer to a preflight. */
const PREFLIGHT_SECONDS = "3600";
const METHODS = "GET, HEAD, POST";
/** Headers of answers that pages may read, besides the standard ones. */
const EXPOSED = "x-request-id, www-authenticate, retry-after, allow";
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]*$/;
/** Value of a host header, or of a pattern after its `*.`: a name or address, and optionally a port. */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|[^\s,/?#@\\:[\]]+)(?::(\d*))?$/i;

interface HostPattern {
  /** Name in the form of URLs; empty for any. */
  readonly name: string;
  readonly isSuffix: boolean;
  /** Port; empty for any. */
  readonly port: string;
}

/** The server that a request names. */
interface Authority {
  /** Name in the form of URLs. */
  readonly name: string;
  readonly port: string;
}

export class Origins {
  /** Null if every host is accepted. */
  readonly #isKnownHost: ((authority: Authority) => boolean) | null;
  readonly #allowed: ReadonlySet<string>;
  /** The last accepted host. */
  #lastKnown: string | undefined;

  /**
   * Creates the check.
   * @param anonymous true if callers without credentials are accepted
   * @throws InvalidInputError for invalid options
   */
  constructor({ allowedHosts, allowedOrigins }: OriginOptions, anonymous: boolean) {
    const patterns = allowedHosts === undefined ? null : readHosts(allowedHosts);
    if (patterns !== null) this.#isKnownHost = (authority) => patterns.some((one) => fits(one, authority));
    else this.#isKnownHost = anonymous ? isLoopback : null;
    this.#allowed = readOrigins(allowedOrigins ?? []);
  }

  /**
   * Checks the host and the page of a request.
   * @throws Refusal with 421 for another host, and with 403 for a page that may not call the server
   */
  check(request: Request): void {
    const { headers } = request;
    const host = headers.get("host") ?? new URL(request.url).host;
    if (!this.#answersFor(host)) {
      throw new Refusal(
        421,
        "PermissionDenied",
        `host: this server does not answer for ${host}; its operator lists its names in allowedHosts`,
      );
    }
    const origin = headers.get("origin");
    if (origin !== null && this.#isAllowed(origin)) return;
    const site = headers.get("sec-fetch-site") ?? "none";
    const isForeignSite = site !== "same-origin" && site !== "none";
    if (isForeignSite || (origin !== null && !isOwn(origin, host))) {
      throw new Refusal(
        403,
        "PermissionDenied",
        `origin: pages of ${origin ?? "other sites"} may not call this server; its operator lists the pages that may in allowedOrigins`,
      );
    }
  }

  /** Returns the answer to a preflight. Null for other requests and pages outside `allowedOrigins`. */
  preflight({ method, headers }: Request): Response | null {
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
    const origin = headers.get("origin");
    if (origin === null || !this.#isAllowed(origin)) return null;
    const requestedHeaders = headers.get("access-control-request-headers") ?? "";
    return new Response(null, {
      status: 204,
      headers: {
        "access-control-allow-methods": METHODS,
        // Keys of a request's context are headers of any name.
        ...(HEADER_NAMES.test(requestedHeaders) && requestedHeaders !== ""
          ? { "access-control-allow-headers": requestedHeaders }
          : {}),
        "access-control-max-age": PREFLIGHT_SECONDS,
        vary: "access-control-request-method, access-control-request-headers",
      },
    });
  }

  /** Adds the headers that browsers need on every answer, including errors. */
  describe(request: Request, answer: Headers): void {
    answer.set("x-content-type-options", "nosniff");
    if (this.#allowed.size === 0) return;
    answer.append("vary", "origin");
    const origin = request.headers.get("origin");
    if (origin === null || !this.#isAllowed(origin)) return;
    answer.set("access-control-allow-origin", origin);
    answer.set("access-control-expose-headers", EXPOSED);
  }

  #answersFor(host: string): boolean {
    // Most requests name the same host as the request before.
    if (this.#isKnownHost === null || host === this.#lastKnown) return true;
    const authority = readAuthority(host);
    if (authority === null || !this.#isKnownHost(authority)) return false;
    this.#lastKnown = host;
    return true;
  }

  /** Pages with the origin `null` have no name and may belong to anybody. */
  #isAllowed(origin: string): boolean {
    return origin !== "null" && (this.#allowed.has(origin) || this.#allowed.has(ANY));
  }
}

// ------------------------------------------------------------------------------------------------ hosts

function readAuthority(text: string): Authority | null {
  const port = AUTHORITY.exec(text);
  if (port === null || !URL.canParse(`http://${text}`)) return null;
  return { name: new URL(`http://${text}`).hostname.replace(/\.$/, ""), port: port[1] ?? "" };
}

/** Resolvers keep these names on the machine, whatever a site claims about its names. */
function isLoopback({ name }: Authority): boolean {
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(name)
  );
}

function fits({ name, isSuffix, port }: HostPattern, authority: Authority): boolean {
  if (port !== "" && port !== authority.port) return false;
  if (name === "") return true;
  return isSuffix ? authority.name.endsWith(`.${name}`) : authority.name === name;
}

function readHosts(hosts: readonly string[]): readonly HostPattern[] {
  checkTexts("allowedHosts", hosts);
  if (hosts.length === 0) throw new InvalidInputError("allowedHosts: must name a host, or be left out");
  return hosts.map((text) => {
    if (text === ANY) return { name: "", isSuffix: false, port: "" };
    const isSuffix = text.startsWith("*.");
    const authority = readAuthority(isSuffix ? text.slice(2) : text);
    if (authority === null || authority.name.includes("*")) {
      throw new InvalidInputError(
        `allowedHosts: ${text} is not a host, such as "example.com" or "[::1]:8080"`,
      );
    }
    return { ...authority, isSuffix };
  });
}

// ------------------------------------------------------------------------------------------------ origins

/** True if a page came from the server that it calls, by any scheme: a proxy may have spoken TLS. */
function isOwn(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host: originHost } = new URL(origin);
  // Parsed with the origin's scheme, so that both sides omit its default port.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === originHost;
}

function readOrigins(origins: readonly string[]): ReadonlySet<string> {
  checkTexts("allowedOrigins", origins);
  return new Set(
    origins.map((text) => {
      if (text === ANY) return text;
      // Pages of apps and extensions have schemes of their own.
      if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/i.test(text) || !URL.canParse(text)) {
        throw new InvalidInputError(
          `allowedOrigins: ${text} is not an origin, such as "https://app.example.com"`,
        );
      }
      const { origin } = new URL(text);
      return origin === "null" ? text : origin;
    }),
  );
}

function checkTexts(name: string, texts: readonly string[]): void {
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== "string")) {
    throw new InvalidInputError(`${name}: must be a list of texts`);
  }
}
