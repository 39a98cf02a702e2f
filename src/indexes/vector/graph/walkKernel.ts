/**
 * A walk through the lowest level of a graph, as a WebAssembly kernel: from one row to the rows nearest to a
 * vector, along the neighbours. Builds (graphGrowth.ts) and searches (packedGraph.ts) walk. A walk is one
 * call; a long one has several, between which the rows in sight stay in the memory of the vectors
 * (distance/vectorSpace.ts). After the vectors lie:
 *
 *     lists    for each row: number of its neighbours, then their rows, with room for the maximum number
 *     lanes    of each thread: number of rows in sight; number of the last walk; number of the nearest rows
 *              in sight that are done; the rows in sight, the nearest first, each as a number of 32 bits that
 *              is twice the row, plus 1 if the walk has followed its neighbours, and a number that grows with
 *              the distance ({@link keyOf}); a byte for each row of the graph: the number of the last walk
 *              that saw it
 */

import { type Kernel, type KernelSwitch, kernel } from "../../../bytes/wasm/kernel.js";
import type { KernelCode } from "../../../bytes/wasm/kernelCode.js";
import { Integer, type IntegerLocal } from "../../../bytes/wasm/values.js";
import type { Beam } from "../distance/nearestFirst.js";
import {
  addProducts,
  declareProductLocals,
  LANE_BYTES,
  LINE_BYTES,
  type ProductLocals,
  rowBytesOf,
  type SpaceOptions,
  SUMS,
  touch,
} from "../distance/spaceKernels.js";
import type { SpaceMemory } from "../distance/vectorSpace.js";

export const walkSwitch: KernelSwitch = { isOn: true };

/** Sizes of a graph and its walks. */
export interface WalkRoom {
  readonly rowCount: number;
  /** Maximum number of neighbours of a row. */
  readonly room: number;
  /** Maximum number of rows in sight. */
  readonly beam: number;
}

const ENTRY_BYTES = 8;
/** Bytes of a list that are loaded into the cache ahead. After a shorter list lie others, or a lane. */
const TOUCHED_LIST_BYTES = 192;
/** Bytes of a lane before the rows in sight. */
const HEADER_BYTES = 16;
/** Word offsets in a header. */
const [LENGTH, WALK, DONE] = [0, 1, 2];
/** Lets one call follow the neighbours of any number of rows. */
const ALL = 0xffffffff;
const aligned = (bytes: number): number => Math.ceil(bytes / 64) * 64;
const listBytes = ({ rowCount, room }: WalkRoom): number => aligned(rowCount * (1 + room) * 4);
const seenOffset = ({ beam }: WalkRoom): number => aligned(HEADER_BYTES + beam * ENTRY_BYTES);
const laneBytes = (walk: WalkRoom): number => seenOffset(walk) + aligned(walk.rowCount);

/** Bytes that walks need after the vectors. */
export const walkBytes = (walk: WalkRoom, lanes: number): number =>
  64 + listBytes(walk) + lanes * laneBytes(walk);

const listsStart = ({ vectorsEnd }: SpaceMemory): number => aligned(vectorsEnd);

