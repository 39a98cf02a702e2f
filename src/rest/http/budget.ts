/**
 * Memory that all requests of a handler share. A request declares the bytes before it takes them. If too
 * little is free, it waits for a limited time until others release some. A small amount per request is free,
 * so that small requests never wait.
 */

import { clearTimeout, setTimeout } from "../../async/timers.js";
import type { MemoryShare } from "../../memory.js";
import { Refusal, unavailable } from "../wire/problem.js";

export interface BudgetLimits {
  /** Maximum bytes of all requests together, besides the free ones. */
  readonly maxBytes: number;
  /** Maximum bytes of unauthenticated requests together. */
  readonly maxUnauthenticatedBytes: number;
  /** Maximum bytes of one request while no other holds any. */
  readonly maxAloneBytes: number;
  /** Milliseconds that a request waits for memory. */
  readonly waitMs: number;
}

/** Free bytes per request. */
export const FREE_BYTES = 2 ** 18;

/** A request that waits for memory. */
interface Waiter {
  readonly share: Share;
  readonly use: string;
  readonly byteLength: number;
  resolve(): void;
  reject(reason: unknown): void;
}

export interface BudgetShare extends MemoryShare {
  /** Releases all memory. Later calls do nothing. */
  close(): void;
}

export class MemoryBudget {
  readonly #limits: BudgetLimits;
  readonly #shares = new Set<Share>();
  #waiters: Waiter[] = [];
  #held = 0;
  #heldByUnauthenticated = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** Bytes in use, without the free ones. */
  get heldBytes(): number {
    return this.#held;
  }

  /**
   * Opens the account of a request.
   * @param signal ends the waiting
   */
  open(signal: AbortSignal, isUnauthenticated: boolean): BudgetShare {
    const share = new Share(this, signal, isUnauthenticated);
    this.#shares.add(share);
    return share;
  }

  /** Returns the total bytes that an account may hold now, including free ones and those it holds. */
  mostFor(share: Share): number {
    const { maxBytes, maxUnauthenticatedBytes } = this.#limits;
    const others = this.#held - share.counted;
    if (others === 0) return this.#limits.maxAloneBytes;
    let room = maxBytes - others;
    if (share.isUnauthenticated) {
      const unauthenticated = this.#heldByUnauthenticated - share.counted;
      if (unauthenticated > 0) room = Math.min(room, maxUnauthenticatedBytes - unauthenticated);
    }
    return FREE_BYTES + Math.max(0, room);
  }

  hold(share: Share, use: string, byteLength: number): Promise<void> | undefined {
    const before = share.bytesOf(use);
    const total = share.total - before + byteLength;
    // Requests that hold memory go first, because only they can release some.
    const isTurn = this.#waiters.length === 0 || share.counted > 0;
    if (byteLength <= before || total <= FREE_BYTES || (isTurn && total <= this.mostFor(share))) {
      this.note(share, use, byteLength);
      return undefined;
    }
    if (total > this.#limits.maxAloneBytes) return Promise.reject(tooMuch());
    return new Promise((resolve, reject) => {
      const refuse = () => end(refusal());
      const abort = () => end(share.signal.reason);
      const timer = setTimeout(refuse, this.#limits.waitMs);
      timer.unref?.();
      const finish = () => {
        clearTimeout(timer);
        share.signal.removeEventListener("abort", abort);
        this.#waiters = this.#waiters.filter((each) => each !== waiter);
      };
      const end = (reason: unknown) => {
        finish();
        reject(reason);
      };
      const waiter: Waiter = {
        share,
        use,
        byteLength,
        resolve: () => {
          finish();
          this.note(share, use, byteLength);
          resolve();
        },
        reject: end,
      };
      if (share.signal.aborted) return abort();
      share.signal.addEventListener("abort", abort, { once: true });
      this.#waiters.push(waiter);
      this.#breakCircle();
    });
  }

  note(share: Share, use: string, byteLength: number): void {
    const before = share.counted;
    share.set(use, byteLength);
    const addedBytes = share.counted - before;
    this.#held += addedBytes;
    if (share.isUnauthenticated) this.#heldByUnauthenticated += addedBytes;
    if (addedBytes < 0) this.#wake();
  }

  close(share: Share): void {
    if (!this.#shares.delete(share)) return;
    for (const waiter of this.#waiters.filter((each) => each.share === share)) waiter.reject(refusal());
    const { counted } = share;
    share.clear();
    this.#held -= counted;
    if (share.isUnauthenticated) this.#heldByUnauthenticated -= counted;
    this.#wake();
  }

  #wake(): void {
    let isTurn = true;
    for (const waiter of this.#waiters) {
      const { share, use, byteLength } = waiter;
      const total = share.total - share.bytesOf(use) + byteLength;
      if ((isTurn || share.counted > 0) && total <= this.mostFor(share)) waiter.resolve();
      // An unauthenticated request that waits for others of its kind blocks nobody else.
      else if (share.counted === 0 && !share.isUnauthenticated) isTurn = false;
    }
    this.#breakCircle();
  }

  /** If waiting requests hold all memory, none would release any. Refuses the last of them. */
  #breakCircle(): void {
    const holders = new Set(this.#waiters.map(({ share }) => share).filter(({ counted }) => counted > 0));
    let sum = 0;
    for (const { counted } of holders) sum += counted;
    if (sum === 0 || sum < this.#held) return;
    this.#waiters.findLast(({ share }) => share.counted > 0)?.reject(refusal());
  }
}

class Share implements BudgetShare {
  readonly #budget: MemoryBudget;
  readonly #uses = new Map<string, number>();
  readonly signal: AbortSignal;
  readonly isUnauthenticated: boolean;
  total = 0;
  #isOpen = true;

  constructor(budget: MemoryBudget, signal: AbortSignal, isUnauthenticated: boolean) {
    this.#budget = budget;
    this.signal = signal;
    this.isUnauthenticated = isUnauthenticated;
  }

  /** Bytes that count against the limits. */
  get counted(): number {
    return Math.max(0, this.total - FREE_BYTES);
  }

  bytesOf(use: string): number {
    return this.#uses.get(use) ?? 0;
  }

  set(use: string, byteLength: number): void {
    this.total += byteLength - this.bytesOf(use);
    if (byteLength === 0) this.#uses.delete(use);
    else this.#uses.set(use, byteLength);
  }

  clear(): void {
    this.#isOpen = false;
    this.#uses.clear();
    this.total = 0;
  }

  spareBytes(use: string): number {
    return this.#budget.mostFor(this) - this.total + this.bytesOf(use);
  }

  hold(use: string, byteLength: number): Promise<void> | undefined {
    return this.#isOpen ? this.#budget.hold(this, use, byteLength) : undefined;
  }

  note(use: string, byteLength: number): void {
    if (this.#isOpen) this.#budget.note(this, use, byteLength);
  }

  close(): void {
    this.#budget.close(this);
  }
}

/** A retry would not help. */
const tooMuch = (): Refusal =>
  new Refusal(
    400,
    "InvalidInput",
    "the request needs more memory than one request may hold; request fewer columns",
  );

const refusal = () => unavailable("other requests hold the memory that this one needs");
