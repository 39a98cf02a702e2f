/**
 * 32-bit Roaring bitmaps in the portable serialisation. What is written has no run containers. Little-endian:
 *
 *   u32 cookie    12346: no run containers; u32 containerCount follows
 *                 low 16 bits 12347: containerCount - 1 in the high 16 bits; a bit set of ceil(n / 8) bytes
 *                 follows that says which containers are runs (least-significant bit first)
 *   containerCount times { u16 key, u16 cardinality - 1 }, keys ascending
 *   containerCount times u32 byte offset of the container; with cookie 12347 only from 4 containers on
 *   containers    array (cardinality <= 4096)  u16 each, ascending
 *                 bitmap (cardinality > 4096)  1024 u64
 *                 runs                         u16 runCount, runCount times { u16 start, u16 length - 1 }
 *
 * A value is key * 65536 + the container's 16-bit value.
 */

import { CorruptFileError } from "../errors.js";

const COOKIE_NO_RUNS = 12346;
const COOKIE_RUNS = 12347;
const OFFSETS_FROM = 4;
const ARRAY_MAX = 4096;
const BITMAP_BYTES = 8192;
const MAX_CONTAINERS = 65536;

/** Where a bitmap lies, for messages. */
interface BitmapOrigin {
  readonly path: string;
  readonly byteOffset: number;
}

/**
 * The values, ascending.
 * @param maxCount most values that make sense to the caller: a few bytes may announce very many
 * @throws CorruptFileError where the bytes are not such a bitmap, or hold more than one
 */
export function decodeRoaring(bytes: Uint8Array, maxCount: number, origin: BitmapOrigin): Uint32Array {
  const decoder = new Decoder(bytes, origin);
  const header = decoder.header();
  const { containerCount, headerStart } = header;
  let total = 0;
  for (let container = 0; container < containerCount; container++) {
    total += decoder.view.getUint16(headerStart + container * 4 + 2, true) + 1;
  }
  if (total > maxCount) decoder.fail(headerStart, `${total} values where at most ${maxCount} make sense`);
  const values = new Uint32Array(total);
  decoder.containers(header, values);
  return values;
}

interface Header {
  readonly containerCount: number;
  /** Where the bits begin that mark runs; -1 where there are no runs. */
  readonly runFlagsStart: number;
  /** Where the keys and cardinalities begin. */
  readonly headerStart: number;
}

/** Reads the parts of a bitmap one after the other. */
class Decoder {
  readonly view: DataView;
  readonly #bytes: Uint8Array;
  readonly #origin: BitmapOrigin;
  #position = 0;

