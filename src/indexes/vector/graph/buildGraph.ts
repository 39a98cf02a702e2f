/**
 * Builds the graph of a partition (graphFiles.ts) as a hierarchical navigable small world (HNSW). Each new
 * row is linked to its nearest rows, preferably in different directions, and those are linked back. Every row
 * is on level 0; each level above has a row with a probability that falls by a constant factor.
 *
 * Rows are added in small batches, so that threads share the work (graphGrowth.ts). Rows of a batch do not
 * see each other, and all of them are linked before any is linked back. The graph is the same for any number
 * of threads.
 */

import { newKeys, seededNumbers } from "../codes/kmeans.js";
import type { VectorWork } from "../codes/vectorWork.js";
import type { SpaceMemory } from "../distance/vectorSpace.js";
import {
  forgetGraph,
  GROW_GRAPH,
  type GraphMemory,
  type LinkMemory,
  Links,
  SHARDS,
  walkRoom,
} from "./graphGrowth.js";
import { MAX_LEVELS } from "./maxLevels.js";
import { listsIn, walkBytes } from "./walkKernel.js";

/** A batch adds one row per this many rows of the graph. */
const PART_AT_A_TIME = 100;

export interface GraphSettings {
  /** Maximum links of a row; twice as many on level 0. */
  readonly m: number;
  /** Rows that a search for neighbours keeps. */
  readonly efConstruction: number;
  readonly seed: number;
}

/** Links of some rows of a level. */
export interface GraphLevel {
  /** Ascending. */
  readonly rows: Uint32Array;
  /** First neighbour of each row, then the number of neighbours. */
  readonly starts: Uint32Array;
  readonly neighbours: Uint32Array;
  readonly distances: Float32Array;
}

export class BuiltGraph {
  readonly #ground: Links;
  readonly #upper: Links;
  #entryPoint = 0;

  private constructor(private readonly memory: GraphMemory) {
    this.#ground = new Links(memory.ground);
    this.#upper = new Links(memory.upper);
  }

  /**
   * Builds a graph.
   * @param vectors with a lane per thread
   * @param progress called with the number of rows in the graph
   */
  static async of(
    vectors: SpaceMemory,
    rowCount: number,
    settings: GraphSettings,
    work: VectorWork,
    progress?: (rowCount: number) => void,
  ): Promise<BuiltGraph> {
    const memory = graphMemory(vectors, rowCount, settings, work);
    const graph = new BuiltGraph(memory);
    try {
      for (let row = 1; row < rowCount; progress?.(row)) row = await graph.#grow(row, work);
    } finally {
      forgetGraph(memory.key);
    }
    return graph;
  }

  get entryPoint(): number {
    return this.#entryPoint;
  }

  /** Adds a batch of rows and returns its end. */
  async #grow(start: number, work: VectorWork): Promise<number> {
    const { memory } = this;
    const { heights } = memory;
    const entryPoint = this.#entryPoint;
    const top = heights[entryPoint];
    const most = Math.min(memory.rowCount, start + Math.max(1, Math.floor(start / PART_AT_A_TIME)));
    // A row above all others is added alone, because it becomes the entry point.
    let end = start + 1;
    if (heights[start] <= top) while (end < most && heights[end] <= top) end++;
    const { m, efConstruction, vectors } = memory;
    const products = (efConstruction * 2 * m * vectors.options.dimension) / 4;
    const common = { memory, entryPoint } as const;
    await work.run({
      task: GROW_GRAPH,
      rowCount: end - start,
      products,
      inputOf: (from, to, lane) => ({ ...common, lane, start: start + from, end: start + to, shards: null }),
      take: () => undefined,
    });
    await work.run({
      task: GROW_GRAPH,
      rowCount: SHARDS,
      products: ((end - start) * 2 * m * m * vectors.options.dimension) / SHARDS,
      inputOf: (from, to, lane) => ({ ...common, lane, start, end, shards: { start: from, end: to } }),
      take: () => undefined,
    });
    if (heights[start] > top) this.#entryPoint = start;
    return end;
  }

  #links(level: number): Links {
    return level === 0 ? this.#ground : this.#upper;
  }

  #listOf(level: number, row: number): number {
    return level === 0 ? row : this.memory.upperLists[row] + level - 1;
  }

  /** Returns the number of rows of each level. */
  levelCounts(): number[] {
    const counts = new Array<number>(MAX_LEVELS).fill(0);
    for (const height of this.memory.heights) for (let level = 0; level <= height; level++) counts[level]++;
    return counts;
  }

  /** Yields the levels in pieces of at most `most` rows. */
  *levels(most: number): Generator<GraphLevel> {
    for (let level = 0; level < MAX_LEVELS; level++) {
      const rows = new Uint32Array(most);
      let count = 0;
      for (let row = 0; row < this.memory.rowCount; row++) {
        if (this.memory.heights[row] < level) continue;
        rows[count++] = row;
        if (count < most) continue;
        yield this.#piece(level, rows.slice());
        count = 0;
      }
      if (count > 0) yield this.#piece(level, rows.slice(0, count));
    }
  }

  #piece(level: number, rows: Uint32Array): GraphLevel {
    const links = this.#links(level);
    const starts = new Uint32Array(rows.length + 1);
    for (const [position, row] of rows.entries())
      starts[position + 1] = starts[position] + links.count(this.#listOf(level, row));
    const neighbours = new Uint32Array(starts[rows.length]);
    const distances = new Float32Array(starts[rows.length]);
    for (const [slot, row] of rows.entries())
      links.copy(this.#listOf(level, row), neighbours, distances, starts[slot]);
    return { rows, starts, neighbours, distances };
  }
}

/** Returns the bytes of a graph after its vectors, where kernels read its lists. */
export const graphBytes = (
  rowCount: number,
  settings: Pick<GraphSettings, "m" | "efConstruction">,
  lanes: number,
): number => walkBytes(walkRoom({ ...settings, rowCount }), lanes);

/** Allocates a graph without links, and draws the heights of its rows. */
function graphMemory(
  vectors: SpaceMemory,
  rowCount: number,
  { m, efConstruction, seed }: GraphSettings,
  work: VectorWork,
): GraphMemory {
  const heights = new Uint8Array(work.memory(rowCount));
  const upperLists = new Uint32Array(work.memory(4 * rowCount));
  const next = seededNumbers(seed);
  const factor = 1 / Math.log(Math.max(2, m));
  let lists = 0;
  for (let row = 0; row < rowCount; row++) {
    upperLists[row] = lists;
    heights[row] = Math.min(MAX_LEVELS - 1, Math.floor(-Math.log(1 - next()) * factor));
    lists += heights[row];
  }
  const linksOf = (count: number, room: number, inVectors: Uint32Array | null): LinkMemory => ({
    room,
    lists: inVectors ?? new Uint32Array(work.memory(4 * count * (1 + room))),
    distances: new Float32Array(work.memory(4 * count * room)),
    apart: new Uint16Array(work.memory(2 * count)),
  });
  const ground = linksOf(rowCount, 2 * m, listsIn(vectors, walkRoom({ rowCount, m, efConstruction })));
  const shape = { key: newKeys(1), vectors, rowCount, m, efConstruction };
  return { ...shape, heights, upperLists, ground, upper: linksOf(lists, m, null) };
}
