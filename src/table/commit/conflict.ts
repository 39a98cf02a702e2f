/**
 * Decides if a transaction that was planned on an older version may be committed over a newer commit. The
 * table equals the reference's (rows: mine; columns: the committed one), so that engines that share a table
 * agree:
 *
 *                      Append Delete  Overwr Create Rewrite Merge Project Restore Reserve Update  Data
 *                             Update  ite    Index                                        Config  Replacement
 *       Append         ok     ok      X      ok     ok      ok 1  ok 1    X       ok      ok      ok
 *       Delete, Update ok     R frag  X      ok     R frag  R     ok      X       ok      ok      R frag
 *       Overwrite      ok     ok      R      ok     ok      ok    ok      ok      ok      X key   ok
 *       CreateIndex    ok     ok 5    X      R name R cover ok    ok      X       ok      ok      R field
 *       Rewrite        ok     R frag  X      R cover R frag R     ok      X       ok      ok      R frag
 *       Merge          R      R       X      ok     R       R     X       X       ok      ok 3    R
 *       Project        ok 4   ok 4    X      ok     ok      R     R       X       ok      ok 3    ok 4
 *       Restore        ok     ok      ok     ok     ok      ok    ok      ok      ok      ok      ok
 *       Reserve        ok     ok      X      ok     ok      ok    ok      X       ok      ok      ok
 *       UpdateConfig   ok     ok      X 2    ok     ok      R     ok      ok      ok      X key   ok
 *       DataReplacement ok    ok      X      R field R frag ok    ok      X       ok      ok      R both
 *
 * R = retryable, X = incompatible. `frag`, `key` and so on: only if both touch the same one. An index on a
 * field also concerns the field's parents and children (stricter than the reference).
 *
 * 1. R if rows written under the older schema could break a NOT NULL column, or have values for a dropped
 *    column.
 * 2. X only if metadata or the same key is set.
 * 3. R if the committed one sets field or schema metadata, which the schema of mine would revert (stricter).
 * 4. R if mine may change nullability and the committed one brings values (stricter).
 * 5. R if the committed one changed an indexed column in place (stricter).
 *
 * Being stricter only means to plan again. Cloning and adding base paths conflict with nothing. An unknown
 * operation conflicts with everything but a restore, which needs nothing of the current version.
 */

import type { Field } from "../../format/file.js";
import type {
  DataFragment,
  DataReplacement,
  IndexMetadata,
  Merge,
  Overwrite,
  Project,
  Rewrite,
  Transaction,
  UpdateConfig,
  UpdateMap,
} from "../../format/table.js";
import type { ConflictVerdict } from "./conflictError.js";
import { coverageOf } from "./indexCoverage.js";
import { withRelatedFields } from "./relatedFields.js";
import { type Operation, type OperationKind, operationOf } from "./transaction.js";

type OperationOf<Kind extends OperationKind> = Extract<Operation, { kind: Kind }>;

/**
 * Judges the commit of `mine` over `committed`, which was committed after the version that mine was planned
 * on.
 * @param schema returns the fields of the version to commit over, for parents and children of columns
 */
export function checkConflict(
  mine: Transaction,
  committed: Transaction,
  schema: () => readonly Field[],
): ConflictVerdict {
  const a = operationOf(mine);
  const b = operationOf(committed);
  if (a.kind === "restore") return "ok";
  if (a.kind === "unknown" || b.kind === "unknown") return "incompatible";
  if (a.kind === "clone" || a.kind === "updateBases") return "ok";
  if (b.kind === "clone" || b.kind === "updateBases" || b.kind === "reserveFragments") return "ok";
  if (a.kind === "updateMemWalState" || b.kind === "updateMemWalState") return checkMemWal(a.kind, b.kind);
  if (a.kind === "overwrite") return checkOverwrite(a.value, b);
  if (a.kind === "updateConfig") return checkUpdateConfig(a.value, b);
  if (b.kind === "overwrite" || b.kind === "restore") return "incompatible";
  switch (a.kind) {
    case "append":
      return checkAppend(a.value.fragments, b);
    case "delete":
    case "update":
      return checkRowChange(a, b);
    case "createIndex":
      return checkCreateIndex(a, b, schema);
    case "rewrite":
      return checkRewrite(a.value, b);
    case "merge":
      return checkMerge(b);
    case "project":
      return checkProject(a.value, b);
    case "reserveFragments":
      return "ok";
    case "dataReplacement":
      return checkDataReplacement(a.value, b, schema);
  }
}

