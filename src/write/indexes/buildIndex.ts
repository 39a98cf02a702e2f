/**
 * Builds an index on a column and commits it:
 *
 *   plan on the latest version ─ stream its rows ─ write the files ─ commit
 *
 * The index covers the fragments of the version that it was planned on. Scans find rows that others add
 * meanwhile, until the table is optimized. The index is built again if others, before the commit, compact
 * covered fragments, change the column in place, or restore deleted rows. If that happens repeatedly, the
 * index is committed for the fragments whose rows it has in full.
 */

import { ConcurrentModificationError } from "../../errors.js";
import { CreateIndex, type DataFragment, type Transaction } from "../../format/table.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned } from "../../table/commit/commit.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { indexDirectoryName } from "../../table/versions/paths.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { DraftRows } from "./draftRows.js";
import type { IndexColumn } from "./indexColumn.js";
import { type IndexDefinition, type IndexPlan, planIndex } from "./indexPlan.js";
import { rowsOfKind } from "./indexRows.js";
import { segmentMetadata, type WrittenSegment, writeSegment } from "./segment.js";

/** Rebuilds after other writers changed fragments. */
const MAX_REBUILDS = 2;

export interface BuildControl {
  /** Ends the build; ignored once the version is being published. */
  readonly signal?: AbortSignal;
  /** Called with the number of indexed rows, and of all rows. */
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

/** An index as written from one version. */
interface Draft {
  readonly segment: WrittenSegment;
  readonly column: IndexColumn;
  readonly version: number;
  readonly rows: DraftRows;
}

/**
 * @throws InvalidInputError, TableColumnNotFoundError, TableIndexAlreadyExistsError if the current table
 *   can't have the index; ConcurrentModificationError if others keep changing it
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
      const fragments = definition.isTrained === false ? [] : base.file.manifest.fragments;
      draft = await conflictIfRemoved(base, () => writeDraft(base, planned, definition, fragments, control));
      covered = fragments;
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
  const mustSee = (transaction: Transaction): boolean => plan !== null && isSeen(transaction, plan);
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

/** True if a change without a conflict may invalidate the plan: it may remove the column or the index. */
export function isSeen(transaction: Transaction, { replaced }: Pick<IndexPlan, "replaced">): boolean {
  if (transaction.merge !== undefined || transaction.project !== undefined) return true;
  return transaction.rewrite !== undefined && replaced !== null;
}

/** Returns the fragments whose rows the draft has in full; null if the version's column is another one. */
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
  fragments: readonly DataFragment[],
  { signal, progress, announce }: BuildControl,
): Promise<Draft> {
  const total = fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  progress?.(0, total);
  const rows = rowsOfKind(base, kind, { column, fragments, signal });
  const segment = await writeSegment(
    base,
    {
      kind,
      field: column.field,
      parameters,
      environment: base.table.environment,
      rowCount: total,
      progress: (done) => progress?.(Math.floor(Math.min(done, total)), total),
      signal,
      announce: announce && ((name) => announce(name)),
    },
    (target) => kind.build(rows, target),
  );
  progress?.(total, total);
  return { segment, column, version: base.version, rows: new DraftRows(base, column, fragments) };
}
