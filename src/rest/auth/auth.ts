/**
 * Identifies the caller: from the credentials of a request to their principal. Headers come first (`authorization`,
 * then `x-api-key`); if they decide nothing, the body's `identity` follows (`auth_token`, then `api_key`). Credentials
 * of a kind that is not configured are ignored. Of the others the first decides: another credential does not make up
 * for a wrong one.
 */

import { untilAborted } from "../../async/abort.js";
import { InternalError, InvalidInputError, NamespaceError } from "../../errors.js";
import type { Identity, Principal } from "../../namespace/request.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { Refusal } from "../wire/problem.js";
import { type ApiKeyOptions, createApiKeyCheck } from "./apiKeys.js";
import { type BearerOptions, createBearerCheck, InvalidToken } from "./bearer.js";

/**
 * Finds the principal of a credential; null if the credential is not valid. An error of the engine's classes that it
 * throws becomes the answer; any other error is reported as an internal error.
 */
export type PrincipalLookup = (credential: string) => Principal | null | Promise<Principal | null>;

/** Each member enables one kind of caller; without any, every request is refused. */
export interface AuthOptions {
  /** Keys that are accepted in `x-api-key`, or a function that looks them up. */
  readonly apiKeys?: ApiKeyOptions;
  /** The authorization server whose JWT access tokens are accepted, or a function that looks tokens up. */
  readonly bearer?: BearerOptions | PrincipalLookup;
  /**
   * Accepts requests without credentials, or with credentials of a kind that is not configured. Credentials that can be
   * checked are still refused if they are wrong. Default false.
   */
  readonly anonymous?: boolean;
}

const MEMBERS = ["apiKeys", "bearer", "anonymous"];
/** Longest credential that is checked, in characters. */
const MAX_CREDENTIAL = 16_384;
const REALM = 'realm="tiltyard"';
const ANONYMOUS: Principal = Object.freeze({ subject: "anonymous", method: "anonymous" });

export class Authenticator {
  readonly #apiKey: PrincipalLookup | null;
  readonly #bearer: PrincipalLookup | null;
  readonly #anonymous: boolean;

  /** @throws InvalidInputError for invalid options */
  constructor(options: AuthOptions = {}) {
    checkOptionMembers("auth", options, MEMBERS);
    const { apiKeys, bearer, anonymous = false } = options;
    if (typeof anonymous !== "boolean") throw new InvalidInputError("auth.anonymous: must be true or false");
    this.#apiKey = createApiKeyCheck(apiKeys);
    this.#bearer = createBearerCheck(bearer);
    this.#anonymous = anonymous;
  }

  /**
   * The principal that the headers identify; null if only the body's identity can.
   * @throws Refusal with 401 if the headers show that the caller is not valid; the signal's reason once it is aborted;
   *   what a lookup throws
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
   * The principal of a request whose headers did not identify one.
   * @throws as {@link byHeaders}
   */
  async byIdentity(identity: Identity | undefined, signal: AbortSignal): Promise<Principal> {
    const { authToken, apiKey } = identity ?? {};
    if (this.#bearer !== null && authToken !== undefined)
      return this.#byToken(this.#bearer, authToken, signal);
    if (this.#apiKey !== null && apiKey !== undefined) return this.#byKey(this.#apiKey, apiKey, signal);
    if (this.#anonymous) return ANONYMOUS;
    throw this.#refuse(`credentials are needed: ${this.#kinds().join(" or ")}`);
  }

  /** The credentials that a refused client must send, for `www-authenticate`. */
  challenge(error = ""): string {
    const challenges: string[] = [];
    if (this.#bearer !== null) challenges.push(`Bearer ${REALM}${error}`);
    // A refused client gets a challenge even if no credentials would satisfy it.
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

  /** By RFC 6750, a request without a token only learns how to send one. */
  #refuse(detail: string): Refusal {
    return new Refusal(401, "Unauthenticated", detail, { "www-authenticate": this.challenge() });
  }

  #refuseToken(detail: string, cause?: unknown): Refusal {
    const error = `, error="invalid_token", error_description=${quoted(detail)}`;
    const headers = { "www-authenticate": this.challenge(error) };
    return new Refusal(401, "Unauthenticated", detail, headers, cause);
  }
}

/** RFC 6750 allows only printable ASCII in descriptions, without characters that would need escapes. */
const quoted = (text: string): string => `"${text.replaceAll(/[^ !#-[\]-~]/g, "'")}"`;

async function ask(
  lookup: PrincipalLookup,
  credential: string,
  signal: AbortSignal,
): Promise<Principal | null> {
  if (credential.length === 0 || credential.length > MAX_CREDENTIAL) return null;
  return untilAborted(askSafely(lookup, credential), signal);
}

/** An unexpected error or value from the host's own lookup is the server's fault, not the client's. */
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
      "the lookup of a credential returned something else than a principal with a subject",
    );
  }
  return answer;
}

function isPrincipal(answer: unknown): answer is Principal {
  if (typeof answer !== "object" || answer === null) return false;
  const { subject } = answer as { readonly subject?: unknown };
  return typeof subject === "string" && subject !== "";
}
