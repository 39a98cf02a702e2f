/**
 * The values of one fragment, as they are computed and until they are committed. They lie in memory until
 * they are old or many, when they are saved to checkpoint files. They are of all tasks of the fragment, of
 * which several may be under way; rows that adjoin are saved to one file, whichever task they are of.
 */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { clearTimeout, letProcessEnd, MAX_TIMER_MS, performance, setTimeout } from "../../async/timers.js";
import { type CheckpointFiles, CheckpointGoneError, type SavedPart } from "./checkpointFiles.js";
import { type ComputedPart, type ComputedRows, partInMemory, releaseAll } from "./computedRows.js";

export interface ComputedValuesOptions {
  readonly checkpoints: CheckpointFiles;
  /** Milliseconds for which values may be in memory only. */
  readonly flushMs: number;
  /**
   * Bytes of values from which on they are saved; those that are being saved come on top. Where the fragment
   * has more, half of these: while they are saved, others are computed.
   */
  readonly maxUnsavedBytes: number;
  /**
   * Told of an error that fails the whole work, before calls under way are waited for: it is to abort their
   * signal.
   */
  readonly onFailure: (error: unknown) => void;
}

export class ComputedValues {
  readonly #content: string;
  readonly #rowCount: number;
  readonly #options: ComputedValuesOptions;
  /** In memory only. */
  #rows: ComputedRows[] = [];
  #byteCount = 0;
  /** When the first of them was added. */
  #sinceMs = 0;
  /** Has them saved when they are old, though no others are added; null where there are none. */
  #timer: ReturnType<typeof setTimeout> | null = null;
  readonly #saved: SavedPart[] = [];
  /**
   * Settles when everything is saved whose saving has begun or waits for its turn; rejects if some of it
   * failed.
   */
  #saving: Promise<void> = Promise.resolve();
  /** The saving that waits for its turn: it will take whatever is there by then. */
  #waiting: { readonly turn: Promise<void>; readonly saved: Promise<void> } | null = null;

  /**
   * @param content digest of the fragment's content
   * @param rowCount rows of which values are to be computed
   */
  constructor(content: string, rowCount: number, options: ComputedValuesOptions) {
    this.#content = content;
    this.#rowCount = rowCount;
    this.#options = options;
  }

  /** Adds a part that an earlier run has saved. */
  addSaved(part: SavedPart): void {
    this.#saved.push(part);
  }

  /**
   * Adds values of rows at once, and waits: for what is old to be saved, for what is many to have its turn.
   * @throws what saving throws
   */
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
   * Saves everything that is there.
   * @throws what saving throws
   */
  async saveAll(): Promise<void> {
    if (this.#rows.length > 0) this.#save();
    await this.#saving;
  }

  /**
   * Saves everything that is there, and tells in which files all values lie, ascending.
   * @throws what saving throws
   */
  async savedFiles(): Promise<string[]> {
    await this.saveAll();
    return [...this.#saved].sort((a, b) => a.first - b.first).map(({ name }) => name);
  }

  /**
   * The parts that hold all values, ascending, once nothing is added any more; those in memory stay until
   * {@link release}.
   * @throws what saving throws
   */
  async parts(): Promise<ComputedPart[]> {
    this.#endWait();
    await this.#saving;
    const parts = [...this.#saved, ...adjoining(this.#rows).map((rows) => partInMemory(rows))];
    return parts.sort((a, b) => a.first - b.first);
  }

  /** Gives back the memory of the values, of which nobody needs those that are not saved. */
  release(): void {
    this.#endWait();
    releaseAll(this.#rows.splice(0));
  }

  /**
   * Once the work has failed: saves what it can, which then need not be computed again, and lets go of the
   * rest. The error that ended the work is the one that tells.
   */
  async rescue(): Promise<void> {
    // A saving that the timer began later would go on when the job is over, and its lock may be another's.
    this.#endWait();
    await this.#saving.catch(() => undefined);
    await this.#saveNow().catch(() => undefined);
    this.release();
  }

  #beginWait(nowMs: number): void {
    this.#sinceMs = nowMs;
    const { flushMs } = this.#options;
    // Those of one call are saved when it ends.
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
    // It is thrown where the next values are saved, and where the parts are wanted.
    saved.catch((error: unknown) => {
      // Where a file is gone, the fragment is merely done again.
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
      }
    } catch (error) {
      // They may be too many for the arguments of a call.
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

/**
 * Groups rows into those of which each begins where the one before it ends. Their offsets are cut from one
 * list of all that are to be computed, so that others lie between them where there is a gap.
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
