/**
 * A partition of an index of words: its documents, which have numbers of their own, its tokens, and the documents of
 * each token.
 *
 *     part_<id>_docs.lance    _rowid u64, _num_tokens u32                      row: a document
 *     part_<id>_tokens.lance  _token utf8, _token_id u32                       sorted by the bytes of tokens; or
 *                             _token_fst_bytes large_binary, …                 one row: a transducer (tokenFst.ts)
 *     part_<id>_invert.lance  _posting list<large_binary>, _max_score f32,     row: a token, by its id
 *                             _length u32, number of its documents
 *                             _compressed_position large_binary, _position_block_offset list<u32>, with positions
 */

import type { Column, StructColumn, VariableColumn } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { breathe, goThrough, Pace, type Steps } from "../../async/eventLoop.js";
import { compareBytes } from "../../bytes/compare.js";
import { InternalError } from "../../errors.js";
import {
  integerWords,
  LARGE_BINARY_TYPE,
  LIST_TYPE,
  OpenIndexFile,
  TEXT_TYPE,
  UINT32,
  UINT64_TYPE,
  uint32Column,
} from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import { DocumentIds, findIdRuns, type IdRuns } from "./documentIds.js";
import type { PostingForm, Postings } from "./postingBlocks.js";
import { type PackedPositions, PostingList } from "./postingList.js";
import { TokenFst, walkTokenFst } from "./tokenFst.js";
import { lettersOfTokens, type TokenLetters } from "./tokenLetters.js";

export interface PartitionForm extends PostingForm {
  readonly tokens: "fst" | "arrow";
  readonly withPosition: boolean;
}

/** The documents of a partition. */
export interface DocumentTable {
  /** Row ids, as pairs of words: low, high. */
  readonly ids: Uint32Array;
  /** Tokens of each document. */
  readonly lengths: Uint32Array;
  readonly count: number;
}

/** Finds single tokens of a partition. */
export interface TokenFinder {
  /** The id of a token, by its bytes; -1 where there is none. */
  find(token: Uint8Array): number;
}

/** The tokens of a partition, by their bytes. */
export interface TokenTable extends TokenFinder {
  readonly count: number;
  /** The bytes of the token at a place; good as long as the table. */
  token(place: number): Uint8Array;
  id(place: number): number;
  /** The place of the first token that does not come before some bytes. */
  lowerBound(bytes: Uint8Array): number;
}

/** The documents of a token, and where it is in each. */
export interface TokenPostings extends Postings {
  /** The positions of all documents, one document after the other; null where they were not asked for. */
  readonly positions: Uint32Array | null;
}

const LIST_COLUMNS = ["_length", "_posting"];
const POSITION_COLUMNS = ["_compressed_position", "_position_block_offset"];

export const partitionFiles = (id: string) => ({
  docs: `part_${id}_docs.lance`,
  tokens: `part_${id}_tokens.lance`,
  invert: `part_${id}_invert.lance`,
});

export class TextPartition {
  readonly #files: IndexFiles;
  readonly #form: PartitionForm;
  readonly #docs: OpenIndexFile;
  readonly #tokens: OpenIndexFile;
  readonly #invert: OpenIndexFile;
  #totalTokens: number | null = null;
  /** Undefined until they were looked for. */
  #idRuns: IdRuns | null | undefined;
  /** Whether the order of the tokens was looked at. */
  #isSorted = false;

  private constructor(
    files: IndexFiles,
    form: PartitionForm,
    docs: OpenIndexFile,
    tokens: OpenIndexFile,
    invert: OpenIndexFile,
  ) {
    this.#files = files;
    this.#form = form;
    this.#docs = docs;
    this.#tokens = tokens;
    this.#invert = invert;
  }

  static async open(files: IndexFiles, id: string, form: PartitionForm): Promise<TextPartition> {
    const names = partitionFiles(id);
    const docs = await OpenIndexFile.open(files, names.docs, [
      { name: "_rowid", type: UINT64_TYPE },
      { name: "_num_tokens", type: UINT32 },
    ]);
    const tokens = await OpenIndexFile.open(
      files,
      names.tokens,
      form.tokens === "fst"
        ? [{ name: "_token_fst_bytes", type: LARGE_BINARY_TYPE }]
        : [
            { name: "_token", type: TEXT_TYPE },
            { name: "_token_id", type: UINT32 },
          ],
    );
    const invert = await OpenIndexFile.open(files, names.invert, [
      { name: "_posting", type: LIST_TYPE },
      { name: "_length", type: UINT32 },
      ...(form.withPosition
        ? [
            { name: "_compressed_position", type: LARGE_BINARY_TYPE },
            { name: "_position_block_offset", type: LIST_TYPE },
          ]
        : []),
    ]);
    return new TextPartition(files, form, docs, tokens, invert);
  }

