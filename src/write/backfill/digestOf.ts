/** Digests of texts, as names. */

import { toHex } from "../../bytes/hex.js";

/** Returns a digest of a text: 32 hex digits. */
export async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(digest, 0, 16));
}
