import { hashSha256 } from "../../platform/sha256.js";

const encoder = new TextEncoder();

/** Returns the SHA-256 of bytes, or of a text's UTF-8, in hexadecimal. */
export function sha256(content: Uint8Array | string): string {
  const digest = hashSha256(typeof content === "string" ? encoder.encode(content) : content);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
