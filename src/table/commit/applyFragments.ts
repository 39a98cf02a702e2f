/**
 * Applies changes of rows: appends, deletions, updates, compactions and replaced files change the list of
 * fragments. A change applies to the current fragment, which may have newer columns than when the change was
 * planned.
 *
 * A new fragment comes with id 0 and gets the next number above the highest ever assigned. The fragments of a
 * compaction bring the numbers that they reserved. With stable row ids, new rows get the next unused ids, and
 * the number of the version that adds them.
 */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import {
  type DataFile,
  type DataFragment,
  type DataReplacement,
  type Delete,
  type Manifest,
  type Rewrite,
  RowDatasetVersionSequence,
  RowIdSequence,
  U64Range,
  U64Segment,
  UPDATE_MODE,
  type Update,
} from "../../format/table.js";
import { RowOrigins } from "../fragments/rowOrigins.js";
import {
  concatRuns,
  decodeLeadingRowIds,
  encodeRowIds,
  encodeRowVersions,
  rowsOfRuns,
  uniformRuns,
  type ValueRuns,
} from "../fragments/rowSequences.js";
import { hasStableRowIds } from "../versions/flags.js";
import type { VersionContent } from "../versions/versionContent.js";
import { TransactionConflictError } from "./conflictError.js";
import { coverMovedRows, remapIndices, uncoverFields } from "./indexEntries.js";

const MAX_FRAGMENT_ID = 0xffff_ffff;
/** File name in messages about row ids of a transaction. */
const TRANSACTION = "transaction";

/**
 * Appends fragments.
 * @param version number of the version that adds the rows
 * @param origins of rows that were moved and bring their ids; without it, all rows are new
 */
export function appendFragments(
  base: VersionContent,
  added: readonly DataFragment[],
  version: number,
  origins: RowOrigins | null = null,
): VersionContent {
  const manifest = { ...base.manifest };
  let highestId = highestFragmentId(manifest);
  const stable = hasStableRowIds(manifest);
  const numbered = added.map((fragment) => {
    highestId++;
    const result = { ...fragment, id: highestId };
    if (stable) manifest.nextRowId += assignRowIds(result, manifest.nextRowId, version, origins);
    return result;
  });
  manifest.fragments = [...manifest.fragments, ...numbered];
  manifest.maxFragmentId = checkedFragmentId(highestId);
  return { manifest, indexSectionBytes: base.indexSectionBytes };
}

/** Returns the highest fragment id ever assigned; -1 if there never was a fragment. */
export function highestFragmentId(manifest: Manifest): number {
  let highest = manifest.maxFragmentId ?? -1;
  for (const fragment of manifest.fragments) if (fragment.id > highest) highest = fragment.id;
  return highest;
}

/** @throws UnsupportedError beyond 32 bits */
function checkedFragmentId(highestId: number): number | undefined {
  if (highestId > MAX_FRAGMENT_ID) throw new UnsupportedError("the table has used up all 2^32 fragment ids");
  return highestId < 0 ? undefined : highestId;
}

/**
 * Gives rows of a new fragment ids from `firstRowId` on, created and last updated by `version`. Moved rows
 * come first and keep their ids and the versions that created them.
 * @returns number of new rows
 */
function assignRowIds(
  fragment: DataFragment,
  firstRowId: number,
  version: number,
  origins: RowOrigins | null,
): number {
  const rowCount = fragment.physicalRows;
  fragment.inlineLastUpdatedAtVersions = versionOfAll(rowCount, version);
  if (origins === null || fragment.inlineRowIds === undefined) {
    const segments = [rangeSegment(firstRowId, rowCount)];
    fragment.inlineRowIds = RowIdSequence.encode(RowIdSequence.create({ segments }));
    fragment.inlineCreatedAtVersions = fragment.inlineLastUpdatedAtVersions;
    return rowCount;
  }
  const moved = decodeLeadingRowIds(fragment.inlineRowIds, rowCount, TRANSACTION);
  const newRows = rowCount - rowsOfRuns(moved);
  if (newRows > 0) {
    const added: ValueRuns = { step: 1, values: [firstRowId], counts: [newRows] };
    fragment.inlineRowIds = encodeRowIds(concatRuns(1, [moved, added]));
  }
  const created = concatRuns(0, [origins.createdAt(moved), uniformRuns(version, newRows)]);
  fragment.inlineCreatedAtVersions = encodeRowVersions(created);
  return newRows;
}

/** Encodes one version for all rows of a fragment. */
function versionOfAll(rowCount: number, version: number): Uint8Array {
  const runs = [{ span: rangeSegment(0, rowCount), version }];
  return RowDatasetVersionSequence.encode(RowDatasetVersionSequence.create({ runs }));
}

