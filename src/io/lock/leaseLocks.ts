/**
 * Locks of directories as files on any disk with `putIfAbsent` and `replaceIf`. A lock is the file
 * `.tiltyard.lock` in its directory:
 *
 *     {"holder": "<random id>", "renewal": 3}
 *
 * The holder replaces its file a few times within the time after which a lock counts as stale. A caller that
 * sees the same content for that long, by its own clock, takes the lock over: it replaces the file if the
 * content is still the same. So the clocks of two machines need not agree. A holder that cannot renew its
 * lock in time treats it as lost, a little before anybody may take it over.
 */

import { clearTimeout, letProcessEnd, performance, setTimeout } from "../../async/timers.js";
import { join } from "../../platform/native.js";
import type { Disk } from "../disk/disk.js";
import type { DiskLock, DiskLocks, LockAttempt, LockState } from "../disk/locks.js";
import { LEASE_LOOK_MS, LeaseLostError, LOCK_NAME } from "./lease.js";

/** Number of renewals within the time after which a lock counts as stale. */
const RENEWALS = 4;
/** Part of that time after which a holder treats its own lock as lost. */
const HELD_PART = 0.8;
/** Maximum bytes of a lock's file. */
const MAX_LOCK_BYTES = 1024;
/** Maximum number of locks of other holders that are watched. */
const MAX_WATCHED = 10_000;

const encoder = new TextEncoder();

/** Content of a lock that another holder has, and when this process saw it first. */
interface Watched {
  readonly identity: string;
  readonly sinceMs: number;
}

/** Makes locks of the calls of a disk. */
export const leaseLocks = (disk: Disk): DiskLocks => new LeaseLocks(disk);

class LeaseLocks implements DiskLocks {
  readonly lookMs = LEASE_LOOK_MS;
  readonly #disk: Disk;
  /** Locks of other holders, by the path of their files. */
  readonly #watched = new Map<string, Watched>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async tryAcquire(directory: string, { staleMs, fence }: LockAttempt): Promise<DiskLock | null> {
    const path = join(directory, LOCK_NAME);
    const lock = new Lease(this.#disk, directory, path, staleMs);
    if (await lock.create()) return lock;
    const identity = await this.#identityOf(path);
    if (identity === null || !this.#isStale(path, identity, staleMs)) return null;
    // The former holder may still run. Its lease has ended by its own clock.
    await fence(directory);
    this.#watched.delete(path);
    return (await lock.takeOver(identity)) ? lock : null;
  }

  async stateOf(directory: string, staleMs: number): Promise<LockState> {
    const path = join(directory, LOCK_NAME);
    const identity = await this.#identityOf(path);
    if (identity === null) return "free";
    return this.#isStale(path, identity, staleMs) ? "dead" : "held";
  }

  /** Returns the identity of a lock's content; null if nobody holds the lock. */
  async #identityOf(path: string): Promise<string | null> {
    const handle = await this.#disk.open(path, MAX_LOCK_BYTES);
    if (handle === null) this.#watched.delete(path);
    await handle?.close();
    return handle === null ? null : handle.identity;
  }

  #isStale(path: string, identity: string, staleMs: number): boolean {
    const nowMs = performance.now();
    const watched = this.#watched.get(path);
    if (watched?.identity === identity) return nowMs - watched.sinceMs > staleMs;
    this.#watched.delete(path);
    this.#watched.set(path, { identity, sinceMs: nowMs });
    const [oldest] = this.#watched.keys();
    if (this.#watched.size > MAX_WATCHED) this.#watched.delete(oldest);
    return false;
  }
}

/** A lock that this process holds. */
class Lease implements DiskLock {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #path: string;
  readonly #staleMs: number;
  readonly #holder = crypto.randomUUID();
  /** Identity of the lock's file; null if unknown. */
  #identity: string | null = null;
  #renewal = 0;
  /** Time until which nobody else takes the lock. */
  #heldUntilMs = 0;
  #isLost = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** The renewal under way. */
  #renewing: Promise<void> | null = null;

  constructor(disk: Disk, directory: string, path: string, staleMs: number) {
    this.#disk = disk;
    this.#directory = directory;
    this.#path = path;
    this.#staleMs = staleMs;
  }

  get compromised(): boolean {
    return this.#isLost || performance.now() >= this.#heldUntilMs;
  }

  /** Takes a free lock; returns false if another caller has it. */
  async create(): Promise<boolean> {
    const startMs = performance.now();
    if (!(await this.#disk.putIfAbsent?.(this.#path, [this.#nextContent()]))) return false;
    this.#begin(null, startMs);
    return true;
  }

  /** Takes over a lock whose content has this identity; returns false if it has changed meanwhile. */
  async takeOver(identity: string): Promise<boolean> {
    const startMs = performance.now();
    const taken = await this.#disk.replaceIf?.(this.#path, [this.#nextContent()], identity);
    if (taken === null || taken === undefined) return false;
    this.#begin(taken, startMs);
    return true;
  }

  #begin(identity: string | null, startMs: number): void {
    this.#noteRenewal(identity, startMs);
    const renewLater = () => {
      this.#timer = setTimeout(() => {
        this.#renewing = this.#renew().finally(() => {
          this.#renewing = null;
          if (!this.#isLost && this.#timer !== null) renewLater();
        });
      }, this.#staleMs / RENEWALS);
      letProcessEnd(this.#timer);
    };
    renewLater();
  }

  #noteRenewal(identity: string | null, startMs: number): void {
    this.#identity = identity;
    this.#heldUntilMs = startMs + this.#staleMs * HELD_PART;
  }

  #nextContent(): Uint8Array {
    const content = { holder: this.#holder, renewal: this.#renewal++ };
    return encoder.encode(`${JSON.stringify(content)}\n`);
  }

  /** Renews the lock. A failed call is tried again later; a lock with another content is lost. */
  async #renew(): Promise<void> {
    const startMs = performance.now();
    try {
      const identity = this.#identity ?? (await this.#findIdentity());
      const renewed =
        identity === null ? null : await this.#disk.replaceIf?.(this.#path, [this.#nextContent()], identity);
      if (renewed === null || renewed === undefined) this.#isLost = true;
      else this.#noteRenewal(renewed, startMs);
    } catch {
      // The renewal may have happened, so the content has to be looked at.
      this.#identity = null;
    }
  }

  /** Returns the identity of the lock's file; null if it is another holder's. */
  async #findIdentity(): Promise<string | null> {
    const handle = await this.#disk.open(this.#path, MAX_LOCK_BYTES);
    if (handle === null) return null;
    const bytes = await handle.read(0, Math.min(handle.size, MAX_LOCK_BYTES)).finally(() => handle.close());
    return new TextDecoder().decode(bytes).includes(this.#holder) ? handle.identity : null;
  }

  async confirm(): Promise<void> {
    await this.#renewing;
    // Much of the time must be left: the caller's next step takes a while.
    if (!this.#isLost && performance.now() < this.#heldUntilMs - (this.#staleMs * HELD_PART) / 2) return;
    if (!this.#isLost) await this.#renew();
    if (this.compromised) throw new LeaseLostError(this.#directory);
  }

  movedTo(): void {
    // Directories of such a disk do not move.
  }

  async release(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      // While enough time is left, the file is certainly this holder's.
      await this.confirm();
      this.#isLost = true;
      await this.#disk.remove(this.#path);
    } catch {
      // A lock that stays goes stale.
      this.#isLost = true;
    }
  }
}
