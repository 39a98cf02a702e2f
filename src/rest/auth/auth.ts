/**
 * Identifies the caller of a request. The headers come first (`authorization`, then `x-api-key`), then the
 * body's `identity` (`auth_token`, then `api_key`). Credentials of an unconfigured kind are ignored. The
 * first other credential decides: a valid one does not compensate for an earlier wrong one.
 */

import { untilAborted } from "../../async/abort.js";
import { InternalError, InvalidInputError, NamespaceError } from "../../errors.js";
import type { Identity, Principal } from "../../namespace/request.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { Refusal } from "../wire/problem.js";
import { type ApiKeyOptions, createApiKeyCheck } from "./apiKeys.js";
import { type BearerOptions, createBearerCheck, InvalidToken } from "./bearer.js";

/**
 * Returns the caller of a credential; null for an invalid one. An error of the engine becomes the answer; any
 * other error is reported as an internal error.
 */
export type PrincipalLookup = (credential: string) => Principal | null | Promise<Principal | null>;

/** Accepted kinds of callers. Without any, every request is refused. */
export interface AuthOptions {
  /** Keys that are accepted in `x-api-key`, or a function that looks up a key. */
  readonly apiKeys?: ApiKeyOptions;
  /** Authorization server whose JWT access tokens are accepted, or a function that looks up a token. */
  readonly bearer?: BearerOptions | PrincipalLookup;
  /**
   * True: accepts requests without credentials, or with credentials of an unconfigured kind. Wrong
   * credentials of a configured kind are still refused. Default: false.
   */
  readonly anonymous?: boolean;
}

const MEMBERS = ["apiKeys", "bearer", "anonymous"];
/** Maximum number of characters of a credential. */
const MAX_CREDENTIAL = 16_384;
const REALM = 'realm="tiltyard"';
const ANONYMOUS: Principal = Object.freeze({ subject: "anonymous", method: "anonymous" });

export class Authenticator {
  readonly #apiKey: PrincipalLookup | null;
  readonly #bearer: PrincipalLookup | null;
  readonly #anonymous: boolean;

  /**
   * Creates the check of callers.
   * @throws InvalidInputError for invalid options
   */
  constructor(options: AuthOptions = {}) {
    checkOptionMembers("auth", options, MEMBERS);
    const { apiKeys, bearer, anonymous = false } = options;
    if (typeof anonymous !== "boolean") throw new InvalidInputError("auth.anonymous: must be true or false");
    this.#apiKey = createApiKeyCheck(apiKeys);
    this.#bearer = createBearerCheck(bearer);
    this.#anonymous = anonymous;
  }

  /**
   * Returns the caller that the headers identify; null if only the body's identity can.
   * @throws Refusal with 401 if the headers identify no valid caller; the reason of an aborted signal; errors
   *   of a lookup
   */
  async byHeaders(headers: Headers, signal: AbortSignal): Promise<Principal | null> {
    const authorization = headers.get("authorization");
    if (this.#bearer !== null && authorization !== null && /^bearer(?: |$)/i.test(authorization)) {
      const token = /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
      if (token === undefined) throw this.#refuseToken("authorization: must be Bearer and one token");
      return this.#byToken(this.#bearer, token, signal);
    }
    const key = headers.get("x-api-key");
    if (this.#apiKey !== null && key !== null) return this.#byKey(this.#apiKey, key, signal);
    if (this.#apiKey !== null || this.#bearer !== null) return null;
    if (this.#anonymous) return ANONYMOUS;
    throw this.#refuse("no way to authenticate is configured");
  }

  /**
   * Returns the caller of a request whose headers identified none.
   * @throws errors of {@link byHeaders}
   */
  async byIdentity(identity: Identity | undefined, signal: AbortSignal): Promise<Principal> {
    const { authToken, apiKey } = identity ?? {};
    if (this.#bearer !== null && authToken !== undefined)
      return this.#byToken(this.#bearer, authToken, signal);
    if (this.#apiKey !== null && apiKey !== undefined) return this.#byKey(this.#apiKey, apiKey, signal);
    if (this.#anonymous) return ANONYMOUS;
    throw this.#refuse(`credentials are needed: ${this.#kinds().join(" or ")}`);
  }

  /** Returns the challenge for `www-authenticate`. */
  challenge(error = ""): string {
    const challenges: string[] = [];
    if (this.#bearer !== null) challenges.push(`Bearer ${REALM}${error}`);
    // Even if no credentials would be accepted, a refused client gets a challenge.
    if (this.#apiKey !== null || this.#bearer === null) challenges.push(`ApiKey ${REALM}`);
    return challenges.join(", ");
  }

  async #byToken(lookup: PrincipalLookup, token: string, signal: AbortSignal): Promise<Principal> {
    const reason = "the access token is not valid";
    const principal = await ask(lookup, token, signal).catch((error: unknown) => {
      throw error instanceof InvalidToken ? this.#refuseToken(reason, error.cause ?? error) : error;
    });
    if (principal === null) throw this.#refuseToken(reason);
    return principal;
  }

  async #byKey(lookup: PrincipalLookup, key: string, signal: AbortSignal): Promise<Principal> {
    const principal = await ask(lookup, key, signal);
    if (principal === null) throw this.#refuse("the API key is not valid");
    return principal;
  }

  #kinds(): string[] {
    const kinds: string[] = [];
    if (this.#bearer !== null) kinds.push("a bearer token");
    if (this.#apiKey !== null) kinds.push("an API key");
    return kinds;
  }

  /** According to RFC 6750, a request without a token only learns how to send one. */
  #refuse(detail: string): Refusal {
    return new Refusal(401, "Unauthenticated", detail, { "www-authenticate": this.challenge() });
  }

  #refuseToken(detail: string, cause?: unknown): Refusal {
    const error = `, error="invalid_token", error_description=${quoted(detail)}`;
    const headers = { "www-authenticate": this.challenge(error) };
    return new Refusal(401, "Unauthenticated", detail, headers, cause);
  }
}

/** RFC 6750 only allows printable ASCII in descriptions, without characters that need escapes. */
const quoted = (text: string): string => `"${text.replaceAll(/[^ !#-[\]-~]/g, "'")}"`;

async function ask(
  lookup: PrincipalLookup,
  credential: string,
  signal: AbortSignal,
): Promise<Principal | null> {
  if (credential.length === 0 || credential.length > MAX_CREDENTIAL) return null;
  return untilAborted(askSafely(lookup, credential), signal);
}

/** An unexpected error or value of the host's lookup is a fault of the server, not of the client. */
async function askSafely(lookup: PrincipalLookup, credential: string): Promise<Principal | null> {
  let answer: unknown;
  try {
    answer = await lookup(credential);
  } catch (error) {
    if (error instanceof Refusal || error instanceof InvalidToken || error instanceof NamespaceError)
      throw error;
    throw new InternalError("the lookup of a credential failed", { cause: error });
  }
  if (answer === null || answer === undefined) return null;
  if (!isPrincipal(answer)) {
    throw new InternalError(
      "the lookup of a credential returned a value that is not a principal with a subject",
    );
  }
  return answer;
}

function isPrincipal(answer: unknown): answer is Principal {
  if (typeof answer !== "object" || answer === null) return false;
  const { subject } = answer as { readonly subject?: unknown };
  return typeof subject === "string" && subject !== "";
}
