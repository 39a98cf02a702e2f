/**
 * Searches the graph of a partition: from the entry point down through the levels to the row that is nearest there, and on
 * level 0 on from the nearest rows found so far, for as long as these lead to nearer ones.
 */

import { breathe } from "../../../async/eventLoop.js";
import { Beam, NearestFirst } from "../distance/nearestFirst.js";
import type { Graph } from "./graphFiles.js";

/** Rows whose neighbours are looked at before other work on the thread may have its turn. */
const STEP_ROWS = 64;
/** Where so large a part of the rows was looked at, comparing all of them is quicker. */
const MOST_OF_ROWS = 1 / 4;

export interface GraphQuery {
  readonly graph: Graph;
  distanceOf(row: number): number;
  /** Rows that are kept in sight. */
  readonly beam: number;
  /** Whether a row may be found. */
  accepts(row: number, distance: number): boolean;
  readonly signal?: AbortSignal;
  /** @param row that is not there */
  fail(row: number): never;
}

/**
 * The nearest rows that are accepted, as many as the beam has.
 * @returns null where the graph does not lead to so many, or not soon: where few rows are accepted, or parts of it can't be
 *   reached
 */
export async function searchGraph(query: GraphQuery): Promise<Beam | null> {
  const { graph, distanceOf, accepts, signal } = query;
  const found = new Beam(Math.min(query.beam, graph.rowCount));
  const toLookAt = new NearestFirst();
  const seen = new Uint8Array(Math.ceil(graph.rowCount / 8));
  const range = { start: 0, end: 0 };
  let seenRows = 0;
  const offer = (row: number): void => {
    if (row >= graph.rowCount) query.fail(row);
    if ((seen[row >>> 3] & (1 << (row & 7))) !== 0) return;
    seen[row >>> 3] |= 1 << (row & 7);
    seenRows++;
    const distance = distanceOf(row);
    if (!(distance < found.bound)) return;
    toLookAt.add(distance, row);
    if (accepts(row, distance)) found.add(distance, row);
  };
  offer(descend(query));
  for (let looked = 0; toLookAt.length > 0; looked++) {
    if (toLookAt.nearest > found.bound) break;
    if (found.length < found.size && seenRows > graph.rowCount * MOST_OF_ROWS) return null;
    graph.range(0, toLookAt.take(), range);
    for (let at = range.start; at < range.end; at++) offer(graph.targets[at]);
    if (looked % STEP_ROWS === 0) {
      signal?.throwIfAborted();
      await breathe();
    }
  }
  return found.length < found.size ? null : found;
}

/** The row of level 0 to begin with. */
function descend({ graph, distanceOf, fail }: GraphQuery): number {
  const range = { start: 0, end: 0 };
  let nearest = graph.entryPoint;
  let least = distanceOf(nearest);
  for (let level = graph.levelCount - 1; level > 0; level--) {
    for (let isNearer = true; isNearer; ) {
      isNearer = false;
      graph.range(level, nearest, range);
      for (let at = range.start; at < range.end; at++) {
        const row = graph.targets[at];
        if (row >= graph.rowCount) fail(row);
        const distance = distanceOf(row);
        if (distance < least) [least, nearest, isNearer] = [distance, row, true];
      }
    }
  }
  return nearest;
}
