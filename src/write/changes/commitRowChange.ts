/**
 * Commits changes of rows: deletions, updates and merge inserts. Rows that go are marked as deleted in their
 * fragments; rows that were changed or are new lie in new fragments. All of it becomes visible with one
 * version.
 *
 *   plan on the latest version ─ mark the rows that go ─ commit
 *
 * The plan says which rows go, and brings the files with the new ones. Where another writer changed some of
 * the same fragments meanwhile, nothing of it is kept: the change is planned again on that writer's version,
 * and so sees its rows. No change of another writer is lost.
 */

import { type DataFragment, Delete, type Transaction, UPDATE_MODE, Update } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned, type PlannedChange } from "../../table/commit/commit.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { encodeRowIds, rowsOfRuns, splitRuns, type ValueRuns } from "../../table/fragments/rowSequences.js";
import { TableReplacedError } from "../../table/versions/identity.js";
import type { OpenLatest, OpenVersion } from "../../table/versions/tableAt.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import type { WrittenRows } from "../dataFiles.js";
import { DeletionMarks, type MarkedFragments, rememberingDeletions } from "./deletionFiles.js";

/** A change of rows, as it was planned on one version; the rows that go were marked. */
export interface RowChange {
  /** New files, in the order of their rows; removed again where the change is not committed. */
  readonly written: readonly WrittenRows[];
  /**
   * In a table with stable row ids: the ids of written rows that are moved, so that they go where they were.
   * They are written first; all rows after them are new.
   */
  readonly movedIds?: ValueRuns | null;
  /**
   * True if rows were added because the version has none with their key: then another change that brought
   * rows meanwhile has to be seen, or both would add the same.
   */
  readonly addsMissing?: boolean;
  readonly operation: RowOperation;
}

type RowOperation =
  | { readonly kind: "delete" /** As the caller wrote it. */; readonly predicate: string }
  | {
      readonly kind: "update" /** Ids of the fields whose values change. */;
      readonly fieldIds: readonly number[];
    };

export interface CommittedRowChange<Change extends RowChange> {
  readonly committed: OpenVersion;
  readonly transactionId: string;
  /** As it was planned in the end. */
  readonly change: Change;
}

/** Plans a change on a version, whose rows `source` reads. */
type PlanRowChange<Change> = (
  base: OpenLatest<ReaderEnvironment>,
  marks: DeletionMarks,
  source: FragmentSource,
) => Promise<Change>;

/**
 * @param plan called with the latest version, and again with a newer one where other writers were first; it
 *   marks the rows that go, and removes the files it wrote if it fails
 * @param signal ends the work; ignored once the version is being published
 * @param verifyMore called right before the version is published; what it throws ends the change
 * @throws errors of `plan`; TableReplacedError where the table was dropped meanwhile;
 *   ConcurrentModificationError where other writers keep changing the same fragments
 */
export async function commitRowChange<Change extends RowChange>(
  target: ChangeTarget<ReaderEnvironment>,
  plan: PlanRowChange<Change>,
  signal?: AbortSignal,
  verifyMore?: () => Promise<void>,
): Promise<CommittedRowChange<Change>> {
  let planned: Proposal<Change> | null = null;
  const verify = async (): Promise<void> => {
    const files = planned === null ? [] : [planned.marks, ...planned.change.written];
    for (const each of files) {
      if (!(await each.areInPlace())) throw new TableReplacedError(target.table.root);
    }
    await verifyMore?.();
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
      written.push(...change.written);
      signal?.throwIfAborted();
      const transaction = transactionOf(base, change, await marks.finish());
      planned = { transaction, discard, change, marks };
      return planned;
    });
  };
  const mustSee = (other: Transaction): boolean =>
    planned?.change.addsMissing === true && (other.update?.newFragments.length ?? 0) > 0;
  const { committed, plan: done } = await commitPlanned(target, propose, { signal, verify, mustSee });
  return { committed, transactionId: done.transaction.uuid, change: done.change };
}

/** What is to be committed, and what it was made of. */
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
  return newTransaction(base.version, "update", update);
}

/** The fragments with the ids of the rows that were moved to them. */
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