  get documentCount(): number {
    return this.#docs.rowCount;
  }

  /** Tokens of all documents. */
  async totalTokens(signal?: AbortSignal): Promise<number> {
    if (this.#totalTokens === null) {
      const { lengths } = await this.documents(signal);
      let total = 0;
      for (let document = 0; document < lengths.length; document++) total += lengths[document];
      this.#totalTokens = total;
    }
    return this.#totalTokens;
  }

  async documents(signal?: AbortSignal): Promise<DocumentTable> {
    const table = await this.#part(this.#docs, async () => [
      await this.#docs.column("_rowid", signal),
      await this.#docs.column("_num_tokens", signal),
    ]);
    return {
      ids: integerWords(table[0], this.#docs.path),
      lengths: integerWords(table[1], this.#docs.path),
      count: this.#docs.rowCount,
    };
  }

  /** Finds the ids of {@link documents}. */
  async documentIds({ ids }: DocumentTable): Promise<DocumentIds> {
    if (this.#idRuns === undefined) this.#idRuns = await goThrough(findIdRuns(ids));
    return new DocumentIds(ids, this.#idRuns);
  }

  /** Finds tokens without a look at all others, as {@link tokens} has: where these are damaged, some may not be found. */
  async finder(signal?: AbortSignal): Promise<TokenFinder> {
    if (this.#form.tokens !== "fst") return this.#table(signal);
    const fst = new TokenFst(await this.#fstBytes(signal), this.#tokens.path);
    this.#checkTokenCount(fst.keyCount);
    const find = (token: Uint8Array): number => {
      const id = fst.find(token);
      if (id >= this.#invert.rowCount) this.#tokens.fail(`has a token with the id ${id}`);
      return id;
    };
    return { find };
  }

  async tokens(signal?: AbortSignal): Promise<TokenTable> {
    const table = await this.#table(signal);
    if (!this.#isSorted) await goThrough(table.checkOrder(this.#tokens));
    this.#isSorted = true;
    return table;
  }

  async #table(signal: AbortSignal | undefined): Promise<SortedTokens> {
    const [texts, ids] = await this.#part(this.#tokens, async () => {
      if (this.#form.tokens === "fst") return this.#walkFst(signal);
      return [await this.#tokens.column("_token", signal), await this.#tokens.column("_token_id", signal)];
    });
    const words = integerWords(ids, this.#tokens.path);
    this.#checkTokenCount(words.length);
    if (texts.kind !== "variable") return this.#tokens.fail(`tokens in a column of kind ${texts.kind}`);
    return new SortedTokens(texts, words);
  }

  /** The letters of the tokens of {@link tokens}; they are kept in memory. */
  async letters(table: TokenTable): Promise<TokenLetters> {
    const part = await this.#files.parts.get(`${this.#tokens.cacheKey}letters`, async () => {
      const { bits, places, starts } = await goThrough(lettersOfTokens(table));
      const children = [bits, places, starts].map(uint32Column);
      const value: StructColumn = { kind: "struct", length: table.count, validity: null, children };
      return { value, weight: 128 + children.reduce((sum, column) => sum + weightOf(column), 0) };
    });
    const { path } = this.#tokens;
    const [bits, places, starts] = (part as StructColumn).children.map((column) =>
      integerWords(column, path),
    );
    return { bits, places, starts };
  }

  /** The map of tokens; it is kept in memory. */
  async #fstBytes(signal: AbortSignal | undefined): Promise<Uint8Array> {
    const part = await this.#files.parts.get(`${this.#tokens.cacheKey}map`, async () => {
      const value = await this.#tokens.column("_token_fst_bytes", signal);
      return { value, weight: 128 + weightOf(value) };
    });
    const [bytes] = bytesOf(part as Column);
    return bytes ?? this.#tokens.fail("holds no map of tokens");
  }

  async #walkFst(signal: AbortSignal | undefined): Promise<Column[]> {
    const bytes = await this.#fstBytes(signal);
    let all = new Uint8Array(4096);
    const ends: number[] = [0];
    const ids: number[] = [];
    const add = (key: Uint8Array, value: number): void => {
      const start = ends[ends.length - 1];
      if (start + key.length > all.length) {
        const grown = new Uint8Array(Math.max(2 * all.length, start + key.length));
        grown.set(all);
        all = grown;
      }
      all.set(key, start);
      ends.push(start + key.length);
      ids.push(value);
    };
    await goThrough(walkTokenFst(bytes, this.#tokens.path, add));
    const texts: VariableColumn = {
      kind: "variable",
      length: ids.length,
      validity: null,
      offsets: Int32Array.from(ends),
      bytes: all.slice(0, ends[ends.length - 1]),
    };
    return [texts, uint32Column(Uint32Array.from(ids))];
  }

  /**
   * The documents of some tokens, still packed. What was read lately is kept in memory.
   * @param ids ascending and each once
   */
  async lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]> {
    this.#checkIds(ids);
    const { parts } = this.#files;
    const pace = new Pace(STEP_LISTS);
    const found = new Map<number, PostingList>();
    for (const id of ids) {
      const list = parts.peek(this.#listKey(id, withPositions));
      if (list !== undefined) found.set(id, list as PostingList);
      if (pace.isStep()) await breathe();
    }
    const missing = ids.filter((id) => !found.has(id));
    const read = missing.length === 0 ? [] : await this.#readLists(missing, withPositions, signal);
    for (const [index, id] of missing.entries()) {
      const list = this.#listOf(read[index], withPositions);
      parts.set(this.#listKey(id, withPositions), list, list.memoryWeight);
      found.set(id, list);
      if (pace.isStep()) await breathe();
    }
    return Array.from(ids, (id) => found.get(id) as PostingList);
  }

  /** Keeps lists in memory as large as a search has made them: what is kept of a list grows with those that come to it. */
  async keep(ids: Uint32Array, lists: readonly PostingList[], withPositions: boolean): Promise<void> {
    const pace = new Pace(STEP_LISTS);
    for (const [index, list] of lists.entries()) {
      this.#files.parts.set(this.#listKey(ids[index], withPositions), list, list.memoryWeight);
      if (pace.isStep()) await breathe();
    }
  }

  #listKey(id: number, withPositions: boolean): string {
    return `${this.#invert.cacheKey}${withPositions ? "positions" : "list"}|${id}`;
  }

  /** Rows of the file of postings: each a struct of one row. */
  async #readLists(
    ids: Uint32Array,
    withPositions: boolean,
    signal: AbortSignal | undefined,
  ): Promise<StructColumn[]> {
    const names = withPositions ? [...LIST_COLUMNS, ...POSITION_COLUMNS] : LIST_COLUMNS;
    const columns: Column[] = [];
    for (const name of names) columns.push(await this.#invert.take(name, ids, signal));
    const pace = new Pace(STEP_LISTS);
    const rows: StructColumn[] = [];
    for (let row = 0; row < ids.length; row++) {
      // Of many rows read at once, one that is kept would keep all.
      const children = columns.map((column) => takeColumn(column, Uint32Array.of(row)));
      rows.push({ kind: "struct", length: 1, validity: null, children });
      if (pace.isStep()) await breathe();
    }
    return rows;
  }

  #listOf({ children }: StructColumn, withPositions: boolean): PostingList {
    const { path } = this.#invert;
    const [{ items, start, end }] = listsOf(children[1], path);
    return new PostingList({
      blocks: bytesOf(items, start, end),
      count: integerWords(children[0], path)[0],
      documentCount: this.documentCount,
      form: this.#form,
      positions: withPositions ? packedPositions(children[2], children[3], path) : null,
      path,
    });
  }

  /** Rows of the file of postings, batch by batch, as a merge wants them. */
  async *allPostings(signal?: AbortSignal): AsyncGenerator<{ id: number; postings: TokenPostings }> {
    const STEP = 256;
    const { withPosition } = this.#form;
    for (let start = 0; start < this.#invert.rowCount; start += STEP) {
      const count = Math.min(STEP, this.#invert.rowCount - start);
      const ids = Uint32Array.from({ length: count }, (_, index) => start + index);
      const rows = await this.#readLists(ids, withPosition, signal);
      for (const [index, row] of rows.entries()) {
        const list = this.#listOf(row, withPosition);
        const { documents, frequencies } = list.all();
        const positions = withPosition ? list.allPositions(frequencies) : null;
        yield { id: start + index, postings: { documents, frequencies, positions } };
      }
    }
  }

  #checkTokenCount(count: number): void {
    if (count === this.#invert.rowCount) return;
    this.#tokens.fail(`has ${count} tokens, and postings for ${this.#invert.rowCount}`);
  }

  #checkIds(ids: Uint32Array): void {
    for (const id of ids) if (id >= this.#invert.rowCount) this.#tokens.fail(`has a token with the id ${id}`);
  }

  /** Columns of a file that are kept in memory together. */
  async #part(file: OpenIndexFile, load: () => Promise<Column[]>): Promise<readonly Column[]> {
    const part = await this.#files.parts.get(`${file.cacheKey}columns`, async () => {
      const children = await load();
      const value: StructColumn = { kind: "struct", length: file.rowCount, validity: null, children };
      return { value, weight: 128 + children.reduce((sum, column) => sum + weightOf(column), 0) };
    });
    return (part as StructColumn).children;
  }
}

