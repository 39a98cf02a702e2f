/**
 * The steps by which a graph grows (buildGraph.ts), over memory that threads share. Rows that come at a time are first led to
 * others, which nobody notices yet, each by itself; then the others are led back to them, each by itself.
 */

import type { Task } from "../../../async/workerPool.js";
import { Beam } from "../distance/nearestFirst.js";
import { MAX_ASKED } from "../distance/spaceKernels.js";
import { apartBound, openSpace, type SpaceMemory, type VectorSpace } from "../distance/vectorSpace.js";
import { type WalkRoom, Walks } from "./walkKernel.js";

/** Lists of neighbours, as threads can be told of them. */
export interface LinkMemory {
  /** Neighbours that a list has room for. */
  readonly room: number;
  /** List by list: how many neighbours it has, then their rows. */
  readonly lists: Uint32Array;
  readonly distances: Float32Array;
  /** How many neighbours of each list are known to lie apart from each other: they come first, and once there are any the
   * list is full; they are in the order of their distances, and so are those behind them. */
  readonly apart: Uint16Array;
}

/** A graph while it is built, as threads can be told of it. */
export interface GraphMemory {
  /** Of integers that no other graph of this process has. */
  readonly key: number;
  readonly vectors: SpaceMemory;
  readonly rowCount: number;
  readonly m: number;
  readonly efConstruction: number;
  /** Levels above 0 that a row is on. */
  readonly heights: Uint8Array;
  /** Of rows above level 0: the list of level 1, behind which lie those of the levels above. */
  readonly upperLists: Uint32Array;
  readonly ground: LinkMemory;
  readonly upper: LinkMemory;
}

/** Lists of neighbours. */
export class Links {
  readonly room: number;
  readonly lists: Uint32Array;
  readonly #distances: Float32Array;
  readonly #apart: Uint16Array;

  constructor({ room, lists, distances, apart }: LinkMemory) {
    this.room = room;
    this.lists = lists;
    this.#distances = distances;
    this.#apart = apart;
  }

  /** Where the neighbours of a list begin. */
  start(list: number): number {
    return list * (1 + this.room) + 1;
  }

  count(list: number): number {
    return this.lists[list * (1 + this.room)];
  }

  row(list: number, position: number): number {
    return this.lists[this.start(list) + position];
  }

  distance(list: number, position: number): number {
    return this.#distances[list * this.room + position];
  }

  apart(list: number): number {
    return this.#apart[list];
  }

  setApart(list: number, count: number): void {
    this.#apart[list] = count;
  }

  clear(list: number): void {
    this.lists[list * (1 + this.room)] = 0;
  }

  /** There must be room. */
  add(list: number, row: number, distance: number): void {
    this.put(list, this.lists[list * (1 + this.room)]++, row, distance);
  }

  put(list: number, position: number, row: number, distance: number): void {
    this.lists[this.start(list) + position] = row;
    this.#distances[list * this.room + position] = distance;
  }

  copy(list: number, rows: Uint32Array, distances: Float32Array, to: number): void {
    const [from, count] = [list * this.room, this.count(list)];
    rows.set(this.lists.subarray(this.start(list), this.start(list) + count), to);
    distances.set(this.#distances.subarray(from, from + count), to);
  }
}

/** Rows that are led to others, from one up to another exclusive, or led back to. */
export interface GraphStep {
  readonly memory: GraphMemory;
  /** That nobody else uses meanwhile. */
  readonly lane: number;
  readonly entryPoint: number;
  readonly start: number;
  readonly end: number;
  /** Which of {@link SHARES} equal parts of the rows is led back, from one up to another exclusive; null to lead to others. */
  readonly shares: { readonly start: number; readonly end: number } | null;
}

/** Parts of the rows that are led back by themselves. */
export const SHARES = 64;

/** Rows that are kept in sight at a time. */
const beamSize = ({ m, efConstruction }: Pick<GraphMemory, "m" | "efConstruction">): number =>
  Math.max(efConstruction, 2 * m);

/** What walks on the lowest level need to know. */
export const walkRoom = (graph: Pick<GraphMemory, "rowCount" | "m" | "efConstruction">): WalkRoom => ({
  rowCount: graph.rowCount,
  room: 2 * graph.m,
  beam: beamSize(graph),
});

export const GROW_GRAPH: Task<GraphStep, null> = {
  name: "growGraph",
  run({ memory, lane, entryPoint, start, end, shares }) {
    const growth = growthOf(memory, lane);
    if (shares === null) for (let row = start; row < end; row++) growth.link(row, entryPoint);
    else growth.linkBack(start, end, entryPoint, shares.start, shares.end);
    return null;
  },
  memoryOf: () => [],
};

/** What a thread keeps between steps, of the graphs that it was asked for last. */
const kept: GraphGrowth[] = [];
const MOST_KEPT = 4;

function growthOf(memory: GraphMemory, lane: number): GraphGrowth {
  let growth = kept.find(({ key }) => key === memory.key);
  if (growth === undefined) {
    growth = new GraphGrowth(memory, lane);
    if (kept.length === MOST_KEPT) kept.shift();
    kept.push(growth);
  }
  growth.useLane(lane);
  return growth;
}

/** A graph that is complete needs nothing to be kept in this thread. */
export function forgetGraph(own: number): void {
  const index = kept.findIndex(({ key }) => key === own);
  if (index >= 0) kept.splice(index, 1);
}

class GraphGrowth {
  readonly #memory: GraphMemory;
  readonly #space: VectorSpace;
  readonly #m: number;
  readonly #ground: Links;
  readonly #upper: Links;
  readonly #beam: Beam;
  /** Null where there are no kernels. */
  readonly #walks: Walks | null;
  /** By place in the beam: whether the row's neighbours were looked at. */
  readonly #looked: Uint8Array;
  /** By row: the number of the walk that has seen it last. Bytes, of which many stay near; they begin anew now and then. */
  readonly #seen: Uint8Array;
  #walk = 0;
  readonly #asked = new Uint32Array(MAX_ASKED);
  readonly #measured = new Float64Array(MAX_ASKED);
  readonly #chosen: Uint32Array;
  readonly #chosenDistances: Float64Array;
  /** Places of rows that lie apart from those before. */
  readonly #places: Uint32Array;
  /** How many of the chosen lie apart from those before. */
  #apart = 0;

