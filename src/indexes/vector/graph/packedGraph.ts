/**
 * Graph of a partition with SQ codes, packed for the walk kernel (walkKernel.ts). The kernel memory holds the
 * codes and the links of level 0. One more slot after the codes holds the query.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import type { SearchedPart } from "../../kind.js";
import type { MeasureRows } from "../codes/codes.js";
import { Beam } from "../distance/nearestFirst.js";
import { MAX_ASKED, rowBytesOf, type SpaceOptions } from "../distance/spaceKernels.js";
import { openSpace, type SpaceMemory, spaceMemory, type VectorSpace } from "../distance/vectorSpace.js";
import type { Graph } from "./graphFiles.js";
import { MOST_OF_ROWS, makeDescent } from "./graphSearch.js";
import { listsIn, type WalkRoom, Walks, walkBytes } from "./walkKernel.js";

/** Maximum beam. */
const MOST_IN_SIGHT = 1024;
/** Maximum number of neighbours; longer lists would waste memory. */
const MOST_NEIGHBOURS = 512;
/** Minimum number of rows: kernel memory comes in pages and is slow to allocate. */
const LEAST_ROWS = 1024;
/** Maximum bytes; more would evict most of the cache. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Rows packed between yields. */
const PIECE_ROWS = 4096;
/** Bytes of codes visited between yields. */
const STEP_BYTES = 4 * 1024 * 1024;

export class PackedGraph implements SearchedPart {
  readonly kind = "packed";
  readonly memoryWeight: number;
  readonly #space: VectorSpace;
  /** Descends the upper levels. */
  readonly #descend: ReturnType<typeof makeDescent>;
  /** Rows expanded per kernel call. */
  readonly #stepRows: number;
  /** True while a suspended walk keeps its state in the memory. */
  #isWalking = false;

  private constructor(
    private readonly upper: Graph,
    memory: SpaceMemory,
    private readonly walks: Walks,
    room: number,
    bytes: number,
    fail: (row: number) => never,
  ) {
    this.#space = openSpace(memory);
    this.#descend = makeDescent({ graph: upper, measure: this.#measure, fail });
    this.#stepRows = Math.ceil(STEP_BYTES / (room * rowBytesOf(memory.options)));
    this.memoryWeight = bytes + upper.targets.byteLength * 2;
  }

  /**
   * Packs a graph.
   * @param codes of all rows, one byte per dimension
   * @param fail throws for a neighbour that does not exist
   * @returns null without kernels, or if the graph is too small or too large
   */
  static async pack(
    graph: Graph,
    codes: Uint8Array,
    dimension: number,
    fail: (row: number) => never,
    signal: AbortSignal | undefined,
  ): Promise<PackedGraph | null> {
    const { rowCount } = graph;
    const room = Math.max(1, await longestList(graph, signal));
    if (rowCount < LEAST_ROWS || room > MOST_NEIGHBOURS) return null;
    const options: SpaceOptions = { item: "uint8", metric: "l2", dimension, rowCount: rowCount + 1 };
    const walk: WalkRoom = { rowCount, room, beam: MOST_IN_SIGHT };
    const bytes = options.rowCount * rowBytesOf(options) + walkBytes(walk, 1);
    if (bytes > MOST_BYTES) return null;
    const memory = spaceMemory(options, 1, walkBytes(walk, 1));
    const lists = listsIn(memory, walk);
    const walks = Walks.open(memory, walk);
    if (lists === null || walks === null) return null;
    walks.useLane(0);
    const packed = new PackedGraph(graph.upperLevels(), memory, walks, room, bytes, fail);
    const range = { start: 0, end: 0 };
    for (let start = 0; start < rowCount; start += PIECE_ROWS) {
      const end = Math.min(rowCount, start + PIECE_ROWS);
      packed.#space.put(start, codes.subarray(start * dimension, end * dimension));
      for (let row = start; row < end; row++) {
        graph.range(0, row, range);
        let position = row * (1 + room);
        lists[position++] = range.end - range.start;
        for (let index = range.start; index < range.end; index++) {
          const target = graph.targets[index];
          if (target >= rowCount) fail(target);
          lists[position++] = target;
        }
      }
      signal?.throwIfAborted();
      await yieldToEventLoop();
    }
    return packed;
  }

  /**
   * Returns the nearest rows to a code, with squared distances in quantization steps.
   * @returns null if the graph does not lead to enough rows, `size` exceeds the beam, or another walk runs
   */
  async nearest(code: Uint8Array, size: number, signal: AbortSignal | undefined): Promise<Beam | null> {
    const { rowCount } = this.upper;
    if (this.#isWalking || size > Math.min(MOST_IN_SIGHT, MOST_OF_ROWS * rowCount)) return null;
    const beam = new Beam(size);
    this.#isWalking = true;
    try {
      // The query's slot follows all rows.
      this.#space.put(rowCount, code);
      const { row, distance } = this.#descend();
      this.walks.begin(row, distance);
      while (!this.walks.continueWalk(rowCount, beam, this.#stepRows)) {
        await yieldToEventLoop();
        signal?.throwIfAborted();
      }
    } finally {
      this.#isWalking = false;
    }
    return beam.length < beam.size ? null : beam;
  }

  /** Measures distances of rows from the query. */
  readonly #measure: MeasureRows = (rows, count, distances) => {
    const queryRow = this.upper.rowCount;
    for (let start = 0; start < count; start += MAX_ASKED) {
      const end = Math.min(count, start + MAX_ASKED);
      this.#space.measure(queryRow, rows.subarray(start, end), end - start, distances.subarray(start, end));
    }
  };
}

/** Returns the longest neighbour list of level 0. */
async function longestList(graph: Graph, signal: AbortSignal | undefined): Promise<number> {
  const range = { start: 0, end: 0 };
  let longest = 0;
  for (let row = 0; row < graph.rowCount; row++) {
    graph.range(0, row, range);
    longest = Math.max(longest, range.end - range.start);
    if (row % PIECE_ROWS === PIECE_ROWS - 1) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
    }
  }
  return longest;
}
