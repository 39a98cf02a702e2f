/**
 * NGRAM: the set of texts with each trigram (trigrams.ts). One file:
 *
 *     ngram_postings.lance  tokens        u32, nullable: number of the trigram; 0 for rows of null
 *                           posting_list  binary: the set of rows, as a treemap (rowIds.ts)
 *
 * A text that holds another has all its trigrams; the reverse need not be, so the rows found have to be looked at.
 */

import type { Column } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isValid } from "../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { enlarged } from "../../bytes/growing.js";
import { InternalError } from "../../errors.js";
import { askedValues } from "../askedValues.js";
import { BINARY_TYPE, integerWords, UINT32, uint32Column, uint64Column } from "../indexFile.js";
import type {
  IndexAnswer,
  IndexKind,
  IndexQuery,
  IndexRows,
  IndexSearchOptions,
  OpenIndex,
  SearchEstimate,
} from "../kind.js";
import { RowIds } from "../rowIds.js";
import { counted } from "../sortedRows.js";
import { BitmapFile, type SetFileForm, writeSets } from "./bitmapFile.js";
import { TrigramFinder, trigramsWithin } from "./trigrams.js";
import { groupRows, mergeGroups } from "./valueGroups.js";

/** Stands for null. */
const NULL_TOKEN = 0;
/** Pairs of trigram and row that are handed on at once. */
const BATCH_PAIRS = 65_536;

const FORM: SetFileForm = {
  fileName: "ngram_postings.lance",
  keys: "tokens",
  sets: { name: "posting_list", type: BINARY_TYPE },
  encode: (rows) => rows.encodeTreemap(),
  decode: (bytes, origin) => RowIds.decodeTreemap(bytes, origin),
};

export const NGRAM: IndexKind = {
  name: "NGRAM",
  typeUrl: "/lance.table.NGramIndexDetails",
  indexVersion: 0,
  maxIndexVersion: 0,
  knowsPlaces: false,
  refusal: ({ type }) => (type.kind === "string" ? null : "is of a type other than text"),

  async build(rows, target) {
    const sorted = target.sort(trigramRows(counted(rows, target)), UINT32);
    return [await writeSets(target, FORM, UINT32, groupRows(sorted, UINT32))];
  },

  async merge(old, moves, rows, target) {
    const before = old.map((index) => (index as NgramSearch).file.groups(moves, target.signal));
    const added = groupRows(target.sort(trigramRows(counted(rows, target)), UINT32), UINT32);
    return [await writeSets(target, FORM, UINT32, mergeGroups([...before, added], UINT32))];
  },

  open: async (files) => new NgramSearch(await BitmapFile.open(files, FORM, UINT32)),
};

/** A row for each trigram of each text. */
async function* trigramRows(rows: AsyncIterable<IndexRows>): AsyncGenerator<IndexRows, void, undefined> {
  const finder = new TrigramFinder();
  let pairs = new Pairs();
  for await (const { values, ids, rowCount } of rows) {
    const words = integerWords(ids, "rows of an index");
    const textAt = textsOf(values);
    for (let row = 0; row < rowCount; row++) {
      const add = (token: number): void => pairs.add(token, words[2 * row], words[2 * row + 1]);
      const text = textAt(row);
      if (text === null) add(NULL_TOKEN);
      else finder.find(text.bytes, text.start, text.end, add);
      if (pairs.count >= BATCH_PAIRS) {
        yield pairs.rows();
        pairs = new Pairs();
        await yieldToEventLoop();
      }
    }
  }
  if (pairs.count > 0) yield pairs.rows();
}

interface TextPlace {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Where the text of a row lies; null for a null. */
function textsOf(column: Column): (row: number) => TextPlace | null {
  if (column.kind === "null") return () => null;
  if (column.kind !== "variable") throw new InternalError(`text in a column of kind ${column.kind}`);
  const { validity, offsets, bytes } = column;
  const offsetAt = areNarrow(offsets) ? (row: number) => offsets[row] : (row: number) => Number(offsets[row]);
  return (row) => (isValid(validity, row) ? { bytes, start: offsetAt(row), end: offsetAt(row + 1) } : null);
}

/** Pairs of a trigram and a row. */
class Pairs {
  count = 0;
  #tokens = new Uint32Array(BATCH_PAIRS);
  #ids = new Uint32Array(2 * BATCH_PAIRS);

  add(token: number, low: number, high: number): void {
    // One text may have more trigrams than a batch has room for.
    if (this.count === this.#tokens.length) {
      this.#tokens = enlarged(this.#tokens);
      this.#ids = enlarged(this.#ids);
    }
    this.#tokens[this.count] = token;
    this.#ids[2 * this.count] = low;
    this.#ids[2 * this.count + 1] = high;
    this.count++;
  }

  rows(): IndexRows {
    return {
      values: uint32Column(this.#tokens.subarray(0, this.count)),
      ids: uint64Column(this.#ids.subarray(0, 2 * this.count)),
      rowCount: this.count,
    };
  }
}

class NgramSearch implements OpenIndex {
  readonly kind = "NGRAM";
  readonly file: BitmapFile;

  constructor(file: BitmapFile) {
    this.file = file;
  }

  get memoryWeight(): number {
    return this.file.memoryWeight;
  }

  answers(query: IndexQuery): boolean {
    const text = textOf(query);
    return text !== null && trigramsWithin(text).length > 0;
  }

  estimate(query: IndexQuery): SearchEstimate {
    const wanted = this.#setsOf(query);
    const bytes = wanted.reduce((sum, rows) => sum + rows.length * this.file.setBytes, 0);
    const isSome = wanted.length > 0 && wanted.every((rows) => rows.length > 0);
    return { rows: isSome ? Math.ceil(this.file.setBytes / 2) : 0, bytes: Math.ceil(bytes) };
  }

  async search(query: IndexQuery, { signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    const wanted = this.#setsOf(query);
    let rows: RowIds | null = wanted.some((ofToken) => ofToken.length === 0) ? RowIds.none : null;
    for (const ofToken of wanted) {
      if (rows?.size === 0) break;
      const holding = await this.file.union(ofToken, signal);
      rows = rows === null ? holding : rows.intersect(holding);
    }
    return { rows: rows ?? RowIds.none, nulls: null, isExact: false };
  }

  /** For each trigram, the rows of the file that have it. */
  #setsOf(query: IndexQuery): Uint32Array[] {
    const text = textOf(query);
    if (text === null) throw new InternalError(`a query of kind ${query.kind} asked of trigrams`);
    const tokens = uint32Column(Uint32Array.from(trigramsWithin(text)));
    const asked = askedValues(UINT32, { kind: "in", values: tokens });
    return asked.kind === "points" ? this.file.rowsOfEach(asked) : [];
  }
}

/** What every text that is looked for holds. */
function textOf(query: IndexQuery): string | null {
  if (query.kind === "contains") return query.text;
  return query.kind === "startsWith" ? query.prefix : null;
}