/** Tokens between two looks at the clock. */
const STEP_TOKENS = 1024;
/** Lists between two looks at the clock. */
const STEP_LISTS = 128;
const weightOf = (column: Column): number => {
  if (column.kind === "fixed") return column.values.byteLength;
  return column.kind === "variable" ? column.bytes.byteLength + column.offsets.byteLength : 0;
};

const offsetAt = (offsets: Int32Array | BigInt64Array, index: number): number =>
  areNarrow(offsets) ? offsets[index] : Number(offsets[index]);

function bytesOf(column: Column, start = 0, end = column.length): Uint8Array[] {
  if (column.kind === "null" && column.length === 0) return [];
  if (column.kind !== "variable") throw new InternalError(`bytes in a column of kind ${column.kind}`);
  const { offsets, bytes } = column;
  return Array.from({ length: end - start }, (_, index) =>
    bytes.subarray(offsetAt(offsets, start + index), offsetAt(offsets, start + index + 1)),
  );
}

function listsOf(column: Column, path: string): { items: Column; start: number; end: number }[] {
  if (column.kind !== "list") throw new InternalError(`${path}: lists in a column of kind ${column.kind}`);
  const { offsets, items, length } = column;
  return Array.from({ length }, (_, row) => ({
    items,
    start: offsetAt(offsets, row),
    end: offsetAt(offsets, row + 1),
  }));
}

