/**
 * Computed values of one fragment until their commit. They stay in memory until they are old or many, and are
 * then saved to checkpoint files. Several tasks of the fragment may add values at the same time; adjoining
 * rows of different tasks are saved to one file.
 */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { clearTimeout, letProcessEnd, MAX_TIMER_MS, performance, setTimeout } from "../../async/timers.js";
import { type CheckpointFiles, CheckpointGoneError, type SavedPart } from "./checkpointFiles.js";
import { type ComputedPart, type ComputedRows, partInMemory } from "./computedRows.js";

export interface ComputedValuesOptions {
  readonly checkpoints: CheckpointFiles;
  /** Milliseconds for which values may stay unsaved in memory. */
  readonly flushMs: number;
  /** Maximum bytes of unsaved values. Larger fragments save half as much at a time, while computing. */
  readonly maxUnsavedBytes: number;
  /** Called with an error that fails the whole work, before waiting for running calls. Aborts the signal. */
  readonly onFailure: (error: unknown) => void;
}

export class ComputedValues {
  readonly #content: string;
  readonly #rowCount: number;
  readonly #options: ComputedValuesOptions;
  /** Unsaved values. */
  #rows: ComputedRows[] = [];
  #byteCount = 0;
  /** Time when the first unsaved values were added. */
  #sinceMs = 0;
  /** Timer that saves old values if no further ones are added; null without unsaved values. */
  #timer: ReturnType<typeof setTimeout> | null = null;
  readonly #saved: SavedPart[] = [];
  /** Resolves once all begun and waiting saves are done; rejects if one failed. */
  #saving: Promise<void> = Promise.resolve();
  /** The save that waits for its turn; it takes all unsaved values at that time. */
  #waiting: { readonly turn: Promise<void>; readonly saved: Promise<void> } | null = null;

  constructor(content: string, rowCount: number, options: ComputedValuesOptions) {
    this.#content = content;
    this.#rowCount = rowCount;
    this.#options = options;
  }

  /** Adds a part that an earlier run saved. */
  addSaved(part: SavedPart): void {
    this.#saved.push(part);
  }

  /** Adds values. Waits until old ones are saved, or a save of many may start. @throws errors of the save */
  async add(rows: ComputedRows): Promise<void> {
    const { flushMs } = this.#options;
    const nowMs = performance.now();
    if (this.#rows.length === 0) this.#beginWait(nowMs);
    this.#rows.push(rows);
    this.#byteCount += columnBytes(rows.column);
    const areOld = nowMs - this.#sinceMs >= flushMs;
    if (!areOld && this.#byteCount < this.#mostBytes(rows)) return;
    const { turn, saved } = this.#save();
    await (areOld ? saved : turn);
  }

  /**
   * Saves all values.
   * @throws errors of the save
   */
  async saveAll(): Promise<void> {
    if (this.#rows.length > 0) this.#save();
    await this.#saving;
  }

  /**
   * Saves all values, and returns the names of their files, ascending.
   * @throws errors of the save
   */
  async savedFiles(): Promise<string[]> {
    await this.saveAll();
    return [...this.#saved].sort((a, b) => a.first - b.first).map(({ name }) => name);
  }

  /**
   * Returns the parts that hold all values, ascending, after the last one was added. Parts in memory stay
   * until {@link release}.
   * @throws errors of the save
   */
  async parts(): Promise<ComputedPart[]> {
    this.#endWait();
    await this.#saving;
    const parts = [...this.#saved, ...adjoining(this.#rows).map((rows) => partInMemory(rows))];
    return parts.sort((a, b) => a.first - b.first);
  }

  /** Releases the memory of the values. */
  release(): void {
    this.#endWait();
    releaseAll(this.#rows.splice(0));
  }

  /** Saves what it can after the work has failed, and releases the rest. Drops its own errors. */
  async rescue(): Promise<void> {
    // A save that the timer starts after the job's end would write without the job's lock.
    this.#endWait();
    await this.#saving.catch(() => undefined);
    await this.#saveNow().catch(() => undefined);
    this.release();
  }

  #beginWait(nowMs: number): void {
    this.#sinceMs = nowMs;
    const { flushMs } = this.#options;
    // Each call saves its values at its end.
    if (flushMs <= 0) return;
    this.#timer = setTimeout(() => this.#save(), Math.min(flushMs, MAX_TIMER_MS));
    letProcessEnd(this.#timer);
  }

  #endWait(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #save(): { readonly turn: Promise<void>; readonly saved: Promise<void> } {
    if (this.#waiting !== null) return this.#waiting;
    const turn = this.#saving;
    const saved = turn.then(() => {
      this.#waiting = null;
      return this.#saveNow();
    });
    // The next save, or the next read of the parts, throws this error.
    saved.catch((error: unknown) => {
      // If a file is gone, only its fragment is computed again.
      if (!(error instanceof CheckpointGoneError)) this.#options.onFailure(error);
    });
    this.#saving = saved;
    this.#waiting = { turn, saved };
    return this.#waiting;
  }

  async #saveNow(): Promise<void> {
    this.#endWait();
    const parts = adjoining(this.#rows.splice(0));
    this.#byteCount = 0;
    let savedParts = 0;
    try {
      for (; savedParts < parts.length; savedParts++) {
        this.#saved.push(await this.#options.checkpoints.save(this.#content, parts[savedParts]));
        releaseAll(parts[savedParts]);
      }
    } catch (error) {
      // Not by spreading: there may be more rows than a call takes arguments.
      this.#rows = parts.slice(savedParts).flat().concat(this.#rows);
      throw error;
    }
  }

  #mostBytes({ offsets, column }: ComputedRows): number {
    const { maxUnsavedBytes } = this.#options;
    const expected = (columnBytes(column) / offsets.length) * this.#rowCount;
    return expected <= maxUnsavedBytes ? maxUnsavedBytes : maxUnsavedBytes / 2;
  }
}

function releaseAll(rows: readonly ComputedRows[]): void {
  for (const { memory } of rows) memory?.release();
}

/**
 * Groups adjoining rows. All offsets are slices of one list, so each gap holds rows that other calls compute.
 */
function adjoining(rows: readonly ComputedRows[]): ComputedRows[][] {
  const groups: ComputedRows[][] = [];
  let before: Uint32Array | null = null;
  for (const each of [...rows].sort((a, b) => a.offsets[0] - b.offsets[0])) {
    if (before !== null && adjoins(before, each.offsets)) groups[groups.length - 1].push(each);
    else groups.push([each]);
    before = each.offsets;
  }
  return groups;
}

const adjoins = (before: Uint32Array, next: Uint32Array): boolean =>
  before.buffer === next.buffer && before.byteOffset + before.byteLength === next.byteOffset;
