/**
 * Access tokens: JWTs of an OAuth 2.0 authorization server, verified against the keys it publishes (RFC 9068, RFC 8725).
 * What a token's header says of a key, but for the name of a published one, is not looked at.
 */

import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose";
import { InvalidInputError } from "../errors.js";
import type { Principal } from "../namespace.js";
import { Refusal } from "./problem.js";

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

/** Keys are published, so an algorithm that verifies by the signing key itself can never be meant. */
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
/** Types of tokens in general, in which access tokens come as well. */
const TOKEN_TYPES: readonly unknown[] = ["at+jwt", "jwt", undefined];
/** Claims that only ID tokens have. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash", "s_hash"];
/** Seconds that the clocks of the two servers may differ by. */
const CLOCK_TOLERANCE = 5;
const KEYS_TIMEOUT_MS = 5_000;
/** Keys that stay the same are asked for again after this, for an unknown key after the cool-down at the soonest. */
const KEYS_MAX_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 10_000;
/** Bytes of a set of keys. */
const MAX_KEYS_BYTES = 2 ** 20;
const RETRY_AFTER = "5";

/**
 * Null where no tokens are accepted.
 * @throws InvalidInputError for options that cannot be meant
 */
export function createBearerCheck(options: BearerOptions | BearerCheck | undefined): BearerCheck | null {
  if (options === undefined || options === null) return null;
  if (typeof options === "function") return options;
  const { issuer, audience, algorithms, tokenType, url } = checkOptions(options);
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: KEYS_TIMEOUT_MS,
    cacheMaxAge: KEYS_MAX_AGE_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
    [customFetch]: fetchKeys,
  });
  return async (token) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        clockTolerance: CLOCK_TOLERANCE,
        requiredClaims: ["exp", "sub"],
      });
      return isAccessToken(protectedHeader.typ, payload, tokenType) ? principalOf(payload) : null;
    } catch (error) {
      if (isTokensFault(error)) return null;
      const detail = "the authorization server's keys cannot be read";
      throw new Refusal(503, "ServiceUnavailable", detail, { "retry-after": RETRY_AFTER }, error);
    }
  };
}

/** Whether this is a token for calling somebody, rather than one that tells of a person or an event. */
function isAccessToken(typ: unknown, payload: JWTPayload, tokenType: string | undefined): boolean {
  const type = typeof typ === "string" ? mediaType(typ) : typ;
  if (tokenType !== undefined) return type === mediaType(tokenType);
  return TOKEN_TYPES.includes(type) && !ID_TOKEN_CLAIMS.some((claim) => Object.hasOwn(payload, claim));
}

/** Types of media may leave out what is in front of the slash. */
const mediaType = (typ: string) => typ.toLowerCase().replace(/^application\//, "");

function principalOf(payload: JWTPayload): Principal | null {
  const { sub } = payload;
  if (typeof sub !== "string" || sub === "") return null;
  return { subject: sub, method: "bearer", claims: payload };
}

/** What is wrong with a token, as opposed to what went wrong in finding the keys. */
function isTokensFault(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false;
  return error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC";
}

/** Reads a set of keys no further than a set of keys can be long. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_KEYS_BYTES) throw new Error(`the set of keys has more than ${MAX_KEYS_BYTES} bytes`);
    pieces.push(piece);
  }
  return new Response(new Blob(pieces as BlobPart[]), { status: response.status, headers: response.headers });
}

function checkOptions({ issuer, audience, jwksUri, algorithms = ASYMMETRIC, tokenType }: BearerOptions) {
  if (typeof issuer !== "string" || issuer === "")
    throw new InvalidInputError("auth.bearer.issuer: is needed");
  const audiences = typeof audience === "string" ? [audience] : [...(audience ?? [])];
  if (audiences.length === 0 || audiences.some((one) => typeof one !== "string" || one === "")) {
    throw new InvalidInputError("auth.bearer.audience: is needed");
  }
  if (typeof jwksUri !== "string" || !URL.canParse(jwksUri)) {
    throw new InvalidInputError("auth.bearer.jwksUri: must be a URL");
  }
  const url = new URL(jwksUri);
  const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) {
    throw new InvalidInputError("auth.bearer.jwksUri: must be an https URL, or one of the loopback");
  }
  const unknown = algorithms.find((algorithm) => !ASYMMETRIC.includes(algorithm));
  if (algorithms.length === 0 || unknown !== undefined) {
    throw new InvalidInputError(`auth.bearer.algorithms: must be some of ${ASYMMETRIC.join(", ")}`);
  }
  if (tokenType !== undefined && (typeof tokenType !== "string" || tokenType === "")) {
    throw new InvalidInputError('auth.bearer.tokenType: must be a type such as "at+jwt"');
  }
  return { issuer, audience: audiences, algorithms: [...algorithms], tokenType, url };
}
