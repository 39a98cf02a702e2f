/**
 * Writes the column of a fragment while its values are computed, so that little is left to write when the
 * last one is there. The file has what one that commitValues.ts would write from the same values has, but for
 * smaller pages at its end; nobody sees it before it is committed. Where it is given up, that one is written
 * from the values in memory and in checkpoints.
 *
 * Few values stay in their memory until the file is complete. Many are copied as they come, for one page
 * after the other.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { isGatherable } from "../../arrow/columns/columnGatherer.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import type { FileVersion } from "../../file/container/page.js";
import { rowsWithin } from "../../file/writing/waitingRows.js";
import type { DataFragment } from "../../format/table.js";
import type { ColumnFiles } from "../columns/columnFiles.js";
import type { ComputedRows } from "./computedRows.js";
import type { ResolvedBackfill } from "./resolvedBackfill.js";

/**
 * Identifies the values of a fragment's column in files of a version.
 * @param content digest of what they are, and of the fragment's content
 */
export const computedKey = (content: string, version: FileVersion): string =>
  JSON.stringify(["backfill", content, version]);

/** What the file is of. */
export interface EarlyFileOptions {
  readonly fragment: DataFragment;
  /** Digest of the fragment's content. */
  readonly content: string;
  readonly resolved: ResolvedBackfill;
  readonly version: FileVersion;
  /**
   * Bytes of values that may stay in their memory until the file is complete: of more, the file has copies.
   */
  readonly maxHeldBytes: number;
  /** Rejects where the table is another one by now, which must get no file. */
  readonly hold: () => Promise<void>;
}

/** Bytes of values that wait to be copied, at most, unless a single batch has more. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Bytes that are copied in one step: little of a page, and little of the time for which the event loop may be
 * held.
 */
const MAX_COPIED_BYTES = 2 * 1024 * 1024;

/** Bytes of values that are encoded and written when the last one is there, at most about. */
const LAST_PAGE_BYTES = 512 * 1024;

export class EarlyFile {
  readonly #files: ColumnFiles;
  readonly #options: EarlyFileOptions;
  readonly #waiting: ComputedRows[] = [];
  #waitingBytes = 0;
  /** Values that the file looks at until it is complete. */
  readonly #held: ComputedRows[] = [];
  /** Bytes of all values so far. */
  #bytes = 0;
  /** True if further values are copied: all of them would take too much memory. */
  #areCopied = false;
  #state: "open" | "complete" | "givenUp" = "open";
  /** Lets the writing look again. */
  #wake = (): void => undefined;
  /** Lets whoever adds values look again. */
  #makeRoom = (): void => undefined;
  /** The writing; null before the first values. */
  #writing: Promise<void> | null = null;

  /** @param files that the file is added to; they have no others */
  constructor(files: ColumnFiles, options: EarlyFileOptions) {
    this.#files = files;
    this.#options = options;
  }

  /**
   * Adds the values of the next rows of the fragment at once, and waits for room for further ones.
   * @param rows whose memory was shared with this
   */
  async add(rows: ComputedRows): Promise<void> {
    const { column, offsets, arena } = rows;
    if (this.#state !== "open") {
      arena?.release();
      return;
    }
    const byteCount = columnBytes(column);
    this.#bytes += byteCount;
    // Later ones may be larger than the first ones let expect.
    const expected =
      this.#writing === null
        ? (byteCount / offsets.length) * this.#options.fragment.physicalRows
        : this.#bytes;
    if (expected > this.#options.maxHeldBytes) this.#areCopied = true;
    if (this.#areCopied && !isGatherable(column)) {
      this.#state = "givenUp";
      this.#wake();
      arena?.release();
      return;
    }
    this.#waiting.push(rows);
    this.#waitingBytes += byteCount;
    if (this.#writing === null) this.#begin();
    this.#wake();
    while (this.#areCopied && this.#waitingBytes > MAX_WAITING_BYTES) {
      await new Promise<void>((resolve) => (this.#makeRoom = resolve));
    }
  }

  /** Has the file completed, without waiting for it: it has all values. */
  complete(): void {
    if (this.#state !== "open") return;
    this.#state = "complete";
    this.#wake();
  }

  /**
   * Completes the file and adds it to others. Nothing where it was given up or has failed: the values are
   * then written when they are committed, which fails for the same reason, or does not.
   */
  async handOver(files: ColumnFiles): Promise<void> {
    this.complete();
    if (this.#state === "givenUp" || this.#writing === null) return;
    try {
      await this.#writing;
      // A cleanup may have taken it for a file that nobody needs.
      await this.#files.requireInPlace();
    } catch {
      return this.giveUp();
    }
    files.adopt(this.#files);
  }

  /** Removes what was written, unless it was handed over. */
  async giveUp(): Promise<void> {
    this.#state = "givenUp";
    this.#wake();
    await this.#writing?.catch(() => undefined);
    // A file that can't be removed is an orphan that nothing refers to.
    await this.#files.discard().catch(() => undefined);
  }

  #begin(): void {
    this.#writing = this.#write();
    // Looked at when the file is handed over.
    this.#writing.catch(() => undefined);
  }

  async #write(): Promise<void> {
    const { fragment, content, resolved, version, hold } = this.#options;
    try {
      await hold();
      const key = computedKey(content, version);
      await this.#files.addTo(
        [fragment],
        {
          fields: [resolved.field],
          key,
          rowsOf: () => this.#rows(),
          lastPageBytes: LAST_PAGE_BYTES,
        },
        version,
      );
    } catch (error) {
      this.#state = "givenUp";
      throw error;
    } finally {
      this.#waitingBytes = 0;
      for (const { arena } of [...this.#held.splice(0), ...this.#waiting.splice(0)]) arena?.release();
      this.#makeRoom();
    }
  }

  async *#rows(): AsyncGenerator<InputBatch, void, undefined> {
    for (;;) {
      if (this.#state === "givenUp") throw new Error("the file is not wanted any more");
      const [next] = this.#waiting;
      if (next !== undefined) {
        const { offsets, column, arena } = next;
        if (this.#areCopied) {
          yield* copied(column);
          this.#waiting.shift();
          arena?.release();
        } else {
          this.#waiting.shift();
          this.#held.push(next);
          yield { columns: [column], rowCount: offsets.length, lent: arena && "written" };
        }
        this.#waitingBytes -= columnBytes(column);
        this.#makeRoom();
      } else if (this.#state === "complete") {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

/** Rows of which a file has copies, some at a time. */
function* copied(column: Column): Generator<InputBatch, void, undefined> {
  const { length } = column;
  for (let start = 0; start < length; ) {
    const rowCount = Math.max(1, rowsWithin(column, start, MAX_COPIED_BYTES));
    yield { columns: [sliceColumn(column, start, rowCount)], rowCount, lent: "nextBatch" };
    start += rowCount;
  }
}
