/**
 * Fills a computed column, fragment by fragment: selects the rows, computes their values and commits them, some fragments
 * at a time. Fragments that others rewrote meanwhile are done again on the latest version. Rows are always read as they
 * are; the version whose rows are filled tells only which fragments came later.
 *
 * What survives a crash: committed fragments, the values in checkpoint files, and a note of the files that were about to be
 * committed, which tells whether a fragment was filled by this work although its values may be null.
 */

import { Limit, mapAhead } from "../../async/parallel.js";
import { performance } from "../../async/timers.js";
import { ConcurrentModificationError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import { allowManyListeners } from "../../platform/native.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import { unskipped } from "../../rows/rowPositions.js";
import type { TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { ColumnFiles } from "../columns/columnFiles.js";
import { fileVersionOf } from "../insert.js";
import { whileThere } from "../whileThere.js";
import { AppendedFiles } from "./appendedFiles.js";
import { BatchSize, type BatchSizeBounds } from "./batchSize.js";
import { CheckpointFiles, CheckpointGoneError } from "./checkpointFiles.js";
import { commitValues, type FragmentToCommit } from "./commitValues.js";
import type { ComputedValues } from "./computedValues.js";
import { digestOf } from "./digestOf.js";
import { EarlyFile } from "./earlyFile.js";
import { type BackfillState, type FilledFile, hasFile, notedState, stateToNote } from "./filledFiles.js";
import { writeFittingRecord } from "./fittingRecord.js";
import { fragmentValues, isConflict } from "./fragmentValues.js";
import { type BackfillRequest, type MeantBackfill, meantOn } from "./meantBackfill.js";
import { fittingVersion, outdatedRows } from "./outdatedRows.js";
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
}

/** What runs the work: a job. */
export interface BackfillControl {
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
  readonly meant: MeantBackfill;
  readonly checkpoints: CheckpointFiles;
  /** Whether the values of a fragment are saved when it is done: it may wait for others, to be committed with them. */
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

/** Milliseconds between two looks whether the column is still there, while its values are computed. */
const LOOK_MS = 1000;

/** Times that rewritten fragments are looked for again. */
const MAX_ROUNDS = 20;

/**
 * @throws what {@link meantOn} and `fragmentValues` throw; ConcurrentModificationError where the column is declared anew
 *   meanwhile, or others keep rewriting fragments
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
  /** When it was looked last whether the column is still there, and the version in which it was. */
  #lookedMs = performance.now();
  #lookedVersion = 0;
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
    const { version, files } = notedState(control.checkpoint);
    this.#files = files;
    this.#wantedVersion = settings.readVersion ?? version;
  }

  async run(): Promise<BackfilledColumn> {
    const { at } = this.#target;
    const fillsAll = this.#request.where === null;
    const fitting = fillsAll ? await this.#takeOutdated() : null;
    let base = await this.#latest();
    const version = this.#wantedVersion ?? base.version;
    const appended = new AppendedFiles(version);
    const { field } = await this.#meantOn(base);
    const checkpoints = new CheckpointFiles(at, this.#key, field, () => this.#control.hold());
    await checkpoints.removeAll("temporary");
    this.#forgetUncommitted(base, field);
    for (let round = 1; ; round++) {
      await appended.lookUpTo(base, this.#signal);
      const isLeft = await this.#fill(base, { version, appended, checkpoints });
      base = await this.#latest();
      const isEmptied = this.#forgetEmptied(base, field);
      if (!isLeft && !isEmptied) break;
      if (round === MAX_ROUNDS) {
        throw new ConcurrentModificationError(`${at.root}: fragments were rewritten ${round} times in a row`);
      }
    }
    // The work is done; a cleanup removes what is left.
    await checkpoints.removeAll("all").catch(() => undefined);
    if (fitting !== null) await this.#recordFitting(base, fitting);
    return { rows: this.#doneRows, fragments: this.#fragments, version: this.#version };
  }

  /**
   * Takes away the values that do not fit their inputs any more: then their rows are among those without a value.
   * @returns the version without them
   */
  async #takeOutdated(): Promise<OpenVersion | null> {
    const { version, fitting } = await takeOutdated(this.#target, {
      fieldOn: async (base) => (await this.#meantOn(base)).field,
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
    const { field } = await this.#meantOn(base);
    const marks = await outdatedRows(base, field, fittingVersion(fitting, field), this.#signal);
    // Without the record the transactions tell the same.
    if (marks.size === 0) await writeFittingRecord(base, field).catch(() => undefined);
  }

  /** Removes the files that are not committed, once the work has failed, and keeps the values that are computed. */
  async giveUp(): Promise<void> {
    for (const { early, values } of this.#open) {
      await early.giveUp();
      await values?.rescue();
    }
  }

  async #latest(): Promise<OpenVersion<ReaderEnvironment>> {
    const { at } = this.#target;
    for (let attempt = 0; attempt < MAX_ROUNDS; attempt++) {
      const entry = await findLatestVersion(at);
      const open = entry && (await openVersion(at, entry));
      if (entry === null) throw new TableGoneError(at.root);
      if (open !== null) return open;
    }
    throw new ConcurrentModificationError(`${at.root}: versions come and go`);
  }

  /**
   * What is to be filled. A column that was dropped and added again may have the id of the one that was meant, and no value
   * yet to tell it by.
   * @throws ConcurrentModificationError where the column is declared otherwise by now
   */
  async #meantOn(base: Pick<OpenVersion, "file">): Promise<MeantBackfill> {
    const meant = await meantOn(base, this.#request, this.#signal);
    if (meant.meaning === this.#request.meaning) return meant;
    throw new ConcurrentModificationError(
      `column ${formatFieldPath([meant.field.name])}: was declared anew while it was filled; ask for it again`,
    );
  }

  /**
   * Looks from time to time whether the values are still wanted, or a function would go on being called for a column that was
   * dropped.
   * @throws what {@link meantOn} throws
   */
  async #requireWanted(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    const { at } = this.#target;
    const entry = await findLatestVersion(at);
    if (entry === null) throw new TableGoneError(at.root);
    if (entry.version === this.#lookedVersion) return;
    const open = await openVersion(at, entry);
    // One that was cleaned up meanwhile has a later one behind it.
    if (open !== null) await this.#meantOn(open);
    this.#lookedVersion = entry.version;
  }

  /** Forgets files that an earlier run announced and did not commit, and those that no longer have the column. */
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
   * Forgets fragments that are there without the file that was committed: a restore, or a backfill of an input, may have taken
   * values away again. Rows that are selected by what they hold are not looked for again.
   * @returns whether there are such
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
    const meant = await this.#meantOn(base);
    const isToFill = (fragment: DataFragment) => !this.#files.has(fragment.id) && !appended.has(fragment);
    const fragments = base.file.manifest.fragments.filter(isToFill);
    this.#totalRows = this.#doneRows + fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
    const share = MAX_ALL_UNSAVED_BYTES / Math.min(concurrency, Math.max(1, fragments.length));
    const round: Round = {
      ...{ base, meant, checkpoints },
      savesAll: fragments.length > 1 && commitFragments > 1,
      maxUnsavedBytes: Math.max(MIN_UNSAVED_BYTES, Math.min(MAX_UNSAVED_BYTES, share)),
    };
    // One more than are computed: the values of one are saved, or committed, while the next is computed. After a failure, those
    // that were computed before are still committed.
    const atOnce = { weigh: () => 1, maxWeight: concurrency + 1 };
    const ready = mapAhead(fragments, (fragment) => this.#compute(round, fragment), atOnce);
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

  /**
   * Null where no row is to be computed; "conflict" where the version, or a checkpoint, is gone: the fragment has to be done
   * again on the latest version.
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
    const { maxFragments } = this.#settings;
    const { base } = round;
    const isWanted = this.#fragments < maxFragments;
    const wanted = isWanted ? await whileThere(base, () => this.#select(round, fragment)) : null;
    // Another fragment may have been counted while the rows were selected.
    const isChosen = wanted !== null && this.#fragments < maxFragments;
    this.#totalRows -= liveRowCount(fragment) - (isChosen ? wanted.length : 0);
    this.#control.progress(this.#doneRows, this.#totalRows);
    if (!isChosen) return null;
    this.#fragments++;
    const opened = await this.#openFragment(round, fragment, wanted.length);
    const computing = whileThere(base, () => this.#values(round, fragment, wanted, opened));
    opened.values = await this.#orUndo(opened, computing);
    return opened;
  }

  async #openFragment(
    { base, meant, savesAll, maxUnsavedBytes }: Round,
    fragment: DataFragment,
    rows: number,
  ): Promise<Fragment> {
    const { at } = this.#target;
    const content = await meant.sourceOf(fragment);
    const files = new ColumnFiles(at, { signal: this.#control.signal, pool: at.environment.workers });
    const early = new EarlyFile(files, {
      ...{ fragment, content, meant, version: fileVersionOf(base.file) },
      // A file that waits for those of other fragments, to be committed with them, holds no values meanwhile.
      maxHeldBytes: savesAll ? 0 : maxUnsavedBytes,
      hold: () => this.#control.hold(),
    });
    const opened: Fragment = { id: fragment.id, content, early, rows, done: 0, values: null };
    this.#open.add(opened);
    return opened;
  }

  #values(
    { base, meant, checkpoints, maxUnsavedBytes }: Round,
    fragment: DataFragment,
    wanted: Uint32Array,
    opened: Fragment,
  ): Promise<ComputedValues> {
    const { concurrency, callsAtOnce, taskRows, flushMs, batch } = this.#settings;
    const onRows = (count: number): void => {
      opened.done += count;
      this.#doneRows += count;
      this.#control.progress(this.#doneRows, this.#totalRows);
    };
    return fragmentValues(versionSource(base), meant, fragment, wanted, {
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
      requireWanted: () => this.#requireWanted(),
    });
  }

  /** The result of work on a fragment; where that has to be done again, the fragment is as if it had not been begun. */
  async #orUndo<Result>(fragment: Fragment, work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (isConflict(error)) await this.#undo(fragment);
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

  /** Physical offsets of the rows to compute, ascending; null where there are none. */
  async #select({ base, meant }: Round, fragment: DataFragment): Promise<Uint32Array | null> {
    const { filter, selectsAll } = meant;
    const source = versionSource(base);
    const { physicalRows } = fragment;
    if (physicalRows > 0 && selectsAll(fragment)) {
      const deleted = (await source.readDeletions(fragment)) ?? new Uint32Array(0);
      const live = unskipped(0, physicalRows, deleted);
      return live.length === 0 ? null : live;
    }
    const numbers = new RowNumbers(source, base.file.manifest, base.path);
    const request = { fragments: [fragment], filter, numbers, readAhead: STREAMED, signal: this.#signal };
    let wanted: Uint32Array | null = null;
    for await (const { rows } of selectedRows(source, request)) wanted = rows;
    return wanted;
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
        meantOn: (latest) => this.#meantOn(latest),
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
