/** Counts of requests, which the embedding server may publish. */

/** Current counts. */
export interface RestCounters {
  /** Number of finished requests. */
  readonly requests: number;
  /** Number of requests in progress. */
  readonly inFlight: number;
  /** Number of finished requests by HTTP status. */
  readonly byStatus: Readonly<Record<number, number>>;
  /** Number of finished requests by operation. Requests without a route are excluded. */
  readonly byOperation: Readonly<Record<string, number>>;
  /** Total milliseconds of all finished requests. */
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
