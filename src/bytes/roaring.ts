/**
 * 32-bit Roaring bitmaps in the portable serialisation. The encoder writes no run containers. Little-endian:
 *
 *     u32 cookie    12346: no run containers; u32 containerCount follows
 *                   low 16 bits 12347: containerCount - 1 in the high 16 bits; a bit set of ceil(n / 8) bytes
 *                   follows that says which containers are runs (least-significant bit first)
 *     containerCount times { u16 key, u16 cardinality - 1 }, keys ascending
 *     containerCount times u32 byte offset of the container; with cookie 12347 only from 4 containers on
 *     containers    array (cardinality <= 4096)  u16 each, ascending
 *                   bitmap (cardinality > 4096)  1024 u64
 *                   runs                         u16 runCount, runCount times { u16 start, u16 length - 1 }
 *
 * A value is key * 65536 + the container's 16-bit value.
 */

import { CorruptFileError } from "../errors.js";
import {
  arrayContainer,
  CONTAINER_WORDS,
  type Container,
  containerOfWords,
  MAX_ARRAY_VALUES,
  runsContainer,
  wordsOfContainer,
  writeValues,
} from "./bitContainers.js";
import { type KeyedContainers, RoaringSet } from "./roaringSet.js";
import { bytesOf } from "./view.js";

const COOKIE_NO_RUNS = 12346;
const COOKIE_RUNS = 12347;
const OFFSETS_FROM = 4;
const BITMAP_BYTES = 4 * CONTAINER_WORDS;
const MAX_CONTAINERS = 65536;

/** Location of a bitmap, for messages. */
export interface BitmapOrigin {
  readonly path: string;
  readonly byteOffset: number;
}

/**
 * Returns the values, ascending.
 * @param maxCount maximum number of values that the caller expects: a few bytes may announce very many
 * @throws CorruptFileError if the bytes are not exactly one such bitmap
 */
export function decodeRoaring(bytes: Uint8Array, maxCount: number, origin: BitmapOrigin): Uint32Array {
  const decoder = new Decoder(bytes, origin);
  const header = decoder.header();
  if (header.total > maxCount) {
    decoder.fail(header.headerStart, `${header.total} values, more than the maximum of ${maxCount}`);
  }
  const set = new RoaringSet(decoder.containers(header));
  decoder.checkEnd();
  return set.valuesBelow(2 ** 32);
}

/**
 * Returns the bitmap as a set, which takes about as much memory as the bytes.
 * @throws CorruptFileError if the bytes are not exactly one such bitmap
 */
export function decodeRoaringSet(bytes: Uint8Array, origin: BitmapOrigin): RoaringSet {
  const decoder = new Decoder(bytes, origin);
  const set = new RoaringSet(decoder.containers(decoder.header()));
  decoder.checkEnd();
  return set;
}

/**
 * Reads the bitmap at the beginning of the bytes, and returns the number of its bytes.
 * @throws CorruptFileError if the bytes do not begin with a bitmap
 */
export function decodeRoaringPrefix(
  bytes: Uint8Array,
  origin: BitmapOrigin,
): { readonly set: RoaringSet; readonly byteLength: number } {
  const decoder = new Decoder(bytes, origin);
  const set = new RoaringSet(decoder.containers(decoder.header()));
  return { set, byteLength: decoder.position };
}

interface Header {
  readonly containerCount: number;
  /** Number of values that the containers announce. */
  readonly total: number;
  /** Start of the bits that mark runs; -1 without runs. */
  readonly runFlagsStart: number;
  /** Start of the keys and cardinalities. */
  readonly headerStart: number;
}

