/**
 * Which requests of browsers a handler accepts: for which hosts it answers, and which web pages may call it. Both are
 * decided by headers alone, before anything else of a request is processed.
 *
 * A page of any site can make its reader's browser send requests to addresses that only the reader reaches. A form
 * needs no permission for that: `sec-fetch-site` and `origin` reveal such requests. A site that lets its own name
 * resolve to the reader's machine may even read the answers: the name in `host` reveals such requests.
 */

import { InvalidInputError } from "../../errors.js";
import { Refusal } from "../wire/problem.js";

export interface OriginOptions {
  /**
   * Names that the server is called by, each with a port or for every port: `"tables.example.com"`, `"10.0.0.7:8080"`,
   * `"*.example.com"` (every name below that one), `"*"` (any). Requests for other hosts are refused with 421. Default:
   * any; with `auth.anonymous`, only the names of the machine itself: `localhost` and names below it, 127.0.0.0/8 and
   * `[::1]`. A list replaces the default.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Origins of web pages that may call the server besides its own, such as `"https://app.example.com"`, or `"*"` for
   * every page whose origin has a name. Requests of other pages are refused with 403. Default: none. Browsers are never
   * asked to send cookies or certificates along.
   */
  readonly allowedOrigins?: readonly string[];
}

const ANY = "*";
/** Seconds that a browser may keep the answer to a preflight. */
const PREFLIGHT_SECONDS = "3600";
const METHODS = "GET, HEAD, POST";
/** Headers of answers that pages may read in addition to those that they always may. */
const EXPOSED = "x-request-id, www-authenticate, retry-after, allow";
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]*$/;
/** The value of a host header, or of a pattern after its `*.`: a name or address, and optionally a port. */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|[^\s,/?#@\\:[\]]+)(?::(\d*))?$/i;

interface HostPattern {
  /** In the form that URLs have; empty stands for any. */
  readonly name: string;
  readonly isSuffix: boolean;
  /** Empty stands for any. */
  readonly port: string;
}

/** The server that a request names as its target. */
interface Authority {
  /** In the form that URLs have. */
  readonly name: string;
  readonly port: string;
}

export class Origins {
  /** Null if every host is accepted. */
  readonly #isKnownHost: ((authority: Authority) => boolean) | null;
  readonly #allowed: ReadonlySet<string>;
  /** The host that was accepted last. */
  #lastKnown: string | undefined;

  /**
   * @param anonymous whether callers without credentials are accepted
   * @throws InvalidInputError for invalid options
   */
  constructor({ allowedHosts, allowedOrigins }: OriginOptions, anonymous: boolean) {
    const patterns = allowedHosts === undefined ? null : readHosts(allowedHosts);
    if (patterns !== null) this.#isKnownHost = (authority) => patterns.some((one) => fits(one, authority));
    else this.#isKnownHost = anonymous ? isLoopback : null;
    this.#allowed = readOrigins(allowedOrigins ?? []);
  }

  /**
   * Checks which host a request was sent to, and from which page.
   * @throws Refusal with 421 for a host that this server does not answer for, and with 403 for a page that may not call
   *   it
   */
  check(request: Request): void {
    const { headers } = request;
    const given = headers.get("host") ?? new URL(request.url).host;
    if (!this.#answersFor(given)) {
      throw new Refusal(
        421,
        "PermissionDenied",
        `host: this server does not answer for ${given}; whoever runs it lists its names in allowedHosts`,
      );
    }
    const origin = headers.get("origin");
    if (origin !== null && this.#isAllowed(origin)) return;
    const site = headers.get("sec-fetch-site") ?? "none";
    const isForeignSite = site !== "same-origin" && site !== "none";
    if (isForeignSite || (origin !== null && !isOwn(origin, given))) {
      throw new Refusal(
        403,
        "PermissionDenied",
        `origin: pages of ${origin ?? "other sites"} may not call this server; whoever runs it lists those that may in allowedOrigins`,
      );
    }
  }

  /**
   * The answer to a browser that asks whether a page may send a request; null for any other request, and for a page
   * that is not in `allowedOrigins`.
   */
  preflight({ method, headers }: Request): Response | null {
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
    const origin = headers.get("origin");
    if (origin === null || !this.#isAllowed(origin)) return null;
    const wanted = headers.get("access-control-request-headers") ?? "";
    return new Response(null, {
      status: 204,
      headers: {
        "access-control-allow-methods": METHODS,
        // Keys of a request's context are headers of any name.
        ...(HEADER_NAMES.test(wanted) && wanted !== "" ? { "access-control-allow-headers": wanted } : {}),
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

  #answersFor(given: string): boolean {
    // Most requests name the same host as the one before.
    if (this.#isKnownHost === null || given === this.#lastKnown) return true;
    const authority = readAuthority(given);
    if (authority === null || !this.#isKnownHost(authority)) return false;
    this.#lastKnown = given;
    return true;
  }

  /** Pages with the origin `null` have no name of their own, and may be anybody's. */
  #isAllowed(origin: string): boolean {
    return origin !== "null" && (this.#allowed.has(origin) || this.#allowed.has(ANY));
  }
}

// ------------------------------------------------------------------------------------------------ hosts

function readAuthority(given: string): Authority | null {
  const port = AUTHORITY.exec(given);
  if (port === null || !URL.canParse(`http://${given}`)) return null;
  return { name: new URL(`http://${given}`).hostname.replace(/\.$/, ""), port: port[1] ?? "" };
}

/** Resolvers keep these names on the machine, regardless of a site's claims about its own names. */
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

function readHosts(given: readonly string[]): readonly HostPattern[] {
  checkTexts("allowedHosts", given);
  if (given.length === 0) throw new InvalidInputError("allowedHosts: must name a host, or be left out");
  return given.map((text) => {
    if (text === ANY) return { name: "", isSuffix: false, port: "" };
    const isSuffix = text.startsWith("*.");
    const authority = readAuthority(isSuffix ? text.slice(2) : text);
    if (authority === null || authority.name.includes("*")) {
      throw new InvalidInputError(`allowedHosts: ${text} is no host, such as "example.com" or "[::1]:8080"`);
    }
    return { ...authority, isSuffix };
  });
}

// ------------------------------------------------------------------------------------------------ origins

/**
 * Whether a page came from the server that it calls. The scheme is ignored: a proxy in front may have spoken TLS with
 * the page.
 */
function isOwn(origin: string, host: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host: own } = new URL(origin);
  // Parsed with the origin's scheme, so that both sides omit its default port.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === own;
}

function readOrigins(given: readonly string[]): ReadonlySet<string> {
  checkTexts("allowedOrigins", given);
  return new Set(
    given.map((text) => {
      if (text === ANY) return text;
      // Pages of apps and extensions have schemes of their own.
      if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/i.test(text) || !URL.canParse(text)) {
        throw new InvalidInputError(
          `allowedOrigins: ${text} is no origin, such as "https://app.example.com"`,
        );
      }
      const { origin } = new URL(text);
      return origin === "null" ? text : origin;
    }),
  );
}

function checkTexts(name: string, given: readonly string[]): void {
  if (!Array.isArray(given) || given.some((text) => typeof text !== "string")) {
    throw new InvalidInputError(`${name}: must be a list of texts`);
  }
}
