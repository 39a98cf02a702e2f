/**
 * Merges a branch into the line of versions that it was made from, in one commit:
 *
 *   compare both lines with their common version ─ mark replaced and removed rows ─ write new rows ─ commit
 *
 * If another writer commits meanwhile, everything is compared again with that writer's version.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { vectorOf } from "../../arrow/exchange/batch.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { ConcurrentModificationError, TableSchemaValidationError } from "../../errors.js";
import { addressAt, addressWords } from "../../query/columns/rowAddresses.js";
import { type ComparedColumns, pairColumns } from "../../query/compare/comparedColumns.js";
import {
  type MergeDecisions,
  mergedChanges,
  type RowConflict,
  type Winner,
} from "../../query/compare/mergedChanges.js";
import { type ComparedVersion, comparedVersion, rowChanges } from "../../query/compare/rowChanges.js";
import {
  type CompareOptions,
  duplicateKeyError,
  type RowKey,
  rowsByKey,
} from "../../query/compare/sortedRows.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { encodeSchema } from "../../schema/schemaEncoder.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { concatRuns } from "../../table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenLatest, OpenVersion } from "../../table/versions/tableAt.js";
import { commitRowChange, type RowChange } from "../changes/commitRowChange.js";
import type { DeletionMarks } from "../changes/deletionFiles.js";
import { fileVersionOf, type WrittenRows, writeTableRows } from "../dataFiles.js";
import { planAppend } from "../tableColumns.js";
import { isSameSchema, markRemoved } from "./mergeInsert.js";

/** Version at which two lines part, as each of them has it. */
export interface CommonVersion {
  readonly onBranch: OpenVersion<ReaderEnvironment>;
  readonly onCurrent: OpenVersion<ReaderEnvironment>;
}

export interface BranchMerge {
  readonly branch: OpenVersion<ReaderEnvironment>;
  readonly branchName: string;
  readonly currentName: string;
  /** Finds the common version for a version of the current line. */
  common(current: OpenLatest<ReaderEnvironment>): Promise<CommonVersion>;
  /** Returns the key by which rows are matched. */
  keyOf(versions: readonly OpenVersion[], columns: ComparedColumns): RowKey;
  readonly winner: Winner;
  /** Property of the transaction that records the merge. */
  readonly property: readonly [key: string, value: string];
}

/** Numbers of rows that a merge changes. */
interface MergedRowCounts {
  readonly updatedRows: number;
  readonly insertedRows: number;
  readonly deletedRows: number;
}

/** A planned merge. */
interface BranchChange extends RowChange, MergedRowCounts {
  readonly updatedRows: number;
}

/** A finished merge. */
export interface MergedBranch extends MergedRowCounts {
  /** Version after the merge. */
  readonly version: number;
  /** Absent if the branch has no version since the common one, so that nothing was committed. */
  readonly transactionId?: string;
}

/** Maximum number of conflicts that an error lists. */
const LISTED_CONFLICTS = 10;
const KINDS = ["added", "removed", "changed"] as const;

/**
 * @throws ConcurrentModificationError for conflicts without a winner, listing the first ones;
 *   TableSchemaValidationError if the columns of the versions differ; errors of {@link commitRowChange}
 */
export async function mergeBranch(
  target: ChangeTarget<ReaderEnvironment>,
  merge: BranchMerge,
  options: CompareOptions,
): Promise<MergedBranch> {
  let version = target.latest.version;
  const plan = (base: OpenLatest<ReaderEnvironment>, marks: DeletionMarks): Promise<BranchChange | null> => {
    version = base.version;
    return planMerge(base, marks, merge, options);
  };
  const merged = await commitRowChange(target, plan, { signal: options.signal });
  if (merged === null) return { version, insertedRows: 0, updatedRows: 0, deletedRows: 0 };
  const { committed, transactionId, change } = merged;
  const { insertedRows, updatedRows, deletedRows } = change;
  return { version: committed.version, transactionId, insertedRows, updatedRows, deletedRows };
}

