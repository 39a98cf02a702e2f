/**
 * Checks the runs of levels and dictionary indices in a page. The decoder of hyparquet believes the
 * length that a run states, so a damaged run would keep the thread busy for minutes.
 *
 *     page of version 1   compressed as a whole: levels of repetition and of definition, then values. The
 *                         bytes of levels follow their length
 *     page of version 2   levels of repetition and of definition, then values, which may be compressed
 *     runs                varint: even: half of it is the number of one value that follows
 *                                 odd: half of it is the number of groups of 8 packed values
 */

import type { ColumnMetaData, PageType } from "hyparquet";
import { decompressPage } from "hyparquet/src/datapage.js";
import { InvalidInputError } from "../errors.js";
import { compressors } from "./parquetCodecs.js";

/** Header of a page, as far as it is needed here. */
export interface PageHeader {
  readonly type: PageType;
  readonly uncompressed_page_size: number;
  readonly data_page_header?: { readonly num_values: number; readonly encoding: string } | undefined;
  readonly data_page_header_v2?:
    | {
        readonly num_values: number;
        readonly encoding: string;
        readonly repetition_levels_byte_length: number;
        readonly definition_levels_byte_length: number;
        readonly is_compressed?: boolean;
      }
    | undefined;
}

/** Maximum levels of repetition and of definition of a column. */
export interface LevelLimits {
  readonly repetition: number;
  readonly definition: number;
}

/** Values by which the last packed run may exceed the values of its page. */
const PADDING = 512;

/**
 * Checks all runs of a page.
 * @throws InvalidInputError for a run with more values than the page
 */
export function checkRuns(
  bytes: Uint8Array,
  header: PageHeader,
  chunk: ColumnMetaData,
  levels: LevelLimits,
): void {
  const { data_page_header: first, data_page_header_v2: second, uncompressed_page_size: byteLength } = header;
  if (first !== undefined) {
    const page = new Runs(decompressPage(bytes, byteLength, chunk.codec, compressors), first.num_values);
    for (const level of [levels.repetition, levels.definition])
      if (level > 0) page.checkSized(widthOf(level));
    checkValues(page, first.encoding, chunk);
  } else if (second !== undefined) {
    const { num_values: count, repetition_levels_byte_length: repetitionEnd } = second;
    const levelsEnd = repetitionEnd + second.definition_levels_byte_length;
    if (!(repetitionEnd >= 0 && levelsEnd >= repetitionEnd && levelsEnd <= bytes.byteLength)) throw tooLong();
    new Runs(bytes, count).check(widthOf(levels.repetition));
    new Runs(bytes.subarray(repetitionEnd), count).check(widthOf(levels.definition));
    if (second.is_compressed !== false && !usesRuns(second.encoding)) return;
    const packed = bytes.subarray(levelsEnd);
    const isPlain = second.is_compressed === false || packed.byteLength === 0;
    const values = isPlain
      ? packed
      : decompressPage(packed, byteLength - levelsEnd, chunk.codec, compressors);
    checkValues(new Runs(values, count), second.encoding, chunk);
  }
}

const widthOf = (level: number): number => 32 - Math.clz32(level);
const usesRuns = (encoding: string): boolean => encoding.includes("RLE") || encoding.includes("DICTIONARY");

function checkValues(page: Runs, encoding: string, { type }: ColumnMetaData): void {
  if (!usesRuns(encoding)) return;
  if (type === "BOOLEAN") page.checkSized(1);
  else page.check(page.takeByte());
}

/** Reads the runs of a page. Their values are not needed. */
class Runs {
  readonly #bytes: Uint8Array;
  readonly #count: number;
  #offset = 0;

  /** @param count number of values of the page */
  constructor(bytes: Uint8Array, count: number) {
    this.#bytes = bytes;
    this.#count = count;
  }

  takeByte(): number {
    return this.#bytes[this.#offset++] ?? 0;
  }

  /** Checks runs after which the page goes on: their length in bytes stands before them. */
  checkSized(width: number): void {
    let length = 0;
    for (let shift = 0; shift < 32; shift += 8) length += this.takeByte() * 2 ** shift;
    const end = this.#offset + length;
    this.check(width);
    this.#offset = end;
  }

  /** Checks runs until they have the values of the page, or the page ends. */
  check(width: number): void {
    if (width === 0) return;
    let seen = 0;
    while (seen < this.#count && this.#offset < this.#bytes.byteLength) {
      const header = this.#takeVarint();
      const isPacked = header % 2 === 1;
      const values = Math.floor(header / 2) * (isPacked ? 8 : 1);
      seen += values;
      if (seen > this.#count + PADDING) throw tooLong();
      this.#offset += isPacked ? (values / 8) * width : Math.ceil(width / 8);
    }
  }

  #takeVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.takeByte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  }
}

const tooLong = (): InvalidInputError =>
  new InvalidInputError("readParquet: the file is not Parquet, or damaged: a run is longer than its page");
