/**
 * BLOOMFILTER: a Bloom filter per zone of rows. One file:
 *
 *     bloomfilter.lance  fragment_id, zone_start, zone_length  u64
 *                        has_null           bool
 *                        bloom_filter_data  binary
 *                        metadata: bloomfilter_item, rows of a zone (8192);
 *                                  bloomfilter_probability, fraction of false positives (0.00057)
 *
 * Filters are those of Parquet: blocks of eight 32-bit words, little-endian. The high word of a value's hash
 * (bytes/xxHash64) selects a block, the low word one bit in each word of the block. The hash covers the bytes
 * of the value: numbers little-endian, text as UTF-8.
 */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { XxHash64 } from "../../bytes/xxHash64.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import { HeldBlocks } from "../../rows/batchSize.js";
import { BINARY_TYPE, BOOL_TYPE, binaryColumn, byteValues, type FileColumnType } from "../indexColumns.js";
import { OpenIndexFile, writeIndexFile } from "../indexFile.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexParameters,
  IndexQuery,
  IndexSearchOptions,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  SearchEstimate,
  WrittenFiles,
  WrittenIndexFile,
} from "../kind.js";
import type { RowMoves } from "../moves.js";
import { counted } from "../sortedRows.js";
import { bitAt } from "../valueOrder.js";
import {
  MAX_ZONE_ROWS,
  readZones,
  rowCountOf,
  rowsOfZones,
  type Summary,
  summarise,
  withParameters,
  ZONE_COLUMNS,
  ZONE_ROWS,
  type Zone,
  zoneColumns,
  zoneRowsOf,
} from "./zones.js";

const FILE_NAME = "bloomfilter.lance";
const ROWS_KEY = "bloomfilter_item";
const PROBABILITY_KEY = "bloomfilter_probability";
const PROBABILITY = 0.00057;
const MAX_PROBABILITY = 0.5;

const BLOCK_WORDS = 8;
const BLOCK_BYTES = 4 * BLOCK_WORDS;
const MAX_FILTER_BYTES = 128 * 1024 * 1024;
/** Multipliers that select the bit of each word of a block. */
const SALTS = [
  0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31,
];

/** Approximate bytes and maximum number of filters in memory at once. */
const ROUND_BYTES = 4 * 1024 * 1024;
const ROUND_ZONES = 1024;

const COLUMNS: readonly FileColumnType[] = [
  ...ZONE_COLUMNS,
  { name: "has_null", type: BOOL_TYPE },
  { name: "bloom_filter_data", type: BINARY_TYPE },
];

