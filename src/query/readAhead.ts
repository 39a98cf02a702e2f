/**
 * How far scans run ahead of their consumers. What was read ahead waits in memory for as long as its consumer takes, and
 * one that is slow, a client far away, is not told apart from a quick one before it is too late: so scans whose consumers
 * nobody knows share what they may hold.
 */

export interface ReadAhead {
  /** Bytes of pages one round of reads fetches, roughly. */
  readonly groupBytes: number;
  /** Bytes read ahead, roughly. */
  readonly windowBytes: number;
  /** Told how many bytes are read ahead whenever that changes, of 0 at the end. */
  hold?(byteLength: number): void;
}

/** For consumers that may drop each batch before the next. */
export const STREAMED: ReadAhead = { groupBytes: 16 * 1024 * 1024, windowBytes: 48 * 1024 * 1024 };

/**
 * For consumers that keep every batch, so that reading ahead costs memory little earlier. The garbage collector
 * marks the whole heap each time some 64 MiB of buffers came up: reads about as large keep it from stepping in
 * between two of them.
 */
export const KEPT: ReadAhead = { groupBytes: 64 * 1024 * 1024, windowBytes: 256 * 1024 * 1024 };

/** Bytes read ahead by all scans that share. */
const SHARED_BYTES = 192 * 1024 * 1024;
/** Of what no scan holds, the part that one may. Three scans at once get the whole window. */
const FREE_PART = 1 / 2;
/** Bytes that a scan reads ahead even where the others hold everything. */
const MIN_WINDOW_BYTES = 1024 * 1024;

/** What the scan that is gone held, kept apart from it. */
interface Held {
  byteLength: number;
}

/**
 * Read-ahead of many scans. Each may hold a part of what is free, so that something is left for the next however many
 * have stopped half-way, and the sum has a bound; alone, a scan has the whole window of `STREAMED`.
 */
export class SharedReadAhead {
  #heldBytes = 0;
  /** Consumers that walk away from an iterator without a word leave it to the garbage collector, and so what it held. */
  readonly #abandoned = new FinalizationRegistry<Held>((held) => {
    this.#heldBytes -= held.byteLength;
  });

  /** Bytes read ahead now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** For one scan. */
  open(): ReadAhead {
    const held: Held = { byteLength: 0 };
    const windowBytes = () => {
      const allowed = Math.max(MIN_WINDOW_BYTES, (SHARED_BYTES - this.#heldBytes) * FREE_PART);
      return Math.min(STREAMED.windowBytes, allowed);
    };
    const share: ReadAhead = {
      get windowBytes() {
        return windowBytes();
      },
      get groupBytes() {
        return Math.min(STREAMED.groupBytes, windowBytes() / 3);
      },
      hold: (byteLength) => {
        this.#heldBytes += byteLength - held.byteLength;
        held.byteLength = byteLength;
      },
    };
    this.#abandoned.register(share, held);
    return share;
  }
}
