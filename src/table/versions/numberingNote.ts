/** The small JSON files that help to find the latest version: the hint and the gap. */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { isSealBroken } from "../../bytes/sealedJson.js";
import { CorruptFileError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";

/** Each is one line; a longer file is none of ours. */
const MAX_NOTE_BYTES = 1024;

/** The content of a note; null where there is none, "garbage" where it is not what we would write. */
export async function readNumberingNote<T>(
  disk: Disk,
  path: string,
  parse: (value: unknown) => T | null,
): Promise<T | null | "garbage"> {
  let bytes: Uint8Array | null;
  try {
    bytes = await disk.readFile(path, MAX_NOTE_BYTES);
  } catch (error) {
    // Too long, or cut short while it was read: such a file proves nothing.
    if (error instanceof CorruptFileError || codeOf(error) === "EISDIR") return "garbage";
    throw error;
  }
  if (bytes === null) return null;
  if (isSealBroken(bytes)) return "garbage";
  let value: unknown;
  try {
    value = parseBoundedJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // No UTF-8, or no JSON.
    return "garbage";
  }
  return parse(value) ?? "garbage";
}
