/**
 * The graphs of an index of a kind with HNSW, as they are read. In them every row of a partition leads to rows near it:
 *
 *     index.idx        metadata: lance:hnsw   a list with a JSON text for each partition: {"entry_point", "level_offsets"}
 *                                lance:ivf    the model also has how many rows of this file each partition has
 *                      columns:  __vector_id  u32: number of a row in its partition
 *                                __neighbors  list<u32>: rows that it leads to, on the same level
 *
 * Of a partition, level 0 comes first: all its rows in their order. Each level above has fewer of them, ascending;
 * `level_offsets` says where each begins, and the end of the last. A search begins at the entry point, a row of the highest.
 *
 * Lance before 12 writes the entry point to every level above 0, but does not count it there. Each `level_offsets` entry is
 * then one row too small for each level between. Lance 12 reads such levels where `level_offsets` says, so a level begins
 * with rows of the level below it. We read them the same way, because another graph would give other answers.
 */

import type { Column } from "../../../arrow/columns/column.js";
import { lowerBound } from "../../../bytes/search.js";
import { integerWords, LIST_TYPE, OpenIndexFile, UINT32 } from "../../indexFile.js";
import type { IndexFiles } from "../../kind.js";
import { jsonMembers } from "../codes/tensors.js";

export const VECTOR_ID_COLUMN = "__vector_id";
export const NEIGHBOURS_COLUMN = "__neighbors";
export const DISTANCES_COLUMN = "_distance";

/** Bound on what a file may say. */
const MAX_LEVELS = 64;
/** Greatest settings of graphs that are made; far more than is of use. */
export const GRAPH_MAXIMA = { m: 2048, efConstruction: 10_000 } as const;

/** Where the graph of one partition lies. */
interface GraphPlace {
  readonly firstRow: number;
  readonly entryPoint: number;
  /** First row of each level, and the end of the last, counted from the first. */
  readonly levelStarts: readonly number[];
}

/** The graph of one partition. */
export interface Graph {
  readonly rowCount: number;
  readonly entryPoint: number;
  readonly levelCount: number;
  /** The rows that a row leads to, in {@link targets}; `start` equals `end` for one that is not on the level. */
  range(level: number, row: number, into: { start: number; end: number }): void;
  readonly targets: Uint32Array;
  /** The same without what level 0 takes, in memory of its own. */
  upperLevels(): Graph;
}

/** What indexes with graphs were made with. */
export interface GraphParameters {
  readonly m?: number;
  readonly efConstruction?: number;
}

export class GraphFiles {
  readonly #files: IndexFiles;
  readonly #file: OpenIndexFile;
  readonly #places: readonly GraphPlace[];
  readonly parameters: GraphParameters;

  private constructor(
    files: IndexFiles,
    file: OpenIndexFile,
    places: readonly GraphPlace[],
    parameters: GraphParameters,
  ) {
    this.#files = files;
    this.#file = file;
    this.#places = places;
    this.parameters = parameters;
  }

  /**
   * @param starts first row of each partition in the file, and the end of the last
   * @param rowCounts of the partitions
   * @throws CorruptFileError
   */
  static async open(
    files: IndexFiles,
    name: string,
    starts: Float64Array,
    rowCounts: (partition: number) => number,
  ): Promise<GraphFiles> {
    const file = await OpenIndexFile.open(files, name, [
      { name: VECTOR_ID_COLUMN, type: UINT32 },
      { name: NEIGHBOURS_COLUMN, type: LIST_TYPE, item: UINT32 },
    ]);
    const texts = Object.values(jsonMembers(file, file.text("lance:hnsw")));
    if (texts.length !== starts.length - 1) file.fail(`${texts.length} graphs of ${starts.length - 1}`);
    let parameters: GraphParameters = {};
    const places = texts.map((text, partition): GraphPlace => {
      // The reference writes an empty text for a partition without rows.
      if (rowCounts(partition) === 0)
        return { firstRow: starts[partition], entryPoint: 0, levelStarts: [0, 0] };
      const members = jsonMembers(file, typeof text === "string" ? text : null);
      const { m, ef_construction } = (members.params ?? {}) as Readonly<Record<string, unknown>>;
      // Where a file says more than is of use, graphs are made as if it said nothing.
      if (isUpTo(m, GRAPH_MAXIMA.m) && isUpTo(ef_construction, GRAPH_MAXIMA.efConstruction)) {
        parameters = { m, efConstruction: ef_construction };
      }
      const [firstRow, end] = [starts[partition], starts[partition + 1]];
      return placeOf(file, members, firstRow, end - firstRow, rowCounts(partition));
    });
    return new GraphFiles(files, file, places, parameters);
  }

  /** Approximate bytes of memory. */
  get memoryWeight(): number {
    return this.#places.length * 128;
  }

  /** @throws CorruptFileError */
  async graph(partition: number, rowCount: number, signal: AbortSignal | undefined): Promise<Graph> {
    const graph = this.#places[partition];
    const [ids, lists] = await Promise.all([
      this.#part(VECTOR_ID_COLUMN, partition, signal),
      this.#part(NEIGHBOURS_COLUMN, partition, signal),
    ]);
    return graphOf(this.#file, graph, ids, lists, rowCount);
  }

  #part(column: string, partition: number, signal: AbortSignal | undefined): Promise<Column> {
    const { firstRow, levelStarts } = this.#places[partition];
    const span = { start: firstRow, end: firstRow + levelStarts[levelStarts.length - 1] };
    return this.#file.cachedSpan(this.#keyOf(column, partition), column, span, signal);
  }

