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
   * @param words groups of `stride` words; the first word of groups `start` to `end - 1` is a number
   */
  static ofAscending(words: Uint32Array, stride: 1 | 2, start: number, end: number): RoaringSet {
    const keys: number[] = [];
    const containers: Container[] = [];
    for (let first = start; first < end; ) {
      const key = words[stride * first] >>> 16;
      let last = first + 1;
      while (last < end && words[stride * last] >>> 16 === key) last++;
      keys.push(key);
      containers.push(ascendingContainer(words, stride, first, last));
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
    return this.#combine(set, uniteContainers, true, true);
  }

  intersect(set: RoaringSet): RoaringSet {
    if (this === set || set.isFull) return this;
    if (this.isFull) return set;
    return this.#combine(set, intersectContainers, false, false);
  }

  /** Values that are not in the other set. */
  minus(set: RoaringSet): RoaringSet {
    if (set.size === 0) return this;
    return this.#combine(set, subtractContainers, true, false);
  }

  /**
   * @param keepsOwn true to keep containers whose keys only this set has; `keepsOther` likewise for the other
   * set
   */
  #combine(
    set: RoaringSet,
    both: (a: Container, b: Container) => Container | null,
    keepsOwn: boolean,
    keepsOther: boolean,
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
      const mine = key <= otherKey ? this.containers[i++] : null;
      const theirs = otherKey <= key ? set.containers[j++] : null;
      if (mine !== null && theirs !== null) add(key, both(mine, theirs));
      else if (theirs === null) add(key, keepsOwn ? mine : null);
      else add(otherKey, keepsOther ? theirs : null);
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
