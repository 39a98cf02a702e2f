/**
 * A walk through the lowest level of a graph, while it is built (graphGrowth.ts) or searched (packedGraph.ts), as a WebAssembly
 * kernel: from a row on to the rows that are nearest to a vector, as far as neighbours lead. It is one call, or one for each
 * part of a long walk, in which nothing leaves the memory of the vectors (distance/vectorSpace.ts). Behind these lie:
 *
 *     lists    of each row: how many neighbours it has, then their rows, with room for as many as there may be
 *     lanes    of each thread: how many rows are in sight, the number of the last walk, and how many of the rows in sight,
 *              the nearest first, need not be looked at again; the rows in sight, the nearest first, as a number of 32 bits
 *              that is twice the row, and 1 more where its neighbours were looked at, then one that grows with the distance
 *              ({@link keyOf}); a byte for each row of the graph: the number of the walk that has seen it last
 */

import {
  add,
  and,
  atMost,
  below,
  bitsOfFloat32,
  block,
  type Code,
  constant,
  copyBytes,
  eitherNumber,
  equal,
  float32OfLanes,
  get,
  integerOfLanes,
  type Kernel,
  kernel,
  leave,
  leaveWhen,
  load,
  load8,
  loop,
  multiply,
  or,
  set,
  shiftLeft,
  shiftRight,
  store,
  store8,
  subtract,
  when,
  xor,
} from "../../../bytes/wasm.js";
import type { Beam } from "../distance/nearestFirst.js";
import {
  LANE_BYTES,
  products,
  rowBytesOf,
  type SpaceOptions,
  SUMS,
  touch,
  VECTORS,
} from "../distance/spaceKernels.js";
import type { SpaceMemory } from "../distance/vectorSpace.js";

/** What is known of a graph before walks. */
export interface WalkRoom {
  readonly rowCount: number;
  /** Neighbours that a row has room for. */
  readonly room: number;
  /** Rows that are kept in sight, at most. */
  readonly beam: number;
}

const ENTRY_BYTES = 8;
/** In a lane, before the rows that are in sight. */
const HEADER_BYTES = 16;
/** In a header. */
const [LENGTH, WALK, PLACE] = [0, 1, 2];
/** Of rows that are looked at by one call: all that a walk leads to. */
const ALL = 0xffffffff;
const aligned = (bytes: number): number => Math.ceil(bytes / 64) * 64;
const listBytes = ({ rowCount, room }: WalkRoom): number => aligned(rowCount * (1 + room) * 4);
const seenOffset = ({ beam }: WalkRoom): number => aligned(HEADER_BYTES + beam * ENTRY_BYTES);
const laneBytes = (walk: WalkRoom): number => seenOffset(walk) + aligned(walk.rowCount);

/** Bytes that walks need behind the vectors. */
export const walkBytes = (walk: WalkRoom, lanes: number): number =>
  64 + listBytes(walk) + lanes * laneBytes(walk);

const listsStart = ({ behind }: SpaceMemory): number => aligned(behind);

/** The lists of neighbours in the memory of vectors; null where they are not there, as there are no kernels. */
export function listsBehind({ values, ...memory }: SpaceMemory, walk: WalkRoom): Uint32Array | null {
  if (ArrayBuffer.isView(values)) return null;
  const { buffer } = values;
  const start = listsStart({ values, ...memory });
  if (buffer.byteLength < start + listBytes(walk) + memory.lanes * laneBytes(walk)) return null;
  return new Uint32Array(buffer, start, walk.rowCount * (1 + walk.room));
}

/** Walks of one thread. */
export class Walks {
  readonly #options: SpaceOptions;
  readonly #walk: WalkRoom;
  readonly #run: Kernel["run"];
  readonly #memory: ArrayBufferLike;
  readonly #lanesStart: number;
  readonly #lists: number;
  readonly #vectors: number;
  #lane = -1;
  #scratch = 0;
  #beam = 0;
  #header: Uint32Array;
  #entries: Uint32Array;
  #distances: Float32Array;
  #seen: Uint8Array;

  private constructor(memory: SpaceMemory, values: WebAssembly.Memory, walk: WalkRoom, run: Kernel["run"]) {
    this.#options = memory.options;
    this.#walk = walk;
    this.#run = run;
    this.#memory = values.buffer;
    this.#lists = listsStart(memory);
    this.#lanesStart = this.#lists + listBytes(walk);
    this.#vectors = memory.lanes * LANE_BYTES;
    this.#header = this.#entries = new Uint32Array(0);
    this.#distances = new Float32Array(0);
    this.#seen = new Uint8Array(0);
  }

  /** Null where there are no kernels. */
  static open(memory: SpaceMemory, walk: WalkRoom): Walks | null {
    const { values, options } = memory;
    if (ArrayBuffer.isView(values) || listsBehind(memory, walk) === null) return null;
    const made = walkKernel(options, values);
    return made === null ? null : new Walks(memory, values, walk, made.run);
  }

