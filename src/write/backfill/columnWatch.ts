/**
 * Looks from time to time whether the values of a backfill are still wanted: a function would go on being
 * called for a column that was dropped.
 */

import { performance } from "../../async/timers.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";

/** Milliseconds between two looks. */
const LOOK_MS = 1000;

export class ColumnWatch {
  readonly #table: TableAt;
  readonly #requireColumn: (latest: OpenVersion) => Promise<unknown>;
  #lookedMs = performance.now();
  /** The latest version that has the column. */
  #lookedVersion = 0;

  /** @param requireColumn rejects where a version does not have the column, or declares it otherwise */
  constructor(table: TableAt, requireColumn: (latest: OpenVersion) => Promise<unknown>) {
    this.#table = table;
    this.#requireColumn = requireColumn;
  }

  /** @throws TableGoneError, and what `requireColumn` throws */
  async look(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    const entry = await findLatestVersion(this.#table);
    if (entry === null) throw new TableGoneError(this.#table.root);
    if (entry.version === this.#lookedVersion) return;
    const open = await openVersion(this.#table, entry);
    // A version that was cleaned up meanwhile has a later one after it.
    if (open !== null) await this.#requireColumn(open);
    this.#lookedVersion = entry.version;
  }
}
