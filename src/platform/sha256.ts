/**
 * SHA-256 by Node.js. Bundles for browsers have portableSha256.ts in place of this file. It is not part of
 * portable.ts, because programs that only read tables need no hashes.
 */

import { nodeCrypto } from "./builtin.js";

/** Returns the SHA-256 of bytes. */
export const hashSha256 = (bytes: Uint8Array): Uint8Array =>
  new Uint8Array(nodeCrypto().createHash("sha256").update(bytes).digest());
