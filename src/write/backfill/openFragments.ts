/** Fragments of a backfill from their start until they are committed or abandoned. */

import type { DataFragment } from "../../format/table.js";
import { ColumnFiles } from "../columns/columnFiles.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { fileVersionOf } from "../insert.js";
import type { BackfillProgress } from "./backfillProgress.js";
import type { BackfillRound, BackfillRun } from "./backfillWork.js";
import type { FragmentToCommit } from "./commitValues.js";
import type { ComputedValues } from "./computedValues.js";
import { EarlyFile } from "./earlyFile.js";
import { isConflict } from "./fragmentValues.js";
import { selectedOffsets } from "./selectedOffsets.js";

export interface OpenFragment extends Pick<FragmentToCommit, "id" | "content" | "early"> {
  /** Number of rows to compute. */
  readonly rows: number;
  /** Number of these rows that have a value. */
  done: number;
  /** Null until all are computed. */
  values: ComputedValues | null;
}

/** A begun fragment, and the offsets of its rows to compute. */
interface BegunFragment {
  readonly opened: OpenFragment;
  readonly wanted: Uint32Array;
}

export class OpenFragments {
  readonly #run: BackfillRun;
  readonly #progress: BackfillProgress;
  readonly #open = new Set<OpenFragment>();

  constructor(run: BackfillRun, progress: BackfillProgress) {
    this.#run = run;
    this.#progress = progress;
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
    const isChosen = wanted !== null && this.#takesMore;
    this.#progress.begin(fragment, isChosen ? wanted.length : null);
    if (!isChosen) return null;
    return { opened: await this.#openFragment(round, fragment, wanted.length), wanted };
  }

  get #takesMore(): boolean {
    return this.#progress.fragments < this.#run.settings.maxFragments;
  }

  async #openFragment(
    { base, resolved, savesAll, maxUnsavedBytes }: BackfillRound,
    fragment: DataFragment,
    rows: number,
  ): Promise<OpenFragment> {
    const {
      target: { table },
      control,
    } = this.#run;
    const content = await resolved.sourceOf(fragment);
    const files = new ColumnFiles(table, { signal: control.signal, pool: table.environment.workers });
    const early = new EarlyFile(files, {
      ...{ fragment, content, resolved, version: fileVersionOf(base.file) },
      // A file that waits to be committed with others holds no values meanwhile.
      maxHeldBytes: savesAll ? 0 : maxUnsavedBytes,
      hold: () => control.hold(),
    });
    const opened: OpenFragment = { id: fragment.id, content, early, rows, done: 0, values: null };
    this.#open.add(opened);
    return opened;
  }

  /** Counts rows that have got a value. */
  addRows(opened: OpenFragment, count: number): void {
    opened.done += count;
    this.#progress.addRows(count);
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
    this.#progress.dropFragment(opened.done);
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
}