const build = async (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => [
  await write(rows, [], target),
];

const merge = async (
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> => [
  await write(rows, old as readonly OldSegment<BloomSearch>[], withParameters(old, target)),
];

async function open(files: IndexFiles): Promise<OpenIndex> {
  const file: OpenIndexFile = await OpenIndexFile.open(files, FILE_NAME, COLUMNS);
  const probability = Number(file.text(PROBABILITY_KEY) ?? PROBABILITY);
  const parameters = {
    rowsPerZone: file.count(ROWS_KEY, ZONE_ROWS, MAX_ZONE_ROWS),
    // The probability matters only for new filters.
    ...(probability > 0 && probability <= MAX_PROBABILITY && { [PROBABILITY_KEY]: probability }),
  };
  const zones = await readZones(file);
  const nulls = await file.column("has_null");
  if (nulls.kind !== "bits" || nulls.validity !== null) file.fail("has_null holds nulls");
  const { bits, bitOffset } = nulls;
  const hasNull = zones.map((_, zone) => bitAt(bits, bitOffset + zone) === 1);
  return new BloomSearch(files, file, parameters, zones, hasNull);
}

/** Returns the bytes of a filter for a number of values: a power of two. */
export function filterBytes(valueCount: number, probability: number): number {
  const bits = (-BLOCK_WORDS * valueCount) / Math.log(1 - probability ** (1 / BLOCK_WORDS));
  const bytes = Math.min(Math.max(bits / 8, BLOCK_BYTES), MAX_FILTER_BYTES);
  return 2 ** Math.ceil(Math.log2(bytes));
}

/** Returns the index of the block's first word. */
const blockOf = (high: number, blockCount: number): number =>
  Math.floor((high * blockCount) / 2 ** 32) * BLOCK_WORDS;

const bitFor = (low: number, word: number): number => 1 << (Math.imul(low, SALTS[word]) >>> 27);

function insert(words: Int32Array, { high, low }: XxHash64): void {
  const block = blockOf(high, words.length / BLOCK_WORDS);
  for (let word = 0; word < BLOCK_WORDS; word++) words[block + word] |= bitFor(low, word);
}

function mayHold(view: DataView, { high, low }: Pick<XxHash64, "high" | "low">): boolean {
  const block = blockOf(high, view.byteLength / BLOCK_BYTES);
  for (let word = 0; word < BLOCK_WORDS; word++) {
    if ((view.getUint32(4 * (block + word), true) & bitFor(low, word)) === 0) return false;
  }
  return true;
}

/** Hashes the values that are not null. @param use is called with each row right after its hash */
function hashValues(column: Column, hash: XxHash64, use: (row: number) => void): void {
  const { length, validity } = column;
  const one = new Uint8Array(1);
  for (let row = 0; row < length; row++) {
    if (!isValid(validity, row)) continue;
    switch (column.kind) {
      case "fixed":
        hash.hash(column.values, row * column.byteWidth, (row + 1) * column.byteWidth);
        break;
      case "bits":
        one[0] = bitAt(column.bits, column.bitOffset + row);
        hash.hash(one, 0, 1);
        break;
      case "variable":
        hash.hash(column.bytes, Number(column.offsets[row]), Number(column.offsets[row + 1]));
        break;
      default:
        throw new InternalError(`values of a column of kind ${column.kind} have no hash`);
    }
    use(row);
  }
}

/** Complete filters, not yet written. */
interface FilterRows {
  readonly zones: Zone[];
  readonly hasNull: boolean[];
  readonly filters: Uint8Array[];
}

async function write(
  rows: RowStream,
  old: readonly OldSegment<BloomSearch>[],
  target: IndexTarget,
): Promise<WrittenIndexFile> {
  const zoneRows = zoneRowsOf(target.parameters);
  const probability = probabilityOf(target.parameters);
  const batches = async function* (): AsyncGenerator<InputBatch> {
    for (const { index, moves } of old) {
      for await (const kept of index.kept(moves, target.signal)) yield batchOf(kept);
    }
    const filters = new Filters(filterBytes(zoneRows, probability));
    for await (const _ of summarise(counted(rows, target), zoneRows, filters)) {
      if (filters.byteLength >= ROUND_BYTES) yield batchOf(filters.take());
    }
    const last = filters.take();
    if (last.zones.length > 0) yield batchOf(last);
  };
  return writeIndexFile(target, FILE_NAME, COLUMNS, batches(), (file) => {
    file.addMetadata(ROWS_KEY, String(zoneRows));
    file.addMetadata(PROBABILITY_KEY, String(probability));
  });
}

/** @throws InvalidInputError */
function probabilityOf(parameters: Readonly<Record<string, unknown>>): number {
  const probability = parameters[PROBABILITY_KEY] ?? PROBABILITY;
  if (typeof probability === "number" && probability > 0 && probability <= MAX_PROBABILITY)
    return probability;
  throw new InvalidInputError(
    `${PROBABILITY_KEY} is ${String(probability)}, not above 0 and at most ${MAX_PROBABILITY}`,
  );
}

function batchOf({ zones, hasNull, filters }: FilterRows): InputBatch {
  const bits = new Uint8Array((zones.length + 7) >>> 3);
  for (const [zone, has] of hasNull.entries()) if (has) bits[zone >>> 3] |= 1 << (zone & 7);
  const nulls: Column = { kind: "bits", length: zones.length, validity: null, bits, bitOffset: 0 };
  return { columns: [...zoneColumns(zones), nulls, binaryColumn(filters)], rowCount: zones.length };
}

/** Builds the filters. */
class Filters implements Summary {
  readonly #hash = new XxHash64();
  #words: Int32Array;
  #hasNull = false;
  #complete: FilterRows = { zones: [], hasNull: [], filters: [] };

  constructor(private readonly filterBytes: number) {
    this.#words = new Int32Array(filterBytes / 4);
  }

  /** Bytes of the complete filters. */
  get byteLength(): number {
    return this.#complete.zones.length * this.filterBytes;
  }

  add(values: Column): void {
    this.#hasNull ||= values.validity !== null;
    hashValues(values, this.#hash, () => insert(this.#words, this.#hash));
  }

  finish(zone: Zone): void {
    const filter = new Uint8Array(this.filterBytes);
    const view = new DataView(filter.buffer);
    for (const [word, bits] of this.#words.entries()) view.setInt32(4 * word, bits, true);
    this.#complete.zones.push(zone);
    this.#complete.hasNull.push(this.#hasNull);
    this.#complete.filters.push(filter);
    this.#words = new Int32Array(this.filterBytes / 4);
    this.#hasNull = false;
  }

  /** Returns the complete filters and forgets them. */
  take(): FilterRows {
    const complete = this.#complete;
    this.#complete = { zones: [], hasNull: [], filters: [] };
    return complete;
  }
}

class BloomSearch implements OpenIndex {
  readonly kind = "BLOOMFILTER";
  readonly memoryWeight: number;

  constructor(
    private readonly files: IndexFiles,
    private readonly file: OpenIndexFile,
    readonly parameters: IndexParameters,
    private readonly zones: readonly Zone[],
    private readonly hasNull: readonly boolean[],
  ) {
    this.memoryWeight = 1024 + 72 * zones.length + file.metadata.memoryWeight;
  }

  answers(query: IndexQuery): boolean {
    return query.kind === "in" || query.kind === "isNull";
  }

  estimate(query: IndexQuery): SearchEstimate {
    if (query.kind === "isNull") {
      return { rows: rowCountOf(this.zones.filter((_, zone) => this.hasNull[zone])), bytes: 0 };
    }
    const rows = rowCountOf(this.zones);
    // Assume one zone per value; only the filters know which.
    const values = query.kind === "in" ? query.values.length : 0;
    const zoneShare = this.zones.length === 0 ? 0 : Math.min(1, values / this.zones.length);
    return { rows: Math.ceil(rows * zoneShare), bytes: this.file.byteLength(["bloom_filter_data"]) };
  }

  async search(query: IndexQuery, { signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    let zones: Zone[];
    if (query.kind === "isNull") zones = this.zones.filter((_, zone) => this.hasNull[zone]);
    else if (query.kind === "in") zones = await this.#zonesWith(query.values, signal);
    else throw new InternalError(`a Bloom filter cannot answer a query of kind ${query.kind}`);
    return { rows: rowsOfZones(zones), nulls: null, isExact: false };
  }

  async #zonesWith(values: Column, signal?: AbortSignal): Promise<Zone[]> {
    const hashes: Pick<XxHash64, "high" | "low">[] = [];
    const hash = new XxHash64();
    hashValues(values, hash, () => hashes.push({ high: hash.high, low: hash.low }));
    const matches: Zone[] = [];
    for await (const { first, filters } of this.#rounds(signal)) {
      for (const [index, { buffer, byteOffset, byteLength }] of filters.entries()) {
        const view = new DataView(buffer, byteOffset, byteLength);
        if (hashes.some((each) => mayHold(view, each))) matches.push(this.zones[first + index]);
        await yieldToEventLoop();
      }
    }
    return matches;
  }

  /** Yields the zones and filters of unchanged fragments. */
  async *kept(moves: RowMoves | null, signal?: AbortSignal): AsyncGenerator<FilterRows> {
    for await (const { first, filters } of this.#rounds(signal)) {
      const kept = [...filters.keys()].filter(
        (index) => moves === null || moves.keepsFragment(this.zones[first + index].fragmentId),
      );
      if (kept.length === 0) continue;
      yield {
        zones: kept.map((index) => this.zones[first + index]),
        hasNull: kept.map((index) => this.hasNull[first + index]),
        filters: kept.map((index) => filters[index]),
      };
    }
  }

  /** Reads all filters, some at a time. */
  async *#rounds(signal?: AbortSignal): AsyncGenerator<{ first: number; filters: Uint8Array[] }> {
    const count = this.zones.length;
    const meanBytes = count === 0 ? 1 : this.file.byteLength(["bloom_filter_data"]) / count;
    const step = Math.max(1, Math.min(ROUND_ZONES, Math.floor(ROUND_BYTES / Math.max(meanBytes, 1))));
    for (let first = 0; first < count; first += step) {
      signal?.throwIfAborted();
      yield { first, filters: await this.#filters(first, Math.min(count, first + step), signal) };
    }
  }

  async #filters(start: number, end: number, signal?: AbortSignal): Promise<Uint8Array[]> {
    const { parts } = this.files;
    const key = `${this.file.cacheKey}filters|${start}`;
    let column = parts.peek(key) as Column | undefined;
    if (column === undefined) {
      [column] = await this.file.spans("bloom_filter_data", [{ start, end }], signal);
      parts.set(key, column, new HeldBlocks([column]).bytes);
    }
    if (column.kind !== "variable" || column.validity !== null) this.file.fail("a zone has no filter");
    const filters = byteValues(column);
    for (const [index, { length }] of filters.entries())
      if (length === 0 || length % BLOCK_BYTES !== 0)
        this.file.fail(`the filter of zone ${start + index} has ${length} bytes`);
    return filters;
  }
}

export const BLOOMFILTER_FILES: KindFiles = { build, merge, open };
