/** Counts the rows and fragments of a backfill, and knows the fragments that it has filled. */

import type { DataFragment } from "../../format/table.js";
import type { TableField } from "../../schema/schema.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import { type FilledFile, hasFile } from "./filledFiles.js";

export class BackfillProgress {
  /** Files of the fragments that are filled, by their ids. */
  readonly files: Map<number, FilledFile>;
  readonly #tell: (done: number, total: number) => void;
  #doneRows = 0;
  #totalRows = 0;
  #fragments = 0;

  /**
   * @param files of earlier runs of the same work, committed or not
   * @param tell called with the rows that have values, and with all rows that get some
   */
  constructor(files: Map<number, FilledFile>, tell: (done: number, total: number) => void) {
    this.files = files;
    this.#tell = tell;
  }

  /** Rows that have values, those of earlier runs included. */
  get doneRows(): number {
    return this.#doneRows;
  }

  /** Fragments that are filled or begun. */
  get fragments(): number {
    return this.#fragments;
  }

  /**
   * Counts the files of earlier runs. Forgets those that were not committed, and those that no longer have
   * the column.
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
   * Forgets fragments that no longer have the file that was committed: a restore, or a backfill of an input,
   * may have taken their values away.
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

  /** Expects every row of these fragments to get a value, until {@link begin} tells how many do. */
  expect(fragments: readonly DataFragment[]): void {
    this.#totalRows = this.#doneRows + fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
  }

  /**
   * Counts a fragment as begun.
   * @param rows number of its rows that get values; null: the fragment is left out
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