function packedPositions(bytes: Column, offsets: Column, path: string): PackedPositions {
  const [{ items, start, end }] = listsOf(offsets, path);
  return { bytes: bytesOf(bytes)[0], offsets: integerWords(items, path).subarray(start, end) };
}

class SortedTokens implements TokenTable {
  readonly #texts: VariableColumn;
  readonly #ids: Uint32Array;

  constructor(texts: VariableColumn, ids: Uint32Array) {
    this.#texts = texts;
    this.#ids = ids;
  }

  get count(): number {
    return this.#ids.length;
  }

  token(place: number): Uint8Array {
    const { bytes, offsets } = this.#texts;
    return bytes.subarray(offsetAt(offsets, place), offsetAt(offsets, place + 1));
  }

  id(place: number): number {
    return this.#ids[place];
  }

  find(token: Uint8Array): number {
    const place = this.lowerBound(token);
    return place < this.count && compareBytes(this.token(place), token) === 0 ? this.#ids[place] : -1;
  }

  /** Checks that the tokens ascend by their bytes, without an object for each. @throws CorruptFileError */
  *checkOrder(file: OpenIndexFile): Steps<void> {
    const { bytes } = this.#texts;
    const pace = new Pace(STEP_TOKENS);
    let start = this.#start(0);
    let middle = this.#start(1);
    for (let place = 1; place < this.count; place++) {
      const end = this.#start(place + 1);
      const most = Math.min(middle - start, end - middle);
      let at = 0;
      while (at < most && bytes[start + at] === bytes[middle + at]) at++;
      const isBefore = at < most ? bytes[start + at] < bytes[middle + at] : middle - start < end - middle;
      if (!isBefore) file.fail("its tokens do not ascend");
      start = middle;
      middle = end;
      if (pace.isStep()) yield;
    }
  }

  #start(place: number): number {
    return offsetAt(this.#texts.offsets, place);
  }

  lowerBound(bytes: Uint8Array): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareBytes(this.token(middle), bytes) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
