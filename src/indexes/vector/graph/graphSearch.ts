/**
 * Searches the graph of a partition: from the entry point down through the levels to the row that is nearest there, and on
 * level 0 on from the nearest rows found so far, for as long as these lead to nearer ones.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { MeasureRows } from "../codes/codes.js";
import { Beam, NearestFirst } from "../distance/nearestFirst.js";
import type { Graph } from "./graphFiles.js";

/** Rows whose neighbours are looked at before other work on the thread may have its turn. */
const STEP_ROWS = 64;
/** Where so large a part of the rows was looked at, comparing all of them is quicker. */
export const MOST_OF_ROWS = 1 / 4;

/** A graph, and how far its rows are from what is searched for. */
export interface MeasuredGraph {
  readonly graph: Graph;
  readonly measure: MeasureRows;
  /** @param row that is not there */
  fail(row: number): never;
}

export interface GraphQuery extends MeasuredGraph {
  /** Rows that are kept in sight. */
  readonly beam: number;
  /** Whether a row may be found. */
  accepts(row: number, distance: number): boolean;
  readonly signal?: AbortSignal;
}

/**
 * The nearest rows that are accepted, as many as the beam has.
 * @returns null where the graph does not lead to so many, or not soon: where few rows are accepted, or parts of it can't be
 *   reached
 */
export async function searchGraph(query: GraphQuery): Promise<Beam | null> {
  const { graph, accepts, signal } = query;
  const found = new Beam(Math.min(query.beam, graph.rowCount));
  const toLookAt = new NearestFirst();
  const near = new Neighbours(query);
  const offer = (row: number, distance: number): void => {
    if (!(distance < found.bound)) return;
    toLookAt.add(distance, row);
    if (accepts(row, distance)) found.add(distance, row);
  };
  const first = near.descend();
  near.see(first.row);
  offer(first.row, first.distance);
  for (let looked = 0; toLookAt.length > 0; looked++) {
    if (toLookAt.nearest > found.bound) break;
    if (found.length < found.size && near.seenRows > graph.rowCount * MOST_OF_ROWS) return null;
    near.load(0, toLookAt.take(), true);
    for (let index = 0; index < near.count; index++) offer(near.rows[index], near.distances[index]);
    if (looked % STEP_ROWS === 0) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
    }
  }
  return found.length < found.size ? null : found;
}

/** The row of level 0 where a search begins, with its distance. */
export const descend = (graph: MeasuredGraph): { row: number; distance: number } =>
  new Neighbours(graph).descend();

/** The neighbours of a row with their distances, all of which are measured at once. */
class Neighbours {
  readonly #query: MeasuredGraph;
  readonly #seen: Uint8Array;
  readonly #range = { start: 0, end: 0 };
  rows = new Uint32Array(64);
  distances = new Float64Array(64);
  count = 0;
  /** How many were seen so far. */
  seenRows = 0;

  constructor(query: MeasuredGraph) {
    this.#query = query;
    this.#seen = new Uint8Array(Math.ceil(query.graph.rowCount / 8));
  }

  /** @returns false where it was seen before */
  see(row: number): boolean {
    const [byte, bit] = [row >>> 3, 1 << (row & 7)];
    if ((this.#seen[byte] & bit) !== 0) return false;
    this.#seen[byte] |= bit;
    this.seenRows++;
    return true;
  }

  /** @param areNew whether those that were seen before are left out */
  load(level: number, of: number, areNew: boolean): void {
    const { graph, measure, fail } = this.#query;
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
      if (!areNew || this.see(row)) this.rows[count++] = row;
    }
    measure(this.rows, count, this.distances);
    this.count = count;
  }

  /** The row of level 0 to begin with. */
  descend(): { row: number; distance: number } {
    const { graph, measure } = this.#query;
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
