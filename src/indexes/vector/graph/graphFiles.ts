/**
 * Reads the graphs of an HNSW index, which link every row of a partition to rows near it:
 *
 *     index.idx        metadata: lance:hnsw   a list with a JSON text per partition:
 *                                             {"entry_point", "level_offsets"}
 *                                lance:ivf    the model, with the number of rows of this file per partition
 *                      columns:  __vector_id  u32: offset of the row in its partition
 *                                __neighbors  list<u32>: linked rows on the same level
 *
 * Level 0 of a partition comes first: all its rows in order. Each level above has fewer rows, ascending;
 * `level_offsets` holds the start of each level and the end of the last. A search starts at the entry point,
 * a row of the top level.
 *
 * Lance before 12 writes the entry point to every level above 0, but does not count it there. Each
 * `level_offsets` entry is then one row too small for each level between. Lance 12 reads such levels at
 * `level_offsets`, so a level begins with rows of the level below it. This reader does the same, because
 * another graph would give other answers.
 */

import type { Column } from "../../../arrow/columns/column.js";
import { lowerBound } from "../../../bytes/search.js";
import { integerWords, LIST_TYPE, UINT32 } from "../../indexColumns.js";
import { OpenIndexFile } from "../../indexFile.js";
import type { IndexFiles } from "../../kind.js";
import { jsonMembers } from "../codes/tensors.js";

export const VECTOR_ID_COLUMN = "__vector_id";
export const NEIGHBOURS_COLUMN = "__neighbors";
export const DISTANCES_COLUMN = "_distance";

/** Bound against corrupt files. */
const MAX_LEVELS = 64;
/** Maximum settings of new graphs, far beyond what is useful. */
export const GRAPH_MAXIMA = { m: 2048, efConstruction: 10_000 } as const;

/** Location of a partition's graph. */
interface GraphLocation {
  readonly firstRow: number;
  readonly entryPoint: number;
  /** First row of each level from `firstRow` on, then the row count. */
  readonly levelStarts: readonly number[];
}

/** Graph of a partition. */
export interface Graph {
  readonly rowCount: number;
  readonly entryPoint: number;
  readonly levelCount: number;
  /**
   * Sets the range of the row's neighbours in {@link targets}; an empty range if the row is not on the level.
   */
  range(level: number, row: number, into: { start: number; end: number }): void;
  readonly targets: Uint32Array;
  /** Returns a copy without level 0. */
  upperLevels(): Graph;
}

/** Build settings of graphs. */
export interface GraphParameters {
  readonly m?: number;
  readonly efConstruction?: number;
}

export class GraphFiles {
  private constructor(
    private readonly files: IndexFiles,
    private readonly file: OpenIndexFile,
    private readonly locations: readonly GraphLocation[],
    readonly parameters: GraphParameters,
  ) {}

  /**
   * Opens the graphs.
   * @param starts first row of each partition in the file, then the row count
   * @param rowCounts number of rows by partition
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
    if (texts.length !== starts.length - 1)
      file.fail(`${texts.length} of ${starts.length - 1} partitions have graphs`);
    let parameters: GraphParameters = {};
    const locations = texts.map((text, partition): GraphLocation => {
      // LanceDB writes an empty text for a partition without rows.
      if (rowCounts(partition) === 0)
        return { firstRow: starts[partition], entryPoint: 0, levelStarts: [0, 0] };
      const members = jsonMembers(file, typeof text === "string" ? text : null);
      const { m, ef_construction } = (members.params ?? {}) as Readonly<Record<string, unknown>>;
      // Settings beyond the maxima fall back to the defaults.
      if (isUpTo(m, GRAPH_MAXIMA.m) && isUpTo(ef_construction, GRAPH_MAXIMA.efConstruction)) {
        parameters = { m, efConstruction: ef_construction };
      }
      const [firstRow, end] = [starts[partition], starts[partition + 1]];
      return locationOf(file, members, firstRow, end - firstRow, rowCounts(partition));
    });
    return new GraphFiles(files, file, locations, parameters);
  }

  /** Approximate bytes of memory. */
  get memoryWeight(): number {
    return this.locations.length * 128;
  }

  /** Reads a graph. @throws CorruptFileError */
  async graph(partition: number, rowCount: number, signal: AbortSignal | undefined): Promise<Graph> {
    const graph = this.locations[partition];
    const [ids, lists] = await Promise.all([
      this.#part(VECTOR_ID_COLUMN, partition, signal),
      this.#part(NEIGHBOURS_COLUMN, partition, signal),
    ]);
    return graphOf(this.file, graph, ids, lists, rowCount);
  }

  #part(column: string, partition: number, signal: AbortSignal | undefined): Promise<Column> {
    const { firstRow, levelStarts } = this.locations[partition];
    const span = { start: firstRow, end: firstRow + levelStarts[levelStarts.length - 1] };
    return this.file.cachedSpan(this.#keyOf(column, partition), column, span, signal);
  }

  #keyOf(column: string, partition: number): string {
    return `${this.file.cacheKey}${column}|${partition}`;
  }

  /** Evicts a partition from the cache. */
  forget(partition: number): void {
    for (const column of [VECTOR_ID_COLUMN, NEIGHBOURS_COLUMN])
      this.files.parts.delete(this.#keyOf(column, partition));
  }
}

const isUpTo = (value: unknown, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;

function locationOf(
  file: OpenIndexFile,
  { entry_point, level_offsets }: Readonly<Record<string, unknown>>,
  firstRow: number,
  graphRows: number,
  rowCount: number,
): GraphLocation {
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
    file.fail(`a graph of ${rowCount} rows has the entry point ${JSON.stringify(entry_point)}`);
  }
  return { firstRow, entryPoint, levelStarts: levelStarts as number[] };
}

function graphOf(
  file: OpenIndexFile,
  { entryPoint, levelStarts }: GraphLocation,
  ids: Column,
  lists: Column,
  rowCount: number,
): Graph {
  if (lists.kind !== "list" || lists.validity !== null) return file.fail("a graph has no neighbour lists");
  // The column type is checked: its offsets have 32 bits.
  const offsets = lists.offsets as Int32Array;
  const targets = integerWords(lists.items, file.path);
  let sorted = sortedLevels.get(ids);
  if (sorted === undefined) {
    sorted = sortLevels(integerWords(ids, file.path), levelStarts);
    sortedLevels.set(ids, sorted);
  }
  return graphIn({ rowCount, entryPoint, levelStarts, ...sorted, offsets, targets });
}

/** Levels as in the file. */
interface Levels {
  readonly rowCount: number;
  readonly entryPoint: number;
  readonly levelStarts: readonly number[];
  /** Ascending on each level. */
  readonly ids: Uint32Array;
  /** File rows of the ids above level 0, relative to level 1; null if in the same order. */
  readonly upperRows: Uint32Array | null;
  readonly offsets: Int32Array;
  readonly targets: Uint32Array;
}

type SortedLevels = Pick<Levels, "ids" | "upperRows">;

/** Sorted levels by their cached id column, since searches repeat. */
const sortedLevels = new WeakMap<Column, SortedLevels>();

/** Sorts the ids of each level above 0. Among equal ids, the last row comes first. */
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
