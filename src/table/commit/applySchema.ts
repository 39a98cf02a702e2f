/**
 * Applies changes of the schema and metadata: columns that are added, altered and dropped, and the four text
 * maps (config, table metadata, schema metadata, field metadata). Drops an index together with its field.
 */

import { UnsupportedError } from "../../errors.js";
import type { Field } from "../../format/file.js";
import type { DataFragment, Merge, Project, UpdateConfig, UpdateMap } from "../../format/table.js";
import { fieldWithMetadata } from "../../schema/schemaEncoder.js";
import type { VersionContent } from "../versions/versionContent.js";
import { withUpdatedRows } from "./applyFragments.js";
import { TransactionConflictError } from "./conflictError.js";
import { retainIndices } from "./indexEntries.js";

/**
 * Replaces the schema, and all fragments by those that match it.
 * @param version number of the version that the change makes
 */
export function changeColumns(base: VersionContent, merge: Merge, version: number): VersionContent {
  const { manifest } = base;
  const { schema } = merge;
  const fragments = withUpdatedRows(manifest, merge.fragments, version).map(withoutDeadFiles(schema));
  // A merge without schema metadata leaves it as it is.
  const schemaMetadata = merge.schemaMetadata.size > 0 ? merge.schemaMetadata : manifest.schemaMetadata;
  return retainIndices({
    ...base,
    manifest: {
      ...manifest,
      fields: schema,
      schemaMetadata,
      fragments,
    },
  });
}

/**
 * Replaces the schema over the same files.
 * @throws TransactionConflictError if rows added since the plan would lose all their files, which the
 *   reference cannot read
 */
export function projectSchema(base: VersionContent, { schema }: Project): VersionContent {
  const fragments = base.manifest.fragments.map(withoutDeadFiles(schema));
  const bare = fragments.find((fragment) => fragment.files.length === 0);
  if (bare !== undefined) {
    throw new TransactionConflictError(
      "retryable",
      `fragment ${bare.id} of version ${base.manifest.version} has no values of the remaining columns`,
    );
  }
  return retainIndices({ ...base, manifest: { ...base.manifest, fields: schema, fragments } });
}

/** Drops files without any remaining field. A file with one keeps naming its dropped fields. */
function withoutDeadFiles(schema: readonly Field[]): (fragment: DataFragment) => DataFragment {
  const ids = new Set(schema.map((field) => field.id));
  return (fragment) => {
    const files = fragment.files.filter((file) => file.fields.some((id) => ids.has(id)));
    return files.length === fragment.files.length ? fragment : { ...fragment, files };
  };
}

/**
 * Changes the text maps.
 * @throws TransactionConflictError if a field is gone
 * @throws UnsupportedError for the forms that very old writers used
 */
export function changeMetadata(base: VersionContent, update: UpdateConfig): VersionContent {
  if (update.unknown !== undefined) {
    throw new UnsupportedError("config updates in their deprecated form cannot be committed");
  }
  const manifest = { ...base.manifest };
  manifest.config = updated(manifest.config, update.configUpdates, (value) => value);
  manifest.tableMetadata = updated(manifest.tableMetadata, update.tableMetadataUpdates, (value) => value);
  manifest.schemaMetadata = updated(manifest.schemaMetadata, update.schemaMetadataUpdates, encodeText);
  const perField = new Map(update.fieldMetadataUpdates.map((entry) => [entry.fieldId, entry.update]));
  const present = new Set(manifest.fields.map((field) => field.id));
  for (const id of perField.keys()) {
    if (present.has(id)) continue;
    throw new TransactionConflictError("retryable", `version ${manifest.version} no longer has field ${id}`);
  }
  manifest.fields = manifest.fields.map((field) =>
    perField.has(field.id)
      ? fieldWithMetadata(field, updated(field.metadata, perField.get(field.id), encodeText))
      : field,
  );
  return { ...base, manifest };
}

const encoder = new TextEncoder();
const encodeText = (text: string): Uint8Array => encoder.encode(text);

function updated<Value>(
  map: Map<string, Value>,
  update: UpdateMap | undefined,
  encode: (text: string) => Value,
): Map<string, Value> {
  if (update === undefined) return map;
  const result = new Map(update.replace ? [] : map);
  for (const { key, value } of update.updateEntries) {
    if (value === undefined) result.delete(key);
    else result.set(key, encode(value));
  }
  return result;
}