/** Reads the parts of a bitmap one after the other. */
class Decoder {
  readonly #view: DataView;
  #position = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly origin: BitmapOrigin,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get position(): number {
    return this.#position;
  }

  fail(index: number, reason: string): never {
    const { path, byteOffset } = this.origin;
    throw new CorruptFileError(path, byteOffset + index, `roaring bitmap: ${reason}`);
  }

  #need(length: number): void {
    if (length > this.bytes.length - this.#position) this.fail(this.#position, "it ends too early");
  }

  checkEnd(): void {
    if (this.#position !== this.bytes.length) this.fail(this.#position, "bytes are left over");
  }

  /** Reads everything before the containers. */
  header(): Header {
    const view = this.#view;
    this.#need(4);
    const cookie = view.getUint32(0, true);
    this.#position = 4;
    let containerCount: number;
    let runFlagsStart = -1;
    if (cookie === COOKIE_NO_RUNS) {
      this.#need(4);
      containerCount = view.getUint32(4, true);
      this.#position = 8;
      if (containerCount > MAX_CONTAINERS) this.fail(4, `${containerCount} containers`);
    } else if ((cookie & 0xffff) === COOKIE_RUNS) {
      containerCount = (cookie >>> 16) + 1;
      runFlagsStart = this.#position;
      const flagBytes = (containerCount + 7) >>> 3;
      this.#need(flagBytes);
      this.#position += flagBytes;
    } else {
      this.fail(0, `unknown cookie ${cookie}`);
    }
    const headerStart = this.#position;
    this.#need(containerCount * 4);
    this.#position += containerCount * 4;
    // The containers lie back to back, so the offsets add nothing.
    if (runFlagsStart < 0 || containerCount >= OFFSETS_FROM) {
      this.#need(containerCount * 4);
      this.#position += containerCount * 4;
    }
    let total = 0;
    for (let container = 0; container < containerCount; container++) {
      total += view.getUint16(headerStart + container * 4 + 2, true) + 1;
    }
    return { containerCount, total, runFlagsStart, headerStart };
  }

  containers({ containerCount, runFlagsStart, headerStart }: Header): KeyedContainers {
    const keys = new Uint16Array(containerCount);
    const containers: Container[] = [];
    for (let index = 0; index < containerCount; index++) {
      const header = headerStart + index * 4;
      const key = this.#view.getUint16(header, true);
      const cardinality = this.#view.getUint16(header + 2, true) + 1;
      if (index > 0 && key <= keys[index - 1]) this.fail(header, "keys do not ascend");
      keys[index] = key;
      const isRun =
        runFlagsStart >= 0 && (this.bytes[runFlagsStart + (index >>> 3)] & (1 << (index & 7))) !== 0;
      containers.push(
        isRun
          ? this.#runs(cardinality)
          : cardinality <= MAX_ARRAY_VALUES
            ? this.#array(cardinality)
            : this.#bitmap(cardinality),
      );
    }
    return { keys, containers };
  }

  #runs(cardinality: number): Container {
    this.#need(2);
    const runCount = this.#view.getUint16(this.#position, true);
    this.#position += 2;
    this.#need(runCount * 4);
    const bounds = new Uint16Array(runCount * 2);
    let length = 0;
    let next = 0;
    for (let run = 0; run < runCount; run++, this.#position += 4) {
      const start = this.#view.getUint16(this.#position, true);
      const last = start + this.#view.getUint16(this.#position + 2, true);
      if (start < next || last > 0xffff) this.fail(this.#position, "runs do not ascend");
      // Adjacent runs are one.
      if (run > 0 && start === next) length--;
      else bounds[length++] = start;
      bounds[length++] = last;
      next = last + 1;
    }
    return this.#checked(runsContainer(bounds.slice(0, length)), cardinality);
  }

  #array(cardinality: number): Container {
    this.#need(cardinality * 2);
    const values = new Uint16Array(cardinality);
    const view = this.#view;
    let position = this.#position;
    let previous = -1;
    for (let index = 0; index < cardinality; index++, position += 2) {
      const value = view.getUint16(position, true);
      if (value <= previous) this.fail(position, "values do not ascend");
      previous = value;
      values[index] = value;
    }
    this.#position = position;
    return arrayContainer(values);
  }

  #bitmap(cardinality: number): Container {
    this.#need(BITMAP_BYTES);
    // The copy has an address that suits words.
    const bytes = new Uint8Array(this.bytes.subarray(this.#position, this.#position + BITMAP_BYTES));
    this.#position += BITMAP_BYTES;
    return this.#checked(containerOfWords(new Uint32Array(bytes.buffer)), cardinality);
  }

  #checked(container: Container | null, cardinality: number): Container {
    if (container === null || container.count !== cardinality) {
      const count = container?.count ?? 0;
      this.fail(this.#position, `a container holds ${count} values, not ${cardinality} as announced`);
    }
    return container;
  }
}

/**
 * Encodes the values as a bitmap.
 * @param values ascending, each once
 */
export const encodeRoaring = (values: Uint32Array): Uint8Array =>
  encodeRoaringSet(RoaringSet.ofAscending(values, 1, 0, values.length));

const sizeOfContainer = (count: number): number => (count <= MAX_ARRAY_VALUES ? count * 2 : BITMAP_BYTES);

export function encodeRoaringSet({ keys, containers }: KeyedContainers): Uint8Array {
  const sizes = containers.map(({ count }) => sizeOfContainer(count));
  let position = 8 + containers.length * 8;
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, position));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, COOKIE_NO_RUNS, true);
  view.setUint32(4, containers.length, true);
  for (const [index, container] of containers.entries()) {
    const { count } = container;
    view.setUint16(8 + index * 4, keys[index], true);
    view.setUint16(10 + index * 4, count - 1, true);
    view.setUint32(8 + containers.length * 4 + index * 4, position, true);
    if (count <= MAX_ARRAY_VALUES) {
      let values: Uint16Array;
      if (container.kind === "array") values = container.values;
      else writeValues(container, 0, (values = new Uint16Array(count)), 0);
      bytes.set(bytesOf(values), position);
    } else bytes.set(bytesOf(wordsOfContainer(container)), position);
    position += sizes[index];
  }
  return bytes;
}