/**
 * Returns the fields for which a transaction brings values or an index, and which it names only by id. The id
 * of a dropped field may be reused for a field that must not get these values or this index.
 */
export function namedFields(mine: Transaction): ReadonlySet<number> {
  const operation = operationOf(mine);
  switch (operation.kind) {
    case "append":
      return new Set(operation.value.fragments.flatMap(({ files }) => files.flatMap((file) => file.fields)));
    case "dataReplacement":
      return new Set(operation.value.replacements.flatMap(({ newFile }) => newFile?.fields ?? []));
    case "createIndex":
      return new Set(operation.value.newIndices.flatMap((index) => index.fields));
    default:
      // All other operations conflict with every operation that can reassign ids.
      return new Set();
  }
}

/** Returns true if a transaction leaves the fields of the version as they are. */
export function keepsFields(committed: Transaction): boolean {
  const { kind } = operationOf(committed);
  switch (kind) {
    case "append":
    case "delete":
    case "update":
    case "rewrite":
    case "dataReplacement":
    case "createIndex":
    case "reserveFragments":
    case "updateConfig":
      return true;
    default:
      return false;
  }
}

const retryableIf = (clash: boolean): ConflictVerdict => (clash ? "retryable" : "ok");
const incompatibleIf = (clash: boolean): ConflictVerdict => (clash ? "incompatible" : "ok");

// ------------------------------------------------------------------------------------------------- rows

function checkAppend(fragments: readonly DataFragment[], committed: Operation): ConflictVerdict {
  if (committed.kind === "merge") {
    return retryableIf(
      lacksRequiredColumn(fragments, committed.value) || hasOtherColumn(fragments, committed.value),
    );
  }
  // The appended rows were never checked against tightened nullability.
  if (committed.kind === "project") return retryableIf(!committed.value.preservesNullability);
  return "ok";
}

/** Returns true if the fragments have values for a column that the new schema lacks; they would be lost. */
function hasOtherColumn(fragments: readonly DataFragment[], merge: Merge): boolean {
  const ids = new Set(merge.schema.map((field) => field.id));
  return fragments.some((fragment) => fragment.files.some((file) => file.fields.some((id) => !ids.has(id))));
}

/** Returns true if the fragments lack values for a NOT NULL column of the new schema. */
function lacksRequiredColumn(fragments: readonly DataFragment[], merge: Merge): boolean {
  const parents = new Set(merge.schema.map((field) => field.parentId));
  const required = merge.schema.filter((field) => !field.nullable && !parents.has(field.id));
  return fragments.some((fragment) => {
    const stored = new Set(fragment.files.flatMap((file) => file.fields));
    return required.some((field) => isRequiredFromTheTop(field, merge.schema) && !stored.has(field.id));
  });
}

/** Returns true if a leaf and all its parents are NOT NULL. It may be missing along with a parent. */
function isRequiredFromTheTop(leaf: Field, schema: readonly Field[]): boolean {
  const byId = new Map(schema.map((field) => [field.id, field]));
  let field: Field | undefined = leaf;
  for (let depth = 0; field !== undefined && depth <= schema.length; depth++) {
    if (field.nullable) return false;
    field = byId.get(field.parentId);
  }
  return true;
}

function checkRowChange(mine: OperationOf<"delete" | "update">, committed: Operation): ConflictVerdict {
  switch (committed.kind) {
    case "merge":
      return "retryable";
    case "delete":
    case "update":
    case "rewrite":
    case "dataReplacement":
      return retryableIf(intersect(touchedFragments(mine), touchedFragments(committed)));
    case "project":
      // The new rows were never checked against tightened nullability.
      return retryableIf(
        mine.kind === "update" && mine.value.newFragments.length > 0 && !committed.value.preservesNullability,
      );
    default:
      return "ok";
  }
}

