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
import { allowManyListeners } from "../../platform/native.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { AppendedFiles } from "./appendedFiles.js";
import { BackfillProgress } from "./backfillProgress.js";
import {
  type BackfillControl,
  type BackfillRound,
  type BackfillRun,
  type BackfillSettings,
  type BackfillWork,
  resolvedAsAsked,
} from "./backfillWork.js";
import { CheckpointFiles } from "./checkpointFiles.js";
import { ClusterFill } from "./clusterFill.js";
import { commitFragments } from "./commitFragments.js";
import { digestOf } from "./digestOf.js";
import { notedState } from "./filledFiles.js";
import { writeFittingRecord } from "./fittingRecord.js";
import { LocalFill } from "./localFill.js";
import { type OpenFragment, OpenFragments } from "./openFragments.js";
import { fittingVersion, outdatedRows } from "./outdatedRows.js";
import { takeOutdated } from "./takeOutdated.js";

export interface BackfilledColumn {
  /** Rows that got a value, including those of earlier runs. */
  readonly rows: number;
  readonly fragments: number;
  /** Last committed version; null if no row needed a value. */
  readonly version: number | null;
}

/** Settings that all rounds share. */
interface Filling {
  /** Version whose rows are filled. */
  readonly version: number;
  readonly appended: AppendedFiles;
  readonly checkpoints: CheckpointFiles;
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
  const backfill = new Backfill(run);
  try {
    return await backfill.perform();
  } catch (error) {
    // The first failure tells the reason; later commits may have failed because of it.
    const first: unknown = failed.signal.aborted ? failed.signal.reason : error;
    onFailure(error);
    await backfill.giveUp();
    throw first;
  }
}

class Backfill {
  readonly #run: BackfillRun;
  readonly #progress: BackfillProgress;
  readonly #fragments: OpenFragments;
  readonly #fill: LocalFill | ClusterFill;
  /** Version whose rows are filled; null: the latest one at the start of the work. */
  readonly #wantedVersion: number | null;
  /** Last committed version. */
  #version: number | null = null;

  constructor(run: BackfillRun) {
    const { settings, control } = run;
    const { version, files } = notedState(control.checkpoint);
    this.#run = run;
    this.#progress = new BackfillProgress(files, (done, total) => control.progress(done, total));
    this.#fragments = new OpenFragments(run, this.#progress);
    const { cluster } = settings;
    this.#fill =
      cluster === null ? new LocalFill(run, this.#fragments) : new ClusterFill(run, cluster, this.#fragments);
    this.#wantedVersion = settings.readVersion ?? version;
  }

  async perform(): Promise<BackfilledColumn> {
    const { target, request, key, control, signal } = this.#run;
    const { table } = target;
    const progress = this.#progress;
    const fillsAll = request.where === null;
    const fitting = fillsAll ? await this.#takeOutdated() : null;
    let base = await this.#latest();
    const version = this.#wantedVersion ?? base.version;
    const appended = new AppendedFiles(version);
    const { field } = await resolvedAsAsked(this.#run, base);
    const checkpoints = new CheckpointFiles(table, key, field, () => control.hold());
    await checkpoints.removeAll("temporary");
    progress.keepCommitted(base.file.manifest.fragments, field);
    for (let round = 1; ; round++) {
      await appended.lookUpTo(base, signal);
      const isLeft = await this.#fillRound(base, { version, appended, checkpoints });
      base = await this.#latest();
      // A `where` filter selects rows once; emptied rows are not selected again.
      const isEmptied = fillsAll && progress.forgetEmptied(base.file.manifest.fragments, field);
      if (!isLeft && !isEmptied) break;
      if (round === MAX_ROUNDS) {
        throw new ConcurrentModificationError(
          `${table.root}: fragments were rewritten ${round} times in a row`,
        );
      }
    }
    // The work is done; a cleanup removes any remaining files.
    await checkpoints.removeAll("all").catch(() => undefined);
    if (fitting !== null) await this.#recordFitting(base, fitting);
    return { rows: progress.doneRows, fragments: progress.fragments, version: this.#version };
  }

  giveUp(): Promise<void> {
    return this.#fragments.giveUp();
  }

  /**
   * Clears outdated values, so that their rows count as rows without a value.
   * @returns the version without them
   */
  async #takeOutdated(): Promise<OpenVersion | null> {
    const { target, control, signal } = this.#run;
    const { version, fitting } = await takeOutdated(target, {
      fieldOn: async (base) => (await resolvedAsAsked(this.#run, base)).field,
      hold: () => control.hold(),
      signal,
    });
    this.#version = version;
    return fitting;
  }

  /**
   * Records a version in which all values fit, so that later backfills skip the transactions before it.
   * @param fitting version in which all values fitted at the start of the work
   */
  async #recordFitting(base: OpenVersion<ReaderEnvironment>, fitting: OpenVersion): Promise<void> {
    const { field } = await resolvedAsAsked(this.#run, base);
    const marks = await outdatedRows(base, field, fittingVersion(fitting, field), this.#run.signal);
    // The transactions tell the same if writing the record fails.
    if (marks.size === 0) await writeFittingRecord(base, field).catch(() => undefined);
  }

  async #latest(): Promise<OpenVersion<ReaderEnvironment>> {
    const { table } = this.#run.target;
    for (let attempt = 0; attempt < MAX_ROUNDS; attempt++) {
      const entry = await findLatestVersion(table);
      const open = entry && (await openVersion(table, entry));
      if (entry === null) throw new TableGoneError(table.root);
      if (open !== null) return open;
    }
    throw new ConcurrentModificationError(`${table.root}: versions come and go`);
  }

  /** Fills the fragments of a version; true if some need another round. */
  async #fillRound(
    base: OpenVersion<ReaderEnvironment>,
    { version, appended, checkpoints }: Filling,
  ): Promise<boolean> {
    const { concurrency, commitFragments: groupSize } = this.#run.settings;
    const progress = this.#progress;
    const resolved = await resolvedAsAsked(this.#run, base);
    const fragments = base.file.manifest.fragments.filter(
      (fragment) => !progress.files.has(fragment.id) && !appended.has(fragment),
    );
    progress.expect(fragments);
    const share = MAX_ALL_UNSAVED_BYTES / Math.min(concurrency, Math.max(1, fragments.length));
    const round: BackfillRound = {
      ...{ base, resolved, checkpoints },
      savesAll: fragments.length > 1 && groupSize > 1,
      maxUnsavedBytes: Math.max(MIN_UNSAVED_BYTES, Math.min(MAX_UNSAVED_BYTES, share)),
    };
    let group: OpenFragment[] = [];
    let isLeft = false;
    for await (const computed of this.#fill.compute(round, fragments)) {
      if (computed === null) continue;
      if (computed === "conflict") {
        isLeft = true;
        continue;
      }
      group.push(computed);
      if (group.length < groupSize) continue;
      isLeft = (await this.#commit(version, group)) || isLeft;
      group = [];
    }
    return (group.length > 0 && (await this.#commit(version, group))) || isLeft;
  }

  /** @returns true if some fragments need another round */
  async #commit(filledVersion: number, group: readonly OpenFragment[]): Promise<boolean> {
    const parts = { progress: this.#progress, fragments: this.#fragments };
    const { version, isLeft } = await commitFragments(this.#run, parts, filledVersion, group);
    this.#version = version ?? this.#version;
    return isLeft;
  }
}
