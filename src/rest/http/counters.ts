/** Counts of requests, for the server that embeds the handler to publish. */

/** Live: read it whenever the numbers are wanted. */
export interface RestCounters {
  /** That have ended. */
  readonly requests: number;
  /** Under way now. */
  readonly inFlight: number;
  /** By HTTP status. */
  readonly byStatus: Readonly<Record<number, number>>;
  /** By operation; those without a route are not among them. */
  readonly byOperation: Readonly<Record<string, number>>;
  /** Milliseconds that all of them took together. */
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
