/**
 * The keys that an authorization server publishes as a JWK set. They are cached, and fetched again when they are old or
 * when a token names an unknown key, but never twice within a pause. Neither an authorization server that is down nor
 * forged tokens thus make this server send a request for each call.
 */

import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from "jose";

const TIMEOUT_MS = 5_000;
/** Minimum time between two fetches of the keys. */
const PAUSE_MS = 5_000;
const MAX_AGE_MS = 600_000;
/** How long the last keys are used while the server delivers none. A key that is withdrawn meanwhile stays accepted. */
const MAX_AGE_WITHOUT_SERVER_MS = 12 * 3_600_000;
/** Maximum bytes of a set of keys. */
const MAX_BYTES = 2 ** 20;

/** A token's key was not found, but the token is not known to be wrong. */
class KeysUnavailable extends Error {}

class TooSoon extends Error {}

/**
 * Returns a function that finds the key of a token.
 * @throws KeysUnavailable from the returned function; its own JOSEError if the token is the reason
 */
export function publishedKeys(url: URL): JWTVerifyGetKey {
  let askedAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  const cache: JWKSCacheInput = {};
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: PAUSE_MS,
    cacheMaxAge: MAX_AGE_WITHOUT_SERVER_MS,
    [jwksCache]: cache,
    async [customFetch](href, options) {
      if (Date.now() < askedAt + PAUSE_MS) throw new TooSoon();
      askedAt = Date.now();
      try {
        return await fetchKeys(href, options);
      } finally {
        askedAt = Date.now();
      }
    },
  });

  const note = (error: unknown) => {
    if (error instanceof TooSoon) return;
    failure = error;
    failedAt = Date.now();
  };

  async function refresh(readAt: number): Promise<void> {
    if (!keys.fresh || Date.now() < Math.max(readAt + MAX_AGE_MS, askedAt + PAUSE_MS)) return;
    const refreshed = keys.reload().catch(note);
    // After a failure, no request waits for the next attempt.
    if (failedAt <= readAt) await refreshed;
  }

  return async (header, token) => {
    if (cache.uat !== undefined) await refresh(cache.uat);
    try {
      return await keys(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      note(error);
      throw new KeysUnavailable("the authorization server's keys cannot be had", { cause: failure });
    }
  };
}

const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/** Reads a set of keys, but no more than its maximum size. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new Error(`the set of keys has more than ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return new Response(new Blob(pieces as BlobPart[]), { status: response.status, headers: response.headers });
}
