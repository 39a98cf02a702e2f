/** How much metadata a table may have. */

import { InvalidInputError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";

/** Bytes of all metadata of a version, about: every reader of the table reads them. */
const MAX_METADATA_BYTES = 2 ** 24;

/**
 * A table that has more, of another engine's making, goes on as long as nothing is added.
 * @throws InvalidInputError
 */
export function refuseLongMetadata(before: Manifest | null, after: Manifest): void {
  if (before !== null && METADATA_MEMBERS.every((member) => before[member] === after[member])) return;
  const bytes = metadataBytes(after);
  if (bytes <= MAX_METADATA_BYTES || (before !== null && bytes <= metadataBytes(before))) return;
  throw new InvalidInputError(
    `names and metadata of the schema, the table and its config: at most ${MAX_METADATA_BYTES} bytes in all`,
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
