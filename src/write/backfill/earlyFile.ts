/**
 * Writes the column of a fragment while its values are computed, so that little is left to write when the last one is there.
 * The file is one that commitValues.ts would write from the same values; nobody sees it before it is committed. It is given
 * up where values don't all stay in memory until then: what is saved in checkpoints is written from these.
 */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import type { FileVersion } from "../../file/container/page.js";
import type { DataFragment } from "../../format/table.js";
import type { ColumnFiles } from "../columns/columnFiles.js";
import type { ComputedRows } from "./checkpointFiles.js";
import type { MeantBackfill } from "./meantBackfill.js";

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
  readonly meant: MeantBackfill;
  readonly version: FileVersion;
  /** Bytes of the values at most: with more, no file is begun. */
  readonly maxBytes: number;
  /** Rejects where the table is another one by now, which must get no file. */
  readonly hold: () => Promise<void>;
}

export class EarlyFile {
  readonly #files: ColumnFiles;
  readonly #options: EarlyFileOptions;
  #waiting: InputBatch[] = [];
  #state: "open" | "complete" | "givenUp" = "open";
  #wake: (() => void) | null = null;
  /** The writing; null before the first values. */
  #writing: Promise<void> | null = null;

  /** @param files that the file is added to; they have no others */
  constructor(files: ColumnFiles, options: EarlyFileOptions) {
    this.#files = files;
    this.#options = options;
  }

  /** Adds the values of the next rows of the fragment. Their memory stays as it is until the file is complete or given up. */
  add({ offsets, column }: ComputedRows): void {
    if (this.#state !== "open") return;
    const { fragment, maxBytes } = this.#options;
    if (this.#writing === null) {
      const bytes = (columnBytes(column) / offsets.length) * fragment.physicalRows;
      if (bytes > maxBytes) {
        this.#state = "givenUp";
        return;
      }
      this.#writing = this.#write();
      // Looked at when the file is handed over.
      this.#writing.catch(() => undefined);
    }
    this.#waiting.push({ columns: [column], rowCount: offsets.length });
    this.#turn();
  }

  /**
   * Completes the file and adds it to others. Nothing where it was given up or has failed: the values are then written when
   * they are committed, which fails for the same reason, or does not.
   */
  async handOver(files: ColumnFiles): Promise<void> {
    if (this.#state === "givenUp" || this.#writing === null) return;
    this.#state = "complete";
    this.#turn();
    try {
      await this.#writing;
      // A cleanup may have taken it for a file that nobody needs.
      await this.#files.requireInPlace();
    } catch {
      return this.giveUp();
    }
    files.adopt(this.#files);
  }

  /** Removes what was written, unless it was handed over. Nobody looks at the values any more when this resolves. */
  async giveUp(): Promise<void> {
    this.#state = "givenUp";
    this.#turn();
    await this.#writing?.catch(() => undefined);
    // A file that can't be removed is an orphan that nothing refers to.
    await this.#files.discard().catch(() => undefined);
  }

  async #write(): Promise<void> {
    const { fragment, content, meant, version, hold } = this.#options;
    await hold();
    const key = computedKey(content, version);
    await this.#files.addTo([fragment], { fields: [meant.field], key, rowsOf: () => this.#rows() }, version);
  }

  async *#rows(): AsyncGenerator<InputBatch, void, undefined> {
    for (;;) {
      if (this.#state === "givenUp") throw new Error("the file is not wanted any more");
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#state === "complete") return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Lets the writing look again. */
  #turn(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
