/** Reports the progress of work to callers that ask for it. */

import { isPending } from "../async/pending.js";
import type { JobUnit } from "../namespace/jobs.js";
import type { WithProgress } from "../namespace/upkeep.js";
import type { TellWriting, WriteState } from "../write/insert.js";
import { optionalCallback } from "./request.js";

/** Reports progress. */
export type TellProgress = (done: number, total?: number) => void;

/** Returns a function that reports progress to the caller; undefined if the caller asks for none. */
export function progressIn(unit: JobUnit, request: WithProgress): TellProgress | undefined {
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  return onProgress && teller(onProgress, unit);
}

/** Returns a function that reports progress in rows. */
export const rowProgress = (request: WithProgress): TellProgress | undefined => progressIn("rows", request);

/** Returns a function that reports rows and the state of their write; undefined as {@link progressIn}. */
export function insertProgress(request: WithProgress): TellWriting | undefined {
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  if (onProgress === undefined) return undefined;
  let state: WriteState | undefined;
  const tell = teller((progress) => onProgress({ ...progress, ...state }), "rows");
  return (rowCount, writing) => {
    state = writing;
    tell(rowCount);
  };
}

/** Reports the rows that a request has read. */
export class SeenRows {
  readonly #tell: TellProgress | undefined;
  readonly #total: number;
  #done = 0;

  /**
   * Starts at zero rows.
   * @param tell undefined if the caller does not ask for progress
   */
  constructor(tell: TellProgress | undefined, total: number) {
    this.#tell = tell;
    this.#total = total;
    tell?.(0, total);
  }

  /** Adds rows; the number may be a fraction. */
  readonly add = (rowCount: number): void => {
    this.#done = Math.min(this.#done + rowCount, this.#total);
    this.#tell?.(Math.floor(this.#done), this.#total);
  };

  /** Reports that the first `done` rows are finished, even if they were skipped. */
  reach(done: number): void {
    this.#done = done;
    this.#tell?.(done, this.#total);
  }
}

/**
 * Returns a function that reports progress. An error that the callback throws or rejects with ends the work,
 * at once or with the next report.
 */
export function teller(onProgress: NonNullable<WithProgress["onProgress"]>, unit: JobUnit): TellProgress {
  let failure: { readonly error: unknown } | null = null;
  return (done, total) => {
    if (failure !== null) throw failure.error;
    const outcome: unknown = onProgress({ done, ...(total !== undefined && { total }), unit });
    if (isPending(outcome)) {
      outcome.then(undefined, (error: unknown) => {
        failure ??= { error };
      });
    }
  };
}
