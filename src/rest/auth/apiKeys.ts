/** Checks API keys in a time that does not depend on how much of a key was guessed. */

import { createHash, timingSafeEqual } from "node:crypto";
import { InvalidInputError } from "../../errors.js";
import type { Principal } from "../../namespace/request.js";

/** Accepted keys, or a function that looks a key up and returns null for an invalid one. */
export type ApiKeyOptions =
  | readonly string[]
  | ((apiKey: string) => Principal | null | Promise<Principal | null>);

/**
 * Keys that a header can carry: Latin-1 without control characters, no blank at either end, and no longer than the
 * longest credential that is checked.
 */
const KEY = /^[!-~\u00a1-\u00ff](?:[ -~\u00a0-\u00ff]{0,16382}[!-~\u00a1-\u00ff])?$/;

/**
 * Null if no keys are configured.
 * @throws InvalidInputError for an empty list, or a key that no header can carry
 */
export function createApiKeyCheck(
  options: ApiKeyOptions | undefined,
): Exclude<ApiKeyOptions, readonly string[]> | null {
  if (options === undefined || options === null) return null;
  if (typeof options === "function") return options;
  if (!Array.isArray(options) || options.length === 0) {
    throw new InvalidInputError("auth.apiKeys: must be a list of keys, or a function");
  }
  const known = options.map((key: unknown, index) => {
    if (typeof key !== "string" || !KEY.test(key)) {
      throw new InvalidInputError(
        `auth.apiKeys[${index}]: must be a key that a header can carry: some Latin-1 characters, none of them a control character, and no blanks around them`,
      );
    }
    return digest(key);
  });
  return (apiKey) => {
    const given = digest(apiKey);
    let found: number | null = null;
    // All keys are compared, so that the time does not reveal which one matched.
    for (const [index, key] of known.entries()) if (timingSafeEqual(key, given)) found = index;
    return found === null ? null : { subject: `api-key-${found}`, method: "apiKey" };
  };
}

/** Digests have the same length for all keys. */
const digest = (key: string): Uint8Array => createHash("sha256").update(key).digest();