/** The lists of neighbours in the memory of vectors; null if it has none because there are no kernels. */
export function listsIn({ values, ...memory }: SpaceMemory, walk: WalkRoom): Uint32Array | null {
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

  /** Null without kernels. */
  static open(memory: SpaceMemory, walk: WalkRoom): Walks | null {
    const { values, options } = memory;
    const isPlain = !walkSwitch.isOn || ArrayBuffer.isView(values);
    if (isPlain || listsIn(memory, walk) === null) return null;
    const compiled = walkKernel(options, values);
    return compiled && new Walks(memory, values, walk, compiled.run);
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
   * @param start row at which the walk begins
   * @param distance of `start` from `row`
   */
  walk(row: number, start: number, distance: number, beam: Beam): void {
    this.begin(start, distance);
    this.continueWalk(row, beam, ALL);
  }

  /** Begins a walk, which {@link continueWalk} continues. @param distance of the row at which it begins */
  begin(start: number, distance: number): void {
    // The number lies in the lane, since another thread may have used it before.
    if (this.#header[WALK] === 255) {
      this.#seen.fill(0);
      this.#header[WALK] = 0;
    }
    this.#seen[start] = ++this.#header[WALK];
    this.#header[LENGTH] = 1;
    this.#header[DONE] = 0;
    this.#entries[0] = 2 * start;
    // The walk follows this row first whatever its key says. The key orders the rows that come after it.
    this.#putKey(distance);
  }

  /**
   * Continues the walk in this lane to the rows that are nearest to one.
   * @param beam no longer than that of the graph, and the same in all parts of a walk
   * @param most maximum number of rows whose neighbours the call follows
   * @returns true if the walk has ended; the beam is filled then
   */
  continueWalk(row: number, beam: Beam, most: number): boolean {
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
    if (this.#header[DONE] < this.#header[LENGTH]) return false;
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

/** Parameters and locals. Each entry in sight is a row and its key. */
const declareLocals = (wasm: KernelCode) => {
  const [row, lane, lists, stride, seen, walk, beam, size, vectors, most] = wasm.parameters();
  const [done, length, entry, address, end, unseen, unseenEnd, key, bound] = wasm.integers();
  const [low, high, middle, last, moved, flag] = wasm.integers();
  const parameters = { row, lane, lists, stride, seen, walk, beam, size, vectors, most };
  const sight = { done, length, entry, address, key, bound, low, high, middle, last, moved };
  return { ...declareProductLocals(wasm), ...parameters, ...sight, end, unseen, unseenEnd, flag };
};
type Locals = ReturnType<typeof declareLocals>;

/** A number that grows with the distance, from the sum of {@link addProducts}. It changes `bits`. */
function keyOf({ item, metric }: SpaceOptions, { sums: [sum] }: ProductLocals, bits: IntegerLocal): Integer {
  if (item === "uint8") return sum.sumOfWords();
  const sumBits = sum.sumOfFloats().toBits();
  // No l2 distance is negative, and the bits of such floats are in the order of the floats.
  if (metric === "l2") return sumBits;
  bits.set(sumBits);
  const sign = Integer.of(0).minus(bits.shiftRight(31));
  return bits.xor(sign.or(-0x80000000)).xor(-1);
}

const walkKernel = (options: SpaceOptions, memory: WebAssembly.Memory): Kernel | null =>
  kernel(memory, (wasm) => {
    const locals = declareLocals(wasm);
    const { row, lane, beam, size, most, vectors, first, second } = locals;
    const { done, length, entry, address, key, bound, last, unseen, unseenEnd } = locals;
    const header = beam.minus(HEADER_BYTES);
    const vectorOf = (number: Integer) => vectors.plus(number.times(rowBytesOf(options)));
    address.set(header);
    length.set(address.load(LENGTH * 4));
    done.set(address.load(DONE * 4));
    last.set(length.minus(1));
    bound.set(length.equals(size).choose(entryAt(locals, last).load(4), -1));
    wasm.block((isOver) =>
      wasm.loop((nextRow) => {
        isOver.jumpWhen(most.equals(0));
        most.decrease(1);
        wasm.loop((nextEntry) => {
          isOver.jumpWhen(done.equals(length));
          address.set(entryAt(locals, done));
          entry.set(address.load());
          done.increase(1);
          nextEntry.jumpWhen(entry.and(1));
        });
        wasm.store(address, entry.or(1));
        gatherUnseen(options, locals, vectorOf);
        unseen.set(lane);
        wasm.while(unseen.below(unseenEnd), () => {
          entry.set(unseen.load());
          unseen.increase(4);
          second.set(vectorOf(entry));
          first.set(row);
          addProducts(options, locals);
          key.set(keyOf(options, locals, second));
          wasm.when(key.below(bound), () => insert(locals));
        });
        nextRow.jump();
      }),
    );
    address.set(header);
    wasm.store(address, length, LENGTH * 4);
    wasm.store(address, done, DONE * 4);
  });

const entryAt = ({ beam }: Locals, index: Integer): Integer => beam.plus(index.shiftLeft(3));

/** Puts the neighbours of a row that this walk has not seen yet into the lane. */
function gatherUnseen(options: SpaceOptions, locals: Locals, vectorOf: (number: Integer) => Integer): void {
  const { wasm, lists, stride, entry, address, end, lane, seen, walk, unseenEnd, flag } = locals;
  const { done, length } = locals;
  const { first: touched, second: mark, left: vector } = locals;
  vector.set(lists.plus(entry.shiftRight(1).times(stride)));
  address.set(vector.plus(4));
  end.set(address.plus(vector.load().shiftLeft(2)));
  unseenEnd.set(lane);
  wasm.while(address.below(end), () => {
    entry.set(address.load());
    address.increase(4);
    mark.set(seen.plus(entry));
    // The lane takes each neighbour, and the next overwrites one that was seen. A branch could not be
    // predicted.
    wasm.store(unseenEnd, entry);
    flag.set(mark.load8().equals(walk));
    wasm.store8(mark, walk);
    unseenEnd.increase(flag.equals(0).shiftLeft(2));
    vector.set(vectorOf(entry));
    touch(options, touched, vector);
  });
  // The next row in sight is probably the next whose neighbours the walk follows.
  entry.set(entryAt(locals, done).load());
  entry.set(done.below(length).choose(entry.shiftRight(1), 0));
  vector.set(lists.plus(entry.times(stride)));
  for (let line = 0; line < TOUCHED_LIST_BYTES; line += LINE_BYTES)
    touched.set(touched.or(vector.load(line)));
  // Using what was loaded keeps the compiler from dropping the loads.
  wasm.store(lane, touched, SUMS);
}

/** Puts a row among those in sight, in the order of their keys. */
function insert(locals: Locals): void {
  const { wasm, done, length, size, entry, address, key, bound, low, high, middle, last, moved, flag } =
    locals;
  const isFull = length.equals(size);
  low.set(0);
  high.set(length);
  wasm.while(low.below(high), () => {
    middle.set(low.plus(high).shiftRight(1));
    flag.set(entryAt(locals, middle).load(4).atMost(key));
    low.set(flag.choose(middle.plus(1), low));
    high.set(flag.choose(high, middle));
  });
  last.set(length.minus(isFull));
  length.set(last.plus(1));
  address.set(entryAt(locals, low));
  // Moves two entries at a time, the last first. An odd number takes the entry before `address` along, whose
  // copy the new entry overwrites. Beams are short: a call of the engine's copy would take longer.
  moved.set(entryAt(locals, last));
  wasm.while(address.below(moved), () => {
    moved.decrease(2 * ENTRY_BYTES);
    wasm.store(moved, moved.loadVector(), ENTRY_BYTES);
  });
  wasm.store(address, entry.shiftLeft(1));
  wasm.store(address, key, 4);
  last.set(length.minus(1));
  bound.set(isFull.choose(entryAt(locals, last).load(4), -1));
  done.set(low.below(done).choose(low, done));
}
