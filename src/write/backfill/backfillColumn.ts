/**
 * Fills a computed column, fragment by fragment: selects the rows, computes their values and commits them, some fragments
 * at a time. Fragments that others rewrote meanwhile are done again on the latest version. Rows are always read as they
 * are; the version whose rows are filled tells only which fragments came later.
 *
 * What survives a crash: committed fragments, the values in checkpoint files, and a note of the files that were about to be
 * committed, which tells whether a fragment was filled by this work although its values may be null.
 */

import { Limit, mapAhead } from "../../async/parallel.js";
import { ConcurrentModificationError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import { unskipped } from "../../rows/rowPositions.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { TransactionConflictError } from "../../table/commit/conflict.js";
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
import { CheckpointFiles, CheckpointGoneError, digestOf } from "./checkpointFiles.js";
import { commitValues, type FragmentToCommit } from "./commitValues.js";
import { EarlyFile } from "./earlyFile.js";
import { fragmentValues, MAX_UNSAVED_BYTES } from "./fragmentValues.js";
import { type BackfillRequest, type MeantBackfill, meantOn } from "./meantBackfill.js";

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

/** What a later run has to know of this one. */
export type BackfillState = {
  /** The version whose rows are filled. */
  readonly version: number;
  /**
   * Ids of fragments, each with the name of the file that holds the column, or is about to, and the number of rows that got
   * a value.
   */
  readonly files: readonly (readonly [fragmentId: number, name: string, rows: number])[];
};

export interface BackfilledColumn {
  /** Rows that got a value, those of earlier runs of the same work included. */
  readonly rows: number;
  readonly fragments: number;
  /** The last version that was committed; null where nothing was to be done. */
  readonly version: number | null;
}

/** A file that has the column of a fragment. */
interface FilledFile {
  readonly name: string;
  /** Rows that got a value. */
  readonly rows: number;
}

/** What stays the same from one round to the next. */
interface Filling {
  /** The version whose rows are filled. */
  readonly version: number;
  readonly appended: AppendedFiles;
  readonly checkpoints: CheckpointFiles;
}

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
  job: string,
  control: BackfillControl,
): Promise<BackfilledColumn> {
  // Ends the calls of the function that are under way when one of them has failed.
  const failed = new AbortController();
  const signal = AbortSignal.any([control.signal, failed.signal]);
  const abort = (error: unknown) => failed.abort(error);
  const work = new Backfill(target, request, settings, await digestOf(job), control, signal, abort);
  try {
    return await work.run();
  } catch (error) {
    abort(error);
    await work.giveUp();
    throw error;
  }
}

class Backfill {
  readonly #target: ChangeTarget<ReaderEnvironment>;
  readonly #request: BackfillWork;
  readonly #settings: BackfillSettings;
  readonly #job: string;
  readonly #control: BackfillControl;
  readonly #signal: AbortSignal;
  readonly #onFailure: (error: unknown) => void;
  readonly #batchSize: BatchSize;
  readonly #tasks: Limit;
  readonly #computing: Limit;
  /** Fragments that are filled, or about to be. */
  readonly #files: Map<number, FilledFile>;
  /** Files that are being written while values are computed, or wait to be committed. */
  readonly #early = new Set<EarlyFile>();
  /** The version whose rows are filled; null: the latest one when the work begins. */
  readonly #wantedVersion: number | null;
  #doneRows = 0;
  #totalRows = 0;
  #fragments = 0;
  #version: number | null = null;

  constructor(
    target: ChangeTarget<ReaderEnvironment>,
    request: BackfillWork,
    settings: BackfillSettings,
    job: string,
    control: BackfillControl,
    signal: AbortSignal,
    onFailure: (error: unknown) => void,
  ) {
    this.#target = target;
    this.#request = request;
    this.#settings = settings;
    this.#job = job;
    this.#control = control;
    this.#signal = signal;
    this.#onFailure = onFailure;
    this.#batchSize = new BatchSize(settings.batch);
    this.#tasks = new Limit(settings.concurrency);
    this.#computing = new Limit(settings.concurrency);
    const state = stateOf(control.checkpoint);
    this.#files = new Map(state?.files.map(([id, name, rows]) => [id, { name, rows }]));
    this.#wantedVersion = settings.readVersion ?? state?.version ?? null;
  }

