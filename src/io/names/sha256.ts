import { nodeCrypto } from "../../platform/builtin.js";

/** Returns the SHA-256 of bytes, or of a text's UTF-8, in hexadecimal. */
export const sha256 = (content: Uint8Array | string): string =>
  nodeCrypto().createHash("sha256").update(content).digest("hex");
