/** Progress of builds whose rows go through several steps, each of which takes a share of the time. */

import type { IndexTarget, RowStream } from "./kind.js";

/** Reports the number of rows that have gone through a step; may be a fraction. */
type TellRows = (doneRows: number) => void;

/** Adds up the progress of steps as a number of rows. */
export class StepProgress {
  readonly #tell: IndexTarget["progress"];
  readonly #shares: readonly number[];
  readonly #done: number[];

  /** @param weights time that a row takes in each step, in any unit */
  constructor({ progress }: Pick<IndexTarget, "progress">, weights: readonly number[]) {
    const sum = weights.reduce((a, b) => a + b, 0);
    this.#tell = progress;
    this.#shares = weights.map((weight) => (sum === 0 ? 1 / weights.length : weight / sum));
    this.#done = weights.map(() => 0);
  }

  /** Returns the report of a step, for the `progress` of its target. */
  of(step: number): TellRows {
    return (doneRows) => {
      this.#done[step] = doneRows;
      this.#tell?.(this.#done.reduce((sum, done, index) => sum + done * this.#shares[index], 0));
    };
  }
}

/** Returns a target for a build that sorts all rows, which takes half of the time. */
export function withSortProgress(target: IndexTarget): IndexTarget {
  const steps = new StepProgress(target, [1, 1]);
  const sorted = steps.of(1);
  return {
    ...target,
    progress: steps.of(0),
    async *sort(rows, type, request) {
      const counts = { in: 0, out: 0 };
      for await (const batch of target.sort(countRows(rows, counts), type, request)) {
        yield batch;
        counts.out += batch.rowCount;
        sorted((target.rowCount * counts.out) / counts.in);
      }
    },
  };
}

async function* countRows(rows: RowStream, counts: { in: number }): RowStream {
  for await (const batch of rows) {
    counts.in += batch.rowCount;
    yield batch;
  }
}
