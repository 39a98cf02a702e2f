/**
 * Sets of 32-bit numbers in the form of Roaring bitmaps: a container holds the low halves of all values with
 * the same high half. Sets never change; results share the containers of the sets they are made of.
 */

import {
  ascendingContainer,
  type Container,
  ContainerBuilder,
  containerBytes,
  containerHas,
  countBelow,
  FULL_CONTAINER,
  intersectContainers,
  rangeContainer,
  subtractContainers,
  uniteContainers,
  writeValues,
} from "./bitContainers.js";
import { lowerBound } from "./search.js";

const KEYS = 65_536;

export interface KeyedContainers {
  /** High halves, ascending. */
  readonly keys: Uint16Array;
  /** Low halves for each high half. */
  readonly containers: readonly Container[];
}

export class RoaringSet implements KeyedContainers {
  readonly keys: Uint16Array;
  readonly containers: readonly Container[];
  readonly size: number;

  constructor({ keys, containers }: KeyedContainers) {
    this.keys = keys;
    this.containers = containers;
    let size = 0;
    for (const { count } of containers) size += count;
    this.size = size;
  }

  static #full: RoaringSet | null = null;

  /** The set of all 32-bit numbers, always the same object. */
  static get full(): RoaringSet {
    RoaringSet.#full ??= new RoaringSet({
      keys: Uint16Array.from({ length: KEYS }, (_, key) => key),
      containers: new Array<Container>(KEYS).fill(FULL_CONTAINER),
    });
    return RoaringSet.#full;
  }

  /** The numbers from `start` to `end - 1`. */
  static ofRange(start: number, end: number): RoaringSet {
    const keys: number[] = [];
    const containers: Container[] = [];
    for (let first = start; first < end; ) {
      const key = Math.floor(first / KEYS);
      const last = Math.min(end, (key + 1) * KEYS) - 1;
      const isWhole = last - first === KEYS - 1;
      keys.push(key);
      containers.push(isWhole ? FULL_CONTAINER : rangeContainer(first % KEYS, last % KEYS));
      first = last + 1;
    }
    return new RoaringSet({ keys: Uint16Array.from(keys), containers });
  }

  /**
   * Makes a set of numbers that ascend, each once.
   * @param words pairs of words, of which the first ones from pair `start` to `end - 1` are the numbers
   */
  static ofAscendingPairs(words: Uint32Array, start: number, end: number): RoaringSet {
    const keys: number[] = [];
    const containers: Container[] = [];
    for (let first = start; first < end; ) {
      const key = words[2 * first] >>> 16;
      let last = first + 1;
      while (last < end && words[2 * last] >>> 16 === key) last++;
      keys.push(key);
      containers.push(ascendingContainer(words, first, last));
      first = last;
    }
    return new RoaringSet({ keys: Uint16Array.from(keys), containers });
  }

  get memoryWeight(): number {
    if (this.isFull) return 0;
    let bytes = 64 + this.keys.byteLength;
    for (const container of this.containers) {
      bytes += 64;
      if (container !== FULL_CONTAINER) bytes += containerBytes(container);
    }
    return bytes;
  }

  get isFull(): boolean {
    return this.size === 2 ** 32;
  }

  has(value: number): boolean {
    const { keys } = this;
    const key = value >>> 16;
    const index = lowerBound(keys, key);
    return keys[index] === key && containerHas(this.containers[index], value & 0xffff);
  }

  /** Values below a limit, ascending. */
  valuesBelow(limit: number): Uint32Array {
    const { keys, containers } = this;
    let count = 0;
    let used = 0;
    for (; used < keys.length && keys[used] * KEYS < limit; used++) {
      count += countBelow(containers[used], limit - keys[used] * KEYS);
    }
    const values = new Uint32Array(count);
    let position = 0;
    for (let index = 0; index < used; index++) {
      position = writeValues(containers[index], keys[index] * KEYS, values, position);
    }
    return values;
  }

  union(set: RoaringSet): RoaringSet {
    if (this === set || set.size === 0) return this;
    if (this.size === 0) return set;
    return this.#combine(
      set,
      uniteContainers,
      (container) => container,
      (container) => container,
    );
  }

  intersect(set: RoaringSet): RoaringSet {
    if (this === set || set.isFull) return this;
    if (this.isFull) return set;
    return this.#combine(
      set,
      intersectContainers,
      () => null,
      () => null,
    );
  }

  /** Values that are not in the other set. */
  minus(set: RoaringSet): RoaringSet {
    if (set.size === 0) return this;
    return this.#combine(
      set,
      subtractContainers,
      (container) => container,
      () => null,
    );
  }

  #combine(
    set: RoaringSet,
    both: (a: Container, b: Container) => Container | null,
    onlyHere: (container: Container) => Container | null,
    onlyThere: (container: Container) => Container | null,
  ): RoaringSet {
    const keys: number[] = [];
    const containers: Container[] = [];
    const add = (key: number, container: Container | null): void => {
      if (container === null) return;
      keys.push(key);
      containers.push(container);
    };
    let i = 0;
    let j = 0;
    while (i < this.keys.length || j < set.keys.length) {
      const key = i < this.keys.length ? this.keys[i] : KEYS;
      const otherKey = j < set.keys.length ? set.keys[j] : KEYS;
      if (key < otherKey) add(key, onlyHere(this.containers[i++]));
      else if (key > otherKey) add(otherKey, onlyThere(set.containers[j++]));
      else add(key, both(this.containers[i++], set.containers[j++]));
    }
    return new RoaringSet({ keys: Uint16Array.from(keys), containers });
  }
}

/** Collects values in any order; a value may come more than once. */
export class RoaringBuilder {
  /** By high half. */
  readonly #builders: (ContainerBuilder | undefined)[] = [];

  add(value: number): void {
    const key = value >>> 16;
    let builder = this.#builders[key];
    if (builder === undefined) {
      builder = new ContainerBuilder();
      this.#builders[key] = builder;
    }
    builder.add(value & 0xffff);
  }

  finish(): RoaringSet {
    const keys: number[] = [];
    const containers: Container[] = [];
    // `forEach` skips holes: a few values may have distant keys.
    this.#builders.forEach((builder, key) => {
      keys.push(key);
      containers.push((builder as ContainerBuilder).finish());
    });
    return new RoaringSet({ keys: Uint16Array.from(keys), containers });
  }
}
