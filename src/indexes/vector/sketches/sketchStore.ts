/**
 * Sketches of the vectors of columns that are searched again and again, in memory that is bounded in bytes. What always
 * holds:
 *
 * - A sketch is of all rows of a column of a file, deleted ones too, so that every version that has the file can use it.
 * - Keys name what cannot change: a column of a file with an identity.
 * - A sketch that is in use, or was shortly before, gives its room to no other: of columns that do not fit in together, some
 *   stay.
 *
 * Where the runtime has no kernels, there are no sketches: comparing them in plain form would take as long as comparing the
 * vectors.
 */

import { LruCache } from "../../../io/memory/cache.js";
import {
  type PlacedSketch,
  type SketchedVectors,
  SketchMaker,
  SketchMemory,
  sketchShape,
} from "./sketchMemory.js";

/** Searches for which a sketch stays that is not used by them. */
const IDLE_SEARCHES = 8;
/** Columns of which is known how often they were searched. */
const KNOWN_COLUMNS = 4096;

/** A complete sketch. */
export interface VectorSketch extends PlacedSketch {
  /** Searches that use it at the moment. */
  users: number;
  /** The last search that did. */
  lastUsed: number;
}

export class SketchStore {
  readonly #maxBytes: number;
  /** Undefined until it is needed; null where there are no kernels. */
  #memory: SketchMemory | null | undefined;
  readonly #sketches = new Map<string, VectorSketch>();
  /** Keys of those that are being made. */
  readonly #unfinished = new Set<string>();
  #searches = 0;
  /** How much of the rows of columns without a sketch was compared; 1 for each time all of them were. */
  readonly #compared = new LruCache<number>(KNOWN_COLUMNS);

  /** @param maxBytes of memory; 0 for no sketches */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of memory that it has. */
  get weight(): number {
    return this.#memory?.byteLength ?? 0;
  }

  /** Number of columns with sketches. */
  get size(): number {
    return this.#sketches.size;
  }

  /** Begins a search. */
  begin(): void {
    this.#searches++;
  }

  /** A sketch for a search to use, until it is released. */
  use(key: string): VectorSketch | null {
    const sketch = this.#sketches.get(key);
    if (sketch === undefined) return null;
    sketch.users++;
    sketch.lastUsed = this.#searches;
    return sketch;
  }

  release(sketch: VectorSketch): void {
    sketch.users--;
  }

  /** Notes that a part of the rows of a column was compared without a sketch. */
  noteCompared(key: string, part: number): void {
    this.#compared.set(key, (this.#compared.peek(key) ?? 0) + part, 1);
  }

  /**
   * Begins a sketch of a column all whose rows were compared before, if there is room for it.
   * @returns null where there is not, and while others make it
   */
  make(key: string, vectors: SketchedVectors): SketchMaker | null {
    if ((this.#compared.peek(key) ?? 0) < 1 || this.#unfinished.has(key) || this.#maxBytes === 0) return null;
    const shape = sketchShape(vectors);
    if (shape === null) return null;
    if (this.#memory === undefined) this.#memory = SketchMemory.of(this.#maxBytes);
    const memory = this.#memory;
    if (memory === null || !this.#makeRoom(memory, shape.slotCount)) return null;
    const slots = memory.take(shape.slotCount);
    if (slots === null) return null;
    this.#unfinished.add(key);
    const sketch = { ...shape, memory, slots, users: 0, lastUsed: this.#searches };
    return new SketchMaker(sketch, (isComplete) => {
      this.#unfinished.delete(key);
      // The store may have been cleared meanwhile.
      if (isComplete && memory === this.#memory) this.#sketches.set(key, sketch);
      else memory.giveBack(slots);
    });
  }

  /** Removes sketches that were not used for long, if that makes room for so many slots. */
  #makeRoom(memory: SketchMemory, slotCount: number): boolean {
    const idle = [...this.#sketches]
      .filter(([, { users, lastUsed }]) => users === 0 && lastUsed < this.#searches - IDLE_SEARCHES)
      .sort(([, a], [, b]) => a.lastUsed - b.lastUsed);
    let room = memory.room;
    const removed: string[] = [];
    for (const [key, { slots }] of idle) {
      if (room >= slotCount) break;
      removed.push(key);
      room += slots.length;
    }
    if (room < slotCount) return false;
    for (const key of removed) {
      memory.giveBack(this.#sketches.get(key)?.slots ?? []);
      this.#sketches.delete(key);
    }
    return true;
  }

  /** Drops all sketches and their memory. Searches under way keep what they use. */
  clear(): void {
    this.#sketches.clear();
    this.#compared.clear();
    this.#memory = undefined;
  }
}
