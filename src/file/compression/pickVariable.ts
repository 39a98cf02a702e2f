/**
 * Gathers single values of variable width by their positions in chunks (variable.ts), one chunk after the
 * other. Checks only the offsets of the values that it takes.
 */

import type { VariableColumn, VariableLayout } from "../../arrow/columns/column.js";
import { LONG_VALUE_BYTES } from "../../arrow/columns/takeColumn.js";
import { enlarged } from "../../bytes/growing.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import type { WordMemory } from "./pickBitpacked.js";
import { finishVariable, MAXIMUM_POSITION, type VariableEncoding } from "./variable.js";

/** Initial room for values, in bytes per value. */
const EXPECTED_BYTES = 32;
/** Initial room for codes, in bytes per value. */
const EXPECTED_CODES = 16;

/** Offsets and values of a chunk, after general decompression. */
export interface VariableChunk {
  readonly data: WordMemory;
  /** Offset of the chunk in the data, a multiple of 4. */
  readonly start: number;
  readonly size: number;
  readonly count: number;
  /** Index of its first value among those of all chunks. */
  readonly firstRow: number;
}

export class PickedValues {
  readonly #offsets: Int32Array;
  #bytes: Uint8Array;

  /** @param count number of values that are picked, over all chunks */
  constructor(
    private readonly layout: VariableLayout,
    private readonly encoding: VariableEncoding,
    count: number,
    private readonly origin: PageOrigin,
  ) {
    this.#offsets = new Int32Array(count + 1);
    this.#bytes = new Uint8Array(count * (encoding.symbols === null ? EXPECTED_BYTES : EXPECTED_CODES));
  }

  /**
   * Takes the values at `places[first]` to `places[end - 1]` from their chunk.
   * @param definition levels of the values at all places, or null to take all as they are; a null becomes
   *   empty
   */
  pick(
    { data, start, size, count, firstRow }: VariableChunk,
    places: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array | null,
  ): void {
    const offsets = this.#offsets;
    const { bytes, words } = data;
    const stride = this.encoding.offsetBits / 32;
    const least = (count + 1) * stride * 4;
    if (size < least) throw corruptPage(this.origin, `${count + 1} offsets in a buffer of ${size} bytes`);
    for (let index = first; index < end; index++) {
      const write = offsets[index];
      const position = (start >>> 2) + (places[index] - firstRow) * stride;
      const from = words[position];
      const to = words[position + stride];
      const beyond = stride === 2 ? words[position + 1] | words[position + 3] : 0;
      if (from < least || from > to || to > size || beyond !== 0) {
        throw corruptPage(this.origin, "offsets of variable-width values do not ascend inside their buffer");
      }
      const isNull = definition !== null && definition[index] !== 0;
      const length = isNull ? 0 : to - from;
      if (write + length > MAXIMUM_POSITION) {
        throw unsupportedPage(this.origin, "more than 2 GiB of values");
      }
      offsets[index + 1] = write + length;
      if (length > 0) this.#append(bytes, start + from, length, write);
    }
  }

  #append(from: Uint8Array, start: number, length: number, write: number): void {
    if (write + length > this.#bytes.length) this.#bytes = enlarged(this.#bytes, write + length);
    const bytes = this.#bytes;
    if (length >= LONG_VALUE_BYTES) bytes.set(from.subarray(start, start + length), write);
    else for (let byte = 0; byte < length; byte++) bytes[write + byte] = from[start + byte];
  }

  finish(): VariableColumn {
    const offsets = this.#offsets;
    const { symbols } = this.encoding;
    const bytes = this.#bytes.subarray(0, offsets[offsets.length - 1]);
    return finishVariable(
      this.layout,
      symbols,
      offsets,
      symbols === null ? bytes.slice() : bytes,
      this.origin,
    );
  }
}
