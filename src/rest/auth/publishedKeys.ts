/**
 * The keys that an authorization server publishes as a JWK set. They are kept, and asked for again when they are old
 * or when a token names a key that is not among them, but never twice within a pause: neither an authorization server
 * that is down nor tokens that nobody issued make this server call out for each request.
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
/** Between two times that the keys are asked for. */
const PAUSE_MS = 5_000;
const MAX_AGE_MS = 600_000;
/** How long the last keys serve while the server gives none. A key that it withdraws meanwhile is not known to be. */
const MAX_AGE_WITHOUT_SERVER_MS = 12 * 3_600_000;
/** Bytes of a set of keys. */
const MAX_BYTES = 2 ** 20;

/** The key of a token was not found, and it is not known to be wrong. */
class KeysUnavailable extends Error {}

class TooSoon extends Error {}

/**
 * What finds the key of a token.
 * @throws KeysUnavailable from the function that is returned; JOSEError of its own where the token names no key
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
    // Where it failed before, nobody waits for it to fail again.
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

/** Reads a set of keys no further than a set of keys can be long. */
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
