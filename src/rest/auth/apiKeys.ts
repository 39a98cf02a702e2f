/** API keys: compared in a time that does not depend on how much of a key was guessed. */

import { createHash, timingSafeEqual } from "node:crypto";
import { InvalidInputError } from "../../errors.js";
import type { Principal } from "../../namespace.js";

/** Keys that are accepted, or who knows them: null where a key is not valid. */
export type ApiKeyOptions =
  | readonly string[]
  | ((apiKey: string) => Principal | null | Promise<Principal | null>);

/** What a header can carry: Latin-1 without control characters, no blank at either end; and no more than is looked at. */
const KEY = /^[!-~\u00a1-\u00ff](?:[ -~\u00a0-\u00ff]{0,16382}[!-~\u00a1-\u00ff])?$/;

/**
 * Null where no keys are configured.
 * @throws InvalidInputError for a list that has none, or one that no header can carry
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
    // All of them are compared, so that the time tells nothing of which one it is.
    for (const [index, key] of known.entries()) if (timingSafeEqual(key, given)) found = index;
    return found === null ? null : { subject: `api-key-${found}`, method: "apiKey" };
  };
}

/** Digests are of one length whatever the keys are. */
const digest = (key: string): Uint8Array => createHash("sha256").update(key).digest();
