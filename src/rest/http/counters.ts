/** Counts of requests, for the server that embeds the handler to publish. */

/** Live: may be read at any time. */
export interface RestCounters {
  /** Requests that have ended. */
  readonly requests: number;
  /** Requests in progress. */
  readonly inFlight: number;
  /** Requests that have ended, by HTTP status. */
  readonly byStatus: Readonly<Record<number, number>>;
  /** Requests that have ended, by operation; those without a route are not included. */
  readonly byOperation: Readonly<Record<string, number>>;
  /** Total milliseconds of all requests that have ended. */
  readonly totalMs: number;
}

export class Counters implements RestCounters {
  readonly #inFlight: () => number;
  readonly byStatus: Record<number, number> = {};
  readonly byOperation: Record<string, number> = {};
  requests = 0;
  totalMs = 0;

  constructor(inFlight: () => number) {
    this.#inFlight = inFlight;
  }

  get inFlight(): number {
    return this.#inFlight();
  }

  add(status: number, operation: string | undefined, durationMs: number): void {
    this.requests++;
    this.totalMs += durationMs;
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
    if (operation !== undefined) this.byOperation[operation] = (this.byOperation[operation] ?? 0) + 1;
  }
}
