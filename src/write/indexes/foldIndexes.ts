/**
 * Brings indexes up to date: adds the rows of uncovered fragments to each index, as a segment or merged with
 * others (foldPlan.ts). All indexes change in one version. Kinds that this release does not write stay as
 * they are. So do all indexes of a table that tracks moved rows by an index of its own.
 */

import { ConcurrentModificationError, TableColumnNotFoundError } from "../../errors.js";
import { CreateIndex, type DataFragment, type IndexMetadata, type Transaction } from "../../format/table.js";
import type { MergeableKind, OldSegment } from "../../indexes/kind.js";
import type { RowMoves } from "../../indexes/moves.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned } from "../../table/commit/commit.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import { type NamedIndex, namedIndexes } from "../../table/commit/namedIndexes.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { indexDirectoryName } from "../../table/versions/paths.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { type PartOfWork, type TellWork, type WorkDone, WorkMeter, workOf } from "../workProgress.js";
import { isSeen } from "./buildIndex.js";
import { DraftRows } from "./draftRows.js";
import { type FoldPlan, planFold } from "./foldPlan.js";
import { isFresh } from "./freshRows.js";
import { type IndexColumn, indexColumn } from "./indexColumn.js";
import { rowsOfKind } from "./indexRows.js";
import { openIfReadable, writableKind } from "./openSegment.js";
import { stayingFragments, stayingRows } from "./rowMoves.js";
import { type SegmentOptions, segmentMetadata, type WrittenSegment, writeSegment } from "./segment.js";

export interface FoldedIndexes {
  readonly version: number;
  readonly transactionId: string;
  /** Names of the indexes that changed. */
  readonly names: readonly string[];
}

/** An index that needs an update. */
interface Outdated {
  readonly index: NamedIndex;
  readonly kind: MergeableKind;
  readonly column: IndexColumn;
  readonly plan: FoldPlan;
}

/** Files written for one index, which a retry on a newer version may reuse. */
interface Draft {
  readonly segment: WrittenSegment;
  /** Identifies the segments and fragments that the draft was made of. */
  readonly key: string;
  readonly rows: DraftRows;
}

/** Options that end a fold. */
export interface FoldOptions {
  /** Ends the work; ignored once the version is being published. */
  readonly signal?: AbortSignal;
  /** Rejects if the caller may no longer commit; called right before the commit. */
  readonly hold?: () => Promise<void>;
  readonly progress?: TellWork;
}

/** Returns the work to bring the indexes of a version up to date. */
export const foldWork = (file: ManifestFile): WorkDone => workOf(outdatedIndexes(file).map(workOn));

const workOn = ({ kind, plan }: Outdated): PartOfWork => ({
  rows: plan.covered.reduce((sum, fragment) => sum + liveRowCount(fragment), 0),
  rowTime: kind.rowTime ?? 1,
});

/**
 * @returns null if no index needed an update
 * @throws ConcurrentModificationError if other writers keep changing the indexes or their fragments;
 *   CorruptFileError for an index that can't be read
 */
export async function foldIndexes(
  target: ChangeTarget<ReaderEnvironment>,
  { signal, hold, progress }: FoldOptions = {},
): Promise<FoldedIndexes | null> {
  const drafts = new Map<string, Draft>();
  let seen: readonly Outdated[] = [];
  const propose = async (base: OpenLatest<ReaderEnvironment>) => {
    const folded: Outdated[] = [];
    const newIndices: IndexMetadata[] = [];
    seen = outdatedIndexes(base.file);
    const meter = new WorkMeter(progress, seen.map(workOn));
    for (const outdated of seen) {
      signal?.throwIfAborted();
      const report = meter.begin(workOn(outdated));
      const draft = await draftOf(base, outdated, drafts, { signal, progress: report });
      report(Number.POSITIVE_INFINITY);
      if (draft === null) continue;
      folded.push(outdated);
      newIndices.push(metadataOf(base, outdated, draft));
    }
    seen = folded;
    if (seen.length === 0) return null;
    const removedIndices = seen.flatMap(({ plan }) => plan.merged.map(({ entry }) => entry));
    const change = CreateIndex.create({ newIndices, removedIndices });
    return { transaction: newTransaction(base.version, "createIndex", change), names: namesOf(seen) };
  };
  const verify = async (): Promise<void> => {
    for (const { segment } of drafts.values()) {
      if (await segment.areInPlace()) continue;
      throw new ConcurrentModificationError(
        `${target.table.root}: files of an index were removed while it was merged`,
      );
    }
    await hold?.();
  };
  const mustSee = (transaction: Transaction): boolean =>
    seen.some(({ index }) => isSeen(transaction, { replaced: index }));
  const discard = async (): Promise<void> => {
    for (const { segment } of drafts.values()) await segment.discard();
  };
  const done = await withFiles(discard, () => commitPlanned(target, propose, { signal, verify, mustSee }));
  if (done === null) return null;
  const { committed, plan } = done;
  return { version: committed.version, transactionId: plan.transaction.uuid, names: plan.names };
}

