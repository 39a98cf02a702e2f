/**
 * Projections of a version's columns. Programs ask for the same columns again and again, so the latest
 * projections of a version are kept.
 */

import { Field as ArrowField, Schema } from "apache-arrow";
import type { Steps } from "../../async/eventLoop.js";
import type { ColumnSelection } from "../../namespace/queries.js";
import { decodeSchema } from "../../schema/schema.js";
import { type ManifestFile, schemaMetadataOf } from "../../table/versions/manifest.js";
import { ColumnReads } from "./columnReads.js";
import { type Projection, type SelectionOptions, selectColumns } from "./projection.js";

/** Maximum number of projections that are kept for a version. */
const MOST_KEPT = 8;
/** Maximum number of names in a selection that is kept. */
const MOST_NAMES = 64;
/** Maximum length of the key of a projection that is kept. */
const MOST_CHARACTERS = 4096;

/** Kept projections by their selections, the oldest first. They go with their version. */
const keptOfVersions = new WeakMap<ManifestFile, Map<string, Projection>>();

/** Resolves the columns that a query of a version returns. @throws as {@link selectColumns} */
export function* projectionOf(
  file: ManifestFile,
  selection: ColumnSelection | undefined,
  options: SelectionOptions,
): Steps<Projection> {
  const { manifest } = file;
  const names = shortList(selection);
  const key = names === null ? null : keyOf(names, options);
  const kept = key === null ? undefined : keptOfVersions.get(file)?.get(key);
  if (kept !== undefined) return withOwnSchema(kept);
  const fields = decodeSchema(manifest.fields, file.path);
  const wanted = names ?? selection;
  const reads = new ColumnReads(fields);
  const projection = yield* selectColumns(fields, reads, schemaMetadataOf(manifest), wanted, options);
  if (key === null || !isFlat(projection)) return projection;
  const ofVersion = keptOfVersions.get(file) ?? new Map<string, Projection>();
  keptOfVersions.set(file, ofVersion);
  const [oldest] = ofVersion.keys();
  if (ofVersion.size >= MOST_KEPT) ofVersion.delete(oldest);
  ofVersion.set(key, projection);
  return withOwnSchema(projection);
}

/** Returns the key of a projection; null if it is too long to be kept. Only expressions have parameters. */
function keyOf(names: readonly string[], { withRowId, maxColumns }: SelectionOptions): string | null {
  const key = JSON.stringify([names, withRowId, maxColumns]);
  return key.length > MOST_CHARACTERS ? null : key;
}

/** Returns a copy of a list of few names, which the caller cannot change; null for any other selection. */
function shortList(selection: unknown): readonly string[] | null {
  if (!Array.isArray(selection) || selection.length > MOST_NAMES) return null;
  const names: unknown[] = [...selection];
  return names.every((name) => typeof name === "string") ? names : null;
}

/** True if no column has children: nobody can change the Arrow objects of its type. */
const isFlat = ({ schema }: Projection): boolean =>
  schema.fields.every(({ type }) => (type.children ?? []).length === 0);

/** Returns the projection with a schema that the caller may change: Arrow's has maps and lists. */
function withOwnSchema(projection: Projection): Projection {
  const { leaves, outputs, hasBlobs, withAddresses, measured, returned, schema } = projection;
  const fields = schema.fields.map(
    ({ name, type, nullable, metadata }) => new ArrowField(name, type, nullable, new Map(metadata)),
  );
  const ownSchema = new Schema(fields, new Map(schema.metadata));
  return { leaves, outputs, hasBlobs, withAddresses, measured, returned, schema: ownSchema };
}
