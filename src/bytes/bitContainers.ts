/**
 * Sets of 16-bit numbers, of which Roaring bitmaps are made. A set has the form that suits its values:
 *
 *     array  up to 4096 values, ascending
 *     bits   more than 4096 values: one bit for each number, least significant first
 *     runs   ranges, ascending and apart from one another: first and last value of each
 *
 * Containers are never empty and never change. Operations return null if no value is left. Operations on runs
 * give runs, so a few bytes of runs never become many.
 */

import { countSetBits } from "./bits.js";
import { enlarged } from "./growing.js";
import { lowerBound, upperBound } from "./search.js";

interface ArrayContainer {
  readonly kind: "array";
  readonly count: number;
  readonly values: Uint16Array;
}

interface BitsContainer {
  readonly kind: "bits";
  readonly count: number;
  /** {@link CONTAINER_WORDS} words. */
  readonly words: Uint32Array;
}

interface RunsContainer {
  readonly kind: "runs";
  readonly count: number;
  /** Pairs: the first and the last value of each run. */
  readonly bounds: Uint16Array;
}

export type Container = ArrayContainer | BitsContainer | RunsContainer;

export const MAX_ARRAY_VALUES = 4096;
export const CONTAINER_WORDS = 2048;
const ALL_VALUES = 65_536;

/** The container that holds every number. */
export const FULL_CONTAINER: Container = {
  kind: "runs",
  count: ALL_VALUES,
  bounds: Uint16Array.of(0, 0xffff),
};

/** @param values ascending, each once; not empty and at most {@link MAX_ARRAY_VALUES} */
export const arrayContainer = (values: Uint16Array): ArrayContainer => ({
  kind: "array",
  count: values.length,
  values,
});

/** Makes a container of the values whose bits are set; null if there are none. */
export function containerOfWords(words: Uint32Array): Container | null {
  const count = countWords(words);
  if (count === 0) return null;
  if (count > MAX_ARRAY_VALUES) return { kind: "bits", count, words };
  const values = new Uint16Array(count);
  writeBits(words, 0, values, 0);
  return arrayContainer(values);
}

/** @param bounds ascending pairs that neither overlap nor touch */
export function runsContainer(bounds: Uint16Array): Container | null {
  if (bounds.length === 0) return null;
  let count = 0;
  for (let index = 0; index < bounds.length; index += 2) count += bounds[index + 1] - bounds[index] + 1;
  return { kind: "runs", count, bounds };
}

/**
 * Makes a container of ascending values, each once.
 * @param words groups of `stride` words; the low half of the first word of groups `start` to `end - 1` is a
 *   value
 */
export function ascendingContainer(words: Uint32Array, stride: 1 | 2, start: number, end: number): Container {
  const count = end - start;
  if (count <= MAX_ARRAY_VALUES) {
    const values = new Uint16Array(count);
    for (let index = 0; index < count; index++) values[index] = words[stride * (start + index)];
    return arrayContainer(values);
  }
  const bits = new Uint32Array(CONTAINER_WORDS);
  for (let group = start; group < end; group++) {
    const value = words[stride * group] & 0xffff;
    bits[value >>> 5] |= 1 << (value & 31);
  }
  return { kind: "bits", count, words: bits };
}

/** Makes a container of the values from `first` to `last`. */
export const rangeContainer = (first: number, last: number): Container => ({
  kind: "runs",
  count: last - first + 1,
  bounds: Uint16Array.of(first, last),
});

export function containerBytes(container: Container): number {
  if (container.kind === "array") return container.values.byteLength;
  return (container.kind === "bits" ? container.words : container.bounds).byteLength;
}

export function containerHas(container: Container, value: number): boolean {
  switch (container.kind) {
    case "array":
      return container.values[lowerBound(container.values, value)] === value;
    case "bits":
      return ((container.words[value >>> 5] >>> (value & 31)) & 1) === 1;
    case "runs": {
      const { bounds } = container;
      // The first bound after the value ends a run that holds it, or begins a run, or is missing.
      const index = upperBound(bounds, value);
      return index % 2 === 1 || (index > 0 && bounds[index - 1] === value);
    }
  }
}

/** Number of values below a limit of at most 65,536. */
export function countBelow(container: Container, limit: number): number {
  if (limit >= ALL_VALUES) return container.count;
  switch (container.kind) {
    case "array":
      return lowerBound(container.values, limit);
    case "bits": {
      const whole = limit >>> 5;
      const partial = container.words[whole] & ((1 << (limit & 31)) - 1);
      return countWords(container.words.subarray(0, whole)) + countSetBits(partial);
    }
    case "runs": {
      let count = 0;
      const { bounds } = container;
      for (let index = 0; index < bounds.length && bounds[index] < limit; index += 2) {
        count += Math.min(bounds[index + 1] + 1, limit) - bounds[index];
      }
      return count;
    }
  }
}

