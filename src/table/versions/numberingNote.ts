/** Reads the small JSON files that help to find the latest version: the hint and the gap. */

import { decodeSealedJson } from "../../bytes/sealedJson.js";
import { CorruptFileError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";

/** Maximum size in bytes of a note, which is one line. */
const MAX_NOTE_BYTES = 1024;

/**
 * Reads a note.
 * @param parse returns null for a value that this engine would not write; undefined stands for no JSON
 * @returns null if the file does not exist, "garbage" if this engine would not write its content
 */
export async function readNumberingNote<T>(
  disk: Disk,
  path: string,
  parse: (value: unknown) => T | null,
): Promise<T | null | "garbage"> {
  let bytes: Uint8Array | null;
  try {
    bytes = await disk.readFile(path, MAX_NOTE_BYTES);
  } catch (error) {
    // The file is too long, or was cut while it was read, and proves nothing.
    if (error instanceof CorruptFileError || codeOf(error) === "EISDIR") return "garbage";
    throw error;
  }
  if (bytes === null) return null;
  return parse(decodeSealedJson(bytes)) ?? "garbage";
}
