/** Checks API keys in constant time, so that the time reveals nothing about a key. */

import { InvalidInputError } from "../../errors.js";
import type { Principal } from "../../namespace/request.js";
import { hashSha256 } from "../../platform/sha256.js";

/** Accepted keys, or a function that returns the caller of a key, and null for an invalid key. */
export type ApiKeyOptions =
  | readonly string[]
  | ((apiKey: string) => Principal | null | Promise<Principal | null>);

/** Keys that a header can carry: Latin-1, no control characters, no blanks at the ends, bounded length. */
const KEY = /^[!-~\u00a1-\u00ff](?:[ -~\u00a0-\u00ff]{0,16382}[!-~\u00a1-\u00ff])?$/;

/**
 * Returns the check of API keys; null if none are configured.
 * @throws InvalidInputError for an empty list, or a key that a header can't carry
 */
export function createApiKeyCheck(
  options: ApiKeyOptions | undefined,
): Exclude<ApiKeyOptions, readonly string[]> | null {
  if (options === undefined || options === null) return null;
  if (typeof options === "function") return options;
  if (!Array.isArray(options) || options.length === 0) {
    throw new InvalidInputError("auth.apiKeys: must be a list of keys, or a function");
  }
  const digests = options.map((key: unknown, index) => {
    if (typeof key !== "string" || !KEY.test(key)) {
      throw new InvalidInputError(
        `auth.apiKeys[${index}]: must be a key that a header can carry: some Latin-1 characters, none of them a control character, and no blanks around them`,
      );
    }
    return digest(key);
  });
  return (apiKey) => {
    const candidate = digest(apiKey);
    let position: number | null = null;
    // All keys are compared, so that the time does not reveal the matching one.
    for (const [index, key] of digests.entries()) if (isSameDigest(key, candidate)) position = index;
    return position === null ? null : { subject: `api-key-${position}`, method: "apiKey" };
  };
}

/** Digests of all keys have the same length. */
const digest = (key: string): Uint8Array => hashSha256(encoder.encode(key));

const encoder = new TextEncoder();

/** Compares all bytes, wherever the first difference is. */
function isSameDigest(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0;
  for (let index = 0; index < a.length; index++) difference |= a[index] ^ b[index];
  return difference === 0;
}