  constructor(memory: GraphMemory, lane: number) {
    const { m, rowCount } = memory;
    this.#memory = memory;
    this.#space = openSpace(memory.vectors, lane);
    this.#m = m;
    this.#ground = new Links(memory.ground);
    this.#upper = new Links(memory.upper);
    this.#beam = new Beam(beamSize(memory));
    this.#walks = Walks.open(memory.vectors, walkRoom(memory));
    this.#looked = new Uint8Array(this.#beam.size + 1);
    this.#seen = new Uint8Array(rowCount);
    this.#chosen = new Uint32Array(2 * m);
    this.#chosenDistances = new Float64Array(2 * m);
    this.#places = new Uint32Array(2 * m);
  }

  get key(): number {
    return this.#memory.key;
  }

  useLane(lane: number): void {
    this.#space.useLane(lane);
    this.#walks?.useLane(lane);
  }

  /** Leads a row to those nearest to it. Only its own lists change. */
  link(row: number, entryPoint: number): void {
    const { heights } = this.#memory;
    const [top, height] = [heights[entryPoint], heights[row]];
    let start = entryPoint;
    for (let level = top; level > height; level--) start = this.#nearestOn(level, row, start);
    for (let level = Math.min(top, height); level >= 0; level--) {
      this.#search(level, row, start);
      start = this.#beam.rows[0];
      this.#link(level, row);
    }
  }

  /** Leads rows of some shares back to those that lead to them. Only lists of these shares change. */
  linkBack(start: number, end: number, entryPoint: number, firstShare: number, endShare: number): void {
    const { heights } = this.#memory;
    for (let row = start; row < end; row++) {
      for (let level = Math.min(heights[entryPoint], heights[row]); level >= 0; level--) {
        const [links, list] = [this.#links(level), this.#listOf(level, row)];
        const count = links.count(list);
        for (let position = 0; position < count; position++) {
          const other = links.row(list, position);
          const share = other % SHARES;
          if (share < firstShare || share >= endShare) continue;
          this.#linkBack(links, level, other, row, links.distance(list, position));
        }
      }
    }
  }

  #links(level: number): Links {
    return level === 0 ? this.#ground : this.#upper;
  }

  #listOf(level: number, row: number): number {
    return level === 0 ? row : this.#memory.upperLists[row] + level - 1;
  }

