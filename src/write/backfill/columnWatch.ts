/** Checks now and then that the values of a backfill are still wanted: the column may have been dropped. */

import { performance } from "../../async/timers.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";

/** Milliseconds between two checks. */
const LOOK_MS = 1000;

export class ColumnWatch {
  readonly #table: TableAt;
  readonly #requireColumn: (latest: OpenVersion) => Promise<unknown>;
  #lookedMs = performance.now();
  /** Latest version that was checked. */
  #lookedVersion = 0;

  /** @param requireColumn rejects if a version lacks the column, or declares it differently */
  constructor(table: TableAt, requireColumn: (latest: OpenVersion) => Promise<unknown>) {
    this.#table = table;
    this.#requireColumn = requireColumn;
  }

  /** @throws TableGoneError, and errors of `requireColumn` */
  async look(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    const entry = await findLatestVersion(this.#table);
    if (entry === null) throw new TableGoneError(this.#table.root);
    if (entry.version === this.#lookedVersion) return;
    const open = await openVersion(this.#table, entry);
    // If a version was cleaned up meanwhile, a later one follows it.
    if (open !== null) await this.#requireColumn(open);
    this.#lookedVersion = entry.version;
  }
}
