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

/** What finds the principal of a credential; null where it is not valid. */
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
  async byHeaders(headers: Headers): Promise<Principal | null> {
    const authorization = headers.get("authorization");
    if (authorization !== null) {
      const token = /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
      if (token === undefined) {
        if (this.#anonymous && this.#bearer === null) return ANONYMOUS;
        throw this.#refuse("authorization: must be Bearer and one token", "invalid_request");
      }
      return this.#byToken(token);
    }
    const key = headers.get("x-api-key");
    if (key !== null) return this.#byKey(key);
    if (!this.#anonymous && this.#apiKey === null && this.#bearer === null) throw this.#refuse(NOBODY);
    return null;
  }

  /**
   * The principal of a request whose headers told nothing.
   * @throws Refusal with 401
   */
  async byIdentity(identity: Identity | undefined): Promise<Principal> {
    if (identity?.authToken !== undefined) return this.#byToken(identity.authToken);
    if (identity?.apiKey !== undefined) return this.#byKey(identity.apiKey);
    if (this.#anonymous) return ANONYMOUS;
    throw this.#refuse("credentials are needed");
  }

  async #byToken(token: string): Promise<Principal> {
    return this.#lookUp(this.#bearer, token, "the access token is not valid");
  }

  async #byKey(key: string): Promise<Principal> {
    return this.#lookUp(this.#apiKey, key, "the API key is not valid");
  }

  async #lookUp(lookup: PrincipalLookup | null, credential: string, reason: string): Promise<Principal> {
    if (lookup === null && this.#anonymous) return ANONYMOUS;
    const fits = credential.length > 0 && credential.length <= MAX_CREDENTIAL;
    const principal = fits && lookup !== null ? await askSafely(lookup, credential) : null;
    if (principal === null) throw this.#refuse(reason, "invalid_token");
    return principal;
  }

  /** By RFC 6750: a request without credentials is told no more than how to come with some. */
  #refuse(detail: string, error?: "invalid_token" | "invalid_request"): Refusal {
    const challenge = error === undefined ? "" : `, error="${error}", error_description="${detail}"`;
    return new Refusal(401, "Unauthenticated", detail, {
      "www-authenticate": `Bearer realm="tiltyard"${challenge}`,
    });
  }
}

const NOBODY = "no way to authenticate is configured";

/** What the embedding server's own lookup throws is its fault, not the client's. */
async function askSafely(lookup: PrincipalLookup, credential: string): Promise<Principal | null> {
  try {
    return (await lookup(credential)) ?? null;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new InternalError("the lookup of a credential failed", { cause: error });
  }
}