const rangeSegment = (start: number, count: number): U64Segment =>
  U64Segment.create({ range: U64Range.create({ start, end: start + count }) });

/**
 * Changes the fragments of a column change. With stable row ids, the rows of a fragment whose files changed
 * count as updated by `version`.
 */
export function withUpdatedRows(
  base: Manifest,
  fragments: readonly DataFragment[],
  version: number,
): readonly DataFragment[] {
  if (!hasStableRowIds(base)) return fragments;
  const before = new Map(base.fragments.map((fragment) => [fragment.id, fragment]));
  const namesOf = (fragment: DataFragment | undefined) => fragment?.files.map((file) => file.path).join("/");
  return fragments.map((fragment) =>
    namesOf(fragment) === namesOf(before.get(fragment.id))
      ? fragment
      : { ...fragment, inlineLastUpdatedAtVersions: versionOfAll(fragment.physicalRows, version) },
  );
}

/** Reserves ids, for a compaction that writes its fragments before it commits them. */
export function reserveFragmentIds(base: VersionContent, count: number): VersionContent {
  const maxFragmentId = checkedFragmentId(highestFragmentId(base.manifest) + count);
  return { ...base, manifest: { ...base.manifest, maxFragmentId } };
}

/** @throws TransactionConflictError if a fragment is gone */
export function deleteRows(
  base: VersionContent,
  { updatedFragments, deletedFragmentIds }: Delete,
): VersionContent {
  const fragments = changeFragments(base, updatedFragments, deletedFragmentIds, (now, { deletionFile }) => ({
    ...now,
    deletionFile,
  }));
  return { ...base, manifest: { ...base.manifest, fragments } };
}

/**
 * Moves rows to new fragments. With stable row ids, the update brings their ids, and this function looks up
 * the versions that created them in the fragments that they come from.
 * @throws TransactionConflictError if a fragment is gone
 * @throws InvalidInputError if a new row has the id of a row that does not move
 */
export function updateRows(base: VersionContent, update: Update, version: number): VersionContent {
  const { updatedFragments, removedFragmentIds, newFragments } = update;
  const inPlace = update.updateMode === UPDATE_MODE.rewriteColumns;
  const fragments = changeFragments(base, updatedFragments, removedFragmentIds, (now, planned) =>
    inPlace ? planned : { ...now, deletionFile: planned.deletionFile },
  );
  const updated = { ...base, manifest: { ...base.manifest, fragments } };
  const ids = new Set(updatedFragments.map((fragment) => fragment.id));
  const indexed = inPlace ? uncoverFields(updated, update.fieldsModified, ids) : updated;
  if (!hasStableRowIds(base.manifest)) return appendFragments(indexed, newFragments, version);
  const left = new Set([...ids, ...removedFragmentIds]);
  const origins = new RowOrigins(base.manifest.fragments.filter((fragment) => left.has(fragment.id)));
  const appended = appendFragments(indexed, newFragments, version, origins);
  if (inPlace) return appended;
  const firstNew = appended.manifest.fragments.length - newFragments.length;
  const movedTo = appended.manifest.fragments
    .slice(firstNew)
    .filter((_, index) => holdsMovedRowsOnly(newFragments[index]));
  return coverMovedRows(
    appended,
    update.fieldsForPreservingFragBitmap,
    [...left],
    movedTo.map((fragment) => fragment.id),
  );
}

/** Returns true if all rows of a new fragment bring their ids. */
const holdsMovedRowsOnly = ({ inlineRowIds, physicalRows }: DataFragment): boolean =>
  inlineRowIds !== undefined &&
  rowsOfRuns(decodeLeadingRowIds(inlineRowIds, physicalRows, TRANSACTION)) === physicalRows;

/** Returns the fragments in order, without those of `removedIds`. `change` replaces those of `changed`. */
function changeFragments(
  { manifest }: VersionContent,
  changed: readonly DataFragment[],
  removedIds: readonly number[],
  change: (now: DataFragment, planned: DataFragment) => DataFragment,
): DataFragment[] {
  const planned = new Map(changed.map((fragment) => [fragment.id, fragment]));
  const removed = new Set(removedIds);
  requireFragments(manifest, [...planned.keys(), ...removed]);
  return manifest.fragments
    .filter((fragment) => !removed.has(fragment.id))
    .map((fragment) => {
      const update = planned.get(fragment.id);
      return update === undefined ? fragment : change(fragment, update);
    });
}

