/** Headers of requests to a server. */

/** A source of headers. A connection asks it before each request. */
export abstract class HeaderProvider {
  /**
   * Returns the headers to add to a request. They replace others of the same name.
   * @throws any error, which fails the request
   */
  abstract getHeaders(): Record<string, string>;
}

/** A source of fixed headers. */
export class StaticHeaderProvider extends HeaderProvider {
  readonly #headers: Record<string, string>;

  /** Makes a source of a copy of the headers. */
  constructor(headers: Record<string, string>) {
    super();
    this.#headers = { ...headers };
  }

  getHeaders(): Record<string, string> {
    return { ...this.#headers };
  }
}

/** A token of an OAuth server. */
export interface TokenResponse {
  /** The token. */
  accessToken: string;
  /** Seconds until the token expires. Absent: it does not. */
  expiresIn?: number;
}

/**
 * Headers with a token of an OAuth server, which is fetched again before it expires. A connection fetches the
 * first token; other callers of `getHeaders` call `refreshToken` before.
 */
export class OAuthHeaderProvider extends HeaderProvider {
  readonly #fetchToken: () => Promise<TokenResponse> | TokenResponse;
  readonly #bufferMs: number;
  #token: string | null = null;
  #expiresAtMs = Number.POSITIVE_INFINITY;
  #refresh: Promise<void> | null = null;

  /**
   * Makes a source of a function that fetches tokens.
   * @param tokenFetcher fetches a new token
   * @param refreshBufferSeconds seconds before its end at which a token is fetched again; 300 by default
   */
  constructor(tokenFetcher: () => Promise<TokenResponse> | TokenResponse, refreshBufferSeconds = 300) {
    super();
    this.#fetchToken = tokenFetcher;
    this.#bufferMs = refreshBufferSeconds * 1000;
  }

  /**
   * Returns the header `authorization`. A token that is about to expire is fetched again meanwhile.
   * @throws Error if no token was fetched yet
   */
  getHeaders(): Record<string, string> {
    if (this.#token === null) {
      throw new Error("Token not initialized. Call refreshToken() first or use async initialization.");
    }
    // The next call gets the new token. A failure shows when the program fetches one itself.
    if (this.#isDue) this.refreshToken().catch(() => {});
    return this.#headers;
  }

  /**
   * Fetches a token. Calls at one time share one fetch.
   * @throws the error of the function, or Error if its answer has no token
   */
  async refreshToken(): Promise<void> {
    this.#refresh ??= this.#fetch().finally(() => {
      this.#refresh = null;
    });
    await this.#refresh;
  }

  /**
   * Returns headers with a token that has not expired, which it fetches if necessary.
   * @internal
   */
  async freshHeaders(): Promise<Record<string, string>> {
    if (this.#token === null || this.#isDue) await this.refreshToken();
    // `getHeaders` would fetch a token again that lasts less than the buffer.
    return this.#headers;
  }

  get #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#token}` };
  }

  get #isDue(): boolean {
    return Date.now() >= this.#expiresAtMs - this.#bufferMs;
  }

  async #fetch(): Promise<void> {
    const { accessToken, expiresIn } = await this.#fetchToken();
    if (!accessToken) throw new Error("Token fetcher did not return 'accessToken'");
    this.#token = accessToken;
    this.#expiresAtMs = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000;
  }
}