/** Returns the ids of the fragments that an operation changes or removes. */
function touchedFragments(operation: Operation): Set<number> {
  switch (operation.kind) {
    case "delete":
      return new Set([
        ...operation.value.updatedFragments.map((fragment) => fragment.id),
        ...operation.value.deletedFragmentIds,
      ]);
    case "update":
      return new Set([
        ...operation.value.updatedFragments.map((fragment) => fragment.id),
        ...operation.value.removedFragmentIds,
      ]);
    case "rewrite":
      return rewrittenFragments(operation.value);
    case "dataReplacement":
      return new Set(operation.value.replacements.map((replacement) => replacement.fragmentId));
    default:
      return new Set();
  }
}

const rewrittenFragments = (rewrite: Rewrite): Set<number> =>
  new Set(rewrite.groups.flatMap((group) => group.oldFragments.map((fragment) => fragment.id)));

function intersect<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  for (const element of small) if (large.has(element)) return true;
  return false;
}

function checkRewrite(mine: Rewrite, committed: Operation): ConflictVerdict {
  switch (committed.kind) {
    case "merge":
      return "retryable";
    case "createIndex":
      return retryableIf(coversAny(committed.value.newIndices, rewrittenFragments(mine)));
    case "delete":
    case "update":
    case "rewrite":
    case "dataReplacement":
      return retryableIf(intersect(rewrittenFragments(mine), touchedFragments(committed)));
    default:
      return "ok";
  }
}

// ------------------------------------------------------------------------------------- schema and content

function checkOverwrite(mine: Overwrite, committed: Operation): ConflictVerdict {
  if (committed.kind === "overwrite") return "retryable";
  if (committed.kind !== "updateConfig") return "ok";
  const keys = new Set(mine.configUpsertValues.keys());
  return incompatibleIf(keys.size > 0 && touchesKeys(committed.value.configUpdates, keys, committed.value));
}

function checkMerge(committed: Operation): ConflictVerdict {
  switch (committed.kind) {
    case "project":
      return "incompatible";
    case "append":
    case "delete":
    case "update":
    case "rewrite":
    case "merge":
    case "dataReplacement":
      return "retryable";
    case "updateConfig":
      return retryableIf(changesSchemaMetadata(committed.value));
    default:
      return "ok";
  }
}

function checkProject(mine: Project, committed: Operation): ConflictVerdict {
  switch (committed.kind) {
    case "merge":
    case "project":
      return "retryable";
    case "append":
    case "update":
    case "dataReplacement":
      // The new rows were never checked against a column that becomes NOT NULL.
      return retryableIf(!mine.preservesNullability);
    case "updateConfig":
      return retryableIf(changesSchemaMetadata(committed.value));
    default:
      return "ok";
  }
}

/** Returns true if the update sets metadata that a schema planned before it would revert. */
const changesSchemaMetadata = (update: UpdateConfig): boolean =>
  isChange(update.schemaMetadataUpdates) ||
  update.fieldMetadataUpdates.length > 0 ||
  update.unknown !== undefined;

function checkDataReplacement(
  mine: DataReplacement,
  committed: Operation,
  schema: () => readonly Field[],
): ConflictVerdict {
  switch (committed.kind) {
    case "createIndex":
      return retryableIf(hasIndexOnAny(committed.value.newIndices, replacedFields(mine), schema));
    case "rewrite": {
      const replaced = new Set(mine.replacements.map((replacement) => replacement.fragmentId));
      return retryableIf(intersect(replaced, rewrittenFragments(committed.value)));
    }
    case "dataReplacement":
      return retryableIf(intersect(replacedCells(mine), replacedCells(committed.value)));
    default:
      return "ok";
  }
}

const replacedFields = (replacement: DataReplacement): number[] =>
  replacement.replacements.flatMap((group) => group.newFile?.fields ?? []);

/** Returns pairs of fragment and field as texts. */
const replacedCells = (replacement: DataReplacement): Set<string> =>
  new Set(
    replacement.replacements.flatMap((group) =>
      (group.newFile?.fields ?? []).map((field) => `${group.fragmentId}:${field}`),
    ),
  );

// ----------------------------------------------------------------------------------------------- indexes

function checkCreateIndex(
  mine: OperationOf<"createIndex">,
  committed: Operation,
  schema: () => readonly Field[],
): ConflictVerdict {
  switch (committed.kind) {
    case "createIndex":
      return retryableIf(intersect(indexNames(mine), indexNames(committed)));
    case "rewrite":
      return retryableIf(coversAny(mine.value.newIndices, rewrittenFragments(committed.value)));
    case "dataReplacement":
      return retryableIf(hasIndexOnAny(mine.value.newIndices, replacedFields(committed.value), schema));
    case "update":
      // Empty unless the update changed columns in place.
      return retryableIf(hasIndexOnAny(mine.value.newIndices, committed.value.fieldsModified, schema));
    default:
      return "ok";
  }
}