  #keyOf(column: string, partition: number): string {
    return `${this.#file.cacheKey}${column}|${partition}`;
  }

  /** Lets go what is cached of a partition. */
  forget(partition: number): void {
    for (const column of [VECTOR_ID_COLUMN, NEIGHBOURS_COLUMN])
      this.#files.parts.delete(this.#keyOf(column, partition));
  }
}

const isUpTo = (value: unknown, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;

function placeOf(
  file: OpenIndexFile,
  { entry_point, level_offsets }: Readonly<Record<string, unknown>>,
  firstRow: number,
  graphRows: number,
  rowCount: number,
): GraphPlace {
  const levelStarts = Array.isArray(level_offsets) ? (level_offsets as unknown[]) : [];
  const isAscending = levelStarts.every(
    (start, level) =>
      typeof start === "number" &&
      Number.isInteger(start) &&
      start >= (level === 0 ? 0 : (levelStarts[level - 1] as number)),
  );
  const uncountedRows = graphRows - (levelStarts[levelStarts.length - 1] as number);
  const isWhole =
    levelStarts.length >= 2 &&
    levelStarts.length <= MAX_LEVELS &&
    isAscending &&
    levelStarts[0] === 0 &&
    levelStarts[1] === rowCount &&
    (uncountedRows === 0 || uncountedRows === levelStarts.length - 2);
  if (!isWhole) file.fail(`levels of a graph of ${rowCount} rows begin at ${JSON.stringify(level_offsets)}`);
  const entryPoint = entry_point as number;
  if (!Number.isInteger(entryPoint) || entryPoint < 0 || entryPoint >= rowCount) {
    file.fail(`a graph of ${rowCount} rows is entered at ${JSON.stringify(entry_point)}`);
  }
  return { firstRow, entryPoint, levelStarts: levelStarts as number[] };
}

function graphOf(
  file: OpenIndexFile,
  { entryPoint, levelStarts }: GraphPlace,
  ids: Column,
  lists: Column,
  rowCount: number,
): Graph {
  if (lists.kind !== "list" || lists.validity !== null) return file.fail("a graph without lists");
  // The type of the column was checked: its offsets have 32 bits.
  const offsets = lists.offsets as Int32Array;
  const targets = integerWords(lists.items, file.path);
  let sorted = sortedLevels.get(ids);
  if (sorted === undefined) {
    sorted = sortLevels(integerWords(ids, file.path), levelStarts);
    sortedLevels.set(ids, sorted);
  }
  return graphIn({ rowCount, entryPoint, levelStarts, ...sorted, offsets, targets });
}

/** Levels as they lie in a file. */
interface Levels {
  readonly rowCount: number;
  readonly entryPoint: number;
  readonly levelStarts: readonly number[];
  /** Ascending on each level. */
  readonly ids: Uint32Array;
  /** Rows of the file that the ids above level 0 have, counted from level 1; null where they are in the same order. */
  readonly upperRows: Uint32Array | null;
  readonly offsets: Int32Array;
  readonly targets: Uint32Array;
}

type SortedLevels = Pick<Levels, "ids" | "upperRows">;

/** Levels by the column of their ids, which stays in the cache: searches ask for the same graph again and again. */
const sortedLevels = new WeakMap<Column, SortedLevels>();

/** Brings the ids of each level above 0 into ascending order. Where a level has an id twice, its last row comes first. */
function sortLevels(ids: Uint32Array, levelStarts: readonly number[]): SortedLevels {
  if (areAscending(ids, levelStarts)) return { ids, upperRows: null };
  const first = levelStarts[1];
  const upperRows = Uint32Array.from({ length: ids.length - first }, (_, index) => index);
  for (let level = 1; level + 1 < levelStarts.length; level++) {
    upperRows
      .subarray(levelStarts[level] - first, levelStarts[level + 1] - first)
      .sort((a, b) => ids[first + a] - ids[first + b] || b - a);
  }
  const sortedIds = ids.slice();
  for (const [index, row] of upperRows.entries()) sortedIds[first + index] = ids[first + row];
  return { ids: sortedIds, upperRows };
}

function areAscending(ids: Uint32Array, levelStarts: readonly number[]): boolean {
  for (let level = 1; level + 1 < levelStarts.length; level++) {
    for (let row = levelStarts[level] + 1; row < levelStarts[level + 1]; row++) {
      if (ids[row] <= ids[row - 1]) return false;
    }
  }
  return true;
}

function graphIn(levels: Levels): Graph {
  const { rowCount, entryPoint, levelStarts, ids, upperRows, offsets, targets } = levels;
  return {
    rowCount,
    entryPoint,
    levelCount: levelStarts.length - 1,
    targets,
    range(level, row, into) {
      let position = row;
      if (level > 0) {
        position = lowerBound(ids, row, levelStarts[level], levelStarts[level + 1]);
        if (position === levelStarts[level + 1]) {
          into.start = into.end = 0;
          return;
        }
      }
      const isThere = ids[position] === row;
      if (level > 0 && upperRows !== null) position = levelStarts[1] + upperRows[position - levelStarts[1]];
      into.start = isThere ? offsets[position] : 0;
      into.end = isThere ? offsets[position + 1] : 0;
    },
    upperLevels() {
      const first = offsets[levelStarts[1]];
      return graphIn({
        ...{ rowCount, entryPoint },
        levelStarts: levelStarts.map((start, level) => (level === 0 ? 0 : start - levelStarts[1])),
        ids: ids.slice(levelStarts[1]),
        upperRows,
        offsets: offsets.slice(levelStarts[1]).map((offset) => offset - first),
        targets: targets.slice(first),
      });
    },
  };
}