const namesOf = (outdated: readonly Outdated[]): string[] => outdated.map(({ index }) => index.name);

/** Returns the writable indexes that miss some fragments or have too many segments. */
export function outdatedIndexes(file: ManifestFile): Outdated[] {
  if (indicesOf(file).some(({ name }) => name === DEFERRED_REMAP_INDEX)) return [];
  return namedIndexes(file).flatMap((index) => {
    const kinds = index.segments.map(writableKind);
    const [kind] = kinds;
    const [fieldId] = index.segments[0].fields;
    const isOne =
      kinds.every((each) => each === kind) && index.segments.every(({ fields }) => fields[0] === fieldId);
    if (kind === null || !isOne) return [];
    try {
      const column = indexColumn(file, fieldId);
      if (kind.refusal(column.field) !== null) return [];
      const isStable = hasStableRowIds(file.manifest);
      const plan = planFold(index.segments, file.manifest.fragments, {
        isUndivided: kind.isUndivided ?? false,
        isFresh: (fragment) => isFresh(fragment, column, isStable),
      });
      return plan === null ? [] : [{ index, kind, column, plan }];
    } catch (error) {
      // An index on a removed field needs no update.
      if (error instanceof TableColumnNotFoundError) return [];
      throw error;
    }
  });
}

async function draftOf(
  base: OpenLatest<ReaderEnvironment>,
  outdated: Outdated,
  drafts: Map<string, Draft>,
  options: Pick<SegmentOptions, "signal" | "progress">,
): Promise<Draft | null> {
  const { index, column, plan } = outdated;
  const { covered } = plan;
  const ids = [plan.model, ...plan.merged.map(({ entry }) => entry)].map(({ uuid }) =>
    indexDirectoryName(uuid?.uuid ?? new Uint8Array(0)),
  );
  const key = JSON.stringify([ids, covered.map(({ id }) => id)]);
  const old = drafts.get(index.name);
  if (old?.key === key && (await conflictIfRemoved(base, () => hasAllRows(old.rows, base)))) return old;
  if (old !== undefined) {
    drafts.delete(index.name);
    await old.segment.discard();
  }
  const segment = await conflictIfRemoved(base, () => writeFolded(base, outdated, options));
  if (segment === null) return null;
  const draft = { segment, key, rows: new DraftRows(base, column, covered) };
  drafts.set(index.name, draft);
  return draft;
}

/** True if a draft has all live rows of its fragments in a version. */
const hasAllRows = async (rows: DraftRows, base: OpenLatest<ReaderEnvironment>): Promise<boolean> =>
  (await rows.coveredIn(base)).length === rows.fragmentCount;

/** @returns null for an index whose files this release can't read */
async function writeFolded(
  base: OpenLatest<ReaderEnvironment>,
  { kind, column, plan }: Outdated,
  { signal, progress }: Pick<SegmentOptions, "signal" | "progress">,
): Promise<WrittenSegment | null> {
  const rowsOf = (fragments: readonly DataFragment[]) =>
    rowsOfKind(base, kind, { column, fragments, signal });
  const open = (entry: IndexMetadata) => openIfReadable(base, entry, kind, column.field);
  const model = await open(plan.model);
  if (model === null) return null;
  const old: OldSegment[] = [];
  for (const { entry, fragments } of plan.isRebuilt ? [] : plan.merged) {
    const index = entry === plan.model ? model : await open(entry);
    if (index === null) return null;
    old.push({ index, moves: await movesOf(base, fragments) });
  }
  const { covered } = plan;
  const rowCount = covered.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  const { parameters } = model;
  const { environment } = base.table;
  const options = { kind, field: column.field, parameters, environment, rowCount, signal, progress };
  return writeSegment(base, options, (target) => {
    if (plan.isRebuilt) return kind.build(rowsOf(covered), target);
    const canMerge = old.length > 0 && (kind.canMerge?.(old.map(({ index }) => index)) ?? true);
    if (canMerge) return kind.merge(old, rowsOf(plan.added), target);
    return kind.extend?.(model, rowsOf(covered), target) ?? kind.build(rowsOf(covered), target);
  });
}

function movesOf(
  base: OpenLatest<ReaderEnvironment>,
  staying: readonly DataFragment[],
): RowMoves | Promise<RowMoves> {
  const { manifest, path } = base.file;
  if (hasStableRowIds(manifest)) return stayingRows(versionSource(base), staying, path);
  return stayingFragments(staying);
}

function metadataOf(
  base: OpenLatest<ReaderEnvironment>,
  { index, column, plan }: Outdated,
  { segment }: Draft,
): IndexMetadata {
  const [first] = index.segments;
  // Like LanceDB, keep the version of an index that stays in one segment.
  const isWhole = index.segments.length === 1 && plan.merged.length === 1;
  return segmentMetadata(segment, {
    name: index.name,
    fieldId: column.field.id,
    datasetVersion: isWhole ? first.datasetVersion : base.version,
    createdAt: Math.max(0, Date.now()),
    fragmentIds: plan.covered.map(({ id }) => id),
  });
}
