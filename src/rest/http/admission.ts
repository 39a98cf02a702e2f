/**
 * Requests in progress: how many there may be, how long each may take, and how they end when the server stops. A
 * request is in progress until the last byte of its answer was handed over. Requests of strangers, whose credentials are not
 * proven, get only a part of the places, so that others find one.
 */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, setTimeout } from "../../async/timers.js";
import { ServiceUnavailableError } from "../../errors.js";
import { Refusal } from "../wire/problem.js";

/** Seconds after which a refused client may try again. */
const RETRY_AFTER = "1";

/** Maximum duration of a check of credentials that goes on although strangers have all their places. */
const BRIEF_MS = 250;

export interface AdmissionLimits {
  readonly maxInFlight: number;
  /** For strangers. */
  readonly maxUnauthenticated: number;
  readonly requestTimeoutMs: number;
}

/** One request in progress. */
export interface Ticket {
  /** Ends the work: the client went away, the time is up, or the server stops. */
  readonly signal: AbortSignal;
  /**
   * Counts the request as a stranger's, if it is not counted yet.
   * @throws Refusal if there are too many already
   */
  isUnauthenticated(): void;
  /**
   * Counts the request as a stranger's while its credentials are checked. If strangers have all their places, a few more
   * checks may still take a short time: a caller whose proof is quick gets in, however many checks hang.
   * @throws Refusal if there are too many already
   */
  ofUnproven(): void;
  /** No longer counts the request as a stranger's. */
  ofCaller(): void;
  /** May be called any number of times. */
  release(): void;
}

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #underWay = new Set<AbortController>();
  readonly #waiting: (() => void)[] = [];
  readonly #unauthenticated = new Set<AbortController>();
  /** Requests whose credentials are checked beyond the places of strangers, and the timers that end these checks. */
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
   * @throws Refusal while the server stops, and if there are too many already
   */
  enter(client: AbortSignal): Ticket {
    const { maxInFlight, maxUnauthenticated, requestTimeoutMs } = this.#limits;
    if (this.#stopping) throw unavailable("the server is stopping");
    if (this.#underWay.size >= maxInFlight) throw unavailable("too many requests are under way");
    const controller = new AbortController();
    const clientLeft = () => controller.abort(new ServiceUnavailableError("the client went away"));
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

  /** Admits no more requests, waits for those in progress, and aborts them when the grace period is over. */
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

const unavailable = (detail: string): Refusal =>
  new Refusal(503, "ServiceUnavailable", detail, { "retry-after": RETRY_AFTER });