  #beginWalk(): void {
    if (this.#walk === 255) {
      this.#seen.fill(0);
      this.#walk = 0;
    }
    this.#walk++;
  }

  /** Puts the neighbours of a row that this walk has not seen yet into `asked`, and measures them from another. */
  #measureNeighbours(level: number, of: number, from: number): number {
    const links = this.#links(level);
    const list = this.#listOf(level, of);
    const [rows, seen, asked, walk] = [links.lists, this.#seen, this.#asked, this.#walk];
    const start = links.start(list);
    const end = start + links.count(list);
    let count = 0;
    for (let index = start; index < end; index++) {
      const row = rows[index];
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
    this.#beginWalk();
    let nearest = start;
    let least = this.#distance(row, start);
    for (let isNearer = true; isNearer; ) {
      isNearer = false;
      const count = this.#measureNeighbours(level, nearest, row);
      for (let index = 0; index < count; index++) {
        if (this.#measured[index] < least) {
          [least, nearest, isNearer] = [this.#measured[index], this.#asked[index], true];
        }
      }
    }
    return nearest;
  }

  /** Fills the beam with the rows of a level that are nearest to one. */
  #search(level: number, row: number, start: number): void {
    if (level === 0 && this.#walks !== null) {
      this.#walks.go(row, start, this.#distance(row, start), this.#beam);
      return;
    }
    const [beam, looked, asked, measured] = [this.#beam, this.#looked, this.#asked, this.#measured];
    this.#beginWalk();
    beam.clear();
    beam.add(this.#distance(row, start), start);
    looked[0] = 0;
    this.#seen[start] = this.#walk;
    for (let offset = 0; offset < beam.length; ) {
      if (looked[offset] === 1) {
        offset++;
        continue;
      }
      looked[offset] = 1;
      const count = this.#measureNeighbours(level, beam.rows[offset], row);
      let first = offset + 1;
      let bound = beam.bound;
      for (let index = 0; index < count; index++) {
        if (!(measured[index] < bound)) continue;
        const end = Math.min(beam.length, beam.size - 1);
        const to = beam.add(measured[index], asked[index]);
        bound = beam.bound;
        looked.copyWithin(to + 1, to, end);
        looked[to] = 0;
        if (to < first) first = to;
      }
      offset = first;
    }
  }

  /** Chooses neighbours of a row among those in the beam, which do not lead back yet. */
  #link(level: number, row: number): void {
    const beam = this.#beam;
    const count = this.#choose(beam.rows, beam.distances, beam.length, this.#m);
    const [links, list] = [this.#links(level), this.#listOf(level, row)];
    for (let position = 0; position < count; position++) {
      links.add(list, this.#chosen[position], this.#chosenDistances[position]);
    }
  }

  #linkBack(links: Links, level: number, from: number, to: number, distance: number): void {
    const list = this.#listOf(level, from);
    const count = links.count(list);
    if (count < links.room) {
      links.add(list, to, distance);
      return;
    }
    if (!this.#putAmong(links, list, to, distance)) this.#chooseAnew(links, list, to, distance);
  }

  /** Chooses the neighbours of a full list, and of one more, anew. */
  #chooseAnew(links: Links, list: number, to: number, distance: number): void {
    const [beam, count] = [this.#beam, links.count(list)];
    beam.clear();
    for (let position = 0; position < count; position++) {
      beam.add(links.distance(list, position), links.row(list, position));
    }
    beam.add(distance, to);
    const kept = this.#choose(beam.rows, beam.distances, beam.length, links.room);
    links.clear(list);
    for (let slot = 0; slot < kept; slot++) {
      links.add(list, this.#chosen[slot], this.#chosenDistances[slot]);
    }
    links.setApart(list, this.#apart);
  }

  /**
   * Puts a row into a full list of which it is known what lies apart: only from these has it to be measured. What would be
   * chosen anew is the same.
   * @returns false, and nothing done, where that is not known, or where one that lay apart would not any more
   */
  #putAmong(links: Links, list: number, to: number, distance: number): boolean {
    const [{ room }, apart, measured] = [links, links.apart(list), this.#measured];
    if (apart === 0) return false;
    const start = links.start(list);
    this.#asked.set(links.lists.subarray(start, start + apart));
    this.#space.measure(to, this.#asked, apart, measured);
    const bound = this.#memory.vectors.options.metric === "dot" ? distance : apartBound(distance);
    let before = 0;
    for (; before < apart && links.distance(list, before) <= distance; before++) {
      if (measured[before] >= bound) continue;
      this.#putBetween(links, list, apart, to, distance);
      return true;
    }
    for (let position = before; position < apart; position++) {
      if (measured[position] < links.distance(list, position)) return false;
    }
    if (before === room) return true;
    // The farthest goes of those that do not lie apart, or where all do, of these.
    this.#moveUp(links, list, before, room - 1);
    links.put(list, before, to, distance);
    links.setApart(list, Math.min(room, apart + 1));
    return true;
  }

  /** Puts a row among those of a full list that do not lie apart, of which the farthest goes. */
  #putBetween(links: Links, list: number, apart: number, to: number, distance: number): void {
    const last = links.room - 1;
    if (last < apart || links.distance(list, last) <= distance) return;
    let position = last;
    while (position > apart && links.distance(list, position - 1) > distance) position--;
    this.#moveUp(links, list, position, last);
    links.put(list, position, to, distance);
  }

  /** Makes room in a list for one more, in place of its last. */
  #moveUp(links: Links, list: number, from: number, last: number): void {
    for (let position = last; position > from; position--) {
      links.put(list, position, links.row(list, position - 1), links.distance(list, position - 1));
    }
  }

  /**
   * Chooses rows, the nearest first, and leaves out those that lie nearer to one that was chosen: that one leads there. Where
   * fewer than wanted are left, the nearest of the others fill up.
   * @returns how many were chosen
   */
  #choose(rows: Uint32Array, distances: Float64Array, length: number, most: number): number {
    const [chosen, places] = [this.#chosen, this.#places];
    // What lies behind so many is not apart from all of them.
    const apart = this.#space.choose(rows, distances, Math.min(length, MAX_ASKED), most, places);
    this.#apart = apart;
    let count = 0;
    const take = (position: number): void => {
      chosen[count] = rows[position];
      this.#chosenDistances[count++] = distances[position];
    };
    for (let index = 0; index < apart; index++) take(places[index]);
    for (let position = 0, slot = 0; position < length && count < most; position++) {
      if (slot < apart && places[slot] === position) slot++;
      else take(position);
    }
    return count;
  }
}