function requireFragments(manifest: Manifest, ids: readonly number[]): void {
  const present = new Set(manifest.fragments.map((fragment) => fragment.id));
  const missing = ids.find((id) => !present.has(id));
  if (missing === undefined) return;
  throw new TransactionConflictError(
    "retryable",
    `version ${manifest.version} no longer has fragment ${missing}`,
  );
}

/**
 * Replaces fragments by new ones that hold the same rows. Sorts all fragments by id afterwards, because
 * readers that look fragments up by id rely on it.
 * @throws TransactionConflictError if a fragment is gone, has rows deleted since, or a new one's id exists
 * @throws InvalidInputError if an index covers only a part of a group, or is not rewritten along with it
 */
export function rewriteFragments(base: VersionContent, rewrite: Rewrite): VersionContent {
  const { manifest } = base;
  const now = new Map(manifest.fragments.map((fragment) => [fragment.id, fragment]));
  const oldFragments = rewrite.groups.flatMap((group) => group.oldFragments);
  requireFragments(
    manifest,
    oldFragments.map((fragment) => fragment.id),
  );
  for (const old of oldFragments) {
    const current = now.get(old.id);
    if (current?.deletionFile?.id === old.deletionFile?.id) continue;
    throw new TransactionConflictError("retryable", `rows of fragment ${old.id} were deleted meanwhile`);
  }
  let highestId = highestFragmentId(manifest);
  const groups = rewrite.groups.map((group) => ({
    oldIds: group.oldFragments.map((fragment) => fragment.id),
    newFragments: group.newFragments.map((fragment) => {
      const id = fragment.id === 0 ? highestId + 1 : fragment.id;
      highestId = Math.max(highestId, id);
      return { ...fragment, id };
    }),
  }));
  const removed = new Set(groups.flatMap((group) => group.oldIds));
  const added = groups.flatMap((group) => group.newFragments);
  const kept = manifest.fragments.filter((fragment) => !removed.has(fragment.id));
  requireFreeIds(manifest, kept, added);
  const fragments = [...kept, ...added];
  fragments.sort((a, b) => a.id - b.id);
  const replaced = groups.map(({ oldIds, newFragments }) => ({
    oldIds,
    newIds: newFragments.map((fragment) => fragment.id),
  }));
  return remapIndices(
    { ...base, manifest: { ...manifest, fragments, maxFragmentId: checkedFragmentId(highestId) } },
    replaced,
    rewrite.rewrittenIndices,
  );
}

/**
 * Refuses ids that another fragment has. Reserved ids can exist nevertheless: a staged version may have been
 * written before the reservation and have such ids.
 */
function requireFreeIds(
  manifest: Manifest,
  kept: readonly DataFragment[],
  added: readonly DataFragment[],
): void {
  const taken = new Set(kept.map((fragment) => fragment.id));
  const twice = added.find((fragment) => taken.has(fragment.id));
  if (twice === undefined) return;
  throw new TransactionConflictError(
    "retryable",
    `version ${manifest.version} gave the reserved id ${twice.id} to another fragment`,
  );
}

/**
 * Replaces files by new ones for the same fields of the same rows.
 * @throws TransactionConflictError if a fragment is gone
 * @throws InvalidInputError if a file holds other fields than the one that it replaces
 */
export function replaceFiles(base: VersionContent, { replacements }: DataReplacement): VersionContent {
  requireFragments(
    base.manifest,
    replacements.map((replacement) => replacement.fragmentId),
  );
  let content = base;
  for (const { fragmentId, newFile } of replacements) {
    if (newFile === undefined) throw new InvalidInputError(`fragment ${fragmentId} has no file`);
    const fragments = content.manifest.fragments.map((fragment) =>
      fragment.id === fragmentId ? { ...fragment, files: withFile(fragment, newFile) } : fragment,
    );
    const replaced = { ...content, manifest: { ...content.manifest, fragments } };
    content = uncoverFields(replaced, newFile.fields, new Set([fragmentId]));
  }
  return content;
}

function withFile(fragment: DataFragment, newFile: DataFile): DataFile[] {
  const fields = new Set(newFile.fields);
  const touched = fragment.files.filter((file) => file.fields.some((id) => fields.has(id)));
  // Columns without a file have only been null so far.
  if (touched.length === 0) return [...fragment.files, newFile];
  const [old] = touched;
  const isSame =
    touched.length === 1 && old.fields.length === fields.size && old.fields.every((id) => fields.has(id));
  if (!isSame) {
    throw new InvalidInputError(`fragment ${fragment.id}: the new file holds other fields than the old one`);
  }
  return fragment.files.map((file) => (file === old ? newFile : file));
}
