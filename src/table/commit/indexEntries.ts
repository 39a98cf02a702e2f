/**
 * Updates the list of a version's indexes when the table changes. The bitmap of an index names the fragments
 * that it covers; queries scan the others. Leaving a fragment out of the bitmap is always correct. Naming a
 * changed fragment never is.
 */

import { InvalidInputError } from "../../errors.js";
import type { CreateIndex, IndexMetadata, RewrittenIndex, Uuid } from "../../format/table.js";
import { hasStableRowIds } from "../versions/flags.js";
import { encodeIndexSection, indicesOf, type VersionContent } from "../versions/versionContent.js";
import { coverageOf, usesRowAddresses, withCoverage } from "./indexCoverage.js";
import { withRelatedFields } from "./relatedFields.js";

/**
 * Name of the index that records merged fragments while other indexes still use the old row addresses. If it
 * exists, an index covers more than its bitmap tells.
 */
export const DEFERRED_REMAP_INDEX = "__lance_frag_reuse";

const keyOf = (id: Uuid | undefined): string => Array.from(id?.uuid ?? []).join(",");

const withIndices = (content: VersionContent, indices: readonly IndexMetadata[]): VersionContent => ({
  ...content,
  indexSectionBytes: encodeIndexSection(indices),
});

/** Adds and removes indexes. The segments of one index share its name, so this compares ids only. */
export function changeIndices(
  base: VersionContent,
  { newIndices, removedIndices }: CreateIndex,
): VersionContent {
  const gone = new Set([...removedIndices, ...newIndices].map((index) => keyOf(index.uuid)));
  const kept = indicesOf(base).filter((index) => !gone.has(keyOf(index.uuid)));
  return withIndices(base, [...kept, ...newIndices]);
}

/** Drops indexes on fields that the schema no longer has. */
export function retainIndices(content: VersionContent): VersionContent {
  if (content.indexSectionBytes === null) return content;
  const ids = new Set(content.manifest.fields.map((field) => field.id));
  const indices = indicesOf(content);
  const kept = indices.filter((index) =>
    [...index.fields, ...index.coveringFields].every((id) => ids.has(id)),
  );
  return kept.length === indices.length ? content : withIndices(content, kept);
}

/**
 * Removes fragments whose values in some fields have changed from the coverage of all indexes on these
 * fields, or on their parents or children.
 */
export function uncoverFields(
  content: VersionContent,
  fields: readonly number[],
  fragmentIds: ReadonlySet<number>,
): VersionContent {
  if (content.indexSectionBytes === null) return content;
  const changed = withRelatedFields(content.manifest.fields, fields);
  const indices = indicesOf(content).map((index) => {
    const isOn = [...index.fields, ...index.coveringFields].some((id) => changed.has(id));
    const covered = isOn ? coverageOf(index) : null;
    if (covered === null || ![...fragmentIds].some((id) => covered.has(id))) return index;
    for (const id of fragmentIds) covered.delete(id);
    return withCoverage(index, covered);
  });
  return withIndices(content, indices);
}

/**
 * Adds fragments of moved rows to the coverage of indexes that identify these rows by their stable ids. Such
 * an index must have covered all fragments that the rows come from. It must not be on a changed field, nor on
 * a parent or child of one.
 * @param changed ids of the changed fields; empty if they are unknown
 */
export function coverMovedRows(
  content: VersionContent,
  changed: readonly number[],
  fromIds: readonly number[],
  toIds: readonly number[],
): VersionContent {
  if (content.indexSectionBytes === null || changed.length === 0 || toIds.length === 0) return content;
  const fields = withRelatedFields(content.manifest.fields, changed);
  const indices = indicesOf(content).map((index) => {
    const isOn = [...index.fields, ...index.coveringFields].some((id) => fields.has(id));
    if (isOn || usesRowAddresses(index)) return index;
    const covered = coverageOf(index);
    if (covered === null || !fromIds.every((id) => covered.has(id))) return index;
    for (const id of toIds) covered.add(id);
    return withCoverage(index, covered);
  });
  return withIndices(content, indices);
}

/**
 * Updates the indexes after fragments were replaced by others with the same rows. If row ids are addresses,
 * an index that covers such fragments must have been rewritten for the new addresses, and `rewritten` names
 * the result. With stable ids, only an index that uses addresses needs this. Without a rewrite, that index no
 * longer covers the fragments.
 * @throws InvalidInputError if an index covers only a part of a group, or lacks its rewritten form
 */
export function remapIndices(
  content: VersionContent,
  groups: readonly { readonly oldIds: readonly number[]; readonly newIds: readonly number[] }[],
  rewritten: readonly RewrittenIndex[],
): VersionContent {
  if (content.indexSectionBytes === null) return content;
  const replacements = new Map(rewritten.map((entry) => [keyOf(entry.oldId), entry]));
  const stable = hasStableRowIds(content.manifest);
  const indices = indicesOf(content).map((index) => {
    const covered = coverageOf(index);
    const touched = groups.filter((group) => group.oldIds.some((id) => covered === null || covered.has(id)));
    const replacement = replacements.get(keyOf(index.uuid));
    if (touched.length === 0 && replacement === undefined) return index;
    if (covered === null) {
      throw new InvalidInputError(`index ${index.name} does not state which fragments it covers`);
    }
    if (replacement === undefined && !stable) {
      throw new InvalidInputError(
        `index ${index.name} covers replaced fragments, but the change does not rewrite it`,
      );
    }
    for (const { oldIds, newIds } of touched) {
      if (!oldIds.every((id) => covered.has(id))) {
        throw new InvalidInputError(`index ${index.name} covers only some of the merged fragments`);
      }
      for (const id of oldIds) covered.delete(id);
      if (replacement === undefined && usesRowAddresses(index)) continue;
      for (const id of newIds) covered.add(id);
    }
    return withCoverage(replacement === undefined ? index : replacedBy(index, replacement), covered);
  });
  return withIndices(content, indices);
}

function replacedBy(index: IndexMetadata, entry: RewrittenIndex): IndexMetadata {
  const { newId, newIndexDetails, newIndexVersion, newIndexFiles } = entry;
  return {
    ...index,
    uuid: newId,
    indexDetails: newIndexDetails ?? index.indexDetails,
    indexVersion: newIndexVersion,
    files: newIndexFiles,
    // The rewritten index lies in the table's own directory, even if the old one was inherited.
    baseId: undefined,
  };
}
