/** Numbers and texts that grow to an unknown count. They lie in blocks, so that growing copies nothing. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { checkMade } from "./boundedTake.js";
import { copyInSteps } from "./work.js";

const FIRST_NUMBERS = 2 ** 10;
const MOST_NUMBERS = 2 ** 18;

export class GrowingNumbers {
  readonly #blocks: Uint32Array[] = [];
  #block = new Uint32Array(FIRST_NUMBERS);
  #used = 0;
  /** Number of values in the full blocks. */
  #before = 0;

  get length(): number {
    return this.#before + this.#used;
  }

  push(value: number): void {
    if (this.#used === this.#block.length) {
      this.#blocks.push(this.#block);
      this.#before += this.#used;
      this.#block = new Uint32Array(Math.min(MOST_NUMBERS, 4 * this.#block.length));
      this.#used = 0;
    }
    this.#block[this.#used++] = value;
  }

  *finish(): Steps<Uint32Array> {
    if (this.#blocks.length === 0) return this.#block.subarray(0, this.#used);
    const all = new Uint32Array(this.length);
    let position = 0;
    for (const block of this.#blocks) {
      all.set(block, position);
      position += block.length;
      yield;
    }
    all.set(this.#block.subarray(0, this.#used), position);
    return all;
  }
}

/** Maximum length in bytes of a text that a function makes. */
const MAX_TEXT = 2 ** 24;
const FIRST_BYTES = 2 ** 14;
const MOST_BYTES = 2 ** 21;
/** Copies of up to this number of bytes are made in one step. */
const FEW_BYTES = 2 ** 18;
/** Shorter pieces are copied byte by byte. */
const SHORT = 24;

export function checkLength(name: string, byteLength: number): void {
  if (byteLength > MAX_TEXT)
    throw new InvalidInputError(`${name}: a text of ${byteLength} bytes is too long`);
}

const encoder = new TextEncoder();

/** Steps that are done: a generator for each piece of a text would cost more than the copy of its bytes. */
const NO_STEPS: Steps<void> = (function* none() {})();
NO_STEPS.next();

/** Texts as UTF-8, or bytes, one after another. */
export class GrowingTexts {
  readonly #name: string | null;
  readonly #blocks: Uint8Array[] = [];
  #block = new Uint8Array(FIRST_BYTES);
  #used = 0;
  /** Number of bytes in the full blocks. */
  #before = 0;
  /** Offset of the unfinished text. */
  #start = 0;
  readonly #ends = new GrowingNumbers();

  /** @param name of the function whose texts have a maximum length; null for none */
  constructor(name: string | null) {
    this.#name = name;
  }

  get size(): number {
    return this.#before + this.#used - this.#start;
  }

  get count(): number {
    return this.#ends.length;
  }

  /** Adds a few bytes, at most some hundred kilobytes. */
  put(bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    this.#makeRoom(size);
    const block = this.#block;
    let to = this.#used;
    if (size < SHORT) for (let offset = start; offset < end; offset++) block[to++] = bytes[offset];
    else block.set(bytes.subarray(start, end), to);
    this.#used += size;
  }

  putByte(byte: number): void {
    if (this.#used === this.#block.length) this.#makeRoom(1);
    this.#block[this.#used++] = byte;
  }

  putText(text: string): void {
    const size = text.length;
    this.#makeRoom(size);
    const block = this.#block;
    const start = this.#used;
    for (let unit = 0; unit < size; unit++) {
      const code = text.charCodeAt(unit);
      if (code >= 0x80) {
        const bytes = encoder.encode(text);
        this.put(bytes, 0, bytes.length);
        return;
      }
      block[start + unit] = code;
    }
    this.#used += size;
  }

  /** Adds any number of bytes. The bytes of a short piece are copied before the first step. */
  copy(bytes: Uint8Array, start: number, end: number): Steps<void> {
    if (end - start > MOST_BYTES) return this.#copyLong(bytes, start, end);
    this.put(bytes, start, end);
    return NO_STEPS;
  }

  *#copyLong(bytes: Uint8Array, start: number, end: number): Steps<void> {
    this.#makeRoom(end - start);
    yield* copyInSteps(bytes, start, end, this.#block, this.#used);
    this.#used += end - start;
  }

  /** Adds bytes a number of times. */
  *repeat(bytes: Uint8Array, start: number, end: number, times: number): Steps<void> {
    const size = end - start;
    const total = size * times;
    if (total === 0) return;
    if (total <= SHORT) {
      for (let time = 0; time < times; time++) this.put(bytes, start, end);
      return;
    }
    this.#makeRoom(total);
    const block = this.#block;
    const first = this.#used;
    yield* copyInSteps(bytes, start, end, block, first);
    // Copies what is there, twice as much each time, up to a step.
    for (let copied = size; copied < total; ) {
      const whole = copied > MOST_BYTES ? Math.max(size, MOST_BYTES - (MOST_BYTES % size)) : copied;
      const count = Math.min(whole, total - copied);
      yield* copyInSteps(block, first, first + count, block, first + copied);
      copied += count;
      if (count >= FEW_BYTES && copied < total) yield;
    }
    this.#used += total;
  }

  end(): void {
    const end = this.#before + this.#used;
    if (this.#name !== null) checkLength(this.#name, end - this.#start);
    checkMade(end);
    this.#ends.push(end);
    this.#start = end;
  }

  *finish(validity: Validity | null): Steps<Column> {
    const length = this.#ends.length;
    const offsets = new Int32Array(length + 1);
    offsets.set(yield* this.#ends.finish(), 1);
    return { kind: "variable", length, validity, offsets, bytes: yield* this.#bytes() };
  }

  *#bytes(): Steps<Uint8Array> {
    if (this.#blocks.length === 0) return this.#block.subarray(0, this.#used);
    const all = new Uint8Array(this.#before + this.#used);
    let position = 0;
    for (const block of this.#blocks) {
      yield* copyInSteps(block, 0, block.length, all, position);
      position += block.length;
    }
    yield* copyInSteps(this.#block, 0, this.#used, all, position);
    return all;
  }

  #makeRoom(size: number): void {
    if (this.#used + size <= this.#block.length) return;
    if (this.#name !== null) checkLength(this.#name, this.size + size);
    checkMade(this.#before + this.#used + size);
    this.#blocks.push(this.#block.subarray(0, this.#used));
    this.#before += this.#used;
    this.#block = new Uint8Array(Math.max(size, Math.min(MOST_BYTES, 4 * this.#block.length)));
    this.#used = 0;
  }
}
