/** Counts the rows and fragments of a backfill, and remembers the filled fragments. */

import type { DataFragment } from "../../format/table.js";
import type { TableField } from "../../schema/schema.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import { type FilledFile, hasFile } from "./filledFiles.js";

export class BackfillProgress {
  /** Files of the filled fragments, by fragment id. */
  readonly files: Map<number, FilledFile>;
  readonly #tell: (done: number, total: number) => void;
  #doneRows = 0;
  #totalRows = 0;
  #fragments = 0;

  /**
   * @param files of earlier runs of the same work, committed or not
   * @param tell called with the number of filled rows, and of all rows to fill
   */
  constructor(files: Map<number, FilledFile>, tell: (done: number, total: number) => void) {
    this.files = files;
    this.#tell = tell;
  }

  /** Rows that have values, including those of earlier runs. */
  get doneRows(): number {
    return this.#doneRows;
  }

  /** Fragments that are filled or under way. */
  get fragments(): number {
    return this.#fragments;
  }

  /**
   * Counts the files of earlier runs. Forgets files that were not committed, and files that lost the column.
   */
  keepCommitted(fragments: readonly DataFragment[], field: TableField): void {
    const present = new Map(fragments.map((fragment) => [fragment.id, fragment]));
    for (const [id, filled] of this.files) {
      if (!hasFile(present.get(id), filled, field)) {
        this.files.delete(id);
        continue;
      }
      this.#fragments++;
      this.#doneRows += filled.rows;
    }
  }

  /**
   * Forgets fragments that lost their committed file: a restore, or a backfill of an input, may have removed
   * their values.
   * @returns true if there are any
   */
  forgetEmptied(fragments: readonly DataFragment[], field: TableField): boolean {
    let isAny = false;
    for (const fragment of fragments) {
      const filled = this.files.get(fragment.id);
      if (filled === undefined || hasFile(fragment, filled, field)) continue;
      this.files.delete(fragment.id);
      this.dropFragment(filled.rows);
      isAny = true;
    }
    return isAny;
  }

  /** Expects every row of these fragments to get a value, until {@link begin} counts them. */
  expect(fragments: readonly DataFragment[]): void {
    this.#totalRows = this.#doneRows + fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  }

  /**
   * Counts a fragment as begun.
   * @param rows number of its rows to fill; null: the fragment is skipped
   */
  begin(fragment: DataFragment, rows: number | null): void {
    this.#totalRows += (rows ?? 0) - liveRowCount(fragment);
    if (rows !== null) this.#fragments++;
    this.#tell(this.#doneRows, this.#totalRows);
  }

  addRows(count: number): void {
    this.#doneRows += count;
    this.#tell(this.#doneRows, this.#totalRows);
  }

  /** @param rows number of rows that were counted for the fragment */
  dropFragment(rows: number): void {
    this.#fragments--;
    this.#doneRows -= rows;
  }
}
