/** Tells which files of a fragment have values of some fields. Digests of such lists identify the values. */

import { toHex } from "../../bytes/hex.js";
import type { DataFile } from "../../format/table.js";

/** A file of a fragment, and the fields of a set that it has. */
type FileOfFields = readonly [path: string, baseId: number | null, fieldIds: readonly number[]];

/** Returns the files that have any of some fields. Files never change: equal lists mean equal values. */
export const filesWith = (
  files: readonly Pick<DataFile, "path" | "baseId" | "fields">[],
  ids: ReadonlySet<number>,
): FileOfFields[] =>
  files.flatMap(({ path, baseId, fields }): FileOfFields[] => {
    const stored = fields.filter((id) => ids.has(id));
    return stored.length === 0 ? [] : [[path, baseId ?? null, stored]];
  });

/**
 * True if at least one of the files has at least one of the fields. Files may name the leaves of a column
 * only.
 */
export const areStored = (files: readonly Pick<DataFile, "fields">[], ids: ReadonlySet<number>): boolean =>
  files.some(({ fields }) => fields.some((id) => ids.has(id)));

/** Returns a digest of a text: 32 hex digits. */
export async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(digest, 0, 16));
}
