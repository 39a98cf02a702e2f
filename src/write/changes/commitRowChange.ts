/**
 * Commits changes of rows: deletions, updates and merge inserts. Removed rows are marked as deleted in their
 * fragments; changed and new rows lie in new fragments. One version makes all of it visible.
 *
 *   plan on the latest version ─ mark the removed rows ─ commit
 *
 * The plan names the removed rows and brings the files with the new ones. If another writer changed some of
 * the same fragments meanwhile, the plan is discarded. The change is planned again on that writer's version,
 * so it sees the new rows, and neither change is lost.
 */

import { type DataFragment, Delete, type Transaction, UPDATE_MODE, Update } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned, type PlannedChange } from "../../table/commit/commit.js";
import type { CommitOptions } from "../../table/commit/preparedCommit.js";
import { withFiles } from "../../table/commit/publication.js";
import {
  ADDS_MISSING_PROPERTY,
  newTransaction,
  ROWS_CHANGED_PROPERTY,
  withProperty,
} from "../../table/commit/transaction.js";
import { encodeRowIds, rowsOfRuns, splitRuns, type ValueRuns } from "../../table/fragments/rowSequences.js";
import { TableReplacedError } from "../../table/versions/identity.js";
import type { OpenLatest, OpenVersion } from "../../table/versions/tableAt.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import type { WrittenRows } from "../dataFiles.js";
import { DeletionMarks, type MarkedFragments, rememberingDeletions } from "./deletionFiles.js";

/** A change of rows that was planned on one version, whose removed rows are marked. */
export interface RowChange {
  /** New files, in the order of their rows; removed if the change is not committed. */
  readonly written: readonly WrittenRows[];
  /** Ids of the moved rows, which are written first; null in a table without stable row ids. */
  readonly movedIds?: ValueRuns | null;
  /** True if rows were added for missing keys: the change must see rows that others add meanwhile. */
  readonly addsMissing?: boolean;
  /** Number of rows that got new values; recorded with the version, for listings. */
  readonly updatedRows?: number;
  /** A property that the transaction also gets. */
  readonly property?: readonly [key: string, value: string];
  readonly operation: RowOperation;
}

/** A deletion, or an update of the fields with these ids. */
type RowOperation =
  | { readonly kind: "delete"; readonly predicate: string }
  | { readonly kind: "update"; readonly fieldIds: readonly number[] };

export interface CommittedRowChange<Change extends RowChange> {
  readonly committed: OpenVersion;
  readonly transactionId: string;
  /** The last plan, which was committed. */
  readonly change: Change;
}

/** Plans a change on a version, whose rows `source` reads. */
type PlanRowChange<Change> = (
  base: OpenLatest<ReaderEnvironment>,
  marks: DeletionMarks,
  source: FragmentSource,
) => Promise<Change>;

type RowChangeOptions = Pick<CommitOptions, "signal" | "verify" | "logs">;

/**
 * @returns null if `plan` returns null, because there is nothing to change
 * @param plan called with the latest version, and again after another writer commits first; it marks the
 *   removed rows, and removes its files if it fails
 * @param options `signal` ends the work; it is ignored once the version is being published
 * @throws errors of `plan`; TableReplacedError if the table was dropped meanwhile;
 *   ConcurrentModificationError if other writers keep changing the same fragments
 */
export async function commitRowChange<Change extends RowChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanRowChange<Change>,
  options?: RowChangeOptions,
): Promise<CommittedRowChange<Change>>;
export async function commitRowChange<Change extends RowChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanRowChange<Change | null>,
  options?: RowChangeOptions,
): Promise<CommittedRowChange<Change> | null>;
export async function commitRowChange<Change extends RowChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanRowChange<Change | null>,
  options: RowChangeOptions = {},
): Promise<CommittedRowChange<Change> | null> {
  let planned: Proposal<Change> | null = null;
  const verify = async (): Promise<void> => {
    const files = planned === null ? [] : [planned.marks, ...planned.change.written];
    for (const each of files) {
      if (!(await each.areInPlace())) throw new TableReplacedError(target.table.root);
    }
    await options.verify?.();
  };
  const propose = async (base: OpenLatest<ReaderEnvironment>) => {
    planned = null;
    const source = rememberingDeletions(versionSource(base));
    const marks = new DeletionMarks(base, source);
    const written: WrittenRows[] = [];
    const discard = async (): Promise<void> => {
      await marks.discard();
      for (const rows of written) await rows.discard();
    };
    return withFiles(discard, async () => {
      const change = await conflictIfRemoved(base, () => plan(base, marks, source));
      if (change === null) return null;
      written.push(...change.written);
      options.signal?.throwIfAborted();
      const transaction = transactionOf(base, change, await marks.finish());
      planned = { transaction, discard, change, marks };
      return planned;
    });
  };
  // A merge that added rows may have missed appended rows, and so comes before their append. A change that
  // saw those rows comes after it, so it must see the rows of the merge, too.
  const mustSee = ({ update, transactionProperties }: Transaction): boolean =>
    transactionProperties.has(ADDS_MISSING_PROPERTY) ||
    (planned?.change.addsMissing === true && (update?.newFragments.length ?? 0) > 0);
  const done = await commitPlanned(target, propose, { ...options, verify, mustSee });
  if (done === null) return null;
  const { committed, plan: committedPlan } = done;
  const { transaction, change } = committedPlan;
  return { committed, transactionId: transaction.uuid, change };
}

/** A change to commit, with the plan that it comes from. */
interface Proposal<Change> extends PlannedChange {
  readonly change: Change;
  readonly marks: DeletionMarks;
}

function transactionOf(
  base: OpenVersion,
  change: RowChange,
  { updatedFragments, removedFragmentIds }: MarkedFragments,
): Transaction {
  const { operation } = change;
  if (operation.kind === "delete") {
    const { predicate } = operation;
    const value = Delete.create({ updatedFragments, deletedFragmentIds: removedFragmentIds, predicate });
    return newTransaction(base.version, "delete", value);
  }
  const update = Update.create({
    removedFragmentIds,
    updatedFragments,
    newFragments: withMovedIds(
      change.written.flatMap(({ fragments }) => fragments),
      change.movedIds ?? null,
    ),
    fieldsForPreservingFragBitmap: [...operation.fieldIds],
    updateMode: UPDATE_MODE.rewriteRows,
  });
  const transaction = newTransaction(base.version, "update", update);
  const counted = withProperty(transaction, ROWS_CHANGED_PROPERTY, change.updatedRows);
  const marked = withProperty(
    counted,
    ADDS_MISSING_PROPERTY,
    change.addsMissing === true ? "true" : undefined,
  );
  const { property } = change;
  return property === undefined ? marked : withProperty(marked, ...property);
}

/** Adds the ids of moved rows to their new fragments. */
function withMovedIds(fragments: readonly DataFragment[], movedIds: ValueRuns | null): DataFragment[] {
  if (movedIds === null) return [...fragments];
  let left = rowsOfRuns(movedIds);
  const counts = fragments.map(({ physicalRows }) => {
    const count = Math.min(left, physicalRows);
    left -= count;
    return count;
  });
  const pieces = splitRuns(movedIds, counts);
  return fragments.map((fragment, index) =>
    counts[index] === 0 ? fragment : { ...fragment, inlineRowIds: encodeRowIds(pieces[index]) },
  );
}
