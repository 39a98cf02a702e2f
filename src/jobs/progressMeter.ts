/** Measures how far work is and its rate over the last seconds. */
import { performance } from "../async/timers.js";

const WINDOW_MS = 15_000;
/** Milliseconds between two samples. */
const SAMPLE_MS = 500;
/** Shortest time, in milliseconds, that gives a rate. */
const MIN_SPAN_MS = 200;

interface Sample {
  readonly ms: number;
  readonly done: number;
}

export class ProgressMeter {
  #done = 0;
  #total: number | undefined;
  #samples: Sample[] = [];
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get done(): number {
    return this.#done;
  }

  get total(): number | undefined {
    return this.#total;
  }

  /** Takes a report; ignores amounts that are not finite numbers of at least 0. */
  note(done: number, total?: number): void {
    if (!(done >= 0 && done < Number.POSITIVE_INFINITY)) return;
    this.#done = done;
    if (total !== undefined && total >= 0 && total < Number.POSITIVE_INFINITY) this.#total = total;
    const ms = this.#now();
    const last = this.#samples.at(-1);
    // Progress that a run inherits does not count towards its rate.
    if (last === undefined || done < last.done) this.#samples = [{ ms, done }];
    else if (ms - last.ms >= SAMPLE_MS) this.#samples.push({ ms, done });
    while (this.#samples.length > 2 && ms - this.#samples[1].ms >= WINDOW_MS) this.#samples.shift();
  }

  /** Units per second; undefined until measured. */
  get rate(): number | undefined {
    const first = this.#samples.at(0);
    if (first === undefined) return undefined;
    const spanMs = this.#now() - first.ms;
    return spanMs < MIN_SPAN_MS ? undefined : ((this.#done - first.done) * 1000) / spanMs;
  }
}
