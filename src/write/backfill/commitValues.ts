/**
 * Commits computed values: a new file with the column for each fragment, all in one version. Rows may be
 * appended or deleted since the values were computed. A fragment is skipped if it is gone, or if its inputs
 * or its column have changed. The same version clears outdated values of dependent columns.
 */

import {
  type DataFile,
  type DataFragment,
  DataReplacement,
  DataReplacementGroup,
  type Transaction,
  UPDATE_MODE,
  Update,
} from "../../format/table.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import { newTransaction, operationOf } from "../../table/commit/transaction.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import type { ColumnFiles } from "../columns/columnFiles.js";
import { commitColumnFiles } from "../columns/commitColumnFiles.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { fileVersionOf } from "../dataFiles.js";
import { type BackfillRun, resolvedAsAsked } from "./backfillWork.js";
import { withoutOutdated, withoutUnusedFiles } from "./clearDependents.js";
import type { ComputedPart } from "./computedRows.js";
import { computedKey, type EarlyFile } from "./earlyFile.js";
import { filledColumn } from "./filledColumn.js";
import type { ResolvedBackfill } from "./resolvedBackfill.js";

/** Values of a fragment that wait for the commit. */
export interface FragmentToCommit {
  readonly id: number;
  /** Digest of the work and of the content that the values were computed from. */
  readonly content: string;
  readonly parts: readonly ComputedPart[];
  /** File that was begun while the values were computed. */
  readonly early: EarlyFile;
}

/**
 * @param announce called before the commit with the names of the new files, by fragment
 * @returns ids of the committed fragments, and the version that has them
 */
export async function commitValues(
  run: BackfillRun,
  ready: readonly FragmentToCommit[],
  announce: (files: ReadonlyMap<number, string>) => Promise<void>,
): Promise<{ readonly done: readonly number[]; readonly version: number | null }> {
  const { target, control } = run;
  const { signal } = control;
  const committed = await commitColumnFiles(
    target,
    async (base, files) => {
      for (const { early } of ready) await early.handOver(files);
      const resolved = await resolvedAsAsked(run, base);
      const changed = await conflictIfRemoved(base, () =>
        changedFragments(base, ready, resolved, files, signal),
      );
      if (changed.length === 0) return null;
      const names = changed.map(({ before, after }) => [before.id, newFiles(before, after)[0].path] as const);
      await announce(new Map(names));
      return {
        transaction: transactionOf(base, changed, resolved.field),
        done: changed.map(({ before }) => before.id),
      };
    },
    { signal, verify: () => control.hold(), mustSee },
  );
  return { done: committed?.plan.done ?? [], version: committed?.committed.version ?? null };
}

/** Kinds of changes that keep the inputs, the column of every fragment, and its declaration. */
const NEUTRAL: ReadonlySet<string> = new Set([
  ...["append", "delete", "createIndex", "reserveFragments", "updateBases"],
]);

/** True if a change may outdate a plan for the values of a computed column. */
export function mustSee(change: Transaction): boolean {
  const operation = operationOf(change);
  if (operation.kind !== "updateConfig") return !NEUTRAL.has(operation.kind);
  // The metadata of its field declares the column.
  return operation.value.fieldMetadataUpdates.length > 0 || operation.value.unknown !== undefined;
}

interface ChangedFragment {
  readonly before: DataFragment;
  readonly after: DataFragment;
  /** Ids of fields of dependent columns that lost values. */
  readonly outdated: readonly number[];
}

async function changedFragments(
  base: OpenLatest<ReaderEnvironment>,
  ready: readonly FragmentToCommit[],
  resolved: ResolvedBackfill,
  files: ColumnFiles,
  signal: AbortSignal,
): Promise<ChangedFragment[]> {
  const version = fileVersionOf(base.file);
  const source = versionSource(base);
  const now = new Map(base.file.manifest.fragments.map((fragment) => [fragment.id, fragment]));
  const changed: ChangedFragment[] = [];
  for (const { id, content, parts } of ready) {
    const before = now.get(id);
    if (before === undefined || (await resolved.sourceOf(before)) !== content) continue;
    const columns = {
      fields: [resolved.field],
      key: computedKey(content, version),
      rowsOf: (fragment: DataFragment) =>
        filledColumn(source, fragment, resolved.field, parts, { nullStructs: version !== "2.0", signal }),
    };
    const [filled] = await files.addTo([before], columns, version);
    const { fragment, outdated } = await withoutOutdated(base, { before, filled, content, parts }, resolved, {
      ...{ files, signal },
    });
    changed.push({ before, after: withoutUnusedFiles(fragment), outdated });
  }
  return changed;
}

const newFiles = (before: DataFragment, after: DataFragment): DataFile[] => {
  const oldPaths = new Set(before.files.map(({ path }) => path));
  return after.files.filter(({ path }) => !oldPaths.has(path));
};

/**
 * Makes the transaction. A DataReplacement describes the change best, and allows deletions of rows of the
 * same fragments. It can't take a column out of a file with several columns, nor clear values of dependent
 * columns; in these cases, an Update changes the fragments in place.
 */
function transactionOf(
  { file }: OpenLatest,
  changed: readonly ChangedFragment[],
  field: TableField,
): Transaction {
  const { version } = file.manifest;
  const replaced = changed.map(replacement);
  if (replaced.every((group) => group !== null)) {
    return newTransaction(version, "dataReplacement", DataReplacement.create({ replacements: replaced }));
  }
  // Files may name the leaves of a column only; an index may be on any part of it.
  const update = Update.create({
    updatedFragments: changed.map(({ after }) => after),
    fieldsModified: [...new Set([...fieldIdsOf(field), ...changed.flatMap(({ outdated }) => outdated)])],
    updateMode: UPDATE_MODE.rewriteColumns,
  });
  return newTransaction(version, "update", update);
}

/** Returns the replacement of one file by the new one; null if the change needs more. */
function replacement({ before, after, outdated }: ChangedFragment): DataReplacementGroup | null {
  const [newFile, ...others] = newFiles(before, after);
  if (newFile === undefined || others.length > 0 || outdated.length > 0) return null;
  const ids = new Set(newFile.fields);
  const touched = before.files.filter(({ fields }) => fields.some((id) => ids.has(id)));
  const isSame = touched.every(
    ({ fields }) => fields.length === ids.size && fields.every((id) => ids.has(id)),
  );
  if (touched.length > 1 || !isSame) return null;
  return DataReplacementGroup.create({ fragmentId: before.id, newFile });
}
