/**
 * Searches the graph of a partition. It descends from the entry point to the nearest row of level 1, then
 * expands the nearest rows of level 0 while these lead to nearer ones.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { MeasureRows } from "../codes/codes.js";
import { Beam, NearestFirst } from "../distance/nearestFirst.js";
import type { Graph } from "./graphFiles.js";

/** Expanded rows between yields. */
const STEP_ROWS = 64;
/** Fraction of visited rows beyond which a full comparison is faster. */
export const MOST_OF_ROWS = 1 / 4;

/** A graph with distances from the query. */
export interface MeasuredGraph {
  readonly graph: Graph;
  readonly measure: MeasureRows;
  /** @param row neighbour that does not exist */
  fail(row: number): never;
}

export interface GraphQuery extends MeasuredGraph {
  /** Number of rows that the search keeps. */
  readonly beam: number;
  /** True if the search may return the row. */
  accepts(row: number, distance: number): boolean;
  readonly signal?: AbortSignal;
}

/**
 * Returns the nearest accepted rows, as many as the beam holds.
 * @returns null if the graph does not lead to enough rows, or not soon: few rows are accepted, or parts of
 *   the graph are disconnected
 */
export async function searchGraph(query: GraphQuery): Promise<Beam | null> {
  const { graph, accepts, signal } = query;
  const nearest = new Beam(Math.min(query.beam, graph.rowCount));
  const queue = new NearestFirst();
  const neighbours = new Neighbours(query);
  const offer = (row: number, distance: number): void => {
    if (!(distance < nearest.bound)) return;
    queue.add(distance, row);
    if (accepts(row, distance)) nearest.add(distance, row);
  };
  const first = neighbours.descend();
  neighbours.see(first.row);
  offer(first.row, first.distance);
  for (let expanded = 0; queue.length > 0; expanded++) {
    if (queue.nearest > nearest.bound) break;
    if (nearest.length < nearest.size && neighbours.seenRows > graph.rowCount * MOST_OF_ROWS) return null;
    neighbours.load(0, queue.take(), true);
    for (let index = 0; index < neighbours.count; index++)
      offer(neighbours.rows[index], neighbours.distances[index]);
    if (expanded % STEP_ROWS === 0) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
    }
  }
  return nearest.length < nearest.size ? null : nearest;
}

/**
 * Returns a function that finds the start row of a search on level 0 and its distance. Descents share their
 * buffers.
 */
export function makeDescent(graph: MeasuredGraph): () => { row: number; distance: number } {
  const neighbours = new Neighbours(graph);
  return () => neighbours.descend();
}

/** Neighbours of a row and their distances, measured together. */
class Neighbours {
  /** A bit for each row; empty until a row is marked. */
  #seen = new Uint8Array(0);
  readonly #range = { start: 0, end: 0 };
  rows = new Uint32Array(64);
  distances = new Float64Array(64);
  count = 0;
  /** Number of rows seen. */
  seenRows = 0;

  constructor(private readonly query: MeasuredGraph) {}

  /** @returns false if the row was seen before */
  see(row: number): boolean {
    if (this.#seen.length === 0) this.#seen = new Uint8Array(Math.ceil(this.query.graph.rowCount / 8));
    const [byte, bit] = [row >>> 3, 1 << (row & 7)];
    if ((this.#seen[byte] & bit) !== 0) return false;
    this.#seen[byte] |= bit;
    this.seenRows++;
    return true;
  }

  /** @param onlyNew true to skip rows seen before */
  load(level: number, of: number, onlyNew: boolean): void {
    const { graph, measure, fail } = this.query;
    const range = this.#range;
    graph.range(level, of, range);
    if (range.end - range.start > this.rows.length) {
      this.rows = new Uint32Array(2 * (range.end - range.start));
      this.distances = new Float64Array(this.rows.length);
    }
    let count = 0;
    for (let index = range.start; index < range.end; index++) {
      const row = graph.targets[index];
      if (row >= graph.rowCount) fail(row);
      if (!onlyNew || this.see(row)) this.rows[count++] = row;
    }
    measure(this.rows, count, this.distances);
    this.count = count;
  }

  /** Returns the start row on level 0 and its distance. */
  descend(): { row: number; distance: number } {
    const { graph, measure } = this.query;
    let row = graph.entryPoint;
    this.rows[0] = row;
    measure(this.rows, 1, this.distances);
    let [distance] = this.distances;
    for (let level = graph.levelCount - 1; level > 0; level--) {
      for (let isNearer = true; isNearer; ) {
        isNearer = false;
        this.load(level, row, false);
        for (let index = 0; index < this.count; index++) {
          if (this.distances[index] < distance) {
            [distance, row, isNearer] = [this.distances[index], this.rows[index], true];
          }
        }
      }
    }
    return { row, distance };
  }
}