  async run(): Promise<BackfilledColumn> {
    const { at } = this.#target;
    let base = await this.#latest();
    const version = this.#wantedVersion ?? base.version;
    const appended = new AppendedFiles(version);
    const { field } = await this.#meantOn(base);
    const checkpoints = new CheckpointFiles(at, this.#job, field, () => this.#control.hold());
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
    await checkpoints.removeAll("all");
    return { rows: this.#doneRows, fragments: this.#fragments, version: this.#version };
  }

  /** Removes the files that are not committed, once the work has failed. */
  async giveUp(): Promise<void> {
    for (const early of this.#early) await early.giveUp();
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
    const meant = await meantOn(base, this.#request);
    if (meant.meaning === this.#request.meaning) return meant;
    throw new ConcurrentModificationError(
      `column ${formatFieldPath([meant.field.name])}: was declared anew while it was filled; ask for it again`,
    );
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
    const ready = mapAhead(
      fragments,
      (fragment) => this.#compute(base, meant, fragment, checkpoints, fragments.length > 1),
      // One more than are computed: the values of one are saved, or committed, while the next is computed.
      { weigh: () => 1, maxWeight: concurrency + 1, signal: this.#signal },
    );
    let group: FragmentToCommit[] = [];
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
  async #compute(
    base: OpenVersion<ReaderEnvironment>,
    meant: MeantBackfill,
    fragment: DataFragment,
    checkpoints: CheckpointFiles,
    isOneOfMany: boolean,
  ): Promise<FragmentToCommit | "conflict" | null> {
    const { maxFragments, commitFragments } = this.#settings;
    const source = versionSource(base);
    try {
      const isWanted = this.#fragments < maxFragments;
      const wanted = isWanted
        ? await whileThere(base, () => this.#select(base, source, meant, fragment))
        : null;
      const others = liveRowCount(fragment) - (wanted?.length ?? 0);
      this.#totalRows -= others;
      this.#control.progress(this.#doneRows, this.#totalRows);
      // Another fragment may have been counted while the rows were selected.
      if (wanted === null || this.#fragments >= maxFragments) return null;
      this.#fragments++;
      const savesAll = isOneOfMany && commitFragments > 1;
      return await this.#values(base, meant, fragment, wanted, { checkpoints, savesAll });
    } catch (error) {
      if (isConflict(error)) return "conflict";
      // Before others are waited for.
      this.#onFailure(error);
      throw error;
    }
  }

  async #values(
    base: OpenVersion<ReaderEnvironment>,
    meant: MeantBackfill,
    fragment: DataFragment,
    wanted: Uint32Array,
    { checkpoints, savesAll }: { readonly checkpoints: CheckpointFiles; readonly savesAll: boolean },
  ): Promise<FragmentToCommit> {
    const { concurrency, callsAtOnce, taskRows, flushMs, batch } = this.#settings;
    const { at } = this.#target;
    const content = await meant.sourceOf(fragment);
    const files = new ColumnFiles(at, { signal: this.#signal, pool: at.environment.workers });
    const early = new EarlyFile(files, {
      ...{ fragment, content, meant, version: fileVersionOf(base.file) },
      // A file that waits for those of other fragments, to be committed with them, holds no values meanwhile.
      maxHeldBytes: savesAll ? 0 : MAX_UNSAVED_BYTES,
      hold: () => this.#control.hold(),
    });
    this.#early.add(early);
    let counted = 0;
    const onRows = (count: number): void => {
      counted += count;
      this.#doneRows += count;
      this.#control.progress(this.#doneRows, this.#totalRows);
    };
    try {
      const parts = await whileThere(base, () =>
        fragmentValues(versionSource(base), meant, fragment, wanted, {
          batchSize: this.#batchSize,
          leastRows: batch.least,
          taskRows,
          fragments: this.#computing,
          tasks: this.#tasks,
          tasksAtOnce: concurrency,
          callsAtOnce,
          flushMs,
          savesAll,
          checkpoints,
          early,
          signal: this.#signal,
          onFailure: this.#onFailure,
          onRows,
        }),
      );
      return { id: fragment.id, content, rows: wanted.length, parts, early };
    } catch (error) {
      if (!isConflict(error)) throw error;
      await early.giveUp();
      this.#early.delete(early);
      this.#fragments--;
      this.#doneRows -= counted;
      throw error;
    }
  }

  /** Physical offsets of the rows to compute, ascending; null where there are none. */
  async #select(
    base: OpenVersion<ReaderEnvironment>,
    source: FragmentSource,
    { filter, selectsAll }: MeantBackfill,
    fragment: DataFragment,
  ): Promise<Uint32Array | null> {
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
  async #commit(asOf: number, group: readonly FragmentToCommit[]): Promise<boolean> {
    const control = this.#control;
    let announced: ReadonlyMap<number, FilledFile> = new Map();
    const rowsOf = new Map(group.map(({ id, rows }) => [id, rows]));
    const redo = (lost: readonly FragmentToCommit[]): boolean => {
      this.#fragments -= lost.length;
      this.#doneRows -= lost.reduce((sum, { rows }) => sum + rows, 0);
      return lost.length > 0;
    };
    try {
      const { done, version } = await commitValues(this.#target, group, {
        meantOn: (latest) => this.#meantOn(latest),
        announce: async (files) => {
          announced = new Map([...files].map(([id, name]) => [id, { name, rows: rowsOf.get(id) ?? 0 }]));
          const all = [...new Map([...this.#files, ...announced])];
          const noted = all.map(([id, { name, rows }]) => [id, name, rows] as const);
          await control.saveCheckpoint({ version: asOf, files: noted });
        },
        hold: () => control.hold(),
        signal: this.#signal,
      });
      this.#version = version ?? this.#version;
      for (const { early } of group) this.#early.delete(early);
      for (const { parts } of group) for (const part of parts) part.release?.();
      for (const id of done) {
        const file = announced.get(id);
        if (file !== undefined) this.#files.set(id, file);
      }
      return redo(group.filter(({ id }) => !done.includes(id)));
    } catch (error) {
      if (error instanceof CheckpointGoneError) return redo(group);
      // Before the fragments that are being computed are waited for.
      this.#onFailure(error);
      throw error;
    }
  }
}

/** Whether a fragment has the column in the file that was made for it. Files may name the parts of a column only. */
function hasFile(fragment: DataFragment | undefined, { name }: FilledFile, field: TableField): boolean {
  const ids = new Set(fieldIdsOf(field));
  const own = fragment?.files.find(({ path }) => path === name);
  return own?.fields.some((id) => ids.has(id)) === true;
}

/** Whether an error means that a fragment has to be done again. */
const isConflict = (error: unknown): boolean =>
  error instanceof CheckpointGoneError || error instanceof TransactionConflictError;

/** What an earlier run noted; null where there is nothing of use. */
function stateOf(noted: unknown): BackfillState | null {
  if (typeof noted !== "object" || noted === null) return null;
  const { version, files } = noted as Partial<BackfillState>;
  if (!Number.isSafeInteger(version) || (version as number) < 0 || !Array.isArray(files)) return null;
  const isEntry = (entry: unknown): boolean =>
    Array.isArray(entry) &&
    Number.isSafeInteger(entry[0]) &&
    typeof entry[1] === "string" &&
    Number.isSafeInteger(entry[2]) &&
    entry[2] >= 0;
  return files.every(isEntry) ? (noted as BackfillState) : null;
}
