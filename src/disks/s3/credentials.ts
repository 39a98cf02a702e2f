/** Credentials of requests: fixed, or from a function of the program whose results expire. */

import { NamespaceError, ServiceUnavailableError } from "../../errors.js";
import { checkCredentials, type S3Credentials, type S3DiskOptions } from "./options.js";

/** Milliseconds before their end at which credentials are fetched again. */
const LEAD_MS = 5 * 60_000;
/** Milliseconds between two renewals that refused requests cause. A wrong key must not call without end. */
const LEAST_RENEWAL_MS = 10_000;

export class CredentialSource {
  readonly #source: S3DiskOptions["credentials"];
  #current: S3Credentials | null = null;
  #fetching: Promise<S3Credentials> | null = null;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: S3DiskOptions["credentials"]) {
    this.#source = source;
  }

  /**
   * Returns the credentials; null for requests without a signature.
   * @throws InvalidInputError if the function returns none; ServiceUnavailableError if it fails
   */
  async current(): Promise<S3Credentials | null> {
    const source = this.#source;
    if (source === undefined) return null;
    if (typeof source !== "function") return source;
    if (this.#current !== null && !isEnding(this.#current)) return this.#current;
    this.#fetching ??= this.#fetch(source).finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  /**
   * Forgets credentials that the server refused. Returns true if another attempt may get others.
   * @param refused credentials of the refused request
   */
  renew(refused: S3Credentials | null): boolean {
    if (typeof this.#source !== "function" || refused === null) return false;
    // Another request may have had them renewed meanwhile.
    if (this.#current !== refused) return true;
    if (Date.now() - this.#fetchedAtMs < LEAST_RENEWAL_MS) return false;
    this.#current = null;
    return true;
  }

  async #fetch(source: () => S3Credentials | Promise<S3Credentials>): Promise<S3Credentials> {
    let fetched: S3Credentials;
    try {
      fetched = await source();
    } catch (cause) {
      if (cause instanceof NamespaceError) throw cause;
      throw new ServiceUnavailableError("credentials: the function failed", { cause });
    }
    checkCredentials(fetched);
    this.#fetchedAtMs = Date.now();
    this.#current = { ...fetched };
    return this.#current;
  }
}

const isEnding = ({ expiration }: S3Credentials): boolean =>
  expiration !== undefined && expiration !== null && Number(expiration) - Date.now() < LEAD_MS;
