/**
 * Limits how far scans read ahead of their consumers. Data read ahead stays in memory until the consumer
 * takes it. A slow consumer, such as a distant client, is recognised too late, so scans with unknown
 * consumers share a limit.
 */

export interface ReadAhead {
  /** Approximate bytes of pages that one round of reads fetches. */
  readonly groupBytes: number;
  /** Approximate bytes read ahead. */
  readonly windowBytes: number;
  /** Called with the bytes read ahead whenever they change; with 0 at the end. */
  hold?(byteLength: number): void;
}

/** For consumers that may drop each batch before the next. */
export const STREAMED: ReadAhead = { groupBytes: 16 * 1024 * 1024, windowBytes: 48 * 1024 * 1024 };

/** For consumers that keep every batch: large reads, so that the garbage collector runs between them. */
export const KEPT: ReadAhead = { groupBytes: 64 * 1024 * 1024, windowBytes: 256 * 1024 * 1024 };

/** Bounds for memory that is read into again: about as much as stays in a processor's caches. */
const TRANSIENT: ReadAhead = { groupBytes: 2 * 1024 * 1024, windowBytes: 12 * 1024 * 1024 };

/** Read-ahead for batches that are valid only until the next one is requested. */
export class TransientReadAhead implements ReadAhead {
  readonly #whole: ReadAhead;

  constructor(whole: ReadAhead) {
    this.#whole = whole;
  }

  get groupBytes(): number {
    return Math.min(TRANSIENT.groupBytes, this.#whole.groupBytes);
  }

  get windowBytes(): number {
    return Math.min(TRANSIENT.windowBytes, this.#whole.windowBytes);
  }

  hold(byteLength: number): void {
    this.#whole.hold?.(byteLength);
  }
}

/** Maximum bytes that all sharing scans read ahead together. */
const SHARED_BYTES = 192 * 1024 * 1024;
/** Part of the free bytes that one scan may hold. With three scans, each still gets the whole window. */
const FREE_PART = 1 / 2;
/** Bytes that a scan may read ahead even if the others hold everything. */
const MIN_WINDOW_BYTES = 1024 * 1024;

/** Bytes that a scan holds, in an object that outlives the scan's read-ahead. */
interface Held {
  byteLength: number;
}

/**
 * Read-ahead of many scans with one bound. Each scan may hold a part of the free bytes, so some are left for
 * the next one even if many scans stop half-way. A single scan has the whole window of `STREAMED`.
 */
export class SharedReadAhead {
  #heldBytes = 0;
  /** Frees the bytes of a consumer that abandoned its iterator without closing it. */
  readonly #abandoned = new FinalizationRegistry<Held>((held) => {
    this.#heldBytes -= held.byteLength;
  });

  /** Bytes read ahead now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Returns the read-ahead of one scan. */
  open(): ReadAhead {
    const held: Held = { byteLength: 0 };
    const share = new SharedPart(this, held);
    this.#abandoned.register(share, held);
    return share;
  }

  /** Notes the bytes that a scan holds now. */
  note(held: Held, byteLength: number): void {
    this.#heldBytes += byteLength - held.byteLength;
    held.byteLength = byteLength;
  }
}

/** Read-ahead of one scan. */
class SharedPart implements ReadAhead {
  readonly #all: SharedReadAhead;
  readonly #held: Held;

  constructor(all: SharedReadAhead, held: Held) {
    this.#all = all;
    this.#held = held;
  }

  get windowBytes(): number {
    const allowed = Math.max(MIN_WINDOW_BYTES, (SHARED_BYTES - this.#all.heldBytes) * FREE_PART);
    return Math.min(STREAMED.windowBytes, allowed);
  }

  get groupBytes(): number {
    return Math.min(STREAMED.groupBytes, this.windowBytes / 3);
  }

  hold(byteLength: number): void {
    this.#all.note(this.#held, byteLength);
  }
}
