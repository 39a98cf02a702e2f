/**
 * Builds an index on a column and commits it:
 *
 *   plan on the latest version ─ stream its rows ─ write the files ─ commit
 *
 * The index covers the fragments of the version that it was planned on; rows that others add meanwhile are
 * found by scanning, until the table is optimized. Where others compact covered fragments, change the column
 * in place, or restore a version with rows that were deleted, before the commit, the index is built again on
 * their version. If that happens again and again, it is committed for the fragments all of whose rows it has.
 */

import { ConcurrentModificationError } from "../../errors.js";
import { CreateIndex, type DataFragment, type Transaction } from "../../format/table.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned } from "../../table/commit/commit.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import { indexDirectoryName } from "../../table/versions/paths.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { DraftRows } from "./draftRows.js";
import type { IndexColumn } from "./indexColumn.js";
import { type IndexDefinition, type IndexPlan, planIndex } from "./indexPlan.js";
import { rowsOfKind } from "./indexRows.js";
import { segmentMetadata, type WrittenSegment, writeSegment } from "./segment.js";

/** Times an index is built again because fragments were changed meanwhile. */
const MAX_REBUILDS = 2;

export interface BuildControl {
  /** Ends the build; ignored once the version is being published. */
  readonly signal?: AbortSignal;
  /** Called with the rows taken in, and all rows. */
  progress?(done: number, total: number): void;
  /** Called with the name of the directory before it is made. */
  announce?(directoryName: string): Promise<void>;
  /** Called with the id of the transaction before it is committed. */
  committing?(transactionId: string): Promise<void>;
  /** Called right before the version is published. */
  hold?(): Promise<void>;
}

export interface BuiltIndex {
  readonly name: string;
  readonly version: number;
  readonly transactionId: string;
  readonly indexUuid: string;
  readonly indexedRows: number;
}

/** An index as it was written from one version. */
interface Draft {
  readonly segment: WrittenSegment;
  readonly column: IndexColumn;
  readonly version: number;
  readonly rows: DraftRows;
}

/**
 * @throws InvalidInputError, TableColumnNotFoundError, TableIndexAlreadyExistsError where the table, as it is
 *   by then, can't have the index; ConcurrentModificationError where others keep changing it
 */
export async function buildIndex(
  target: ChangeTarget<ReaderEnvironment>,
  definition: IndexDefinition,
  control: BuildControl = {},
): Promise<BuiltIndex> {
  let draft: Draft | null = null;
  let plan: IndexPlan | null = null;
  let rebuilds = 0;
  const propose = async (base: OpenLatest<ReaderEnvironment>) => {
    const planned = planIndex(base.file, definition);
    plan = planned;
    let covered = draft === null ? null : await coveredBy(draft, planned, base);
    if (draft !== null && (covered === null || mustRebuild(draft, covered, rebuilds))) {
      rebuilds++;
      await draft.segment.discard();
      draft = null;
    }
    if (draft === null || covered === null) {
      draft = await conflictIfRemoved(base, () => writeDraft(base, planned, definition, control));
      covered = base.file.manifest.fragments;
    }
    control.signal?.throwIfAborted();
    const metadata = segmentMetadata(draft.segment, {
      name: planned.name,
      fieldId: planned.column.field.id,
      datasetVersion: draft.version,
      createdAt: Math.max(0, Date.now()),
      fragmentIds: covered.map(({ id }) => id),
    });
    const change = CreateIndex.create({
      newIndices: [metadata],
      removedIndices: [...(planned.replaced?.segments ?? [])],
    });
    const transaction = newTransaction(base.version, "createIndex", change);
    await control.committing?.(transaction.uuid);
    return { transaction, covered };
  };
  const verify = async (): Promise<void> => {
    await control.hold?.();
    if (draft === null || (await draft.segment.areInPlace())) return;
    throw new ConcurrentModificationError(
      `${target.table.root}: files of the index were removed while it was built`,
    );
  };
  const mustSee = (other: Transaction): boolean => plan !== null && isSeen(other, plan);
  const options = { signal: control.signal, verify, mustSee };
  const { committed, plan: done } = await withFiles(
    async () => draft?.segment.discard(),
    () => commitPlanned(target, propose, options),
  );
  const { segment } = draft as unknown as Draft;
  return {
    name: (plan as unknown as IndexPlan).name,
    version: committed.version,
    transactionId: done.transaction.uuid,
    indexUuid: indexDirectoryName(segment.uuid.uuid),
    indexedRows: done.covered.reduce((sum, fragment) => sum + liveRowCount(fragment), 0),
  };
}

/**
 * True if a change committed meanwhile may concern the index in a way that the rules for conflicts let pass:
 * its column may be gone or another, and so may the index that it replaces.
 */
export function isSeen(other: Transaction, { replaced }: Pick<IndexPlan, "replaced">): boolean {
  if (other.merge !== undefined || other.project !== undefined) return true;
  return other.rewrite !== undefined && replaced !== null;
}

/** The fragments of a version that the draft has all rows of; null where the version's column is another. */
async function coveredBy(
  { column, rows }: Draft,
  planned: IndexPlan,
  base: OpenLatest<ReaderEnvironment>,
): Promise<readonly DataFragment[] | null> {
  const { field } = planned.column;
  const isSame =
    column.field.id === field.id && JSON.stringify(column.field.type) === JSON.stringify(field.type);
  return isSame ? conflictIfRemoved(base, () => rows.coveredIn(base)) : null;
}

function mustRebuild({ rows }: Draft, covered: readonly DataFragment[], rebuilds: number): boolean {
  const lost = rows.fragmentCount - covered.length;
  return lost > 0 && (covered.length === 0 || rebuilds < MAX_REBUILDS);
}

async function writeDraft(
  base: OpenLatest<ReaderEnvironment>,
  { column }: IndexPlan,
  { kind, parameters }: IndexDefinition,
  { signal, progress, announce }: BuildControl,
): Promise<Draft> {
  const { fragments } = base.file.manifest;
  const total = fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  progress?.(0, total);
  const rows = rowsOfKind(base, kind, { column, fragments, signal });
  const segment = await writeSegment(
    base,
    {
      kind,
      field: column.field,
      parameters,
      workers: base.table.environment.workers,
      rowCount: total,
      progress: (done) => progress?.(Math.min(done, total), total),
      signal,
      announce: announce && ((name) => announce(name)),
    },
    (target) => kind.build(rows, target),
  );
  return { segment, column, version: base.version, rows: new DraftRows(base, column) };
}
