/**
 * Threads that closed pools leave to the next ones. A thread costs about 0.2 s of processor time until its
 * code is compiled, and programs open namespaces again and again. A spare thread ends after some seconds, and
 * does not keep the process alive.
 */

import type { Thread } from "../platform/thread.js";
import { clearTimeout, letProcessEnd, setTimeout } from "./timers.js";

/** Receives the messages of a thread. */
export interface ThreadOwner {
  receive(message: unknown): void;
  /** Called if the thread ended by itself. */
  lose(reason: unknown): void;
}

/** A thread that changes its owner. */
export interface OwnedThread {
  readonly thread: Thread;
  owner: ThreadOwner | null;
}

/**
 * Bytes that are processed in line before a thread is started for more. Encoding them as text in line takes
 * about as long as compiling a thread's code.
 */
const IN_LINE_BYTES_BEFORE_START = 32 * 1024 * 1024;

export class SpareThreads {
  readonly #timers = new Map<OwnedThread, ReturnType<typeof setTimeout>>();
  /** Bytes that were processed in line since a pool lost its last thread. */
  #inLineBytes = 0;

  /** Takes over an idle thread. */
  leave(owned: OwnedThread, idleMs: number): void {
    owned.owner = { receive: () => undefined, lose: () => this.#forget(owned) };
    const timer = setTimeout(() => {
      this.#forget(owned);
      owned.thread.end();
    }, idleMs);
    // A spare thread must not keep the process alive.
    letProcessEnd(timer);
    this.#timers.set(owned, timer);
  }

  /** Returns a thread for a new owner; null if no spare thread is left. */
  take(): OwnedThread | null {
    for (const owned of this.#timers.keys()) {
      this.#forget(owned);
      return owned;
    }
    return null;
  }

  /** True if a pool without threads should start one for this many more bytes. */
  isWorth(byteCount: number): boolean {
    if (this.#timers.size > 0) return true;
    this.#inLineBytes += byteCount;
    return this.#inLineBytes >= IN_LINE_BYTES_BEFORE_START;
  }

  /** Starts counting again after a pool has lost its last thread. */
  countAnew(): void {
    this.#inLineBytes = 0;
  }

  #forget(owned: OwnedThread): void {
    clearTimeout(this.#timers.get(owned));
    this.#timers.delete(owned);
    owned.owner = null;
  }
}