/** Returns null if the branch has no version since the common one. */
async function planMerge(
  base: OpenLatest<ReaderEnvironment>,
  marks: DeletionMarks,
  merge: BranchMerge,
  options: CompareOptions,
): Promise<BranchChange | null> {
  const { onBranch, onCurrent } = await merge.common(base);
  const sides = [onBranch, merge.branch, onCurrent, base].map(comparedVersion);
  const [, branch, , current] = sides;
  if (sides.some(({ fields }) => !isSameSchema(fields, current.fields))) {
    throw new TableSchemaValidationError(
      `the columns of ${merge.branchName} and ${merge.currentName} have changed since they parted; make the ` +
        "same changes of columns before the branch is made, or copy its rows with mergeInsert",
    );
  }
  const paired = pairColumns(branch.fields, current.fields);
  const key = merge.keyOf([onBranch, merge.branch, onCurrent, base], paired);
  // A record would make later merges miss conflicts with changes of the current line up to now.
  if (merge.branch.version === onBranch.version) return null;
  const decisions = () => decide(sides, paired, key, merge.winner, options);
  const removed = new Map<number, number[]>();
  const movedIds: number[] = [];
  const conflicts: RowConflict[] = [];
  let conflictCount = 0;
  let deletedRows = 0;
  let hasAdded = false;
  const written: WrittenRows[] = [];
  const write = async (batches: AsyncGenerator<InputBatch>): Promise<number> => {
    const plan = planAppend(current.fields, paired.rowSchema, fileVersionOf(base.file));
    const { signal } = options;
    const rows = await writeTableRows(base, current.fields, plan, batches, {
      base: base.file.manifest,
      signal,
    });
    written.push(rows);
    return rows.rowCount;
  };
  async function* replacing(): AsyncGenerator<InputBatch> {
    for await (const decided of decisions()) {
      for (const address of [...decided.replaced, ...decided.removed]) noteRow(removed, address);
      for (const id of decided.replacedIds) movedIds.push(id);
      deletedRows += decided.removed.length;
      hasAdded ||= decided.added.length > 0;
      conflictCount += decided.conflicts.length;
      conflicts.push(...decided.conflicts.slice(0, LISTED_CONFLICTS - conflicts.length));
      if (decided.replacing.length > 0 && conflictCount === 0) yield rowsOf(decided, decided.replacing);
    }
    if (conflictCount > 0) throw conflictError(conflicts, conflictCount, merge, key, paired);
  }
  async function* adding(): AsyncGenerator<InputBatch> {
    for await (const decided of decisions()) {
      if (decided.added.length > 0) yield rowsOf(decided, decided.added);
    }
  }
  try {
    const updatedRows = await write(replacing());
    // Moved rows come first, so added rows need a second comparison.
    const insertedRows = hasAdded ? await write(adding()) : 0;
    await markRemoved(base, sorted(removed), marks);
    const isStable = hasStableRowIds(base.file.manifest);
    const ids = { step: 1, values: movedIds, counts: movedIds.map(() => 1) } as const;
    return {
      written,
      movedIds: isStable ? concatRuns(1, [ids]) : null,
      operation: { kind: "update", fieldIds: encodeSchema(current.fields).map(({ id }) => id) },
      addsMissing: insertedRows > 0 && key !== null,
      property: merge.property,
      updatedRows,
      insertedRows,
      deletedRows,
    };
  } catch (error) {
    for (const rows of written) await rows.discard().catch(() => undefined);
    throw error;
  }
}

function decide(
  [onBranch, branch, onCurrent, current]: readonly ComparedVersion[],
  { columns }: ComparedColumns,
  key: RowKey,
  winner: Winner,
  options: CompareOptions,
): AsyncGenerator<MergeDecisions> {
  const keysOf = ({ version, fields }: ComparedVersion) =>
    rowsByKey({ version, fields, fragments: version.file.manifest.fragments, columns: [], key }, options);
  return mergedChanges(
    {
      ofBranch: rowChanges({ old: onBranch, current: branch, columns, key }, options),
      ofCurrent: rowChanges({ old: onCurrent, current, columns, key }, options),
      current: keysOf(current),
      common: keysOf(onBranch),
      columns,
      matchesAdded: key !== null,
      duplicateError: () => duplicateKeyError(branch.version.version, key),
      signal: options.signal,
    },
    winner,
  );
}

const rowsOf = ({ changes }: MergeDecisions, rows: readonly number[]): InputBatch => {
  const indexes = Uint32Array.from(rows);
  return { columns: changes.rows.map((column) => takeColumn(column, indexes)), rowCount: rows.length };
};

/** Notes the physical row of an address by its fragment. */
function noteRow(rows: Map<number, number[]>, address: number): void {
  const fragmentId = Math.floor(address / 2 ** 32);
  const row = address % 2 ** 32;
  const list = rows.get(fragmentId);
  if (list === undefined) rows.set(fragmentId, [row]);
  else list.push(row);
}

const sorted = (rows: ReadonlyMap<number, readonly number[]>): Map<number, Uint32Array> =>
  new Map(Array.from(rows, ([fragmentId, list]) => [fragmentId, Uint32Array.from(list).sort()]));

function conflictError(
  conflicts: readonly RowConflict[],
  count: number,
  { branchName, currentName }: BranchMerge,
  key: RowKey,
  paired: ComparedColumns,
): ConcurrentModificationError {
  const texts = conflicts.map(
    (conflict) =>
      `${keyText(conflict, key, paired)} (${KINDS[conflict.branchKind]} on ${branchName}, ` +
      `${KINDS[conflict.currentKind]} on ${currentName})`,
  );
  const more = count > texts.length ? `, and ${count - texts.length} more` : "";
  return new ConcurrentModificationError(
    `${branchName} and ${currentName} changed the same ${count === 1 ? "row" : `${count} rows`} in different ` +
      `ways: ${texts.join("; ")}${more}. Nothing was merged; conflicts: "ours" keeps the rows of ` +
      `${currentName}, "theirs" takes those of ${branchName}`,
  );
}

/** Maximum characters of a key in an error. */
const KEY_TEXT = 100;

function keyText(
  { changes, row }: RowConflict,
  key: RowKey,
  { columns, rowSchema }: ComparedColumns,
): string {
  if (key === null) {
    const words = addressWords(changes.keyColumns[0] as FixedColumn);
    return `_rowid ${addressAt(words, row)}`;
  }
  const parts = key.map((name) => {
    const index = columns.findIndex(({ field }) => field.name === name);
    const value = vectorOf(rowSchema.fields[index], changes.rows[index], changes.rowCount).get(row);
    return `${name} ${String(value).slice(0, KEY_TEXT)}`;
  });
  return parts.join(", ");
}
