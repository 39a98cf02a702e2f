/**
 * Access tokens: JWTs of an OAuth 2.0 authorization server, verified with its published keys (RFC 9068, RFC
 * 8725). The header of a token may only name a published key; a key in the header is ignored.
 */

import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyResult, jwtVerify } from "jose";
import { InvalidInputError } from "../../errors.js";
import type { Principal } from "../../namespace/request.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { unavailable } from "../wire/problem.js";
import { publishedKeys } from "./publishedKeys.js";

/** An authorization server, and the required content of its tokens. */
export interface BearerOptions {
  /** Exact value of the tokens' `iss`. */
  readonly issuer: string;
  /** Accepted values of the tokens' `aud`. */
  readonly audience: string | readonly string[];
  /** URL of the server's published keys: https, or http on the loopback. */
  readonly jwksUri: string;
  /** Accepted signature algorithms. Default: all asymmetric algorithms of the list below. */
  readonly algorithms?: readonly string[];
  /**
   * Required `typ` in the header of tokens, such as `at+jwt`. Default: `at+jwt`, `JWT` or none, because
   * servers differ; tokens that look like ID tokens are refused.
   */
  readonly tokenType?: string;
}

type BearerCheck = (token: string) => Principal | null | Promise<Principal | null>;
type VerifyOptions = NonNullable<Parameters<typeof jwtVerify>[2]>;

/** An invalid token. The cause has the reason and never contains the token. */
export class InvalidToken extends Error {}

/** The keys are public, so algorithms that verify with the signing key must never be accepted. */
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const MEMBERS = ["issuer", "audience", "jwksUri", "algorithms", "tokenType"];
/** General types of tokens, which access tokens use as well. */
const TOKEN_TYPES: readonly unknown[] = ["at+jwt", "jwt", undefined];
/** Claims of ID tokens. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash", "s_hash"];
/** Maximum difference of the servers' clocks in seconds. */
const CLOCK_TOLERANCE = 5;
/** Maximum number of keys tried for a token that names none. */
const MAX_CANDIDATES = 8;
const RETRY_AFTER = "5";

/**
 * Returns the check of tokens; null if none are accepted. The check for an authorization server throws
 * InvalidToken with the reason, or Refusal if the keys are unavailable.
 * @throws InvalidInputError for invalid options
 */
export function createBearerCheck(options: BearerOptions | BearerCheck | undefined): BearerCheck | null {
  if (options === undefined || options === null) return null;
  if (typeof options === "function") return options;
  const { issuer, audience, algorithms, tokenType, url } = checkOptions(options);
  const keys = publishedKeys(url);
  const expectations = {
    issuer,
    audience,
    algorithms,
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ["exp"],
  };
  return async (token) => {
    try {
      const currentDate = new Date(Date.now());
      return principalOf(await verify(token, keys, { ...expectations, currentDate }), tokenType);
    } catch (error) {
      if (error instanceof InvalidToken) throw error;
      if (error instanceof errors.JOSEError) throw new InvalidToken(error.message, { cause: error });
      throw unavailable("the authorization server's keys cannot be read", RETRY_AFTER, error);
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

/**
 * Returns the caller of a verified token.
 * @throws InvalidToken if the token is not for calls
 */
function principalOf(
  { payload, protectedHeader }: JWTVerifyResult,
  tokenType: string | undefined,
): Principal {
  if (!isAccessToken(protectedHeader.typ, payload, tokenType))
    throw new InvalidToken("it is not an access token");
  if (Object.hasOwn(payload, "cnf")) {
    throw new InvalidToken("it is bound to a key of its sender, which this server does not verify");
  }
  return { subject: subjectOf(payload), method: "bearer", claims: payload };
}

/** True if a token authorises calls. Other tokens describe a person or an event. */
function isAccessToken(typ: unknown, payload: JWTPayload, tokenType: string | undefined): boolean {
  const type = typeof typ === "string" ? mediaType(typ) : typ;
  if (tokenType !== undefined) return type === mediaType(tokenType);
  return TOKEN_TYPES.includes(type) && !ID_TOKEN_CLAIMS.some((claim) => Object.hasOwn(payload, claim));
}

/** A media type may omit the part before the slash. */
const mediaType = (typ: string) => typ.toLowerCase().replace(/^application\//, "");

/** Returns the caller's name. `client_id` replaces a missing `sub`, but never a malformed one. */
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

/** Returns a copy of a list of non-empty strings; null for other values. */
function textsOf(value: unknown): string[] | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  return value.every((text) => typeof text === "string" && text !== "") ? [...value] : null;
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
