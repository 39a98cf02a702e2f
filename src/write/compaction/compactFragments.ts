/**
 * Compaction: replaces small fragments, and fragments with many deleted rows, with fewer, larger fragments of
 * the same rows.
 *
 *   plan on the latest version ─ copy the rows ─ reserve ids for the new fragments ─ commit the replacement
 *
 * Other writers may append in between. If one changes fragments that are being copied, the compaction is
 * planned again and reuses all other copies. Nothing refers to the copies until the last commit.
 *
 * Reserving ids makes a version. From then on a compaction ignores its signal and finishes. Cancelling it
 * earlier leaves the table unchanged.
 *
 * An index holds addresses of rows, which depend on their fragments. Once the ids of the new fragments exist,
 * the index is rewritten with the new addresses and joins the same commit. Some kinds of indexes can't be
 * rewritten; their fragments stay as they are. With stable row ids, most indexes hold those ids and stay
 * valid.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { ConcurrentModificationError } from "../../errors.js";
import {
  type DataFragment,
  type IndexMetadata,
  ReserveFragments,
  Rewrite,
  RewriteGroup,
} from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { decodeSchema } from "../../schema/schema.js";
import {
  type ChangeTarget,
  commitPlanned,
  commitTransaction,
  type PlannedChange,
} from "../../table/commit/commit.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenLatest, OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { absentColumns } from "../absentColumns.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { canBeWritten } from "../indexes/openSegment.js";
import { type RemappedIndexes, remapIndexes, touchedSegments } from "../indexes/remapIndexes.js";
import { type PartOfWork, type TellWork, WorkMeter } from "../workProgress.js";
import {
  type CompactionGroup,
  type CompactionSettings,
  type FragmentFacts,
  planCompaction,
} from "./compactionPlan.js";
import { FragmentCopies } from "./fragmentCopies.js";

export interface CompactionResult {
  /** Committed version; the latest version if nothing changed. */
  readonly version: number;
  /** Null if nothing changed. */
  readonly transactionId: string | null;
  readonly groups: readonly ReplacedGroup[];
  /** Fragments that stay as they are only because an index that can't be rewritten covers them. */
  readonly indexedFragments: number;
}

interface ReplacedGroup {
  readonly oldFragments: DataFragment[];
  readonly newFragments: DataFragment[];
}

interface Proposal extends PlannedChange {
  readonly groups: readonly ReplacedGroup[];
}

const NO_PART: PartOfWork = { rows: 0, rowTime: 1 };
const NO_INDEXES: RemappedIndexes = { rewritten: [], segments: [] };

/** Compaction planned on a version. */
interface Plan {
  readonly file: ManifestFile;
  readonly groups: readonly CompactionGroup[];
  readonly indexedFragments: number;
}

/** Options that watch or end a compaction. */
export interface CompactionOptions {
  /** Ends the work; ignored once the first version is committed. */
  readonly signal?: AbortSignal;
  readonly progress?: TellWork;
  /** Rejects if the caller may no longer commit; called right before each commit. */
  readonly hold?: () => Promise<void>;
}

/**
 * @throws UnsupportedError for columns, or a data format, that this build does not write
 * @throws ConcurrentModificationError if other writers keep changing the fragments
 */
export async function compactFragments(
  target: ChangeTarget<ReaderEnvironment>,
  settings: CompactionSettings,
  { signal, progress, hold }: CompactionOptions = {},
): Promise<CompactionResult> {
  let isBegun = false;
  const signalNow = () => (isBegun ? undefined : signal);
  let copiedRows = 0;
  let meter = new WorkMeter(undefined, []);
  let copied = meter.begin(NO_PART);
  const copies = new FragmentCopies(target.table, signalNow, (rowCount) => {
    copiedRows += rowCount;
    copied(copiedRows);
  });
  const plans: Plan[] = [];
  let remapped: RemappedIndexes = NO_INDEXES;
  const verify = async (): Promise<void> => {
    await copies.requireInPlace();
    for (const segment of remapped.segments) {
      if (await segment.areInPlace()) continue;
      throw new ConcurrentModificationError(
        `${target.table.root}: files of an index were removed while it was remapped`,
      );
    }
    await hold?.();
  };
  const propose = async (base: OpenLatest<ReaderEnvironment>): Promise<Proposal | null> => {
    remapped = NO_INDEXES;
    const replaced = await conflictIfRemoved(base, async () => {
      const plan = await planOfCompaction(base, settings, signalNow);
      plans.push(plan);
      copiedRows = 0;
      const [copying, ...remapping] = workOfPlan(plan);
      meter = new WorkMeter(progress, [copying, ...remapping]);
      copied = meter.begin(copying);
      await copies.retain(plan.groups);
      return copyGroups(base, plan.groups, copies);
    });
    if (replaced.length === 0) return null;
    const groups = await withIds(base, replaced, verify, signalNow);
    isBegun ||= groups.some(({ newFragments }) => newFragments.length > 0);
    const indexes = await conflictIfRemoved(base, () => remapIndexes(base, groups, meter, signalNow()));
    remapped = indexes;
    const rewrite = Rewrite.create({
      groups: groups.map((group) => RewriteGroup.create(group)),
      rewrittenIndices: [...indexes.rewritten],
    });
    const discard = async (): Promise<void> => {
      for (const segment of indexes.segments) await segment.discard();
    };
    return { transaction: newTransaction(base.version, "rewrite", rewrite), groups, discard };
  };
  const options = {
    verify,
    // A getter, because each step reads it again.
    get signal() {
      return signalNow();
    },
  };
  const done = await withFiles(
    () => copies.discard(),
    () => commitPlanned(target, propose, options),
  );
  // Removes copies of earlier attempts. A file that can't be removed is an orphan that nothing refers to.
  if (done !== null) await copies.discard(done.committed.file.manifest.fragments).catch(() => undefined);
  const plan = plans[plans.length - 1];
  return {
    version: done?.committed.version ?? plan.file.manifest.version,
    transactionId: done?.plan.transaction.uuid ?? null,
    groups: done?.plan.groups ?? [],
    indexedFragments: plan.indexedFragments,
  };
}

