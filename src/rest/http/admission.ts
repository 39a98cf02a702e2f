/**
 * Concurrent requests: their maximum number, their maximum duration, and their end when the server stops. A
 * request is in progress until the last byte of its answer is taken. Unauthenticated requests get only a part
 * of the slots, so that authenticated callers find a free one.
 */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, setTimeout } from "../../async/timers.js";
import { ServiceUnavailableError } from "../../errors.js";
import { unavailable } from "../wire/problem.js";

/** Maximum milliseconds of a credential check while unauthenticated requests have all their slots. */
const BRIEF_MS = 250;

export interface AdmissionLimits {
  readonly maxInFlight: number;
  /** Limit of unauthenticated requests. */
  readonly maxUnauthenticated: number;
  readonly requestTimeoutMs: number;
}

/** One request in progress. */
export interface Ticket {
  /** Aborts when the client leaves, the time limit expires, or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Counts the request as unauthenticated, if it does not count already.
   * @throws Refusal if there are too many
   */
  isUnauthenticated(): void;
  /**
   * Counts the request as unauthenticated while its credentials are checked. If these slots are full, a few
   * more checks may take a short time, so that a caller with a quick check gets in.
   * @throws Refusal if there are too many
   */
  ofUnproven(): void;
  /** Stops counting the request as unauthenticated. */
  ofCaller(): void;
  /** Releases the slot. Later calls do nothing. */
  release(): void;
}

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #underWay = new Set<AbortController>();
  readonly #waiting: (() => void)[] = [];
  readonly #unauthenticated = new Set<AbortController>();
  /** Requests whose credentials are checked without a slot, with the timers that end the checks. */
  readonly #brief = new Map<AbortController, NodeJS.Timeout>();
  #stopping = false;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  /**
   * Admits a request.
   * @throws Refusal while the server stops, and if there are too many requests
   */
  enter(client: AbortSignal): Ticket {
    const { maxInFlight, maxUnauthenticated, requestTimeoutMs } = this.#limits;
    if (this.#stopping) throw unavailable("the server is stopping");
    if (this.#underWay.size >= maxInFlight) throw unavailable("too many requests are under way");
    const controller = new AbortController();
    const clientLeft = () => controller.abort(new ServiceUnavailableError("the client left"));
    const timer = setTimeout(() => {
      controller.abort(new ServiceUnavailableError(`the request took longer than ${requestTimeoutMs} ms`));
    }, requestTimeoutMs);
    timer.unref?.();
    const endWait = whenAborted(client, clientLeft);
    this.#underWay.add(controller);
    const endBrief = () => {
      clearTimeout(this.#brief.get(controller));
      this.#brief.delete(controller);
    };
    const isUnauthenticated = () => {
      endBrief();
      const unauthenticated = this.#unauthenticated;
      if (!unauthenticated.has(controller) && unauthenticated.size >= maxUnauthenticated) {
        throw unavailable("too many requests without credentials in a header are under way");
      }
      unauthenticated.add(controller);
    };
    const ofUnproven = () => {
      if (this.#unauthenticated.size < maxUnauthenticated) {
        this.#unauthenticated.add(controller);
        return;
      }
      const refusal = unavailable("too many requests with unverified credentials are under way");
      if (this.#brief.size >= (maxInFlight - maxUnauthenticated) / 2) throw refusal;
      const brief = setTimeout(() => controller.abort(refusal), BRIEF_MS);
      brief.unref?.();
      this.#brief.set(controller, brief);
    };
    const ofCaller = () => {
      this.#unauthenticated.delete(controller);
      endBrief();
    };
    const release = () => {
      ofCaller();
      if (!this.#underWay.delete(controller)) return;
      clearTimeout(timer);
      endWait();
      if (this.#underWay.size === 0) for (const wake of this.#waiting.splice(0)) wake();
    };
    return { signal: controller.signal, isUnauthenticated, ofUnproven, ofCaller, release };
  }

  /** Admits no more requests, waits for those in progress, and aborts them after the grace period. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    if (this.#underWay.size === 0) return;
    const drained = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    const timer = setTimeout(() => {
      for (const controller of this.#underWay)
        controller.abort(new ServiceUnavailableError("the server is stopping"));
    }, graceMs);
    await drained;
    clearTimeout(timer);
  }
}
