/** Fragments of a backfill: filled ones, open ones, and how many rows have values. */

import type { DataFragment } from "../../format/table.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { ColumnFiles } from "../columns/columnFiles.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { fileVersionOf } from "../dataFiles.js";
import type { BackfillRound, BackfillRun } from "./backfillWork.js";
import type { FragmentToCommit } from "./commitValues.js";
import type { ComputedValues } from "./computedValues.js";
import { EarlyFile } from "./earlyFile.js";
import { isConflict } from "./fragmentValues.js";
import { selectedOffsets } from "./resolvedBackfill.js";
import type { FilledFile } from "./resumeNote.js";
import { areStored } from "./storedFields.js";

export interface OpenFragment extends Pick<FragmentToCommit, "id" | "content" | "early"> {
  /** Number of rows to compute. */
  readonly rows: number;
  /** Number of these rows that have a value. */
  done: number;
  /** Null until all are computed. */
  values: ComputedValues | null;
}

/** Yields computed fragments; null if no row needs a value, "conflict" if it needs the next round. */
export type ComputeFragments = (
  round: BackfillRound,
  fragments: readonly DataFragment[],
) => AsyncIterable<OpenFragment | "conflict" | null>;

/** A begun fragment, and the offsets of its rows to compute. */
interface BegunFragment {
  readonly opened: OpenFragment;
  readonly wanted: Uint32Array;
}

export class OpenFragments {
  /** Files of the filled fragments, by fragment id. */
  readonly files: Map<number, FilledFile>;
  readonly #run: BackfillRun;
  readonly #open = new Set<OpenFragment>();
  #doneRows = 0;
  /** Rows that earlier runs have finished. */
  #restoredRows = 0;
  #totalRows = 0;
  #count = 0;

  /** @param files of earlier runs of the same work, committed or not */
  constructor(run: BackfillRun, files: Map<number, FilledFile>) {
    this.#run = run;
    this.files = files;
  }

  /** Rows that have values, including those of earlier runs. */
  get doneRows(): number {
    return this.#doneRows;
  }

  /** Number of fragments that are filled or under way. */
  get count(): number {
    return this.#count;
  }

  /** Counts the files of earlier runs. Forgets those that were not committed, or lost the column. */
  keepCommitted(fragments: readonly DataFragment[], field: TableField): void {
    const present = new Map(fragments.map((fragment) => [fragment.id, fragment]));
    for (const [id, filled] of this.files) {
      if (!hasFile(present.get(id), filled, field)) {
        this.files.delete(id);
        continue;
      }
      this.#count++;
      this.#doneRows += filled.rows;
      this.#restoredRows += filled.rows;
    }
  }

  /** Forgets fragments that lost their committed file; true if there are any. */
  forgetEmptied(fragments: readonly DataFragment[], field: TableField): boolean {
    let isAny = false;
    for (const fragment of fragments) {
      const filled = this.files.get(fragment.id);
      if (filled === undefined || hasFile(fragment, filled, field)) continue;
      this.files.delete(fragment.id);
      this.#drop(filled.rows);
      isAny = true;
    }
    return isAny;
  }

  /** Expects every row of these fragments to get a value, until {@link begin} counts them. */
  expect(fragments: readonly DataFragment[]): void {
    this.#totalRows = this.#doneRows + fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  }

  /**
   * Begins a fragment.
   * @returns null if no row needs a value, or enough fragments are begun
   */
  async begin(round: BackfillRound, fragment: DataFragment): Promise<BegunFragment | null> {
    const { signal } = this.#run;
    const { base, resolved } = round;
    const wanted = this.#takesMore
      ? await conflictIfRemoved(base, () => selectedOffsets(base, resolved, fragment, signal))
      : null;
    // Another fragment may have begun while the rows were selected.
    const isChosen = wanted !== null && wanted.length > 0 && this.#takesMore;
    this.#totalRows += (isChosen ? wanted.length : 0) - liveRowCount(fragment);
    if (isChosen) this.#count++;
    this.#tell();
    if (!isChosen) return null;
    return { opened: await this.#openFragment(round, fragment, wanted.length), wanted };
  }

  get #takesMore(): boolean {
    return this.#count < this.#run.settings.maxFragments;
  }

  async #openFragment(
    { base, resolved }: BackfillRound,
    fragment: DataFragment,
    rows: number,
  ): Promise<OpenFragment> {
    const { target, control } = this.#run;
    const { table } = target;
    const content = await resolved.sourceOf(fragment);
    const files = new ColumnFiles(table, { signal: control.signal, pool: table.environment.workers });
    const early = new EarlyFile(files, {
      ...{ fragment, content, resolved, version: fileVersionOf(base.file) },
      hold: () => control.hold(),
    });
    const opened: OpenFragment = { id: fragment.id, content, early, rows, done: 0, values: null };
    this.#open.add(opened);
    return opened;
  }

  /** Counts rows that have got a value. @param isRestored true if an earlier run computed it */
  addRows(opened: OpenFragment, count: number, isRestored = false): void {
    opened.done += count;
    this.#doneRows += count;
    if (isRestored) this.#restoredRows += count;
    this.#tell();
  }

  /** Returns the result of work on a fragment. After a conflict, the fragment counts as not begun. */
  async orUndo<Result>(opened: OpenFragment, work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (isConflict(error)) await this.undo(opened);
      throw error;
    }
  }

  async undo(opened: OpenFragment): Promise<void> {
    this.#drop(opened.done);
    await opened.early.giveUp();
    this.close(opened);
  }

  /** Releases the memory of values that are committed or must be computed again. */
  close(opened: OpenFragment): void {
    this.#open.delete(opened);
    opened.values?.release();
  }

  /** Removes the uncommitted files after a failure, and saves the computed values. */
  async giveUp(): Promise<void> {
    for (const { early, values } of this.#open) {
      await early.giveUp();
      await values?.rescue();
    }
  }

  #drop(doneRows: number): void {
    this.#count--;
    this.#doneRows -= doneRows;
    this.#restoredRows = Math.min(this.#restoredRows, this.#doneRows);
  }

  #tell(): void {
    this.#run.control.progress(this.#doneRows, this.#totalRows, this.#restoredRows);
  }
}

/** True if a fragment has the column in the file that was made for it. */
function hasFile(fragment: DataFragment | undefined, { name }: FilledFile, field: TableField): boolean {
  const namedFiles = fragment?.files.filter(({ path }) => path === name) ?? [];
  return areStored(namedFiles, new Set(fieldIdsOf(field)));
}
