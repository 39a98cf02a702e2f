/** Progress of work whose parts take different times for a row. */

/** Progress, in rows whose values are copied; work that takes longer for a row counts more. */
export interface WorkDone {
  readonly done: number;
  readonly total: number;
  /** Number of rows of the work, each counted once per index or copy. */
  readonly rows: number;
}

/** Reports progress. */
export type TellWork = (work: WorkDone) => void;

/** A part of the work. */
export interface PartOfWork {
  readonly rows: number;
  /** Time for a row, compared with a copy. */
  readonly rowTime: number;
}

export const NO_WORK: WorkDone = { done: 0, total: 0, rows: 0 };

/** Adds up parts of work that has not begun. */
export const workOf = (parts: readonly PartOfWork[]): WorkDone => ({
  done: 0,
  total: parts.reduce((sum, { rows, rowTime }) => sum + rows * rowTime, 0),
  rows: parts.reduce((sum, { rows }) => sum + rows, 0),
});

/** Counts parts of work as they are done, one after the other. */
export class WorkMeter {
  readonly #tell: TellWork | undefined;
  readonly #work: WorkDone;
  #before = 0;
  #current = 0;

  constructor(tell: TellWork | undefined, parts: readonly PartOfWork[]) {
    this.#tell = tell;
    this.#work = workOf(parts);
    tell?.(this.#work);
  }

  /** Begins a part. @returns the report of its finished rows */
  begin({ rows, rowTime }: PartOfWork): (doneRows: number) => void {
    this.#before += this.#current;
    this.#current = rows * rowTime;
    return (doneRows) => {
      this.#tell?.({ ...this.#work, done: this.#before + Math.min(doneRows, rows) * rowTime });
    };
  }
}
