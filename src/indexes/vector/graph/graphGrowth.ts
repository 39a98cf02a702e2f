/**
 * Steps of HNSW construction (buildGraph.ts) over memory that threads share. Each row of a batch is first
 * linked to others, independently of the batch; then each of the others is linked back, independently.
 */

import type { Task } from "../../../async/workerPool.js";
import { Beam } from "../distance/nearestFirst.js";
import { MAX_ASKED } from "../distance/spaceKernels.js";
import { apartBound, openSpace, type SpaceMemory, type VectorSpace } from "../distance/vectorSpace.js";
import { type WalkRoom, Walks } from "./walkKernel.js";

/** Neighbour lists, as passed to threads. */
export interface LinkMemory {
  /** Capacity of a list. */
  readonly room: number;
  /** Length of each list, then its rows. */
  readonly lists: Uint32Array;
  readonly distances: Float32Array;
  /**
   * Number of neighbours of each list that are known to lie apart from each other. They come first, and the
   * list is full if there are any. They are sorted by distance, and so is the rest.
   */
  readonly apart: Uint16Array;
}

/** A graph under construction, as passed to threads. */
export interface GraphMemory {
  /** Unique in this process. */
  readonly key: number;
  readonly vectors: SpaceMemory;
  readonly rowCount: number;
  readonly m: number;
  readonly efConstruction: number;
  /** Top level of each row. */
  readonly heights: Uint8Array;
  /** First upper list of each row, of level 1; the levels above follow. */
  readonly upperLists: Uint32Array;
  readonly ground: LinkMemory;
  readonly upper: LinkMemory;
}

/** Accessor of neighbour lists. */
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

  /** Returns the index of a list's first neighbour. */
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

  /** Appends to a list that has room. */
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

/** Rows `[start, end)` to link or link back. */
export interface GraphStep {
  readonly memory: GraphMemory;
  /** Used by this thread only. */
  readonly lane: number;
  readonly entryPoint: number;
  readonly start: number;
  readonly end: number;
  /** Shards `[start, end)` of {@link SHARDS} to link back; null to link. */
  readonly shards: { readonly start: number; readonly end: number } | null;
}

/** Number of shards of the rows, linked back independently. */
export const SHARDS = 64;

/** Returns the beam of a neighbour search. */
const beamSize = ({ m, efConstruction }: Pick<GraphMemory, "m" | "efConstruction">): number =>
  Math.max(efConstruction, 2 * m);

/** Returns the shape of walks on level 0. */
export const walkRoom = (graph: Pick<GraphMemory, "rowCount" | "m" | "efConstruction">): WalkRoom => ({
  rowCount: graph.rowCount,
  room: 2 * graph.m,
  beam: beamSize(graph),
});

export const GROW_GRAPH: Task<GraphStep, null> = {
  name: "growGraph",
  run({ memory, lane, entryPoint, start, end, shards }) {
    const growth = growthOf(memory, lane);
    if (shards === null) for (let row = start; row < end; row++) growth.link(row, entryPoint);
    else growth.linkBack(start, end, entryPoint, shards.start, shards.end);
    return null;
  },
  memoryOf: () => [],
};

/** State of the last few graphs of this thread. */
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

/** Drops this thread's state of a finished graph. */
export function forgetGraph(graphKey: number): void {
  const index = kept.findIndex(({ key }) => key === graphKey);
  if (index >= 0) kept.splice(index, 1);
}

class GraphGrowth {
  readonly #memory: GraphMemory;
  readonly #space: VectorSpace;
  readonly #ground: Links;
  readonly #upper: Links;
  readonly #beam: Beam;
  /** Null without kernels. */
  readonly #walks: Walks | null;
  /** 1 if the neighbours of this beam entry were visited. */
  readonly #looked: Uint8Array;
  /** Last walk that saw each row. Bytes keep more of them in the CPU cache; the numbers restart at 255. */
  readonly #seen: Uint8Array;
  #walk = 0;
  readonly #targets = new Uint32Array(MAX_ASKED);
  readonly #measured = new Float64Array(MAX_ASKED);
  readonly #chosen: Uint32Array;
  readonly #chosenDistances: Float64Array;
  /** Beam positions of rows that lie apart from those before. */
  readonly #positions: Uint32Array;
  /** Number of chosen rows that lie apart. */
  #apart = 0;

  constructor(memory: GraphMemory, lane: number) {
    const { m, rowCount } = memory;
    this.#memory = memory;
    this.#space = openSpace(memory.vectors, lane);
    this.#ground = new Links(memory.ground);
    this.#upper = new Links(memory.upper);
    this.#beam = new Beam(beamSize(memory));
    this.#walks = Walks.open(memory.vectors, walkRoom(memory));
    this.#looked = new Uint8Array(this.#beam.size + 1);
    this.#seen = new Uint8Array(rowCount);
    this.#chosen = new Uint32Array(2 * m);
    this.#chosenDistances = new Float64Array(2 * m);
    this.#positions = new Uint32Array(2 * m);
  }

  get key(): number {
    return this.#memory.key;
  }

  useLane(lane: number): void {
    this.#space.useLane(lane);
    this.#walks?.useLane(lane);
  }

  /** Links a row to its nearest rows. Changes only its own lists. */
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