/** Returns the copying of rows, then the rewriting of each index. */
function workOfPlan({ file, groups }: Plan): [PartOfWork, ...PartOfWork[]] {
  const rows = groups.reduce((sum, { rowCounts }) => rowCounts.reduce((a, b) => a + b, sum), 0);
  const merged = groups.map(({ fragments }) => ({ oldFragments: fragments }));
  return [{ rows, rowTime: 1 }, ...touchedSegments(file, merged)];
}

/** Coverage of a fragment has one letter for each index; this letter means "not covered". */
const NOT_COVERED = "-";
const COVERED = "c";

/** Plans a compaction of a version. */
export async function planOfCompaction(
  base: OpenVersion<ReaderEnvironment>,
  settings: CompactionSettings,
  signalNow: () => AbortSignal | undefined,
): Promise<Plan> {
  const { file } = base;
  const { manifest } = file;
  const source = versionSource(base);
  const isStable = hasStableRowIds(manifest);
  const indices = indicesOf(file);
  const coverages = indices.map(coverageOf);
  // Some index may cover more than its metadata says.
  const isUnknown = coverages.includes(null) || indices.some(({ name }) => name === DEFERRED_REMAP_INDEX);
  const fields = decodeSchema(manifest.fields, file.path);
  const version = manifest.dataFormat?.version ?? "";
  const facts: FragmentFacts[] = [];
  for (const fragment of manifest.fragments) {
    signalNow()?.throwIfAborted();
    await yieldToEventLoop();
    facts.push({
      fragment,
      liveRows: fragment.physicalRows - (await deletedRows(source, fragment)),
      absent: absentColumns(fields, [fragment], version)
        .map(({ id }) => id)
        .join(),
      coverage: coverages
        .map((covered) => (covered?.has(fragment.id) === false ? NOT_COVERED : COVERED))
        .join(""),
    });
  }
  const wanted = planCompaction(facts, settings);
  const writable = new Map<IndexMetadata, Promise<boolean>>();
  const groups: CompactionGroup[] = [];
  let indexedFragments = 0;
  for (const group of wanted) {
    const isLeft = isUnknown || (!isStable && (await isHeld(group.coverage)));
    if (isLeft) indexedFragments += group.fragments.length;
    else groups.push(group);
  }
  return { file, groups, indexedFragments };

  /** True if an index that can't be rewritten covers a group. */
  async function isHeld(coverage: string): Promise<boolean> {
    for (const [position, index] of indices.entries()) {
      if (coverage[position] === COVERED && !(await isWritable(index))) return true;
    }
    return false;
  }

  function isWritable(index: IndexMetadata): Promise<boolean> {
    const isRewritable = writable.get(index) ?? canBeWritten(base, index);
    writable.set(index, isRewritable);
    return isRewritable;
  }
}

async function deletedRows(source: FragmentSource, fragment: DataFragment): Promise<number> {
  const { deletionFile } = fragment;
  if (deletionFile === undefined) return 0;
  if (deletionFile.numDeletedRows > 0) return deletionFile.numDeletedRows;
  return (await source.readDeletions(fragment))?.length ?? 0;
}

async function copyGroups(
  base: OpenVersion<ReaderEnvironment>,
  groups: readonly CompactionGroup[],
  copies: FragmentCopies,
): Promise<ReplacedGroup[]> {
  const replaced: ReplacedGroup[] = [];
  for (const group of groups) {
    const newFragments = await copies.copy(base, group);
    replaced.push({ oldFragments: [...group.fragments], newFragments: [...newFragments] });
  }
  return replaced;
}

/** Reserves ids for the new fragments of groups. No other writer can get these ids. */
async function withIds(
  base: OpenLatest,
  groups: readonly ReplacedGroup[],
  verify: () => Promise<void>,
  signalNow: () => AbortSignal | undefined,
): Promise<ReplacedGroup[]> {
  const count = groups.reduce((sum, { newFragments }) => sum + newFragments.length, 0);
  if (count === 0) return [...groups];
  const reservation = newTransaction(
    base.version,
    "reserveFragments",
    ReserveFragments.create({ numFragments: count }),
  );
  // Verifying prevents reserving ids of another table under the same name.
  const options = { signal: signalNow(), verify };
  const { file } = await commitTransaction(base, reservation, options);
  let nextId = (file.manifest.maxFragmentId ?? 0) + 1 - count;
  return groups.map(({ oldFragments, newFragments }) => ({
    oldFragments,
    newFragments: newFragments.map((fragment) => ({ ...fragment, id: nextId++ })),
  }));
}
