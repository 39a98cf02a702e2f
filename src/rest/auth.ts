/**
 * Who calls: credentials of a request to the principal they stand for. Headers come first (`authorization`, then
 * `x-api-key`); only a request without either is asked for its body's `identity`. The first credential found decides: a
 * wrong one is not made good by another.
 */

import { InternalError, InvalidInputError } from "../errors.js";
import type { Identity, Principal } from "../namespace.js";
import { type ApiKeyOptions, createApiKeyCheck } from "./apiKeys.js";
import { type BearerOptions, createBearerCheck } from "./bearer.js";
import { Refusal } from "./problem.js";

/** What finds the principal of a credential; null, or what is no object, where it is not valid. */
export type PrincipalLookup = (credential: string) => Principal | null | Promise<Principal | null>;

/** Each member opens a way in; without any, every request is refused. */
export interface AuthOptions {
  /** Keys that are accepted in `x-api-key`, or who knows them. */
  readonly apiKeys?: ApiKeyOptions;
  /** The authorization server whose JWT access tokens are accepted, or who knows tokens. */
  readonly bearer?: BearerOptions | PrincipalLookup;
  /**
   * Lets requests in whose credentials nobody here could check, or that have none. Those that can be checked are
   * refused all the same when they are wrong.
   */
  readonly anonymous?: boolean;
}

/** Longest credential that is looked at, in characters. */
const MAX_CREDENTIAL = 16_384;
const ANONYMOUS: Principal = Object.freeze({ subject: "anonymous", method: "anonymous" });

export class Authenticator {
  readonly #apiKey: PrincipalLookup | null;
  readonly #bearer: PrincipalLookup | null;
  readonly #anonymous: boolean;

  /** @throws InvalidInputError for options that cannot be meant */
  constructor(options: AuthOptions = {}) {
    if (typeof options !== "object" || options === null)
      throw new InvalidInputError("auth: must be an object");
    this.#apiKey = createApiKeyCheck(options.apiKeys);
    this.#bearer = createBearerCheck(options.bearer);
    this.#anonymous = options.anonymous === true;
  }

  /**
   * The principal that the headers tell; null where only the body's identity can.
   * @throws Refusal with 401 where the headers decide that nobody valid calls
   */
  async byHeaders(headers: Headers, signal: AbortSignal): Promise<Principal | null> {
    const authorization = headers.get("authorization");
    if (authorization !== null) {
      if (!/^bearer( |$)/i.test(authorization)) {
        if (this.#anonymous && this.#bearer === null) return ANONYMOUS;
        throw refuse("authorization: the scheme must be Bearer");
      }
      return this.#byToken(authorization.slice("bearer".length).trim(), signal);
    }
    const key = headers.get("x-api-key");
    if (key !== null) return this.#byKey(key, signal);
    if (!this.#anonymous && this.#apiKey === null && this.#bearer === null) throw refuse(NOBODY);
    return null;
  }

  /**
   * The principal of a request whose headers told nothing.
   * @throws Refusal with 401
   */
  async byIdentity(identity: Identity | undefined, signal: AbortSignal): Promise<Principal> {
    if (identity?.authToken !== undefined) return this.#byToken(identity.authToken, signal);
    if (identity?.apiKey !== undefined) return this.#byKey(identity.apiKey, signal);
    if (this.#anonymous) return ANONYMOUS;
    throw refuse("credentials are needed");
  }

  async #byToken(token: string, signal: AbortSignal): Promise<Principal> {
    if (this.#bearer === null && this.#anonymous) return ANONYMOUS;
    const principal = /[\s,]/.test(token) ? null : await lookUp(this.#bearer, token, signal);
    if (principal === null) throw refuse("the access token is not valid", "invalid_token");
    return principal;
  }

  async #byKey(key: string, signal: AbortSignal): Promise<Principal> {
    if (this.#apiKey === null && this.#anonymous) return ANONYMOUS;
    const principal = await lookUp(this.#apiKey, key, signal);
    if (principal === null) throw refuse("the API key is not valid");
    return principal;
  }
}

const NOBODY = "no way to authenticate is configured";

/** By RFC 6750: what came without a token is told no more than how to come with one. */
function refuse(detail: string, error?: "invalid_token"): Refusal {
  const reason = error === undefined ? "" : `, error="${error}", error_description="${detail}"`;
  return new Refusal(401, "Unauthenticated", detail, {
    "www-authenticate": `Bearer realm="tiltyard"${reason}`,
  });
}

/** Null where nobody can look, or what is asked for is no credential at all. */
async function lookUp(
  lookup: PrincipalLookup | null,
  credential: string,
  signal: AbortSignal,
): Promise<Principal | null> {
  if (lookup === null || credential === "" || credential.length > MAX_CREDENTIAL) return null;
  let principal: unknown;
  try {
    principal = await beforeAbort(Promise.resolve(lookup(credential)), signal);
  } catch (error) {
    if (error instanceof Refusal || signal.aborted) throw error;
    // What the embedding server's own lookup throws is its fault, not the client's.
    throw new InternalError("the lookup of a credential failed", { cause: error });
  }
  // Whoever answers by yes or no names nobody: neither lets anybody in.
  if (typeof principal !== "object" || principal === null) return null;
  const { subject } = principal as Principal;
  if (typeof subject !== "string" || subject === "") {
    throw new InternalError("the lookup of a credential found a principal without a subject");
  }
  return principal as Principal;
}

/** The value, unless the signal is aborted before it is there. */
async function beforeAbort<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
