/** Reads the hint, a file that names the latest version, or one shortly before it. */

import { isCount } from "./jsonValues.js";
import { readNumberingNote } from "./numberingNote.js";
import { hintPath } from "./paths.js";
import type { VersionsAt } from "./versions.js";

/** Reads the version that the hint names; null if there is no hint. */
export const readHint = (table: VersionsAt): Promise<number | null | "garbage"> =>
  readNumberingNote(table.disk, hintPath(table.root), parseHint);

function parseHint(value: unknown): number | null {
  if (typeof value !== "object" || value === null) return null;
  const { version } = value as { version?: unknown };
  return isCount(version) ? version : null;
}
