/**
 * NGRAM: the set of texts with each trigram (trigrams.ts). One file:
 *
 *     ngram_postings.lance  tokens        u32, nullable: number of the trigram; 0 for null rows
 *                           posting_list  binary: row set as a treemap (rowIds.ts)
 *
 * A text that contains another has all its trigrams, but not the reverse, so the caller rechecks the rows.
 */

import { isValid } from "../../arrow/columns/validity.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { enlarged } from "../../bytes/growing.js";
import { InternalError } from "../../errors.js";
import { withSortProgress } from "../buildProgress.js";
import { BINARY_TYPE, integerWords, UINT32, uint32Column, uint64Column } from "../indexColumns.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexQuery,
  IndexRows,
  IndexSearchOptions,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  SearchEstimate,
  WrittenFiles,
} from "../kind.js";
import { queryValues } from "../queryValues.js";
import { RowIds } from "../rowIds.js";
import { counted } from "../sortedRows.js";
import { BitmapFile, type SetFileForm, writeSets } from "./bitmapFile.js";
import { TrigramFinder, trigramsWithin } from "./trigrams.js";
import { groupRows } from "./valueGroups.js";

/** Token of null rows. */
const NULL_TOKEN = 0;
/** Pairs of trigram and row per batch. */
const BATCH_PAIRS = 65_536;

const FORM: SetFileForm = {
  fileName: "ngram_postings.lance",
  keys: "tokens",
  sets: { name: "posting_list", type: BINARY_TYPE },
  encode: (rows) => rows.encodeTreemap(),
  decode: (bytes, origin) => RowIds.decodeTreemap(bytes, origin),
};

const build = (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => merge([], rows, target);

async function merge(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const before = old.map(({ index, moves }) => (index as NgramSearch).file.groups(moves, target.signal));
  const sorting = withSortProgress(target);
  const added = groupRows(sorting.sort(trigramRows(counted(rows, sorting)), UINT32), UINT32);
  return [await writeSets(target, FORM, UINT32, [...before, added])];
}

const open = async (files: IndexFiles): Promise<OpenIndex> =>
  new NgramSearch(await BitmapFile.open(files, FORM, UINT32));

/** Yields a row per trigram and text. */
async function* trigramRows(rows: RowStream): RowStream {
  const finder = new TrigramFinder();
  let pairs = new Pairs();
  for await (const { values, ids, rowCount } of rows) {
    const words = integerWords(ids, "rows of an index");
    if (values.kind !== "null" && values.kind !== "variable")
      throw new InternalError(`a column of kind ${values.kind} cannot hold text`);
    for (let row = 0; row < rowCount; row++) {
      const add = (token: number): void => pairs.add(token, words[2 * row], words[2 * row + 1]);
      if (values.kind === "null" || !isValid(values.validity, row)) add(NULL_TOKEN);
      else finder.find(values.bytes, Number(values.offsets[row]), Number(values.offsets[row + 1]), add);
      if (pairs.count >= BATCH_PAIRS) {
        yield pairs.rows();
        pairs = new Pairs();
        await yieldToEventLoop();
      }
    }
  }
  if (pairs.count > 0) yield pairs.rows();
}

/** Growing batch of pairs of trigram and row. */
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

  constructor(readonly file: BitmapFile) {}

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

  /** Returns the file rows of each trigram of the query. */
  #setsOf(query: IndexQuery): Uint32Array[] {
    const text = textOf(query);
    if (text === null) throw new InternalError(`trigrams cannot answer a query of kind ${query.kind}`);
    const tokens = uint32Column(Uint32Array.from(trigramsWithin(text)));
    const wanted = queryValues(UINT32, { kind: "in", values: tokens });
    return wanted.kind === "points" ? this.file.rowsOfEach(wanted) : [];
  }
}

/** Returns the text that every match contains. */
function textOf(query: IndexQuery): string | null {
  if (query.kind === "contains") return query.text;
  return query.kind === "startsWith" ? query.prefix : null;
}

export const NGRAM_FILES: KindFiles = { build, merge, open };
