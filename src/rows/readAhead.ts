/**
 * Limits how far scans read ahead of their consumers. Data read ahead stays in memory until the consumer
 * takes it, and a slow consumer, such as a distant client, is recognised only when it is too late. Scans with
 * unknown consumers therefore share a limit.
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

/**
 * For consumers that keep every batch: reading ahead only takes their memory a little earlier. The garbage
 * collector marks the whole heap each time some 64 MiB of buffers were allocated: reads of about that size
 * keep it from running between two of them.
 */
export const KEPT: ReadAhead = { groupBytes: 64 * 1024 * 1024, windowBytes: 256 * 1024 * 1024 };

/**
 * Bounds where what was read goes back to be read into again: as much as stays in a processor's caches,
 * about.
 */
const TRANSIENT: ReadAhead = { groupBytes: 2 * 1024 * 1024, windowBytes: 12 * 1024 * 1024 };

/** Read-ahead for batches that are looked at only until the next one is asked for. */
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

/** Bytes read ahead by all sharing scans together. */
const SHARED_BYTES = 192 * 1024 * 1024;
/** Share of the free bytes that one scan may hold. Three scans at once get the whole window. */
const FREE_PART = 1 / 2;
/** Bytes that a scan may read ahead even if the others hold everything. */
const MIN_WINDOW_BYTES = 1024 * 1024;

/** The bytes that a scan holds, in an object of their own that outlives the scan's. */
interface Held {
  byteLength: number;
}

/**
 * Read-ahead of many scans. Each may hold a part of the free bytes, so something is left for the next scan,
 * however many have stopped half-way, and the sum has a bound. A scan alone has the whole window of
 * `STREAMED`.
 */
export class SharedReadAhead {
  #heldBytes = 0;
  /**
   * Consumers that abandon an iterator without closing it leave it, and the bytes it held, to the garbage
   * collector.
   */
  readonly #abandoned = new FinalizationRegistry<Held>((held) => {
    this.#heldBytes -= held.byteLength;
  });

  /** Bytes read ahead now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The read-ahead of one scan. */
  open(): ReadAhead {
    const held: Held = { byteLength: 0 };
    const share = new SharedPart(this, held);
    this.#abandoned.register(share, held);
    return share;
  }

  /** Notes what a scan holds now. */
  note(held: Held, byteLength: number): void {
    this.#heldBytes += byteLength - held.byteLength;
    held.byteLength = byteLength;
  }
}

/** What one scan may read ahead. */
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