/**
 * Writes the first values, each added to `base`, until the target is full.
 * @returns the position after the last
 */
export function writeValues(
  container: Container,
  base: number,
  target: Uint32Array | Uint16Array,
  position: number,
): number {
  const room = target.length - position;
  switch (container.kind) {
    case "array": {
      const { values } = container;
      const count = Math.min(values.length, room);
      for (let index = 0; index < count; index++) target[position + index] = base + values[index];
      return position + count;
    }
    case "bits":
      return writeBits(container.words, base, target, position);
    case "runs": {
      let slot = position;
      const { bounds } = container;
      for (let run = 0; run < bounds.length && slot < target.length; run += 2) {
        const last = bounds[run + 1];
        for (let value = bounds[run]; value <= last && slot < target.length; value++)
          target[slot++] = base + value;
      }
      return slot;
    }
  }
}

function writeBits(
  words: Uint32Array,
  base: number,
  target: Uint32Array | Uint16Array,
  position: number,
): number {
  let index = position;
  for (let word = 0; word < words.length; word++) {
    let bits = words[word];
    const first = base + word * 32;
    while (bits !== 0) {
      if (index === target.length) return index;
      target[index++] = first + (31 - Math.clz32(bits & -bits));
      bits &= bits - 1;
    }
  }
  return index;
}

// ------------------------------------------------------------------------------------- operations

export function uniteContainers(a: Container, b: Container): Container {
  if (a.count === ALL_VALUES || b.count === ALL_VALUES) return FULL_CONTAINER;
  if (a.kind === "runs" && b.kind === "runs") return uniteRuns(a.bounds, b.bounds);
  if (a.kind === "array" && b.kind === "array" && a.count + b.count <= MAX_ARRAY_VALUES) {
    return uniteArrays(a.values, b.values);
  }
  const [most, least] = a.kind === "array" ? [b, a] : [a, b];
  const words = bitsOf(most);
  setContainer(words, least);
  return containerOfWords(words) as Container;
}

export function intersectContainers(a: Container, b: Container): Container | null {
  if (a.count === ALL_VALUES) return b;
  if (b.count === ALL_VALUES) return a;
  if (a.kind === "runs" && b.kind === "runs") return intersectRuns(a.bounds, b.bounds);
  if (a.kind === "array") return filterArray(a.values, b, true);
  if (b.kind === "array") return filterArray(b.values, a, true);
  const words = bitsOf(a);
  const others = wordsOfContainer(b);
  for (let word = 0; word < words.length; word++) words[word] &= others[word];
  return containerOfWords(words);
}

/** Values of `a` that are not in `b`. */
export function subtractContainers(a: Container, b: Container): Container | null {
  if (b.count === ALL_VALUES) return null;
  if (a.kind === "array") return filterArray(a.values, b, false);
  if (a.kind === "runs" && b.kind === "runs") return intersectRuns(a.bounds, gapsOf(b.bounds));
  const words = bitsOf(a);
  if (b.kind === "array") {
    for (const value of b.values) words[value >>> 5] &= ~(1 << (value & 31));
  } else {
    const others = wordsOfContainer(b);
    for (let word = 0; word < words.length; word++) words[word] &= ~others[word];
  }
  return containerOfWords(words);
}

/** Bits of a container; callers must not change them. */
export const wordsOfContainer = (container: Container): Uint32Array =>
  container.kind === "bits" ? container.words : bitsOf(container);

/** Copies a container as bits. */
function bitsOf(container: Container): Uint32Array {
  if (container.kind === "bits") return container.words.slice();
  const words = new Uint32Array(CONTAINER_WORDS);
  setContainer(words, container);
  return words;
}

function setContainer(words: Uint32Array, container: Container): void {
  switch (container.kind) {
    case "array":
      for (const value of container.values) words[value >>> 5] |= 1 << (value & 31);
      return;
    case "bits":
      for (let word = 0; word < words.length; word++) words[word] |= container.words[word];
      return;
    case "runs":
      for (let index = 0; index < container.bounds.length; index += 2) {
        setRange(words, container.bounds[index], container.bounds[index + 1]);
      }
  }
}

function setRange(words: Uint32Array, first: number, last: number): void {
  const firstWord = first >>> 5;
  const lastWord = last >>> 5;
  const head = 0xffff_ffff << (first & 31);
  const tail = 0xffff_ffff >>> (31 - (last & 31));
  if (firstWord === lastWord) {
    words[firstWord] |= head & tail;
    return;
  }
  words[firstWord] |= head;
  words.fill(0xffff_ffff, firstWord + 1, lastWord);
  words[lastWord] |= tail;
}

