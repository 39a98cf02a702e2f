/**
 * Plans changes of the metadata of fields and of the schema. Pure; writes no data. Keys that describe stored
 * values can't change once the table has files. Keys of the primary key and of computed columns follow
 * LanceDB's rules.
 */

import { arrowFieldFromLogical, EXTENSION_NAME_KEY, logicalFieldOf } from "../../arrow/types/logicalTypes.js";
import { isSameType, typeInText } from "../../arrow/types/type.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import {
  FieldMetadataUpdatesEntry,
  type Transaction,
  UpdateConfig,
  UpdateMap,
  UpdateMapEntry,
} from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import { declarationOf } from "../../schema/computedFields.js";
import { allFields, type FieldAtPath, resolveField } from "../../schema/fieldPaths.js";
import {
  decodeSchema,
  isPacked,
  isPrimaryKey,
  type NewField,
  PRIMARY_KEY,
  PRIMARY_KEY_POSITION,
  specialStorage,
  storageOf,
  type TableField,
} from "../../schema/schema.js";
import { newTransaction } from "../../table/commit/transaction.js";
import type { ManifestFile } from "../../table/versions/manifest.js";

/** One metadata change of a request. */
export interface MetadataChange {
  readonly path: string;
  /** New values by key; null deletes a key. */
  readonly metadata: Readonly<Record<string, string | null>>;
  /** True if the earlier metadata is removed first. */
  readonly replace: boolean;
}