  constructor(bytes: Uint8Array, origin: BitmapOrigin) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bytes = bytes;
    this.#origin = origin;
  }

  fail(at: number, reason: string): never {
    const { path, byteOffset } = this.#origin;
    throw new CorruptFileError(path, byteOffset + at, `roaring bitmap: ${reason}`);
  }

  #need(length: number): void {
    if (length > this.#bytes.length - this.#position) this.fail(this.#position, "it ends too early");
  }

  /** Everything before the containers. */
  header(): Header {
    this.#need(4);
    const cookie = this.view.getUint32(0, true);
    this.#position = 4;
    let containerCount: number;
    let runFlagsStart = -1;
    if (cookie === COOKIE_NO_RUNS) {
      this.#need(4);
      containerCount = this.view.getUint32(4, true);
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
    return { containerCount, runFlagsStart, headerStart };
  }

  /** @param values as many as all containers announce */
  containers({ containerCount, runFlagsStart, headerStart }: Header, values: Uint32Array): void {
    let count = 0;
    let previousKey = -1;
    for (let container = 0; container < containerCount; container++) {
      const header = headerStart + container * 4;
      const key = this.view.getUint16(header, true);
      const cardinality = this.view.getUint16(header + 2, true) + 1;
      if (key <= previousKey) this.fail(header, "keys do not ascend");
      previousKey = key;
      const base = key * 65536;
      const isRun =
        runFlagsStart >= 0 && (this.#bytes[runFlagsStart + (container >>> 3)] & (1 << (container & 7))) !== 0;
      const announced = values.subarray(count, count + cardinality);
      if (isRun) this.#runs(base, announced);
      else if (cardinality <= ARRAY_MAX) this.#array(base, announced);
      else this.#bitmap(base, announced);
      count += cardinality;
    }
    if (this.#position !== this.#bytes.length) this.fail(this.#position, "bytes are left over");
  }

  #runs(base: number, values: Uint32Array): void {
    this.#need(2);
    const runCount = this.view.getUint16(this.#position, true);
    this.#position += 2;
    this.#need(runCount * 4);
    let count = 0;
    let next = 0;
    for (let run = 0; run < runCount; run++, this.#position += 4) {
      const start = this.view.getUint16(this.#position, true);
      const last = start + this.view.getUint16(this.#position + 2, true);
      if (start < next || last > 0xffff) this.fail(this.#position, "runs do not ascend");
      if (count + last - start + 1 > values.length) {
        this.fail(this.#position, "runs hold more values than announced");
      }
      for (let value = start; value <= last; value++) values[count++] = base + value;
      next = last + 1;
    }
    this.#checkFull(count, values);
  }

  #array(base: number, values: Uint32Array): void {
    this.#need(values.length * 2);
    const { view } = this;
    let position = this.#position;
    let previous = -1;
    for (let index = 0; index < values.length; index++, position += 2) {
      const value = view.getUint16(position, true);
      if (value <= previous) this.fail(position, "values do not ascend");
      previous = value;
      values[index] = base + value;
    }
    this.#position = position;
  }

  #bitmap(base: number, values: Uint32Array): void {
    this.#need(BITMAP_BYTES);
    const { view } = this;
    let position = this.#position;
    let count = 0;
    for (let word = 0; word < BITMAP_BYTES / 4; word++, position += 4) {
      let bits = view.getUint32(position, true);
      while (bits !== 0) {
        if (count === values.length) this.fail(position, "a bitmap holds more values than announced");
        values[count++] = base + word * 32 + (31 - Math.clz32(bits & -bits));
        bits &= bits - 1;
      }
    }
    this.#position = position;
    this.#checkFull(count, values);
  }

  #checkFull(count: number, values: Uint32Array): void {
    if (count !== values.length) this.fail(this.#position, "a container holds fewer values than announced");
  }
}

/**
 * Encodes the values as a bitmap.
 * @param values ascending, each once
 */
export function encodeRoaring(values: Uint32Array): Uint8Array {
  const starts: number[] = [];
  for (let index = 0; index < values.length; index++) {
    if (index === 0 || values[index] >>> 16 !== values[index - 1] >>> 16) starts.push(index);
  }
  const cardinalities = starts.map((start, container) => (starts[container + 1] ?? values.length) - start);
  const sizes = cardinalities.map((count) => (count <= ARRAY_MAX ? count * 2 : BITMAP_BYTES));
  let position = 8 + starts.length * 8;
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, position));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, COOKIE_NO_RUNS, true);
  view.setUint32(4, starts.length, true);
  starts.forEach((start, container) => {
    const count = cardinalities[container];
    view.setUint16(8 + container * 4, values[start] >>> 16, true);
    view.setUint16(10 + container * 4, count - 1, true);
    view.setUint32(8 + starts.length * 4 + container * 4, position, true);
    if (count <= ARRAY_MAX) {
      // The lower halves of the values.
      new Uint16Array(bytes.buffer, position, count).set(values.subarray(start, start + count));
    } else {
      for (let index = start; index < start + count; index++) {
        const value = values[index] & 0xffff;
        bytes[position + (value >>> 3)] |= 1 << (value & 7);
      }
    }
    position += sizes[container];
  });
  return bytes;
}
