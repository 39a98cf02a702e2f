/** Watches a query while it runs: the rows between its stages, and the reads of each stage. */

import type { FragmentSource } from "../columns/fragmentColumns.js";
import { type BatchRows, type ScannedRows, type ScanRequest, scanColumns } from "./scan.js";

/**
 * Stages of a query. `index` asks indexes, `scan` reads all other rows, `filter` filters them, and `select`
 * reads the other columns of the selected rows. Then come the search by vector and the sort, and last the
 * read of the other columns of found or sorted rows.
 */
export type QueryStage = "index" | "scan" | "filter" | "select" | "search" | "order" | "take";

export interface QueryObserver {
  /** Returns the source; its reads count as reads of the stage. */
  source(stage: QueryStage, source: FragmentSource): FragmentSource;
  /**
   * Returns the work; its time counts as time of the stage.
   * @param count returns the number of rows of the result. Default: rows count when they leave the stage
   */
  time<Result>(stage: QueryStage, work: Promise<Result>, count?: (result: Result) => number): Promise<Result>;
  /** Returns the rows, and watches them when they leave the stage. */
  rows<Rows extends BatchRows>(
    stage: QueryStage,
    rows: AsyncIterable<Rows>,
    count?: (rows: Rows) => number,
  ): AsyncGenerator<Rows>;
}

/** Scans as the first stage. */
export function observedScan(
  source: FragmentSource,
  observer: QueryObserver | undefined,
  request: ScanRequest,
): AsyncGenerator<ScannedRows> {
  if (observer === undefined) return scanColumns(source, request);
  return observer.rows("scan", scanColumns(observer.source("scan", source), request));
}
