/**
 * Writes the column of a fragment while its values are computed, so that little remains to write after the
 * last value. The file equals one that commitValues.ts would write, except for smaller pages at its end. No
 * reader sees it before the commit. If it is abandoned, commitValues.ts writes a file from the values in
 * memory and in checkpoints.
 *
 * Values are copied page by page. The file releases their memory after the copy.
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
 * @param content digest of the work and of the fragment's content
 */
export const computedKey = (content: string, version: FileVersion): string =>
  JSON.stringify(["backfill", content, version]);

/** Content and limits of the file. */
export interface EarlyFileOptions {
  readonly fragment: DataFragment;
  /** Digest of the fragment's content. */
  readonly content: string;
  readonly resolved: ResolvedBackfill;
  readonly version: FileVersion;
  /** Rejects if the table was replaced and must get no file. */
  readonly hold: () => Promise<void>;
}

/** Maximum bytes of values that wait to be copied, unless a single batch has more. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Bytes that are copied in one step, for which the event loop waits. */
const MAX_COPIED_BYTES = 2 * 1024 * 1024;

/** Approximate maximum bytes that remain to encode and write after the last value. */
const LAST_PAGE_BYTES = 512 * 1024;

export class EarlyFile {
  readonly #files: ColumnFiles;
  readonly #options: EarlyFileOptions;
  readonly #waiting: ComputedRows[] = [];
  #waitingBytes = 0;
  #state: "open" | "complete" | "givenUp" = "open";
  /** Wakes the writer. */
  #wake = (): void => undefined;
  /** Wakes a caller that waits to add values. */
  #makeRoom = (): void => undefined;
  /** The running write; null before the first values. */
  #writing: Promise<void> | null = null;

  /** @param files gets the file; it has no others */
  constructor(files: ColumnFiles, options: EarlyFileOptions) {
    this.#files = files;
    this.#options = options;
  }

  /**
   * Adds the values of the next rows of the fragment at once, and waits for room for more. The file becomes
   * an owner of their memory.
   */
  async add(rows: ComputedRows): Promise<void> {
    const { column, memory } = rows;
    if (this.#state !== "open") return memory?.release();
    if (isGatherable(column)) {
      this.#waiting.push(rows);
      this.#waitingBytes += columnBytes(column);
      this.#writing ??= this.#begin();
    } else {
      this.#state = "givenUp";
      memory?.release();
    }
    this.#wake();
    while (this.#waitingBytes > MAX_WAITING_BYTES) {
      await new Promise<void>((resolve) => (this.#makeRoom = resolve));
    }
  }

  /** Tells the writer that it has all values; does not wait. */
  complete(): void {
    if (this.#state !== "open") return;
    this.#state = "complete";
    this.#wake();
  }

  /** Completes the file and adds it to others. If it was abandoned or failed, the commit writes one. */
  async handOver(files: ColumnFiles): Promise<void> {
    this.complete();
    if (this.#state === "givenUp" || this.#writing === null) return;
    try {
      await this.#writing;
      // A cleanup may have taken it for an orphan.
      await this.#files.requireInPlace();
    } catch {
      return this.giveUp();
    }
    files.adopt(this.#files);
  }

  /** Removes the file unless it was handed over. */
  async giveUp(): Promise<void> {
    this.#state = "givenUp";
    this.#wake();
    await this.#writing?.catch(() => undefined);
    // A file that can't be removed is an orphan that nothing refers to.
    await this.#files.discard().catch(() => undefined);
  }

  #begin(): Promise<void> {
    const writing = this.#write();
    // `handOver` looks at the error.
    writing.catch(() => undefined);
    return writing;
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
      this.#waiting.length = 0;
      this.#makeRoom();
    }
  }

  async *#rows(): AsyncGenerator<InputBatch> {
    for (;;) {
      if (this.#state === "givenUp") throw new Error("the values of the file are no longer needed");
      const [next] = this.#waiting;
      if (next !== undefined) {
        yield* copied(next.column);
        this.#waiting.shift();
        next.memory?.release();
        this.#waitingBytes -= columnBytes(next.column);
        this.#makeRoom();
      } else if (this.#state === "complete") {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

/** Yields copies of rows, a slice at a time. */
function* copied(column: Column): Generator<InputBatch, void, undefined> {
  const { length } = column;
  for (let start = 0; start < length; ) {
    const rowCount = Math.max(1, rowsWithin(column, start, MAX_COPIED_BYTES));
    yield { columns: [sliceColumn(column, start, rowCount)], rowCount, isTransient: true };
    start += rowCount;
  }
}
