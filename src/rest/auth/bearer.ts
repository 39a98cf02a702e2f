/**
 * Access tokens: JWTs of an OAuth 2.0 authorization server, verified against the keys it publishes (RFC 9068, RFC 8725).
 * What a token's header says of a key, but for the name of a published one, is not looked at.
 */

import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyResult, jwtVerify } from "jose";
import { InvalidInputError } from "../../errors.js";
import type { Principal } from "../../namespace.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { Refusal } from "../wire/problem.js";
import { publishedKeys } from "./publishedKeys.js";

/** An authorization server, and what its tokens must say. */
export interface BearerOptions {
  /** The tokens' `iss`, character by character. */
  readonly issuer: string;
  /** One of the tokens' `aud`. */
  readonly audience: string | readonly string[];
  /** Where the server publishes its keys: https, or http on the loopback. */
  readonly jwksUri: string;
  /** Algorithms of signatures that are accepted; default: the asymmetric ones below. */
  readonly algorithms?: readonly string[];
  /**
   * What the tokens' header has as `typ`, for example `at+jwt`. Default: `at+jwt`, `JWT` or nothing, as servers differ,
   * but no ID token that shows that it is one.
   */
  readonly tokenType?: string;
}

type BearerCheck = (token: string) => Principal | null | Promise<Principal | null>;
type VerifyOptions = NonNullable<Parameters<typeof jwtVerify>[2]>;

/** A token that is not valid; its cause, which never has the token, says why. */
export class InvalidToken extends Error {}

/** Keys are published, so an algorithm that verifies by the signing key itself can never be meant. */
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const MEMBERS = ["issuer", "audience", "jwksUri", "algorithms", "tokenType"];
/** Types of tokens in general, in which access tokens come as well. */
const TOKEN_TYPES: readonly unknown[] = ["at+jwt", "jwt", undefined];
/** Claims that only ID tokens have. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash", "s_hash"];
/** Seconds that the clocks of the two servers may differ by. */
const CLOCK_TOLERANCE = 5;
/** Keys that are tried for a token that does not name its own. */
const MAX_CANDIDATES = 8;
const RETRY_AFTER = "5";

/**
 * Null where no tokens are accepted. The check for an authorization server throws InvalidToken, with the reason, rather
 * than return null, and Refusal where its keys cannot be had.
 * @throws InvalidInputError for options that cannot be meant
 */
export function createBearerCheck(options: BearerOptions | BearerCheck | undefined): BearerCheck | null {
  if (options === undefined || options === null) return null;
  if (typeof options === "function") return options;
  const { issuer, audience, algorithms, tokenType, url } = checkOptions(options);
  const keys = publishedKeys(url);
  const asked = { issuer, audience, algorithms, clockTolerance: CLOCK_TOLERANCE, requiredClaims: ["exp"] };
  return async (token) => {
    try {
      return principalOf(await verify(token, keys, asked), tokenType);
    } catch (error) {
      if (error instanceof InvalidToken) throw error;
      if (error instanceof errors.JOSEError) throw new InvalidToken(error.message, { cause: error });
      const detail = "the authorization server's keys cannot be read";
      throw new Refusal(503, "ServiceUnavailable", detail, { "retry-after": RETRY_AFTER }, error);
    }
  };
}

async function verify(
  token: string,
  keys: JWTVerifyGetKey,
  options: VerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let candidates = 0;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
      if (++candidates === MAX_CANDIDATES) break;
    }
    throw error;
  }
}

/** @throws InvalidToken for one of the server's that is not for whoever brings it to call with */
function principalOf(
  { payload, protectedHeader }: JWTVerifyResult,
  tokenType: string | undefined,
): Principal {
  if (!isAccessToken(protectedHeader.typ, payload, tokenType))
    throw new InvalidToken("it is no access token");
  if (Object.hasOwn(payload, "cnf")) {
    throw new InvalidToken("it is bound to a key of its sender, the proof of which is not looked at");
  }
  return { subject: subjectOf(payload), method: "bearer", claims: payload };
}

/** Whether this is a token for calling somebody, rather than one that tells of a person or an event. */
function isAccessToken(typ: unknown, payload: JWTPayload, tokenType: string | undefined): boolean {
  const type = typeof typ === "string" ? mediaType(typ) : typ;
  if (tokenType !== undefined) return type === mediaType(tokenType);
  return TOKEN_TYPES.includes(type) && !ID_TOKEN_CLAIMS.some((claim) => Object.hasOwn(payload, claim));
}

/** Types of media may leave out what is in front of the slash. */
const mediaType = (typ: string) => typ.toLowerCase().replace(/^application\//, "");

/** A client that acts for itself may have no `sub`. A malformed one is not made good: whose it is would be a guess. */
function subjectOf({ sub, client_id }: JWTPayload): string {
  const subject: unknown = sub === undefined ? client_id : sub;
  if (typeof subject !== "string" || subject === "") throw new InvalidToken("it does not say whose it is");
  return subject;
}

function checkOptions(options: BearerOptions) {
  checkOptionMembers("auth.bearer", options, MEMBERS);
  const { issuer, audience, jwksUri, algorithms = ASYMMETRIC, tokenType } = options;
  if (typeof issuer !== "string" || issuer === "")
    throw new InvalidInputError("auth.bearer.issuer: is needed");
  const audiences = textsOf(typeof audience === "string" ? [audience] : audience);
  if (audiences === null) {
    throw new InvalidInputError(
      "auth.bearer.audience: must be a text or a list of texts, none of them empty",
    );
  }
  const pinned = textsOf(algorithms);
  if (pinned === null || !pinned.every((algorithm) => ASYMMETRIC.includes(algorithm))) {
    throw new InvalidInputError(`auth.bearer.algorithms: must be some of ${ASYMMETRIC.join(", ")}`);
  }
  if (tokenType !== undefined && (typeof tokenType !== "string" || tokenType === "")) {
    throw new InvalidInputError('auth.bearer.tokenType: must be a type such as "at+jwt"');
  }
  return { issuer, audience: audiences, algorithms: pinned, tokenType, url: checkJwksUri(jwksUri) };
}

/** A copy; null for what is no list of texts, or has none. */
function textsOf(given: unknown): string[] | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  return given.every((text) => typeof text === "string" && text !== "") ? [...given] : null;
}

function checkJwksUri(jwksUri: unknown): URL {
  if (typeof jwksUri !== "string" || !URL.canParse(jwksUri)) {
    throw new InvalidInputError("auth.bearer.jwksUri: must be a URL");
  }
  const url = new URL(jwksUri);
  const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) {
    throw new InvalidInputError("auth.bearer.jwksUri: must be an https URL, or one of the loopback");
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidInputError("auth.bearer.jwksUri: must have no user name and no password");
  }
  return url;
}
