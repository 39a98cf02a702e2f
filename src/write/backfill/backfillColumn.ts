/**
 * Fills a computed column, fragment by fragment: selects the rows, computes their values and commits them,
 * some fragments at a time. Fragments that others rewrote meanwhile are done again on the latest version.
 * Rows are always read as they are; the version whose rows are filled tells only which fragments came later.
 *
 * What survives a crash: committed fragments, the values in checkpoint files, and a note of the files that
 * were about to be committed, which tells whether a fragment was filled by this work although its values may
 * be null.
 */

import { Limit, mapAhead } from "../../async/parallel.js";
import { ConcurrentModificationError, InternalError, ServiceUnavailableError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import type { BackfillTask } from "../../namespace/clusters.js";
import { allowManyListeners, join } from "../../platform/native.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import type { TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { checkpointsDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { errorOfFailure, isErrorType } from "../../typedErrors.js";
import { ColumnFiles } from "../columns/columnFiles.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { fileVersionOf } from "../insert.js";
import { AppendedFiles } from "./appendedFiles.js";
import { BatchSize, type BatchSizeBounds } from "./batchSize.js";
import { CheckpointFiles, CheckpointGoneError } from "./checkpointFiles.js";
import { type BackfillCluster, runOnCluster } from "./clusterRun.js";
import { ColumnWatch } from "./columnWatch.js";
import { commitValues, type FragmentToCommit } from "./commitValues.js";
import { ComputedValues } from "./computedValues.js";
import { digestOf } from "./digestOf.js";
import { EarlyFile } from "./earlyFile.js";
import { type BackfillState, type FilledFile, hasFile, notedState, stateToNote } from "./filledFiles.js";
import { writeFittingRecord } from "./fittingRecord.js";
import { fragmentValues, isConflict, missingRows } from "./fragmentValues.js";
import { fittingVersion, outdatedRows } from "./outdatedRows.js";
import { type BackfillRequest, type ResolvedBackfill, resolvedOn } from "./resolvedBackfill.js";
import { selectedOffsets } from "./selectedOffsets.js";
import { takeOutdated } from "./takeOutdated.js";

/** What a job was asked to fill. */
export interface BackfillWork extends BackfillRequest {
  /** What the request meant when the job was asked for; see {@link MeantBackfill.meaning}. */
  readonly meaning: string;
}

export interface BackfillSettings {
  readonly concurrency: number;
  readonly callsAtOnce: number;
  readonly batch: BatchSizeBounds;
  readonly flushMs: number;
  readonly readVersion: number | null;
  readonly taskRows: number;
  readonly maxFragments: number;
  readonly commitFragments: number;
  /** Where functions run; null: in this process. */
  readonly cluster: BackfillCluster | null;
  /** Path of the table, for tasks of the cluster. */
  readonly table: readonly string[];
  /** Directory of the namespace. */
  readonly root: string;
}

/** What runs the work: a job. */
export interface BackfillControl {
  readonly jobId: string;
  readonly signal: AbortSignal;
  readonly checkpoint: unknown;
  progress(done: number, total?: number): void;
  saveCheckpoint(state: BackfillState): Promise<void>;
  hold(): Promise<void>;
}

export interface BackfilledColumn {
  /** Rows that got a value, those of earlier runs of the same work included. */
  readonly rows: number;
  readonly fragments: number;
  /** The last version that was committed; null where nothing was to be done. */
  readonly version: number | null;
}

/** What stays the same from one round to the next. */
interface Filling {
  /** The version whose rows are filled. */
  readonly version: number;
  readonly appended: AppendedFiles;
  readonly checkpoints: CheckpointFiles;
}

/** What stays the same for the fragments of a round. */
interface Round {
  readonly base: OpenVersion<ReaderEnvironment>;
  readonly resolved: ResolvedBackfill;
  readonly checkpoints: CheckpointFiles;
  /**
   * True if the values of a fragment are saved when it is done: it may wait for others, to be committed with
   * them.
   */
  readonly savesAll: boolean;
  /** Bytes of values that a fragment may have in memory only. */
  readonly maxUnsavedBytes: number;
}

/** A fragment whose values are computed, or about to be. */
interface Fragment extends Pick<FragmentToCommit, "id" | "content" | "early"> {
  /** Number of rows to compute. */
  readonly rows: number;
  /** Of these, how many have a value. */
  done: number;
  /** Null until all are computed. */
  values: ComputedValues | null;
}

/** Bytes of values that one fragment has in memory only, and those of all fragments together. */
const MAX_UNSAVED_BYTES = 32 * 1024 * 1024;
const MAX_ALL_UNSAVED_BYTES = 128 * 1024 * 1024;
/** Of one of very many fragments: files of fewer bytes cost more than they save. */
const MIN_UNSAVED_BYTES = 4 * 1024 * 1024;

/** A task of a cluster that is not done. */
interface ClusterPiece {
  readonly task: BackfillTask;
  readonly fragment: DataFragment;
  readonly opened: Fragment;
  /** Rows of it that count as done. */
  done: number;
}

/** Times that rewritten fragments are looked for again. */
const MAX_ROUNDS = 20;
/** Runs of a cluster in a row in which no task is done. */
const MAX_IDLE_RUNS = 3;

/**
 * @throws what {@link meantOn} and `fragmentValues` throw; ConcurrentModificationError where the column is
 *   declared anew meanwhile, or others keep rewriting fragments
 */
export async function backfillColumn(
  target: ChangeTarget<ReaderEnvironment>,
  request: BackfillWork,
  settings: BackfillSettings,
  key: string,
  control: BackfillControl,
): Promise<BackfilledColumn> {
  // Ends the calls of the function that are under way when one of them has failed.
  const failed = new AbortController();
  const signal = AbortSignal.any([control.signal, failed.signal]);
  allowManyListeners(signal);
  const abort = (error: unknown) => failed.abort(error);
  const work = new Backfill(target, request, settings, await digestOf(key), control, signal, abort);
  try {
    return await work.run();
  } catch (error) {
    // What failed first tells; commits that were still tried then may have failed, too.
    const first: unknown = failed.signal.aborted ? failed.signal.reason : error;
    abort(error);
    await work.giveUp();
    throw first;
  }
}

/** The error of a task that failed for good, as if its function had been called here. */
const errorOfTask = ({ type, message }: { readonly type: string; readonly message: string }): Error =>
  isErrorType(type) ? errorOfFailure({ type, message }) : new InternalError(message);

class Backfill {
  readonly #target: ChangeTarget<ReaderEnvironment>;
  readonly #request: BackfillWork;
  readonly #settings: BackfillSettings;
  readonly #key: string;
  readonly #control: BackfillControl;
  readonly #signal: AbortSignal;
  readonly #onFailure: (error: unknown) => void;
  readonly #batchSize: BatchSize;
  readonly #taskLimit: Limit;
  readonly #fragmentLimit: Limit;
  /** Fragments that are filled, or about to be. */
  readonly #files: Map<number, FilledFile>;
  /** Fragments that are not committed. */
  readonly #open = new Set<Fragment>();
  /** The version whose rows are filled; null: the latest one when the work begins. */
  readonly #wantedVersion: number | null;
  readonly #watch: ColumnWatch;
  #doneRows = 0;
  #totalRows = 0;
  #fragments = 0;
  #version: number | null = null;

  constructor(
    target: ChangeTarget<ReaderEnvironment>,
    request: BackfillWork,
    settings: BackfillSettings,
    key: string,
    control: BackfillControl,
    signal: AbortSignal,
    onFailure: (error: unknown) => void,
  ) {
    this.#target = target;
    this.#request = request;
    this.#settings = settings;
    this.#key = key;
    this.#control = control;
    this.#signal = signal;
    this.#onFailure = onFailure;
    this.#batchSize = new BatchSize(settings.batch);
    this.#taskLimit = new Limit(settings.concurrency);
    this.#fragmentLimit = new Limit(settings.concurrency);
    this.#watch = new ColumnWatch(target.table, (latest) => this.#resolvedOn(latest));
    const { version, files } = notedState(control.checkpoint);
    this.#files = files;
    this.#wantedVersion = settings.readVersion ?? version;
  }

  async run(): Promise<BackfilledColumn> {
    const { table } = this.#target;
    const fillsAll = this.#request.where === null;
    const fitting = fillsAll ? await this.#takeOutdated() : null;
    let base = await this.#latest();
    const version = this.#wantedVersion ?? base.version;
    const appended = new AppendedFiles(version);
    const { field } = await this.#resolvedOn(base);
    const checkpoints = new CheckpointFiles(table, this.#key, field, () => this.#control.hold());
    await checkpoints.removeAll("temporary");
    this.#forgetUncommitted(base, field);
    for (let round = 1; ; round++) {
      await appended.lookUpTo(base, this.#signal);
      const isLeft = await this.#fill(base, { version, appended, checkpoints });
      base = await this.#latest();
      const isEmptied = this.#forgetEmptied(base, field);
      if (!isLeft && !isEmptied) break;
      if (round === MAX_ROUNDS) {
        throw new ConcurrentModificationError(
          `${table.root}: fragments were rewritten ${round} times in a row`,
        );
      }
    }
    // The work is done; a cleanup removes what is left.
    await checkpoints.removeAll("all").catch(() => undefined);
    if (fitting !== null) await this.#recordFitting(base, fitting);
    return { rows: this.#doneRows, fragments: this.#fragments, version: this.#version };
  }

  /**
   * Takes away the values that do not fit their inputs any more: then their rows are among those without a
   * value.
   * @returns the version without them
   */
  async #takeOutdated(): Promise<OpenVersion | null> {
    const { version, fitting } = await takeOutdated(this.#target, {
      fieldOn: async (base) => (await this.#resolvedOn(base)).field,
      hold: () => this.#control.hold(),
      signal: this.#signal,
    });
    this.#version = version;
    return fitting;
  }

  /**
   * Records a version in which all values fit: later backfills do not read the transactions up to it.
   * @param fitting the version in which all values fitted when the work began
   */
  async #recordFitting(base: OpenVersion<ReaderEnvironment>, fitting: OpenVersion): Promise<void> {
    const { field } = await this.#resolvedOn(base);
    const marks = await outdatedRows(base, field, fittingVersion(fitting, field), this.#signal);
    // Without the record the transactions tell the same.
    if (marks.size === 0) await writeFittingRecord(base, field).catch(() => undefined);
  }

  /**
   * Removes the files that are not committed, once the work has failed, and keeps the values that are
   * computed.
   */
  async giveUp(): Promise<void> {
    for (const { early, values } of this.#open) {
      await early.giveUp();
      await values?.rescue();
    }
  }

  async #latest(): Promise<OpenVersion<ReaderEnvironment>> {
    const { table } = this.#target;
    for (let attempt = 0; attempt < MAX_ROUNDS; attempt++) {
      const entry = await findLatestVersion(table);
      const open = entry && (await openVersion(table, entry));
      if (entry === null) throw new TableGoneError(table.root);
      if (open !== null) return open;
    }
    throw new ConcurrentModificationError(`${table.root}: versions come and go`);
  }

  /**
   * What is to be filled. A column that was dropped and added again may have the id of the one that was
   * meant, and no value yet to tell it by.
   * @throws ConcurrentModificationError where the column is declared otherwise by now
   */
  async #resolvedOn(base: Pick<OpenVersion, "file">): Promise<ResolvedBackfill> {
    const resolved = await resolvedOn(base, this.#request, this.#signal);
    if (resolved.meaning === this.#request.meaning) return resolved;
    throw new ConcurrentModificationError(
      `column ${formatFieldPath([resolved.field.name])}: was declared anew while it was filled; ask for it again`,
    );
  }

  /**
   * Forgets files that an earlier run announced and did not commit, and those that no longer have the column.
   */
  #forgetUncommitted({ file }: OpenVersion, field: TableField): void {
    const now = new Map(file.manifest.fragments.map((fragment) => [fragment.id, fragment]));
    for (const [id, filled] of this.#files) {
      if (!hasFile(now.get(id), filled, field)) {
        this.#files.delete(id);
        continue;
      }
      this.#fragments++;
      this.#doneRows += filled.rows;
    }
  }

  /**
   * Forgets fragments that are there without the file that was committed: a restore, or a backfill of an
   * input, may have taken values away again. Rows that are selected by what they hold are not looked for
   * again.
   * @returns true if there are such
   */
  #forgetEmptied({ file }: OpenVersion, field: TableField): boolean {
    if (this.#request.where !== null) return false;
    let isAny = false;
    for (const fragment of file.manifest.fragments) {
      const filled = this.#files.get(fragment.id);
      if (filled === undefined || hasFile(fragment, filled, field)) continue;
      this.#files.delete(fragment.id);
      this.#fragments--;
      this.#doneRows -= filled.rows;
      isAny = true;
    }
    return isAny;
  }

  /** Fills the fragments of a version; true if some have to be done again. */
  async #fill(
    base: OpenVersion<ReaderEnvironment>,
    { version, appended, checkpoints }: Filling,
  ): Promise<boolean> {
    const { concurrency, commitFragments } = this.#settings;
    const resolved = await this.#resolvedOn(base);
    const isToFill = (fragment: DataFragment) => !this.#files.has(fragment.id) && !appended.has(fragment);
    const fragments = base.file.manifest.fragments.filter(isToFill);
    this.#totalRows = this.#doneRows + fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    const share = MAX_ALL_UNSAVED_BYTES / Math.min(concurrency, Math.max(1, fragments.length));
    const round: Round = {
      ...{ base, resolved, checkpoints },
      savesAll: fragments.length > 1 && commitFragments > 1,
      maxUnsavedBytes: Math.max(MIN_UNSAVED_BYTES, Math.min(MAX_UNSAVED_BYTES, share)),
    };
    const ready =
      this.#settings.cluster === null
        ? this.#computeHere(round, fragments)
        : this.#computeOnCluster(round, fragments, this.#settings.cluster);
    let group: Fragment[] = [];
    let isLeft = false;
    for await (const computed of ready) {
      if (computed === null) continue;
      if (computed === "conflict") {
        isLeft = true;
        continue;
      }
      group.push(computed);
      if (group.length < commitFragments) continue;
      isLeft = (await this.#commit(version, group)) || isLeft;
      group = [];
    }
    return (group.length > 0 && (await this.#commit(version, group))) || isLeft;
  }

  #computeHere(
    round: Round,
    fragments: readonly DataFragment[],
  ): AsyncIterable<Fragment | "conflict" | null> {
    // One more than are computed: the values of one are saved, or committed, while the next is computed.
    // After a failure, those that were computed before are still committed.
    const concurrency = { weigh: () => 1, maxWeight: this.#settings.concurrency + 1 };
    return mapAhead(fragments, (fragment) => this.#compute(round, fragment), concurrency);
  }

  /**
   * Has the values of fragments computed by a cluster: yields each fragment when all its values are in files
   * of the table's directory, and were read. Tasks that are not done are handed to the cluster again.
   */
  async *#computeOnCluster(
    round: Round,
    fragments: readonly DataFragment[],
    cluster: BackfillCluster,
  ): AsyncGenerator<Fragment | "conflict", void, undefined> {
    const pieces = new Map<string, ClusterPiece>();
    for (const fragment of fragments) {
      const planned = await this.#planPieces(round, fragment);
      if (planned === null) continue;
      if (planned === "conflict" || planned.pieces.length === 0) {
        yield planned === "conflict" ? planned : planned.opened;
        continue;
      }
      for (const piece of planned.pieces) pieces.set(piece.task.taskId, piece);
    }
    let idleRuns = 0;
    while (pieces.size > 0) {
      let done = 0;
      for await (const piece of this.#donePieces(cluster, pieces)) {
        const { fragment, opened } = piece;
        if (piece.done < piece.task.rows) {
          for (const [taskId, other] of pieces) if (other.opened === opened) pieces.delete(taskId);
          await this.#undo(opened);
          yield "conflict";
          continue;
        }
        done++;
        if ([...pieces.values()].some((other) => other.opened === opened)) continue;
        const missing = await this.#orConflict(opened, this.#collect(round, fragment, opened));
        if (missing === "conflict" || missing.length === 0) {
          yield missing === "conflict" ? missing : opened;
          continue;
        }
        for (const lost of missing) pieces.set(lost.task.taskId, lost);
        done -= missing.length;
      }
      idleRuns = done > 0 ? 0 : idleRuns + 1;
      if (pieces.size > 0 && idleRuns === MAX_IDLE_RUNS) {
        throw new ServiceUnavailableError(
          `cluster ${cluster.name}: ${pieces.size} tasks have no values in the table's directory after ${idleRuns} runs; its workers may have died, or have another directory`,
        );
      }
    }
  }

  /**
   * Runs the cluster once. Yields each task that it is done with; its fragment has to be done again if rows
   * are left.
   */
  async *#donePieces(
    cluster: BackfillCluster,
    pieces: Map<string, ClusterPiece>,
  ): AsyncGenerator<ClusterPiece, void, undefined> {
    const { table } = this.#target;
    const { jobId } = this.#control;
    // Cleanups take it for what it is. A run before may have left it.
    const directory = join(checkpointsDirectory(table.root), `${TEMPORARY_PREFIX}${jobId}`);
    await this.#control.hold();
    await table.disk.removeTree(directory);
    await table.disk.makeDirectory(directory, table.root);
    const tasks = [...pieces.values()].map(({ task }) => task);
    const options = {
      ...{ jobId, root: this.#settings.root, directory, signal: this.#signal },
      onProgress: (taskId: string, rows: number) => {
        const piece = pieces.get(taskId);
        if (piece !== undefined) this.#advance(piece, rows);
      },
    };
    try {
      for await (const outcome of runOnCluster(tasks, cluster, options)) {
        const piece = pieces.get(outcome.taskId);
        if (piece === undefined) continue;
        pieces.delete(outcome.taskId);
        if (outcome.kind === "done") this.#advance(piece, piece.task.rows);
        else if (outcome.type === "ConcurrentModification") piece.done = 0;
        else throw errorOfTask(outcome);
        yield piece;
      }
    } finally {
      // A directory that can't be removed is an orphan, which a cleanup removes.
      await table.disk.removeTree(directory).catch(() => undefined);
    }
  }

  /** Counts the rows of a task that have values. */
  #advance(piece: ClusterPiece, rows: number): void {
    if (rows <= piece.done) return;
    this.#count(piece.opened, rows - piece.done);
    piece.done = rows;
  }

  #count(opened: Fragment, rows: number): void {
    opened.done += rows;
    this.#doneRows += rows;
    this.#control.progress(this.#doneRows, this.#totalRows);
  }

  async #planPieces(
    round: Round,
    fragment: DataFragment,
  ): Promise<{ readonly opened: Fragment; readonly pieces: readonly ClusterPiece[] } | "conflict" | null> {
    try {
      const chosen = await this.#choose(round, fragment);
      if (chosen === null) return null;
      const { opened } = chosen;
      const pieces = await this.#orUndo(opened, this.#collect(round, fragment, opened));
      return { opened, pieces };
    } catch (error) {
      if (isConflict(error)) return "conflict";
      throw error;
    }
  }

  /**
   * Takes the values of a fragment that are in files of the table's directory, and reads these.
   * @returns tasks for the rows that have none; none where the fragment is ready to be committed
   */
  async #collect(round: Round, fragment: DataFragment, opened: Fragment): Promise<ClusterPiece[]> {
    const { base, resolved, checkpoints, maxUnsavedBytes } = round;
    const { taskRows, flushMs } = this.#settings;
    const values = new ComputedValues(opened.content, opened.rows, {
      ...{ checkpoints, flushMs, maxUnsavedBytes, onFailure: this.#onFailure },
    });
    const missing = await conflictIfRemoved(base, async () => {
      const wanted = (await selectedOffsets(base, resolved, fragment, this.#signal)) ?? new Uint32Array(0);
      const options = { content: opened.content, checkpoints, taskRows, onRows: () => undefined };
      return missingRows(fragment, wanted, values, options);
    });
    const missingCount = missing.reduce((sum, rows) => sum + rows.length, 0);
    this.#count(opened, opened.rows - missingCount - opened.done);
    if (missing.length === 0) opened.values = values;
    else values.release();
    const tasks = await Promise.all(missing.map((rows) => this.#taskOf(round, opened, rows)));
    return tasks.map((task) => ({ task, fragment, opened, done: 0 }));
  }

  async #taskOf({ base, resolved }: Round, opened: Fragment, rows: Uint32Array): Promise<BackfillTask> {
    const { table, batch, callsAtOnce, flushMs } = this.#settings;
    const { column, where } = this.#request;
    const { branch } = this.#target.table;
    const [firstRow, lastRow] = [rows[0], rows[rows.length - 1]];
    return {
      taskId: `${opened.id}-${firstRow}-${lastRow}`,
      jobId: this.#control.jobId,
      id: table,
      ...(branch !== null && { branch }),
      column,
      ...(where !== null && { where }),
      version: base.version,
      fragmentId: opened.id,
      ...{ firstRow, lastRow, rows: rows.length },
      meaning: await digestOf(resolved.meaning),
      content: opened.content,
      key: this.#key,
      checkpointSize: batch.most,
      minCheckpointSize: batch.least,
      batchCheckpointFlushIntervalSeconds: flushMs / 1000,
      intraApplierConcurrency: callsAtOnce,
    };
  }

  /**
   * Null where no row is to be computed; "conflict" where the version, or a checkpoint, is gone: the fragment
   * has to be done again on the latest version.
   */
  async #compute(round: Round, fragment: DataFragment): Promise<Fragment | "conflict" | null> {
    try {
      // In the order of the fragments: one that is computed waits for those before it.
      const computed = await this.#fragmentLimit.run(() => this.#computeNow(round, fragment), this.#signal);
      const values = computed?.values ?? null;
      if (computed !== null && values !== null && round.savesAll) {
        await this.#orUndo(computed, values.saveAll());
      }
      return computed;
    } catch (error) {
      if (isConflict(error)) return "conflict";
      // Before others are waited for.
      this.#onFailure(error);
      throw error;
    }
  }

  async #computeNow(round: Round, fragment: DataFragment): Promise<Fragment | null> {
    const chosen = await this.#choose(round, fragment);
    if (chosen === null) return null;
    const { opened, wanted } = chosen;
    const computing = conflictIfRemoved(round.base, () => this.#values(round, fragment, wanted, opened));
    opened.values = await this.#orUndo(opened, computing);
    return opened;
  }

  /** Begins a fragment, unless none of its rows is to be computed. */
  async #choose(
    round: Round,
    fragment: DataFragment,
  ): Promise<{ readonly opened: Fragment; readonly wanted: Uint32Array } | null> {
    const { maxFragments } = this.#settings;
    const { base, resolved } = round;
    const isWanted = this.#fragments < maxFragments;
    const wanted = isWanted
      ? await conflictIfRemoved(base, () => selectedOffsets(base, resolved, fragment, this.#signal))
      : null;
    // Another fragment may have been counted while the rows were selected.
    const isChosen = wanted !== null && this.#fragments < maxFragments;
    this.#totalRows -= liveRowCount(fragment) - (isChosen ? wanted.length : 0);
    this.#control.progress(this.#doneRows, this.#totalRows);
    if (!isChosen) return null;
    this.#fragments++;
    return { opened: await this.#openFragment(round, fragment, wanted.length), wanted };
  }

  async #openFragment(
    { base, resolved, savesAll, maxUnsavedBytes }: Round,
    fragment: DataFragment,
    rows: number,
  ): Promise<Fragment> {
    const { table } = this.#target;
    const content = await resolved.sourceOf(fragment);
    const files = new ColumnFiles(table, { signal: this.#control.signal, pool: table.environment.workers });
    const early = new EarlyFile(files, {
      ...{ fragment, content, resolved, version: fileVersionOf(base.file) },
      // A file that waits for those of other fragments, to be committed with them, holds no values meanwhile.
      maxHeldBytes: savesAll ? 0 : maxUnsavedBytes,
      hold: () => this.#control.hold(),
    });
    const opened: Fragment = { id: fragment.id, content, early, rows, done: 0, values: null };
    this.#open.add(opened);
    return opened;
  }

  #values(
    { base, resolved, checkpoints, maxUnsavedBytes }: Round,
    fragment: DataFragment,
    wanted: Uint32Array,
    opened: Fragment,
  ): Promise<ComputedValues> {
    const { concurrency, callsAtOnce, taskRows, flushMs, batch } = this.#settings;
    const onRows = (count: number): void => this.#count(opened, count);
    return fragmentValues(versionSource(base), resolved, fragment, wanted, {
      content: opened.content,
      batchSize: this.#batchSize,
      leastRows: batch.least,
      taskRows,
      taskLimit: this.#taskLimit,
      tasksAtOnce: concurrency,
      callsAtOnce,
      flushMs,
      maxUnsavedBytes,
      checkpoints,
      early: opened.early,
      signal: this.#signal,
      onFailure: this.#onFailure,
      onRows,
      requireWanted: () => this.#watch.look(),
    });
  }

  /**
   * The result of work on a fragment; where that has to be done again, the fragment is as if it had not been
   * begun.
   */
  async #orUndo<Result>(fragment: Fragment, work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (isConflict(error)) await this.#undo(fragment);
      throw error;
    }
  }

  /** The result of work on a fragment, or that it has to be done again. */
  async #orConflict<Result>(fragment: Fragment, work: Promise<Result>): Promise<Result | "conflict"> {
    try {
      return await this.#orUndo(fragment, work);
    } catch (error) {
      if (isConflict(error)) return "conflict";
      throw error;
    }
  }

  async #undo(fragment: Fragment): Promise<void> {
    this.#fragments--;
    this.#doneRows -= fragment.done;
    await fragment.early.giveUp();
    this.#close(fragment);
  }

  /** Gives back the memory of values that are committed, or have to be computed again. */
  #close(fragment: Fragment): void {
    this.#open.delete(fragment);
    fragment.values?.release();
  }

  /** True where some of the fragments have to be done again. */
  async #commit(asOf: number, group: readonly Fragment[]): Promise<boolean> {
    const control = this.#control;
    let announced: ReadonlyMap<number, FilledFile> = new Map();
    const rowsOf = new Map(group.map(({ id, rows }) => [id, rows]));
    const redo = async (lost: readonly Fragment[]): Promise<boolean> => {
      for (const fragment of lost) await this.#undo(fragment);
      return lost.length > 0;
    };
    try {
      const ready: FragmentToCommit[] = [];
      for (const { id, content, early, values } of group) {
        ready.push({ id, content, early, parts: (await values?.parts()) ?? [] });
      }
      const { done, version } = await commitValues(this.#target, ready, {
        resolvedOn: (latest) => this.#resolvedOn(latest),
        announce: async (files) => {
          announced = new Map([...files].map(([id, name]) => [id, { name, rows: rowsOf.get(id) ?? 0 }]));
          await control.saveCheckpoint(stateToNote(asOf, new Map([...this.#files, ...announced])));
        },
        hold: () => control.hold(),
        signal: control.signal,
      });
      this.#version = version ?? this.#version;
      for (const id of done) {
        const file = announced.get(id);
        if (file !== undefined) this.#files.set(id, file);
      }
      for (const fragment of group) if (done.includes(fragment.id)) this.#close(fragment);
      return await redo(group.filter(({ id }) => !done.includes(id)));
    } catch (error) {
      if (error instanceof CheckpointGoneError) return redo(group);
      // Before the fragments that are being computed are waited for.
      this.#onFailure(error);
      throw error;
    }
  }
}
