/**
 * Who calls: credentials of a request to the principal they stand for. Headers come first (`authorization`, then
 * `x-api-key`); where they tell nothing, the body's `identity` is asked (`auth_token`, then `api_key`). A credential of
 * a kind that no way in is configured for is passed over. Of the others the first decides: a wrong one is not made good
 * by another.
 */

import { untilAborted } from "../../async/abort.js";
import { InternalError, InvalidInputError, NamespaceError } from "../../errors.js";
import type { Identity, Principal } from "../../namespace.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { Refusal } from "../wire/problem.js";
import { type ApiKeyOptions, createApiKeyCheck } from "./apiKeys.js";
import { type BearerOptions, createBearerCheck, InvalidToken } from "./bearer.js";

/**
 * What finds the principal of a credential; null where it is not valid. An error of the engine's classes that it throws
 * is the answer, any other is an internal error.
 */
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

const MEMBERS = ["apiKeys", "bearer", "anonymous"];
/** Longest credential that is looked at, in characters. */
const MAX_CREDENTIAL = 16_384;
const REALM = 'realm="tiltyard"';
const ANONYMOUS: Principal = Object.freeze({ subject: "anonymous", method: "anonymous" });

export class Authenticator {
  readonly #apiKey: PrincipalLookup | null;
  readonly #bearer: PrincipalLookup | null;
  readonly #anonymous: boolean;

  /** @throws InvalidInputError for options that cannot be meant */
  constructor(options: AuthOptions = {}) {
    checkOptionMembers("auth", options, MEMBERS);
    const { apiKeys, bearer, anonymous = false } = options;
    if (typeof anonymous !== "boolean") throw new InvalidInputError("auth.anonymous: must be true or false");
    this.#apiKey = createApiKeyCheck(apiKeys);
    this.#bearer = createBearerCheck(bearer);
    this.#anonymous = anonymous;
  }

  /**
   * The principal that the headers tell; null where only the body's identity can.
   * @throws Refusal with 401 where the headers decide that nobody valid calls; the signal's reason once it is aborted;
   * what a lookup throws
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
   * The principal of a request whose headers told nothing.
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

  /** What a client that is refused has to come with, for `www-authenticate`. */
  challenge(error = ""): string {
    const challenges: string[] = [];
    if (this.#bearer !== null) challenges.push(`Bearer ${REALM}${error}`);
    // A client is owed a challenge even where nothing would meet it.
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

  /** By RFC 6750 a request without a token is told no more than how to come with one. */
  #refuse(detail: string): Refusal {
    return new Refusal(401, "Unauthenticated", detail, { "www-authenticate": this.challenge() });
  }

  #refuseToken(detail: string, cause?: unknown): Refusal {
    const error = `, error="invalid_token", error_description=${quoted(detail)}`;
    const headers = { "www-authenticate": this.challenge(error) };
    return new Refusal(401, "Unauthenticated", detail, headers, cause);
  }
}

/** RFC 6750 has descriptions of printable ASCII only, and leaves nothing to be escaped. */
const quoted = (text: string): string => `"${text.replaceAll(/[^ !#-[\]-~]/g, "'")}"`;

async function ask(
  lookup: PrincipalLookup,
  credential: string,
  signal: AbortSignal,
): Promise<Principal | null> {
  if (credential.length === 0 || credential.length > MAX_CREDENTIAL) return null;
  return untilAborted(askSafely(lookup, credential), signal);
}

/** What the embedding server's own lookup throws or returns by mistake is its fault, not the client's. */
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
