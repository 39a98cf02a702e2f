/**
 * Builds the graph of a partition (graphFiles.ts) as a hierarchical navigable small world (HNSW): rows come one by one; each
 * is led to the rows nearest to it that are there, those of them being preferred that lie in different directions, and these
 * back to it. A row is on level 0, and on each level above with a chance that falls by the same factor.
 */

import { breathe } from "../../async/eventLoop.js";
import { seededNumbers } from "./kmeans.js";
import { Beam } from "./nearestFirst.js";
import { MAX_ASKED, type VectorSpace } from "./vectorSpace.js";

/** Levels of a graph, at most. */
export const MAX_LEVELS = 7;

export interface GraphSettings {
  /** Rows that a row leads to, at most; twice as many on level 0. */
  readonly m: number;
  /** Rows that are kept in sight while neighbours are searched for. */
  readonly efConstruction: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/** The rows that those of a level lead to. */
export interface GraphLevel {
  /** Ascending. */
  readonly rows: Uint32Array;
  /** Where the neighbours of each row begin, and the end of the last. */
  readonly starts: Uint32Array;
  readonly neighbours: Uint32Array;
  readonly distances: Float32Array;
}

/** Lists of neighbours, each with room for so many. */
class Links {
  /** List by list. */
  readonly rows: Uint32Array;
  readonly #distances: Float32Array;
  readonly #counts: Uint16Array;

  constructor(
    lists: number,
    readonly room: number,
  ) {
    this.rows = new Uint32Array(lists * room);
    this.#distances = new Float32Array(lists * room);
    this.#counts = new Uint16Array(lists);
  }

  count(list: number): number {
    return this.#counts[list];
  }

  row(list: number, place: number): number {
    return this.rows[list * this.room + place];
  }

  distance(list: number, place: number): number {
    return this.#distances[list * this.room + place];
  }

  clear(list: number): void {
    this.#counts[list] = 0;
  }

  /** There must be room. */
  add(list: number, row: number, distance: number): void {
    const at = list * this.room + this.#counts[list]++;
    this.rows[at] = row;
    this.#distances[at] = distance;
  }

  copy(list: number, rows: Uint32Array, distances: Float32Array, to: number): void {
    const from = list * this.room;
    const end = from + this.#counts[list];
    rows.set(this.rows.subarray(from, end), to);
    distances.set(this.#distances.subarray(from, end), to);
  }
}

export class BuiltGraph {
  readonly #space: VectorSpace;
  readonly #rowCount: number;
  readonly #m: number;
  /** Levels above 0 that a row is on. */
  readonly #heights: Uint8Array;
  /** Of rows above level 0: the list of level 1, behind which lie those of the levels above. */
  readonly #upperLists: Uint32Array;
  readonly #ground: Links;
  readonly #upper: Links;
  readonly #beam: Beam;
  /** By place in the beam: whether the row's neighbours were looked at. */
  readonly #looked: Uint8Array;
  /** By row: the number of the walk that has seen it last. */
  readonly #seen: Uint32Array;
  #walk = 0;
  readonly #asked = new Uint32Array(MAX_ASKED);
  readonly #measured = new Float64Array(MAX_ASKED);
  readonly #chosen: Uint32Array;
  readonly #chosenDistances: Float64Array;
  /** Places of rows that were left out. */
  readonly #others: Uint32Array;
  #entryPoint = 0;

  private constructor(space: VectorSpace, rowCount: number, { m, efConstruction, seed }: GraphSettings) {
    this.#space = space;
    this.#rowCount = rowCount;
    this.#m = m;
    this.#heights = new Uint8Array(rowCount);
    this.#upperLists = new Uint32Array(rowCount);
    const next = seededNumbers(seed);
    const factor = 1 / Math.log(Math.max(2, m));
    let lists = 0;
    for (let row = 0; row < rowCount; row++) {
      const height = Math.min(MAX_LEVELS - 1, Math.floor(-Math.log(1 - next()) * factor));
      this.#heights[row] = height;
      this.#upperLists[row] = lists;
      lists += height;
    }
    this.#ground = new Links(rowCount, 2 * m);
    this.#upper = new Links(lists, m);
    this.#beam = new Beam(Math.max(efConstruction, 2 * m));
    this.#looked = new Uint8Array(this.#beam.size + 1);
    this.#seen = new Uint32Array(rowCount);
    this.#chosen = new Uint32Array(2 * m);
    this.#chosenDistances = new Float64Array(2 * m);
    this.#others = new Uint32Array(m);
  }

  static async of(space: VectorSpace, rowCount: number, settings: GraphSettings): Promise<BuiltGraph> {
    const graph = new BuiltGraph(space, rowCount, settings);
    for (let row = 1; row < rowCount; row++) {
      graph.#insert(row);
      settings.signal?.throwIfAborted();
      await breathe();
    }
    return graph;
  }

  get entryPoint(): number {
    return this.#entryPoint;
  }

  // ------------------------------------------------------------------------------------------------ building

  #insert(row: number): void {
    const top = this.#heights[this.#entryPoint];
    const height = this.#heights[row];
    let start = this.#entryPoint;
    for (let level = top; level > height; level--) start = this.#nearestOn(level, row, start);
    for (let level = Math.min(top, height); level >= 0; level--) {
      this.#search(level, row, start);
      start = this.#beam.rows[0];
      this.#connect(level, row);
    }
    if (height > top) this.#entryPoint = row;
  }

  #links(level: number): Links {
    return level === 0 ? this.#ground : this.#upper;
  }

