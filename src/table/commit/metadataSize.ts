/** Limits the size of a table's metadata. */

import { InvalidInputError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";

/** Approximate maximum of a version's metadata in bytes. Every reader of the table reads all of it. */
const MAX_METADATA_BYTES = 2 ** 24;

/**
 * Refuses more metadata than the limit. A table that another engine gave more stays writable as long as its
 * metadata does not grow.
 * @throws InvalidInputError
 */
export function refuseLongMetadata(before: Manifest | null, after: Manifest): void {
  if (before !== null && METADATA_MEMBERS.every((member) => before[member] === after[member])) return;
  const bytes = metadataBytes(after);
  if (bytes <= MAX_METADATA_BYTES || (before !== null && bytes <= metadataBytes(before))) return;
  throw new InvalidInputError(
    `the names and metadata of the schema, the table and its config may take at most ${MAX_METADATA_BYTES} bytes in all`,
  );
}

const METADATA_MEMBERS = ["fields", "schemaMetadata", "tableMetadata", "config"] as const;

function metadataBytes({ fields, schemaMetadata, tableMetadata, config }: Manifest): number {
  let bytes = 0;
  for (const map of [schemaMetadata, tableMetadata, config]) {
    for (const [key, value] of map) bytes += key.length + value.length;
  }
  for (const { name, metadata } of fields) {
    bytes += name.length;
    for (const [key, value] of metadata) bytes += key.length + value.length;
  }
  return bytes;
}
