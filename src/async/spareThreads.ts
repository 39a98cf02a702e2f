/**
 * Threads that closed pools leave to the next ones. A thread costs about 0.2 s of processor time until its code is compiled,
 * and programs open namespaces again and again. A spare thread goes away after some seconds, and keeps no process alive
 * meanwhile.
 */

import type { Thread } from "../platform/thread.js";
import { clearTimeout, letProcessEnd, setTimeout } from "./timers.js";

/** Who is told what a thread says. */
export interface ThreadOwner {
  receive(message: unknown): void;
  /** The thread has ended by itself. */
  lose(reason: unknown): void;
}

/** A thread that changes hands. */
export interface OwnedThread {
  readonly thread: Thread;
  owner: ThreadOwner | null;
}

/**
 * Bytes that are worked on in line before a thread is started for more: texts of so many bytes are encoded in line in the
 * time that its code takes to be compiled.
 */
const IN_LINE_BYTES_BEFORE_START = 32 * 1024 * 1024;

export class SpareThreads {
  readonly #timers = new Map<OwnedThread, ReturnType<typeof setTimeout>>();
  /** Bytes that were worked on in line since a pool lost its last thread. */
  #inLineBytes = 0;

  /** Takes a thread over that is at rest. */
  leave(owned: OwnedThread, idleMs: number): void {
    owned.owner = { receive: () => undefined, lose: () => this.#forget(owned) };
    const timer = setTimeout(() => {
      this.#forget(owned);
      owned.thread.end();
    }, idleMs);
    // Nobody has to wait for it.
    letProcessEnd(timer);
    this.#timers.set(owned, timer);
  }

  /** A thread for a new owner; null where there is none. */
  take(): OwnedThread | null {
    for (const owned of this.#timers.keys()) {
      this.#forget(owned);
      return owned;
    }
    return null;
  }

  /** Whether a pool without threads should get one for so many more bytes. */
  isWorth(byteCount: number): boolean {
    if (this.#timers.size > 0) return true;
    this.#inLineBytes += byteCount;
    return this.#inLineBytes >= IN_LINE_BYTES_BEFORE_START;
  }

  /** A pool has lost its last thread. */
  countAnew(): void {
    this.#inLineBytes = 0;
  }

  #forget(owned: OwnedThread): void {
    clearTimeout(this.#timers.get(owned));
    this.#timers.delete(owned);
    owned.owner = null;
  }
}