  useLane(lane: number): void {
    if (lane === this.#lane) return;
    const start = this.#lanesStart + lane * laneBytes(this.#walk);
    const { beam, rowCount } = this.#walk;
    this.#lane = lane;
    this.#scratch = lane * LANE_BYTES;
    this.#beam = start + HEADER_BYTES;
    this.#header = new Uint32Array(this.#memory, start, HEADER_BYTES / 4);
    this.#entries = new Uint32Array(this.#memory, this.#beam, 2 * beam);
    this.#distances = new Float32Array(this.#memory, this.#beam, 2 * beam);
    this.#seen = new Uint8Array(this.#memory, start + seenOffset(this.#walk), rowCount);
  }

  /**
   * Fills a beam with the rows that are nearest to one.
   * @param start where the walk begins
   * @param distance of it
   */
  go(row: number, start: number, distance: number, beam: Beam): void {
    this.begin(start, distance);
    this.goOn(row, beam, ALL);
  }

  /**
   * Begins a walk, which {@link goOn} does.
   * @param distance of the row where it begins
   */
  begin(start: number, distance: number): void {
    // The number lies in the lane, since another thread may have used it before.
    if (this.#header[WALK] === 255) {
      this.#seen.fill(0);
      this.#header[WALK] = 0;
    }
    this.#seen[start] = ++this.#header[WALK];
    this.#header[LENGTH] = 1;
    this.#header[PLACE] = 0;
    this.#entries[0] = 2 * start;
    // Its place is the first whatever it says, and it is looked at first: only its order among those that follow counts.
    this.#putKey(distance);
  }

  /**
   * Goes on with the walk in this lane to the rows that are nearest to one.
   * @param beam no longer than that of the graph, and the same in all parts of a walk
   * @param most rows whose neighbours are looked at
   * @returns whether the walk has ended; the beam is filled then
   */
  goOn(row: number, beam: Beam, most: number): boolean {
    const rowBytes = rowBytesOf(this.#options);
    this.#run(
      this.#vectors + row * rowBytes,
      this.#scratch,
      this.#lists,
      (1 + this.#walk.room) * 4,
      this.#seen.byteOffset,
      this.#header[WALK],
      this.#beam,
      beam.size,
      this.#vectors,
      most,
    );
    if (this.#header[PLACE] < this.#header[LENGTH]) return false;
    this.#take(beam);
    return true;
  }

  #putKey(distance: number): void {
    const { item, metric } = this.#options;
    if (item === "uint8") {
      this.#entries[1] = distance;
      return;
    }
    this.#distances[1] = metric === "dot" ? 1 - distance : distance;
    if (metric === "dot") this.#entries[1] = turned(this.#entries[1]);
  }

  #take(beam: Beam): void {
    const { item, metric } = this.#options;
    const [entries, floats] = [this.#entries, this.#distances];
    const length = this.#header[LENGTH];
    const isByDot = metric === "dot";
    for (let position = 0, index = 0; position < length; position++, index += 2) {
      beam.rows[position] = entries[index] >>> 1;
      if (isByDot) entries[index + 1] = turnedBack(entries[index + 1]);
      const number = item === "uint8" ? entries[index + 1] : floats[index + 1];
      beam.distances[position] = isByDot ? 1 - number : number;
    }
    beam.setLength(length);
  }
}

/** The bits of a float as a number that falls while the float grows. */
const turned = (bits: number): number =>
  ((bits >>> 31 === 1 ? 0xffffffff : 0x80000000) ^ bits ^ 0xffffffff) >>> 0;
const turnedBack = (key: number): number => {
  const rising = (key ^ 0xffffffff) >>> 0;
  return (rising >>> 31 === 1 ? rising ^ 0x80000000 : rising ^ 0xffffffff) >>> 0;
};

/** A number that grows with the distance, of the sum that {@link products} makes. */
function keyOf({ item, metric }: SpaceOptions, sum: number, bits: number): Code {
  if (item === "uint8") return integerOfLanes(sum);
  const own = bitsOfFloat32(float32OfLanes(sum));
  // No distance by l2 is below 0: as integers, floats are in the same order then.
  if (metric === "l2") return own;
  const sign = subtract(constant(0), shiftRight(get(bits), constant(31)));
  const rising = xor(get(bits), or(sign, constant(-0x80000000)));
  return [set(bits, own), xor(rising, constant(-1))];
}

const PARAMETERS = ["row", "lane", "lists", "stride", "seen", "walk", "beam", "size", "vectors", "most"];

function walkKernel(options: SpaceOptions, pages: WebAssembly.Memory): Kernel | null {
  return kernel({
    parameters: PARAMETERS,
    locals: [
      ...["place", "length", "entry", "at", "own", "left", "end", "asked", "other", "key", "bound"],
      ...["low", "high", "middle", "last"],
    ],
    vectors: VECTORS,
    pages,
    body: (local) => {
      const [row, lane, beam, size] = ["row", "lane", "beam", "size"].map(local);
      const [position, length, entry, index, own] = ["place", "length", "entry", "at", "own"].map(local);
      const [asked, other, key, bound] = ["asked", "other", "key", "bound"].map(local);
      const [most, last] = ["most", "last"].map(local);
      const one = constant(1);
      const header = subtract(get(beam), constant(HEADER_BYTES));
      const rowBytes = constant(rowBytesOf(options));
      const vectorOf = (number: number): Code => add(get(local("vectors")), multiply(get(number), rowBytes));
      // Leaves the walk, a block around the loop over rows, where all that are in sight were looked at.
      const findNext = loop(
        leaveWhen(2, equal(get(position), get(length))),
        set(index, entryAt(local, position)),
        set(entry, load(get(index))),
        set(position, add(get(position), one)),
        leaveWhen(0, and(get(entry), one)),
      );
      const measure = loop(
        when(below(get(other), get(asked)), [
          set(entry, load(get(other))),
          set(other, add(get(other), constant(4))),
          set(index, vectorOf(entry)),
          set(own, get(row)),
          products(options, local),
          set(key, keyOf(options, local("sum0"), index)),
          when(below(get(key), get(bound)), insert(local)),
          leave(1),
        ]),
      );
      return [
        set(index, header),
        set(length, load(get(index), LENGTH * 4)),
        set(position, load(get(index), PLACE * 4)),
        set(last, subtract(get(length), one)),
        set(bound, eitherNumber(load(entryAt(local, last), 4), constant(-1), equal(get(length), get(size)))),
        block(
          loop(
            leaveWhen(1, equal(get(most), constant(0))),
            set(most, subtract(get(most), one)),
            findNext,
            store(get(index), or(get(entry), one)),
            gather(options, local, vectorOf),
            // Else the loads that bring vectors near might be left out.
            store(get(lane), get(own), SUMS),
            set(other, get(lane)),
            measure,
            leave(0),
          ),
        ),
        set(index, header),
        store(get(index), get(length), LENGTH * 4),
        store(get(index), get(position), PLACE * 4),
      ];
    },
  });
}

const entryAt = (local: (name: string) => number, position: number): Code =>
  add(get(local("beam")), shiftLeft(get(position), constant(3)));

/** Puts the neighbours of a row that this walk has not seen yet into the lane. */
function gather(
  options: SpaceOptions,
  local: (name: string) => number,
  vectorOf: (number: number) => Code,
): Code {
  const [entry, index, own, left, end, asked] = ["entry", "at", "own", "left", "end", "asked"].map(local);
  const [lane, other] = ["lane", "other"].map(local);
  const four = constant(4);
  return [
    set(left, add(get(local("lists")), multiply(shiftRight(get(entry), constant(1)), get(local("stride"))))),
    set(index, add(get(left), four)),
    set(end, add(get(index), shiftLeft(load(get(left)), constant(2)))),
    set(asked, get(lane)),
    loop(
      when(below(get(index), get(end)), [
        set(entry, load(get(index))),
        set(index, add(get(index), four)),
        set(other, add(get(local("seen")), get(entry))),
        // All are put there, and the next takes the place of one that was seen: which it is can't be foreseen.
        store(get(asked), get(entry)),
        set(left, equal(load8(get(other)), get(local("walk")))),
        store8(get(other), get(local("walk"))),
        set(asked, add(get(asked), shiftLeft(equal(get(left), constant(0)), constant(2)))),
        set(left, vectorOf(entry)),
        touch(options, own, left),
        leave(1),
      ]),
    ),
  ];
}

/** Puts a row among those in sight, in the order of their distances. */
function insert(local: (name: string) => number): Code {
  const [position, length, entry, key, bound] = ["place", "length", "entry", "key", "bound"].map(local);
  const [low, high, middle, last, index, size] = ["low", "high", "middle", "last", "at", "size"].map(local);
  const one = constant(1);
  const isFull = equal(get(length), get(size));
  const lastPlace = entryAt(local, last);
  return [
    set(low, constant(0)),
    set(high, get(length)),
    loop(
      when(below(get(low), get(high)), [
        set(middle, shiftRight(add(get(low), get(high)), one)),
        set(last, atMost(load(entryAt(local, middle), 4), get(key))),
        set(low, eitherNumber(add(get(middle), one), get(low), get(last))),
        set(high, eitherNumber(get(high), get(middle), get(last))),
        leave(1),
      ]),
    ),
    set(last, subtract(get(length), isFull)),
    set(length, add(get(last), one)),
    set(index, entryAt(local, low)),
    copyBytes(
      add(get(index), constant(ENTRY_BYTES)),
      get(index),
      shiftLeft(subtract(get(last), get(low)), constant(3)),
    ),
    store(get(index), shiftLeft(get(entry), one)),
    store(get(index), get(key), 4),
    set(last, subtract(get(length), one)),
    set(bound, eitherNumber(load(lastPlace, 4), constant(-1), isFull)),
    set(position, eitherNumber(get(low), get(position), below(get(low), get(position)))),
  ];
}
