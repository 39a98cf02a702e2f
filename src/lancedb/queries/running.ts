/** Runs queries: time limits, sentences of failures, and the rows one batch after another. */

import { clearTimeout, letProcessEnd, MAX_TIMER_MS, setTimeout } from "../../async/timers.js";
import { failure, inCall } from "../failures.js";
import type { Rows } from "../programRows.js";
import type { TableReader } from "../tableReader.js";
import { countOf } from "./numbers.js";

/** Options of a run. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum rows of a batch. */
  readonly batchSize?: number | undefined;
}

/** A query that is ready to run. */
export interface RunnableQuery {
  readonly reader: TableReader;
  open(options: RunOptions): Promise<Rows>;
  explain(isVerbose: boolean): Promise<string>;
  analyze(): Promise<string>;
}

/** Ends a query after a time. */
export class TimeLimit {
  readonly #milliseconds: number | null;
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: unknown) {
    const isGiven = timeoutMs !== undefined && timeoutMs !== null;
    this.#milliseconds = isGiven ? countOf(timeoutMs, "timeoutMs") : null;
    if (this.#milliseconds === 0) this.#controller.abort();
    else if (this.#milliseconds !== null && this.#milliseconds <= MAX_TIMER_MS) {
      this.#timer = setTimeout(() => this.#controller.abort(), this.#milliseconds);
      letProcessEnd(this.#timer);
    }
  }

  /** Aborted after the time; undefined without a limit. */
  get signal(): AbortSignal | undefined {
    return this.#milliseconds === null ? undefined : this.#controller.signal;
  }

  /** Stops the clock. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Returns the error of a call: the one that it threw, unless the time was over.
   * @param step step that failed, as the sentence begins
   */
  failed(step: string, error: unknown): Error {
    if (!this.#controller.signal.aborted) return inCall(step, error);
    return failure(`${step}: Query timeout after ${this.#milliseconds} ms`, error);
  }
}
