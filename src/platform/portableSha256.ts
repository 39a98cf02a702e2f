/** SHA-256 for runtimes other than Node.js: browsers have an asynchronous one only. */

import { sha256 } from "@noble/hashes/sha2.js";

export const hashSha256 = (bytes: Uint8Array): Uint8Array => sha256(bytes);