export interface FieldMetadataPlan {
  readonly transaction: Transaction;
  /** By canonical path: resulting metadata of a field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Prefix of the keys that declare computed columns. */
const COMPUTED_COLUMN = "computed_column";
/** Key of the schema's metadata. */
const FUNCTION_BINDINGS = "lancedb::function_bindings";

const utf8 = new TextDecoder();

/** Metadata of a field while changes are applied, and the combined change. */
interface PendingUpdate {
  readonly field: FieldAtPath;
  metadata: Map<string, string>;
  entries: Map<string, string | null>;
  replace: boolean;
}

/**
 * Applies changes in order; several may name the same field.
 * @throws TableColumnNotFoundError, InvalidInputError if one of the changes is not allowed
 */
export function planFieldMetadata(base: ManifestFile, changes: readonly MetadataChange[]): FieldMetadataPlan {
  const { manifest } = base;
  const fields = decodeSchema(manifest.fields, base.path);
  const pending = new Map<number, PendingUpdate>();
  for (const change of changes) {
    const field = resolveField(fields, change.path);
    const update = pending.get(field.field.id) ?? {
      field,
      metadata: new Map(field.field.metadata),
      entries: new Map(),
      replace: false,
    };
    pending.set(field.field.id, update);
    checkReservedKeys(fields, field, change);
    applyChange(update, change);
  }
  for (const update of pending.values()) checkResult(update, manifest.fragments.length > 0);
  const fieldMetadataUpdates = Array.from(pending, ([fieldId, { entries, replace }]) =>
    FieldMetadataUpdatesEntry.create({ fieldId, update: encodeUpdate(entries, replace) }),
  );
  return {
    transaction: newTransaction(
      manifest.version,
      "updateConfig",
      UpdateConfig.create({ fieldMetadataUpdates }),
    ),
    fields: new Map(Array.from(pending.values(), ({ field, metadata }) => [field.path, metadata])),
  };
}

/**
 * Replaces all metadata of the schema.
 * @throws InvalidInputError if that would delete the rules of computed columns from the engine that computes
 *   them
 */
export function planSchemaMetadata(base: ManifestFile, metadata: ReadonlyMap<string, string>): Transaction {
  refuseLostRules(base, metadata);
  const update = UpdateConfig.create({ schemaMetadataUpdates: encodeUpdate(metadata, true) });
  return newTransaction(base.manifest.version, "updateConfig", update);
}

/** Changes the config of a table. @param entries values by key; null removes a key */
export const planConfig = (base: ManifestFile, entries: ReadonlyMap<string, string | null>): Transaction =>
  newTransaction(
    base.manifest.version,
    "updateConfig",
    UpdateConfig.create({ configUpdates: encodeUpdate(entries, false) }),
  );

/** Plans a change of a field's metadata that needs no check. */
export function planOwnMetadata(
  { manifest }: ManifestFile,
  fieldId: number,
  entries: ReadonlyMap<string, string>,
): Transaction {
  const entry = FieldMetadataUpdatesEntry.create({ fieldId, update: encodeUpdate(entries, false) });
  return newTransaction(
    manifest.version,
    "updateConfig",
    UpdateConfig.create({ fieldMetadataUpdates: [entry] }),
  );
}

/** Refuses to delete LanceDB's rules of `function` columns, which no other engine can write again. */
function refuseLostRules({ manifest, path }: ManifestFile, metadata: ReadonlyMap<string, string>): void {
  const rules = manifest.schemaMetadata.get(FUNCTION_BINDINGS);
  if (rules === undefined || metadata.get(FUNCTION_BINDINGS) === utf8.decode(rules)) return;
  const fields = decodeSchema(manifest.fields, path);
  const foreign = fields.find((field) => declarationOf(field)?.kind === "foreign");
  if (foreign === undefined) return;
  throw new InvalidInputError(
    `metadata: ${FUNCTION_BINDINGS} says what computes column ${formatFieldPath([foreign.name])}; pass it as it is, or drop the column first`,
  );
}

function encodeUpdate(entries: ReadonlyMap<string, string | null>, replace: boolean): UpdateMap {
  const updateEntries = Array.from(entries, ([key, value]) =>
    UpdateMapEntry.create({ key, value: value ?? undefined }),
  );
  return UpdateMap.create({ updateEntries, replace });
}

function applyChange(update: PendingUpdate, { metadata, replace }: MetadataChange): void {
  if (replace) {
    update.metadata = new Map();
    update.entries = new Map();
    update.replace = true;
  }
  for (const [key, value] of Object.entries(metadata)) {
    update.entries.set(key, value);
    if (value === null) update.metadata.delete(key);
    else update.metadata.set(key, value);
  }
}

/** @throws InvalidInputError for keys that this call may not change */
function checkReservedKeys(
  fields: readonly TableField[],
  located: FieldAtPath,
  change: MetadataChange,
): void {
  const { path, field } = located;
  const touched = [...Object.keys(change.metadata), ...(change.replace ? field.metadata.keys() : [])];
  if (touched.some((key) => key === COMPUTED_COLUMN || key.startsWith(`${COMPUTED_COLUMN}.`))) {
    throw new InvalidInputError(
      `field ${path}: the declaration of a computed column cannot be edited; drop the column and declare it again`,
    );
  }
  const keys = touched.filter((key) => key === PRIMARY_KEY || key === PRIMARY_KEY_POSITION);
  if (keys.length === 0) return;
  for (const { path: keyPath, field: keyField } of allFields(fields)) {
    if (!isPrimaryKey(keyField.metadata)) continue;
    throw new InvalidInputError(
      `field ${path}: ${keys[0]} cannot be changed: the table has a primary key, with ${keyPath}`,
    );
  }
  const { metadata } = change;
  const set = new Map(keys.flatMap((key) => (metadata[key] == null ? [] : [[key, metadata[key]] as const])));
  if (set.size < keys.length || !isPrimaryKey(set)) {
    throw new InvalidInputError(
      `field ${path}: ${keys[0]} cannot have this value: set ${PRIMARY_KEY} to "true", or ${PRIMARY_KEY_POSITION} to a number`,
    );
  }
}

/** @throws InvalidInputError, UnsupportedError if the field can't have the resulting metadata */
function checkResult({ field: located, metadata }: PendingUpdate, hasFiles: boolean): void {
  const { path, field } = located;
  if (isPrimaryKey(metadata)) checkPrimaryKey(located);
  const changed = { ...field, metadata };
  const special = specialStorage(changed);
  if (special !== null && special !== specialStorage(field)) {
    throw new UnsupportedError(`field ${path}: ${special} are not supported by this release`);
  }
  if (metadata.get(EXTENSION_NAME_KEY) !== field.metadata.get(EXTENSION_NAME_KEY))
    checkExtension(changed, path);
  if (!hasFiles) return;
  if (storageOf(changed) === storageOf(field) && isPacked(changed) === isPacked(field)) return;
  throw new InvalidInputError(
    `field ${path}: this metadata says how files store the values, and the table has files that store them in another way`,
  );
}

/** @throws InvalidInputError if the extension type implies another type than the field's */
export function checkExtension(field: NewField, path: string): void {
  const { type } = logicalFieldOf(arrowFieldFromLogical(field, path), path);
  if (isSameType(type, field.type)) return;
  throw new InvalidInputError(
    `field ${path}: ${EXTENSION_NAME_KEY} cannot be ${field.metadata.get(EXTENSION_NAME_KEY)}: the field is of type ${typeInText(field.type)}, not ${typeInText(type)}`,
  );
}

/** @throws InvalidInputError if the field, a part of the primary key, or a field around it is nullable */
export function checkPrimaryKey({ path, chain }: FieldAtPath): void {
  if (!chain.some((field) => field.nullable)) return;
  throw new InvalidInputError(
    `field ${path} cannot be part of the primary key: the field, or one around it, is nullable`,
  );
}