const indexNames = ({ value }: OperationOf<"createIndex">): Set<string> =>
  new Set([...value.newIndices, ...value.removedIndices].map((index) => index.name));

/** Returns true if an index is on any of the fields, or on their parents or children. */
function hasIndexOnAny(
  indices: readonly IndexMetadata[],
  fields: readonly number[],
  schema: () => readonly Field[],
): boolean {
  if (indices.length === 0 || fields.length === 0) return false;
  const indexed = new Set(indices.flatMap((index) => [...index.fields, ...index.coveringFields]));
  return intersect(indexed, withRelatedFields(schema(), fields));
}

/** Returns true if an index covers one of the fragments. An index without a bitmap may cover any. */
function coversAny(indices: readonly IndexMetadata[], fragmentIds: ReadonlySet<number>): boolean {
  return indices.some((index) => {
    const covered = coverageOf(index);
    return covered === null ? fragmentIds.size > 0 : intersect(covered, fragmentIds);
  });
}

// ------------------------------------------------------------------------------------------------ config

function checkUpdateConfig(mine: UpdateConfig, committed: Operation): ConflictVerdict {
  switch (committed.kind) {
    case "merge":
      return "retryable";
    case "overwrite": {
      const keys = new Set(committed.value.configUpsertValues.keys());
      const setsMetadata =
        isChange(mine.tableMetadataUpdates) ||
        isChange(mine.schemaMetadataUpdates) ||
        mine.fieldMetadataUpdates.length > 0;
      return incompatibleIf(setsMetadata || (keys.size > 0 && touchesKeys(mine.configUpdates, keys, mine)));
    }
    case "updateConfig":
      return incompatibleIf(updateConfigsClash(mine, committed.value));
    default:
      return "ok";
  }
}

function updateConfigsClash(a: UpdateConfig, b: UpdateConfig): boolean {
  if (a.unknown !== undefined || b.unknown !== undefined) return true;
  const fieldsOf = (update: UpdateConfig) =>
    new Set(update.fieldMetadataUpdates.map((fieldUpdate) => fieldUpdate.fieldId));
  return (
    mapsClash(a.configUpdates, b.configUpdates) ||
    mapsClash(a.tableMetadataUpdates, b.tableMetadataUpdates) ||
    (isChange(a.schemaMetadataUpdates) && isChange(b.schemaMetadataUpdates)) ||
    intersect(fieldsOf(a), fieldsOf(b))
  );
}

const isChange = (update: UpdateMap | undefined): boolean =>
  update !== undefined && (update.replace || update.updateEntries.length > 0);

function mapsClash(a: UpdateMap | undefined, b: UpdateMap | undefined): boolean {
  if (a === undefined || b === undefined || !isChange(a) || !isChange(b)) return false;
  if (a.replace || b.replace) return true;
  return intersect(keysOf(a), keysOf(b));
}

const keysOf = (update: UpdateMap): Set<string> => new Set(update.updateEntries.map((entry) => entry.key));

/** Returns true if an update sets one of the keys. The deprecated forms, in `unknown`, may set any key. */
function touchesKeys(update: UpdateMap | undefined, keys: ReadonlySet<string>, whole: UpdateConfig): boolean {
  if (whole.unknown !== undefined) return true;
  return update !== undefined && (update.replace || intersect(keysOf(update), keys));
}

// ------------------------------------------------------------------------------------------- write-ahead log

/** Operations that a change of the write-ahead log's state tolerates. */
const MEM_WAL_NEUTRAL: ReadonlySet<string> = new Set([
  "createIndex",
  "rewrite",
  "reserveFragments",
  "updateConfig",
  "dataReplacement",
]);

function checkMemWal(mine: OperationKind, committed: OperationKind): ConflictVerdict {
  if (mine === committed) return "retryable";
  return incompatibleIf(!MEM_WAL_NEUTRAL.has(mine === "updateMemWalState" ? committed : mine));
}
