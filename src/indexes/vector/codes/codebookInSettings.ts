/**
 * The PQ codebook in the settings, where LanceDB 0.18 to 0.21 writes each byte as a decimal number. That is
 * megabytes of text, on which a JSON parser would block the thread.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { OpenIndexFile } from "../../indexFile.js";

const CODEBOOK_START = 'codebook_tensor\\":[';
/** Bytes between yields. */
const PIECE_BYTES = 2 ** 16;

/**
 * Cuts the codebook out of the settings.
 * @param text of the settings as stored
 * @returns the codebook bytes, empty if a global buffer holds it, and the settings without it
 * @throws CorruptFileError
 */
export async function cutCodebook(
  file: OpenIndexFile,
  text: string,
): Promise<{ tensor: Uint8Array; settings: string }> {
  const start = text.indexOf(CODEBOOK_START) + CODEBOOK_START.length;
  if (start < CODEBOOK_START.length || text[start] === "]") {
    return { tensor: new Uint8Array(0), settings: text };
  }
  const bytes = new Uint8Array((text.length - start) >>> 1);
  for (let length = 0, offset = start; ; offset++) {
    let byte = 0;
    const first = offset;
    for (let digit = digitAt(text, offset); digit >= 0 && byte <= 255; digit = digitAt(text, ++offset)) {
      byte = 10 * byte + digit;
    }
    if (offset === first || byte > 255) return file.fail("the codebook is not a list of bytes");
    bytes[length++] = byte;
    if (text[offset] === "]") {
      return { tensor: bytes.slice(0, length), settings: text.slice(0, start) + text.slice(offset) };
    }
    if (text[offset] !== ",") return file.fail("the codebook is not a list of bytes");
    if (length % PIECE_BYTES === 0) await yieldToEventLoop();
  }
}

/** Returns the digit at an offset of the text; -1 for any other character and past the end. */
function digitAt(text: string, offset: number): number {
  const digit = text.charCodeAt(offset) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

/** Inserts a codebook into settings with an empty one. @param text of the settings as stored */
export async function insertCodebook(tensor: Uint8Array, text: string): Promise<string> {
  const start = text.indexOf(CODEBOOK_START) + CODEBOOK_START.length;
  const pieces: string[] = [];
  for (let first = 0; first < tensor.length; first += PIECE_BYTES) {
    pieces.push(tensor.subarray(first, first + PIECE_BYTES).join(","));
    await yieldToEventLoop();
  }
  return text.slice(0, start) + pieces.join(",") + text.slice(start);
}