function uniteArrays(a: Uint16Array, b: Uint16Array): ArrayContainer {
  const united = new Uint16Array(a.length + b.length);
  let i = 0;
  let j = 0;
  let count = 0;
  while (i < a.length && j < b.length) {
    const left = a[i];
    const right = b[j];
    united[count++] = left < right ? left : right;
    if (left <= right) i++;
    if (right <= left) j++;
  }
  while (i < a.length) united[count++] = a[i++];
  while (j < b.length) united[count++] = b[j++];
  return arrayContainer(count === united.length ? united : united.slice(0, count));
}

/** Keeps the values that are in a container, or those that are not. */
function filterArray(values: Uint16Array, container: Container, wanted: boolean): Container | null {
  const kept = new Uint16Array(values.length);
  let count = 0;
  if (container.kind === "array" && container.count < 32 * values.length) {
    const others = container.values;
    let index = 0;
    for (const value of values) {
      while (index < others.length && others[index] < value) index++;
      if ((others[index] === value) === wanted) kept[count++] = value;
    }
  } else {
    for (const value of values) if (containerHas(container, value) === wanted) kept[count++] = value;
  }
  if (count === 0) return null;
  return arrayContainer(count === kept.length ? kept : kept.slice(0, count));
}

function uniteRuns(a: Uint16Array, b: Uint16Array): Container {
  const bounds = new Uint16Array(a.length + b.length);
  let length = 0;
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const fromA = j === b.length || (i < a.length && a[i] <= b[j]);
    const first = fromA ? a[i] : b[j];
    const last = fromA ? a[i + 1] : b[j + 1];
    if (fromA) i += 2;
    else j += 2;
    if (length > 0 && first <= bounds[length - 1] + 1) {
      if (last > bounds[length - 1]) bounds[length - 1] = last;
    } else {
      bounds[length++] = first;
      bounds[length++] = last;
    }
  }
  return runsContainer(bounds.slice(0, length)) as Container;
}

function intersectRuns(a: Uint16Array, b: Uint16Array): Container | null {
  const bounds = new Uint16Array(a.length + b.length);
  let length = 0;
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const first = Math.max(a[i], b[j]);
    const last = Math.min(a[i + 1], b[j + 1]);
    if (first <= last) {
      bounds[length++] = first;
      bounds[length++] = last;
    }
    if (a[i + 1] < b[j + 1]) i += 2;
    else j += 2;
  }
  return runsContainer(bounds.slice(0, length));
}

/** Runs between the runs. */
function gapsOf(bounds: Uint16Array): Uint16Array {
  const gaps: number[] = [];
  let next = 0;
  for (let index = 0; index < bounds.length; index += 2) {
    if (bounds[index] > next) gaps.push(next, bounds[index] - 1);
    next = bounds[index + 1] + 1;
  }
  if (next < ALL_VALUES) gaps.push(next, ALL_VALUES - 1);
  return Uint16Array.from(gaps);
}

// ------------------------------------------------------------------------------------------------- building

export class ContainerBuilder {
  #values = new Uint16Array(4);
  #count = 0;
  #last = -1;
  #isAscending = true;
  #words: Uint32Array | null = null;

  add(value: number): void {
    if (this.#words !== null) {
      this.#words[value >>> 5] |= 1 << (value & 31);
      return;
    }
    if (value <= this.#last) {
      if (value === this.#last) return;
      this.#isAscending = false;
    }
    if (this.#count === this.#values.length && !this.#grow()) {
      this.add(value);
      return;
    }
    this.#values[this.#count++] = value;
    this.#last = value;
  }

  finish(): Container {
    if (this.#words !== null) return containerOfWords(this.#words) as Container;
    const values = this.#values.slice(0, this.#count);
    if (this.#isAscending) return arrayContainer(values);
    values.sort();
    let count = 1;
    for (let index = 1; index < values.length; index++) {
      if (values[index] !== values[count - 1]) values[count++] = values[index];
    }
    return arrayContainer(values.slice(0, count));
  }

  /** Makes room for more values; returns false after turning the values into bits. */
  #grow(): boolean {
    if (this.#count < MAX_ARRAY_VALUES) {
      this.#values = enlarged(this.#values, 4 * this.#count, MAX_ARRAY_VALUES);
      return true;
    }
    const words = new Uint32Array(CONTAINER_WORDS);
    for (const value of this.#values) words[value >>> 5] |= 1 << (value & 31);
    this.#words = words;
    return false;
  }
}

// ------------------------------------------------------------------------------------------------- bits

function countWords(words: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < words.length; word++) count += countSetBits(words[word]);
  return count;
}