  /** Links rows of some shards back. Changes only lists of these shards. */
  linkBack(start: number, end: number, entryPoint: number, firstShard: number, endShard: number): void {
    const { heights } = this.#memory;
    for (let row = start; row < end; row++) {
      for (let level = Math.min(heights[entryPoint], heights[row]); level >= 0; level--) {
        const [links, list] = [this.#links(level), this.#listOf(level, row)];
        const count = links.count(list);
        for (let position = 0; position < count; position++) {
          const neighbour = links.row(list, position);
          const shard = neighbour % SHARDS;
          if (shard < firstShard || shard >= endShard) continue;
          this.#linkBack(links, level, neighbour, row, links.distance(list, position));
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

  /** Collects the unseen neighbours of row `of` in `#asked`, and measures their distances from row `from`. */
  #measureNeighbours(level: number, of: number, from: number): number {
    const links = this.#links(level);
    const list = this.#listOf(level, of);
    const [rows, seen, targets, walk] = [links.lists, this.#seen, this.#targets, this.#walk];
    const start = links.start(list);
    const end = start + links.count(list);
    let count = 0;
    for (let index = start; index < end; index++) {
      const row = rows[index];
      if (seen[row] === walk) continue;
      seen[row] = walk;
      targets[count++] = row;
    }
    this.#space.measure(from, targets, count, this.#measured);
    return count;
  }

  #distance(row: number, target: number): number {
    this.#targets[0] = target;
    this.#space.measure(row, this.#targets, 1, this.#measured);
    return this.#measured[0];
  }

  /** Walks greedily to the nearest row of a level. */
  #nearestOn(level: number, row: number, start: number): number {
    this.#beginWalk();
    let nearest = start;
    let least = this.#distance(row, start);
    for (let isNearer = true; isNearer; ) {
      isNearer = false;
      const count = this.#measureNeighbours(level, nearest, row);
      for (let index = 0; index < count; index++) {
        if (this.#measured[index] < least) {
          [least, nearest, isNearer] = [this.#measured[index], this.#targets[index], true];
        }
      }
    }
    return nearest;
  }

  /** Fills the beam with the nearest rows of a level. */
  #search(level: number, row: number, start: number): void {
    if (level === 0 && this.#walks !== null) {
      this.#walks.walk(row, start, this.#distance(row, start), this.#beam);
      return;
    }
    const [beam, looked, targets, measured] = [this.#beam, this.#looked, this.#targets, this.#measured];
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
        const to = beam.add(measured[index], targets[index]);
        bound = beam.bound;
        looked.copyWithin(to + 1, to, end);
        looked[to] = 0;
        if (to < first) first = to;
      }
      offset = first;
    }
  }

  /** Chooses neighbours of a row from the beam. They do not link back yet. */
  #link(level: number, row: number): void {
    const beam = this.#beam;
    const [links, list] = [this.#links(level), this.#listOf(level, row)];
    const count = this.#choose(beam.rows, beam.distances, beam.length, links.room);
    for (let position = 0; position < count; position++) {
      links.add(list, this.#chosen[position], this.#chosenDistances[position]);
    }
    if (count === links.room) links.setApart(list, this.#apart);
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

  /** Rebuilds a full list with one more candidate. */
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
   * Inserts a row into a full list for which it is known which neighbours lie apart. The result equals a
   * rebuild. It measures distances from these neighbours only.
   * @returns false without a change if they are unknown, or one of them would no longer lie apart
   */
  #putAmong(links: Links, list: number, to: number, distance: number): boolean {
    const [{ room }, apart, measured] = [links, links.apart(list), this.#measured];
    if (apart === 0) return false;
    const start = links.start(list);
    this.#targets.set(links.lists.subarray(start, start + apart));
    this.#space.measure(to, this.#targets, apart, measured);
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
    // The farthest neighbour that does not lie apart is dropped, or the farthest of all.
    this.#moveUp(links, list, before, room - 1);
    links.put(list, before, to, distance);
    links.setApart(list, Math.min(room, apart + 1));
    return true;
  }

  /** Inserts a row among the neighbours of a full list that do not lie apart, and drops the farthest. */
  #putBetween(links: Links, list: number, apart: number, to: number, distance: number): void {
    const last = links.room - 1;
    if (last < apart || links.distance(list, last) <= distance) return;
    let position = last;
    while (position > apart && links.distance(list, position - 1) > distance) position--;
    this.#moveUp(links, list, position, last);
    links.put(list, position, to, distance);
  }

  /** Shifts neighbours by one over the last. */
  #moveUp(links: Links, list: number, from: number, last: number): void {
    for (let position = last; position > from; position--) {
      links.put(list, position, links.row(list, position - 1), links.distance(list, position - 1));
    }
  }

  /**
   * Chooses the nearest rows, without those that are nearer to a chosen row, since that row links to them.
   * Fills up with the nearest of the others.
   * @returns the number of chosen rows
   */
  #choose(rows: Uint32Array, distances: Float64Array, length: number, most: number): number {
    const [chosen, positions] = [this.#chosen, this.#positions];
    // Only the first rows can lie apart.
    const apart = this.#space.choose(rows, distances, Math.min(length, MAX_ASKED), most, positions);
    this.#apart = apart;
    let count = 0;
    const take = (position: number): void => {
      chosen[count] = rows[position];
      this.#chosenDistances[count++] = distances[position];
    };
    for (let index = 0; index < apart; index++) take(positions[index]);
    for (let position = 0, slot = 0; position < length && count < most; position++) {
      if (slot < apart && positions[slot] === position) slot++;
      else take(position);
    }
    return count;
  }
}
