/** Measures the stages of a query while it runs. */

import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { performance } from "../../async/timers.js";
import { countedReads } from "../../io/disk/countedReads.js";
import type { Disk } from "../../io/disk/disk.js";
import { HandlePool } from "../../io/disk/handles.js";
import type { QueryPlanMetrics } from "../../namespace/queries.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { QueryObserver, QueryStage } from "./observer.js";
import type { BatchRows } from "./scan.js";

type Measured = { -readonly [Member in keyof QueryPlanMetrics]: QueryPlanMetrics[Member] };

/** Stages in the order in which rows pass them. */
const ORDER: readonly QueryStage[] = ["index", "scan", "filter", "select", "search", "order", "take"];

export class QueryMeasure implements QueryObserver {
  readonly #disk: Disk;
  readonly #stages = new Map<QueryStage, Measured>();
  readonly #pools: HandlePool[] = [];

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  source(stage: QueryStage, source: FragmentSource): FragmentSource {
    const measured = this.#stage(stage);
    const disk = countedReads(this.#disk, (byteLength) => {
      measured.reads++;
      measured.bytesRead += byteLength;
    });
    const handles = new HandlePool(disk);
    this.#pools.push(handles);
    return { ...source, handles };
  }

  async time<Result>(
    stage: QueryStage,
    work: Promise<Result>,
    count: (result: Result) => number = () => 0,
  ): Promise<Result> {
    const measured = this.#stage(stage);
    const start = performance.now();
    try {
      const result = await work;
      measured.rows += count(result);
      return result;
    } finally {
      measured.milliseconds += performance.now() - start;
    }
  }

  async *rows<Rows extends BatchRows>(
    stage: QueryStage,
    rows: AsyncIterable<Rows>,
    count: (rows: Rows) => number = ({ rowCount }) => rowCount,
  ): AsyncGenerator<Rows> {
    const measured = this.#stage(stage);
    const iterator = rows[Symbol.asyncIterator]();
    try {
      for (;;) {
        const start = performance.now();
        const { value, done } = await iterator.next();
        measured.milliseconds += performance.now() - start;
        if (done === true) return;
        const rowCount = count(value);
        const bytes = value.columns.reduce((sum, column) => sum + columnBytes(column), 0);
        measured.rows += rowCount;
        if (value.rowCount > 0) measured.bytes += Math.round((bytes * rowCount) / value.rowCount);
        measured.batches++;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }

  /** Returns the metrics of each stage. The time of a stage excludes that of the stages before it. */
  async finish(): Promise<Map<QueryStage, QueryPlanMetrics>> {
    for (const pool of this.#pools) await pool.close();
    const finished = new Map<QueryStage, QueryPlanMetrics>();
    let before = 0;
    for (const stage of ORDER) {
      const measured = this.#stages.get(stage);
      if (measured === undefined) continue;
      // Rows from indexes and rows that are read come side by side; both are inputs of the next stage.
      const stageMs = stage === "scan" ? measured.milliseconds : measured.milliseconds - before;
      const milliseconds = Math.max(0, stageMs);
      before = stage === "scan" ? before + stageMs : Math.max(before, measured.milliseconds);
      finished.set(stage, { ...measured, milliseconds });
    }
    return finished;
  }

  #stage(stage: QueryStage): Measured {
    let measured = this.#stages.get(stage);
    if (measured === undefined) {
      measured = { rows: 0, batches: 0, bytes: 0, reads: 0, bytesRead: 0, milliseconds: 0 };
      this.#stages.set(stage, measured);
    }
    return measured;
  }
}
