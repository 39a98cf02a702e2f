/**
 * Sketches of repeatedly searched vector columns, in bounded memory. Invariants:
 *
 * - A sketch covers all rows of a file's column, deleted ones too, so that every version with the file can
 *   use it.
 * - Keys name immutable data: a column of a file with an identity.
 * - A sketch in use, or used recently, is not evicted: if the columns do not fit together, some keep their
 *   sketches.
 *
 * Without kernels there are no sketches: comparing them in JavaScript would cost as much as comparing the
 * vectors.
 */

import { type CacheCounts, LruCache } from "../../../io/memory/cache.js";
import {
  type PlacedSketch,
  type SketchedVectors,
  SketchMaker,
  SketchMemory,
  sketchShape,
} from "./sketchMemory.js";

/** Number of searches that an unused sketch survives. */
const IDLE_SEARCHES = 8;
/** Maximum number of columns with a count. */
const KNOWN_COLUMNS = 4096;

/** A complete sketch. */
export interface VectorSketch extends PlacedSketch {
  /** Number of current users. */
  users: number;
  /** Number of the last search that used it. */
  lastUsed: number;
}

export class SketchStore {
  /** Undefined until needed; null without kernels. */
  #memory: SketchMemory | null | undefined;
  readonly #sketches = new Map<string, VectorSketch>();
  /** Keys of sketches that are being made. */
  readonly #unfinished = new Set<string>();
  #searches = 0;
  #hits = 0;
  #misses = 0;
  /** Compared fraction of each unsketched column's rows; 1 per full comparison. */
  readonly #compared = new LruCache<number>(KNOWN_COLUMNS);

  /** @param maxBytes memory limit; 0 for no sketches */
  constructor(private readonly maxBytes: number) {}

  /** Bytes of memory in use. */
  get weight(): number {
    return this.#memory?.byteLength ?? 0;
  }

  /** Number of sketched columns. */
  get size(): number {
    return this.#sketches.size;
  }

  /** Counts of the store, as of a cache. */
  get counts(): CacheCounts {
    return {
      ...{ entries: this.size, bytes: this.weight, maxBytes: this.maxBytes },
      ...{ hits: this.#hits, misses: this.#misses },
    };
  }

  /** Counts a search. */
  begin(): void {
    this.#searches++;
  }

  /** Returns a sketch, to be released; null if none. */
  use(key: string): VectorSketch | null {
    const sketch = this.#sketches.get(key);
    if (sketch === undefined) {
      this.#misses++;
      return null;
    }
    this.#hits++;
    sketch.users++;
    sketch.lastUsed = this.#searches;
    return sketch;
  }

  release(sketch: VectorSketch): void {
    sketch.users--;
  }

  /** Records that a fraction of a column's rows was compared without a sketch. */
  noteCompared(key: string, part: number): void {
    this.#compared.set(key, (this.#compared.peek(key) ?? 0) + part, 1);
  }

  /** Begins a sketch of a compared column. @returns null without room, and while another search makes it */
  make(key: string, vectors: SketchedVectors): SketchMaker | null {
    if ((this.#compared.peek(key) ?? 0) < 1 || this.#unfinished.has(key) || this.maxBytes === 0) return null;
    const shape = sketchShape(vectors);
    if (shape === null) return null;
    if (this.#memory === undefined) this.#memory = SketchMemory.of(this.maxBytes);
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

  /** Evicts long unused sketches if that frees enough slots. */
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

  /** Drops all sketches and their memory. Running searches keep theirs. */
  clear(): void {
    this.#sketches.clear();
    this.#compared.clear();
    this.#memory = undefined;
  }
}
