/** Watches a query while it runs: what passes from one of its stages to the next, and what each reads. */

import type { FragmentSource } from "../columns/fragmentColumns.js";
import { type BatchRows, type ScannedRows, type ScanRequest, scanColumns } from "./scan.js";

/**
 * Stages of a query: asking indexes, reading all other rows, filtering them, reading the other columns of
 * those that were selected, searching among them by vector, sorting, and reading the other columns of what
 * was found or sorted.
 */
export type QueryStage = "index" | "scan" | "filter" | "select" | "search" | "order" | "take";

export interface QueryObserver {
  /** The same source; its reads count as those of the stage. */
  source(stage: QueryStage, source: FragmentSource): FragmentSource;
  /**
   * The same work, whose time counts as that of the stage.
   * @param count of the rows that it gives. Default: these are watched as they leave the stage
   */
  time<Result>(stage: QueryStage, work: Promise<Result>, count?: (result: Result) => number): Promise<Result>;
  /** The same rows, watched as they leave the stage. */
  rows<Rows extends BatchRows>(
    stage: QueryStage,
    rows: AsyncIterable<Rows>,
    count?: (rows: Rows) => number,
  ): AsyncGenerator<Rows, void, undefined>;
}

/** Scans as the first stage. */
export function observedScan(
  source: FragmentSource,
  observer: QueryObserver | undefined,
  request: ScanRequest,
): AsyncGenerator<ScannedRows, void, undefined> {
  if (observer === undefined) return scanColumns(source, request);
  return observer.rows("scan", scanColumns(observer.source("scan", source), request));
}
