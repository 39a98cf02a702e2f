/**
 * Fills a computed column, fragment by fragment: selects the rows, computes their values and commits them,
 * some fragments at a time. Fragments that other writers rewrite meanwhile are filled again on the latest
 * version, in another round. Rows are always read in their current state; the version to fill only tells
 * which fragments came later.
 *
 * Three things survive a crash: committed fragments, values in checkpoint files, and a note of the files that
 * were about to be committed. By the note a later run knows the fragments that this run filled, even with
 * nulls.
 */

import { ConcurrentModificationError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { allowManyListeners } from "../../platform/native.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { type ChangeTarget, commitPlanned } from "../../table/commit/commit.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import { planOwnMetadata } from "../columns/fieldMetadata.js";
import { AppendedFiles } from "./appendedFiles.js";
import {
  type BackfillControl,
  type BackfillRound,
  type BackfillRun,
  type BackfillSettings,
  type BackfillWork,
  resolvedAsAsked,
} from "./backfillWork.js";
import { CheckpointFiles, CheckpointGoneError } from "./checkpointFiles.js";
import { clearOutdated } from "./clearOutdated.js";
import { clusterFill } from "./clusterFill.js";
import { commitValues, type FragmentToCommit } from "./commitValues.js";
import { writeFittingRecord } from "./fittingRecord.js";
import { localFill } from "./localFill.js";
import { type ComputeFragments, type OpenFragment, OpenFragments } from "./openFragments.js";
import { fittingVersion, outdatedRows } from "./outdatedRows.js";
import { writeSignatures } from "./refreshSignatures.js";
import { type FilledFile, notedState, stateToNote } from "./resumeNote.js";
import { digestOf } from "./storedFields.js";

export interface BackfilledColumn {
  /** Rows that got a value, including those of earlier runs. */
  readonly rows: number;
  readonly fragments: number;
  /** Last committed version; null if no row needed a value. */
  readonly version: number | null;
}

/** Maximum bytes of unsaved values in memory: of one fragment, and of all fragments. */
const MAX_UNSAVED_BYTES = 32 * 1024 * 1024;
const MAX_ALL_UNSAVED_BYTES = 128 * 1024 * 1024;
/** Minimum share of a fragment when many are under way: smaller files cost more than they save. */
const MIN_UNSAVED_BYTES = 4 * 1024 * 1024;

/** Rounds over rewritten fragments. */
const MAX_ROUNDS = 20;

/**
 * @throws errors of {@link resolvedAsAsked} and `fragmentValues`; ConcurrentModificationError if the column
 *   is declared again meanwhile, or other writers keep rewriting fragments
 */
export async function backfillColumn(
  target: ChangeTarget<ReaderEnvironment>,
  request: BackfillWork,
  settings: BackfillSettings,
  key: string,
  control: BackfillControl,
): Promise<BackfilledColumn> {
  // Aborts the running calls of the function after one of them has failed.
  const failed = new AbortController();
  const signal = AbortSignal.any([control.signal, failed.signal]);
  allowManyListeners(signal);
  const onFailure = (error: unknown) => failed.abort(error);
  const run = { target, request, settings, key: await digestOf(key), control, signal, onFailure };
  const noted = notedState(control.checkpoint);
  const open = new OpenFragments(run, noted.files);
  try {
    return await fillInRounds(run, open, settings.readVersion ?? noted.version);
  } catch (error) {
    // The first failure tells the reason; later commits may have failed because of it.
    const first: unknown = failed.signal.aborted ? failed.signal.reason : error;
    onFailure(error);
    await open.giveUp();
    throw first;
  }
}

/** @param wantedVersion version whose rows are filled; null: the latest one */
async function fillInRounds(
  run: BackfillRun,
  open: OpenFragments,
  wantedVersion: number | null,
): Promise<BackfilledColumn> {
  const { target, request, settings, key, control, signal } = run;
  const { table } = target;
  const fillsAll = request.where === null;
  const { version: cleared, fitting } = fillsAll ? await clearOutdated(run) : NOTHING_CLEARED;
  let committed = cleared;
  let base = await latestOf(table);
  const version = wantedVersion ?? base.version;
  const appended = new AppendedFiles(version);
  const { field } = await resolvedAsAsked(run, base);
  const checkpoints = new CheckpointFiles(table, key, field, () => control.hold());
  await checkpoints.removeAll("temporary");
  open.keepCommitted(base.file.manifest.fragments, field);
  const { cluster } = settings;
  const compute = cluster === null ? localFill(run, open) : clusterFill(run, cluster, open);
  for (let round = 1; ; round++) {
    await appended.lookUpTo(base, signal);
    const isWanted = (fragment: DataFragment) => !open.files.has(fragment.id) && !appended.has(fragment);
    const fragments = base.file.manifest.fragments.filter(isWanted);
    const resolved = await resolvedAsAsked(run, base);
    let isLeft = false;
    for await (const group of computedGroups(run, open, compute, {
      base,
      resolved,
      checkpoints,
      fragments,
    })) {
      if (group !== "conflict") {
        const done = await commitGroup(run, open, version, group);
        committed = done.version ?? committed;
        isLeft ||= done.isLeft;
      } else isLeft = true;
    }
    base = await latestOf(table);
    // A `where` filter selects rows once; emptied rows are not selected again.
    const isEmptied = fillsAll && open.forgetEmptied(base.file.manifest.fragments, field);
    if (!isLeft && !isEmptied) break;
    if (round === MAX_ROUNDS) {
      throw new ConcurrentModificationError(
        `${table.root}: fragments were rewritten ${round} times in a row`,
      );
    }
  }
  // The work is done; a cleanup removes any remaining files.
  await checkpoints.removeAll("all").catch(() => undefined);
  const recorded = fitting === null ? null : await recordFitting(run, base, fitting);
  return { rows: open.doneRows, fragments: open.count, version: recorded ?? committed };
}

const NOTHING_CLEARED = { version: null, fitting: null };

/** Yields fragments to commit together, and "conflict" for each one that needs another round. */
async function* computedGroups(
  { settings }: BackfillRun,
  open: OpenFragments,
  compute: ComputeFragments,
  round: Pick<BackfillRound, "base" | "resolved" | "checkpoints"> & {
    readonly fragments: readonly DataFragment[];
  },
): AsyncGenerator<OpenFragment[] | "conflict"> {
  const { concurrency, commitFragments } = settings;
  const { fragments } = round;
  open.expect(fragments);
  const share = MAX_ALL_UNSAVED_BYTES / Math.min(concurrency, Math.max(1, fragments.length));
  const bounds = {
    savesAll: fragments.length > 1 && commitFragments > 1,
    maxUnsavedBytes: Math.max(MIN_UNSAVED_BYTES, Math.min(MAX_UNSAVED_BYTES, share)),
  };
  let group: OpenFragment[] = [];
  for await (const computed of compute({ ...round, ...bounds }, fragments)) {
    if (computed === "conflict") yield computed;
    else if (computed !== null) group.push(computed);
    if (group.length < commitFragments) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/**
 * Records a version in which all values fit, so that later backfills skip the transactions before it, and for
 * LanceDB the signatures of fragments in which they do.
 * @returns the version that names the signatures; null if there are no new ones
 */
async function recordFitting(
  run: BackfillRun,
  base: OpenVersion<ReaderEnvironment>,
  fitting: OpenVersion,
): Promise<number | null> {
  const { field } = await resolvedAsAsked(run, base);
  const marks = await outdatedRows(base, field, fittingVersion(fitting, field), run.signal);
  // The transactions tell the same if writing the record fails.
  if (marks.size === 0) await writeFittingRecord(base, field).catch(() => undefined);
  const metadata = await writeSignatures(base, field, ({ id }) => !marks.has(id));
  if (metadata === null) return null;
  const done = await commitPlanned(
    run.target,
    ({ file }) => {
      const isStill = file.manifest.fields.some(({ id, name }) => id === field.id && name === field.name);
      return isStill ? { transaction: planOwnMetadata(file, field.id, metadata) } : null;
    },
    { signal: run.signal, verify: () => run.control.hold() },
  );
  return done?.committed.version ?? null;
}

async function latestOf(table: TableAt<ReaderEnvironment>): Promise<OpenVersion<ReaderEnvironment>> {
  for (let attempt = 0; attempt < MAX_ROUNDS; attempt++) {
    const entry = await findLatestVersion(table);
    const open = entry && (await openVersion(table, entry));
    if (entry === null) throw new TableGoneError(table.root);
    if (open !== null) return open;
  }
  throw new ConcurrentModificationError(
    `${table.root}: other writers keep changing and removing versions; please retry`,
  );
}

/**
 * Commits the values of fragments in one version. First it notes their files, by which a later run knows the
 * filled fragments.
 * @param filledVersion version whose rows are filled
 * @returns the version with the values, null if there is none; and true if some fragments need another round
 */
async function commitGroup(
  run: BackfillRun,
  open: OpenFragments,
  filledVersion: number,
  group: readonly OpenFragment[],
): Promise<{ readonly version: number | null; readonly isLeft: boolean }> {
  const { control, onFailure } = run;
  let announced: ReadonlyMap<number, FilledFile> = new Map();
  const rowsOf = new Map(group.map(({ id, rows }) => [id, rows]));
  const undo = async (lost: readonly OpenFragment[]): Promise<boolean> => {
    for (const opened of lost) await open.undo(opened);
    return lost.length > 0;
  };
  try {
    const ready: FragmentToCommit[] = [];
    for (const { id, content, early, values } of group) {
      ready.push({ id, content, early, parts: (await values?.parts()) ?? [] });
    }
    const { done, version } = await commitValues(run, ready, async (files) => {
      announced = new Map([...files].map(([id, name]) => [id, { name, rows: rowsOf.get(id) ?? 0 }]));
      await control.saveCheckpoint(stateToNote(filledVersion, new Map([...open.files, ...announced])));
    });
    for (const id of done) {
      const file = announced.get(id);
      if (file !== undefined) open.files.set(id, file);
    }
    const isCommitted = ({ id }: OpenFragment): boolean => done.includes(id);
    for (const opened of group.filter(isCommitted)) open.close(opened);
    return { version, isLeft: await undo(group.filter((opened) => !isCommitted(opened))) };
  } catch (error) {
    if (error instanceof CheckpointGoneError) return { version: null, isLeft: await undo(group) };
    // Call it before waiting for the fragments that are being computed.
    onFailure(error);
    throw error;
  }
}