  #listOf(level: number, row: number): number {
    return level === 0 ? row : this.#upperLists[row] + level - 1;
  }

  /** Puts the neighbours of a row that this walk has not seen yet into `asked`, and measures them from another. */
  #measureNeighbours(level: number, of: number, from: number): number {
    const links = this.#links(level);
    const list = this.#listOf(level, of);
    const [rows, seen, asked, walk] = [links.rows, this.#seen, this.#asked, this.#walk];
    const start = list * links.room;
    const end = start + links.count(list);
    let count = 0;
    for (let at = start; at < end; at++) {
      const row = rows[at];
      if (seen[row] === walk) continue;
      seen[row] = walk;
      asked[count++] = row;
    }
    this.#space.measure(from, asked, count, this.#measured);
    return count;
  }

  #distance(row: number, other: number): number {
    this.#asked[0] = other;
    this.#space.measure(row, this.#asked, 1, this.#measured);
    return this.#measured[0];
  }

  /** The row of a level that is nearest as far as neighbours lead. */
  #nearestOn(level: number, row: number, start: number): number {
    this.#walk++;
    let nearest = start;
    let least = this.#distance(row, start);
    for (let isNearer = true; isNearer; ) {
      isNearer = false;
      const count = this.#measureNeighbours(level, nearest, row);
      for (let at = 0; at < count; at++) {
        if (this.#measured[at] < least) {
          [least, nearest, isNearer] = [this.#measured[at], this.#asked[at], true];
        }
      }
    }
    return nearest;
  }

  /** Fills the beam with the rows of a level that are nearest to one. */
  #search(level: number, row: number, start: number): void {
    const [beam, looked, asked, measured] = [this.#beam, this.#looked, this.#asked, this.#measured];
    this.#walk++;
    beam.clear();
    beam.add(this.#distance(row, start), start);
    looked[0] = 0;
    this.#seen[start] = this.#walk;
    for (let place = 0; place < beam.length; ) {
      if (looked[place] === 1) {
        place++;
        continue;
      }
      looked[place] = 1;
      const count = this.#measureNeighbours(level, beam.rows[place], row);
      let first = place + 1;
      let bound = beam.bound;
      for (let at = 0; at < count; at++) {
        if (!(measured[at] < bound)) continue;
        const end = Math.min(beam.length, beam.size - 1);
        const to = beam.add(measured[at], asked[at]);
        bound = beam.bound;
        looked.copyWithin(to + 1, to, end);
        looked[to] = 0;
        if (to < first) first = to;
      }
      place = first;
    }
  }

  /** Chooses neighbours of a row among those in the beam, and leads them to each other. */
  #connect(level: number, row: number): void {
    const links = this.#links(level);
    const beam = this.#beam;
    const count = this.#choose(beam.rows, beam.distances, beam.length, this.#m);
    const list = this.#listOf(level, row);
    const rows = this.#chosen.slice(0, count);
    const distances = this.#chosenDistances.slice(0, count);
    for (let place = 0; place < count; place++) links.add(list, rows[place], distances[place]);
    for (let place = 0; place < count; place++)
      this.#leadBack(links, level, rows[place], row, distances[place]);
  }

  #leadBack(links: Links, level: number, from: number, to: number, distance: number): void {
    const list = this.#listOf(level, from);
    const count = links.count(list);
    if (count < links.room) {
      links.add(list, to, distance);
      return;
    }
    const beam = this.#beam;
    beam.clear();
    for (let place = 0; place < count; place++) {
      beam.add(links.distance(list, place), links.row(list, place));
    }
    beam.add(distance, to);
    const kept = this.#choose(beam.rows, beam.distances, beam.length, links.room);
    links.clear(list);
    for (let place = 0; place < kept; place++) {
      links.add(list, this.#chosen[place], this.#chosenDistances[place]);
    }
  }

  /**
   * Chooses rows, the nearest first, and leaves out those that lie nearer to one that was chosen: that one leads there. Where
   * fewer than `m` are left, the nearest of the others fill up.
   * @returns how many were chosen
   */
  #choose(rows: Uint32Array, distances: Float64Array, length: number, most: number): number {
    const [chosen, measured, others] = [this.#chosen, this.#measured, this.#others];
    let count = 0;
    let otherCount = 0;
    for (let place = 0; place < length && count < most; place++) {
      const distance = distances[place];
      this.#space.measure(rows[place], chosen, count, measured);
      let isApart = true;
      for (let at = 0; at < count && isApart; at++) isApart = measured[at] >= distance;
      if (!isApart) {
        if (otherCount < this.#m) others[otherCount++] = place;
        continue;
      }
      chosen[count] = rows[place];
      this.#chosenDistances[count++] = distance;
    }
    for (let at = 0; at < otherCount && count < this.#m; at++) {
      chosen[count] = rows[others[at]];
      this.#chosenDistances[count++] = distances[others[at]];
    }
    return count;
  }

  // ------------------------------------------------------------------------------------------------- reading

  /** Number of rows on each level. */
  levelCounts(): number[] {
    const counts = new Array<number>(MAX_LEVELS).fill(0);
    for (const height of this.#heights) for (let level = 0; level <= height; level++) counts[level]++;
    return counts;
  }

  /** Levels in pieces of at most so many rows. */
  *levels(most: number): Generator<GraphLevel> {
    for (let level = 0; level < MAX_LEVELS; level++) {
      const rows = new Uint32Array(most);
      let count = 0;
      for (let row = 0; row < this.#rowCount; row++) {
        if (this.#heights[row] < level) continue;
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
    for (const [place, row] of rows.entries())
      starts[place + 1] = starts[place] + links.count(this.#listOf(level, row));
    const neighbours = new Uint32Array(starts[rows.length]);
    const distances = new Float32Array(starts[rows.length]);
    for (const [place, row] of rows.entries())
      links.copy(this.#listOf(level, row), neighbours, distances, starts[place]);
    return { rows, starts, neighbours, distances };
  }
}
