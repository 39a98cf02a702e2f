/**
 * The published keys of an authorization server (a JWK set). They are cached, and read again when they are
 * old or when a token names an unknown key, with a minimum pause in between. Neither an unavailable server
 * nor forged tokens thus cause a request for each call.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { performance } from "../../async/timers.js";

const TIMEOUT_MS = 5_000;
/** Minimum milliseconds between two reads of the keys. */
const PAUSE_MS = 5_000;
const MAX_AGE_MS = 600_000;
/** Maximum age of the keys while the server is unavailable. Until then a withdrawn key stays accepted. */
const MAX_AGE_WITHOUT_SERVER_MS = 12 * 3_600_000;
/** Maximum bytes of a set of keys. */
const MAX_BYTES = 2 ** 20;

/** The key of a token was not found, but the token may be valid. */
class KeysUnavailable extends Error {}

/** A moment according to two clocks. Its age is right even if one clock was set back or stood still. */
class Moment {
  readonly #wallMs = Date.now();
  readonly #tickMs = performance.now();

  /** Milliseconds since 1970. After the clock was set back, the value follows the new clock. */
  get wallMs(): number {
    return Math.min(this.#wallMs, Date.now() - (performance.now() - this.#tickMs));
  }

  /** Milliseconds by the clock that advanced more: one may be set back, the other stops during sleep. */
  get ageMs(): number {
    return Math.max(Date.now() - this.#wallMs, performance.now() - this.#tickMs);
  }
}

/** Keys that were read. */
interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** Start of the read. Keys that were published later may be missing. */
  readonly readAt: Moment;
}

/** Returns a function that finds a token's key. It throws KeysUnavailable, or JOSEError for bad tokens. */
export function publishedKeys(url: URL): JWTVerifyGetKey {
  const published = new PublishedKeys(url);
  return (header, token) => published.keyOf(header, token);
}

class PublishedKeys {
  readonly #url: URL;
  #keys: KeySet | null = null;
  /** End of the last read, or its start while it runs. Null before the first read. */
  #askedAt: Moment | null = null;
  /** Error of the last read; undefined if it succeeded. */
  #failure: unknown;
  #reading: Promise<KeySet> | null = null;

  constructor(url: URL) {
    this.#url = url;
  }

  async keyOf(...[header, token]: Parameters<JWTVerifyGetKey>) {
    const { keys, isNew } = await this.#current();
    try {
      return await keys.find(header, token);
    } catch (error) {
      if (isNew || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The key may have been published since. Only a new read tells, unless the token was issued before the
      // last read: then it is wrong.
      const isPaused = this.#reading === null && !this.#mayAsk && this.#failure === undefined;
      if (isPaused && !isIssuedAfter(token, keys.readAt)) throw error;
      const latest = await this.#read();
      return await latest.find(header, token);
    }
  }

  /** Returns the keys, read again if they are old, and whether this call read them. */
  async #current(): Promise<{ readonly keys: KeySet; readonly isNew: boolean }> {
    const keys = this.#keys;
    if (keys === null || keys.readAt.ageMs >= MAX_AGE_WITHOUT_SERVER_MS) {
      return { keys: await this.#read(), isNew: true };
    }
    if (keys.readAt.ageMs < MAX_AGE_MS || !this.#mayAsk) return { keys, isNew: false };
    // After a failure, no request waits for the next attempt.
    const waits = this.#failure === undefined;
    const refreshed = this.#read().catch(() => keys);
    const latest = waits ? await refreshed : keys;
    return { keys: latest, isNew: latest !== keys };
  }

  get #mayAsk(): boolean {
    return this.#reading === null && (this.#askedAt === null || this.#askedAt.ageMs >= PAUSE_MS);
  }

  /**
   * Reads the keys.
   * @throws KeysUnavailable
   */
  #read(): Promise<KeySet> {
    if (this.#reading === null && !this.#mayAsk) return Promise.reject(this.#unavailable());
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readNow(): Promise<KeySet> {
    const readAt = new Moment();
    this.#askedAt = readAt;
    try {
      const find = usableKeys(createLocalJWKSet(await fetchKeys(this.#url)));
      this.#failure = undefined;
      this.#keys = { find, readAt };
      return this.#keys;
    } catch (error) {
      this.#failure = error;
      throw this.#unavailable();
    } finally {
      this.#askedAt = new Moment();
    }
  }

  #unavailable(): KeysUnavailable {
    return new KeysUnavailable("the authorization server's keys cannot be fetched", { cause: this.#failure });
  }
}

/** True if a token was issued after a moment, or does not state its time. */
function isIssuedAfter({ payload }: Parameters<JWTVerifyGetKey>[1], { wallMs }: Moment): boolean {
  try {
    const text = typeof payload === "string" ? Buffer.from(payload, "base64url").toString() : "{}";
    const { iat } = JSON.parse(text) as { readonly iat?: unknown };
    return typeof iat !== "number" || iat * 1000 > wallMs;
  } catch {
    // The token is refused for its payload once a key is found.
    return true;
  }
}

/** Returns `find`, but with KeysUnavailable if the token is not at fault: a key may be unusable. */
const usableKeys =
  (find: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await find(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      throw new KeysUnavailable("the authorization server's keys cannot be fetched", { cause: error });
    }
  };

const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/**
 * Reads a set of keys.
 * @throws Error if the answer is not 200, or larger than {@link MAX_BYTES}
 */
async function fetchKeys(url: URL): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    redirect: "manual",
    headers: { accept: "application/json, application/jwk-set+json" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new Error(`the set of keys has more than ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  if (response.status !== 200) throw new Error(`Expected 200 OK for the set of keys, not ${response.status}`);
  return JSON.parse(await new Blob(pieces as BlobPart[]).text());
}
