/**
 * A partition of a full-text index: its documents, numbered from 0, its tokens, and their posting lists.
 *
 *     part_<id>_docs.lance    _rowid u64, _num_tokens u32         row: a document
 *                             metadata: tiltyard_id_runs, ours    consecutive row ids (documentIds.ts)
 *     part_<id>_tokens.lance  _token utf8, _token_id u32          sorted by token bytes; or
 *                             _token_fst_bytes large_binary, …    one row: a transducer (tokenFst.ts)
 *     part_<id>_invert.lance  posting lists (postingFile.ts)
 */

import type { Column, StructColumn, VariableColumn } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { Pace, runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import { bothOf } from "../../async/parallel.js";
import { compareBytes, compareRanges } from "../../bytes/compare.js";
import { enlarged } from "../../bytes/growing.js";
import { firstIndex } from "../../bytes/search.js";
import {
  byteValues,
  type FileColumnType,
  integerWords,
  LARGE_BINARY_TYPE,
  TEXT_TYPE,
  UINT32,
  UINT64_TYPE,
  uint32Column,
} from "../indexColumns.js";
import { OpenIndexFile } from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import { DocumentIds, type DocumentTable, findIdRuns, type IdRuns, parseIdRuns } from "./documentIds.js";
import { LegacyPostings } from "./legacyPostings.js";
import type { PostingForm, Postings } from "./postingBlocks.js";
import { openPostings, type PositionLayout, type PostingFile } from "./postingFile.js";
import type { PostingList } from "./postingList.js";
import { TokenFst } from "./tokenFst.js";
import { lettersOfTokens, type TokenLetters } from "./tokenLetters.js";

export interface PartitionForm extends PostingForm {
  readonly tokens: "fst" | "arrow";
  readonly positions: PositionLayout;
}

/** Tokens of a partition, sorted by bytes. */
export type TokenTable = Pick<SortedTokens, "count" | "token" | "id" | "find" | "lowerBound">;

/** Documents of a token and its positions. */
export interface TokenPostings extends Postings {
  /** Positions, document by document; null if not requested. */
  readonly positions: Uint32Array | null;
}

export const partitionFiles = (id: string) => ({
  docs: `part_${id}_docs.lance`,
  tokens: `part_${id}_tokens.lance`,
  invert: `part_${id}_invert.lance`,
});

export const DOCUMENT_COLUMNS: readonly FileColumnType[] = [
  { name: "_rowid", type: UINT64_TYPE },
  { name: "_num_tokens", type: UINT32 },
];
/** Metadata of a file of documents: runs of consecutive row ids (documentIds.ts). Other engines ignore it. */
export const ID_RUNS = "tiltyard_id_runs";
export const TOKEN_COLUMNS: readonly FileColumnType[] = [
  { name: "_token", type: TEXT_TYPE },
  { name: "_token_id", type: UINT32 },
];

/** Files of the only partition of an index of LanceDB before 0.21. */
export const LEGACY_FILES = { docs: "docs.lance", tokens: "tokens.lance", invert: "invert.lance" } as const;

export class TextPartition {
  #totalTokens: number | null = null;
  /** Undefined until searched for. */
  #idRuns: IdRuns | null | undefined;
  /** Undefined until parsed. */
  #stated: IdRuns | null | undefined;
  /** True once the order of the tokens is checked. */
  #isSorted = false;
  #singleIdSearches = 0;

  private constructor(
    private readonly files: IndexFiles,
    private readonly docs: OpenIndexFile,
    private readonly tokenFile: OpenIndexFile,
    private readonly tokenFormat: PartitionForm["tokens"],
    private readonly postings: PostingFile,
    /** True if the index stores token positions. */
    readonly hasPositions: boolean,
  ) {}

  /** @throws UnsupportedError for another layout; CorruptFileError */
  static async open(files: IndexFiles, id: string, form: PartitionForm): Promise<TextPartition> {
    const names = partitionFiles(id);
    const { tokens: format, positions } = form;
    const [{ docs, tokens }, openedPostings] = await bothOf(
      openHead(files, names, format),
      openPostings(files, names.invert, form, positions),
    );
    const postings = openedPostings(docs.rowCount);
    return new TextPartition(files, docs, tokens, format, postings, positions !== null);
  }

  /** Opens {@link LEGACY_FILES}. @throws UnsupportedError for another layout; CorruptFileError */
  static async openLegacy(files: IndexFiles): Promise<TextPartition> {
    const { docs, tokens } = await openHead(files, LEGACY_FILES, "arrow");
    const documents = (): Promise<DocumentTable> => readDocuments(docs);
    const postings = await LegacyPostings.open(files, LEGACY_FILES.invert, tokens.rowCount, documents);
    return new TextPartition(files, docs, tokens, "arrow", postings, postings.hasPositions);
  }

  get documentCount(): number {
    return this.docs.rowCount;
  }

  /** Paths of the files. */
  get paths(): Readonly<Record<keyof ReturnType<typeof partitionFiles>, string>> {
    return { docs: this.docs.path, tokens: this.tokenFile.path, invert: this.postings.path };
  }

  /** Returns the number of tokens of all documents. */
  async totalTokens(signal?: AbortSignal): Promise<number> {
    if (this.#totalTokens === null) {
      const lengths = await this.lengths(signal);
      let total = 0;
      for (let document = 0; document < lengths.length; document++) total += lengths[document];
      this.#totalTokens = total;
    }
    return this.#totalTokens;
  }

  documents(signal?: AbortSignal): Promise<DocumentTable> {
    return readDocuments(this.docs, signal);
  }

  /** Returns the number of tokens of each document. */
  lengths(signal?: AbortSignal): Promise<Uint32Array> {
    return documentNumbers(this.docs, "_num_tokens", signal);
  }

  /** Reads the row ids of some documents, as pairs of words. @param documents ascending and distinct */
  async idsOf(documents: Uint32Array, signal?: AbortSignal): Promise<Uint32Array> {
    return integerWords(await this.docs.take("_rowid", documents, signal), this.docs.path);
  }

  /** True if a search should look up single row ids: the file is large, and few searches came before. */
  get prefersSingleIds(): boolean {
    const { docs } = this;
    if (docs.metadata.content !== null || this.#statedRuns() !== null) return false;
    if (this.#singleIdSearches >= SINGLE_ID_SEARCHES) return false;
    return this.files.parts.peek(documentsKey(docs, "_rowid")) === undefined;
  }

  /** Counts a search that has looked up single row ids. */
  noteSingleIds(): void {
    this.#singleIdSearches++;
  }

  /** Returns a look-up of the row ids of {@link documents}. */
  async documentIds(signal?: AbortSignal): Promise<DocumentIds> {
    const stated = this.#statedRuns();
    if (stated !== null) return new DocumentIds(NO_IDS, stated);
    const ids = await documentNumbers(this.docs, "_rowid", signal);
    if (this.#idRuns === undefined) this.#idRuns = await runAsync(findIdRuns(ids));
    return new DocumentIds(ids, this.#idRuns);
  }

  /** Returns the runs of row ids that the file states; null if it states none. */
  #statedRuns(): IdRuns | null {
    if (this.#stated !== undefined) return this.#stated;
    const { docs } = this;
    // Another engine might copy the text to a file with other ids. It would not write our checksums.
    const text = docs.metadata.checksums === null ? null : docs.text(ID_RUNS);
    this.#stated = text === null ? null : parseIdRuns(text, docs.rowCount);
    return this.#stated;
  }

  /** Returns a finder of tokens. Unlike {@link tokens}, it may miss tokens of a corrupt file. */
  async finder(signal?: AbortSignal): Promise<Pick<TokenTable, "find">> {
    if (this.tokenFormat !== "fst") return this.#table(signal);
    const fst = new TokenFst(await this.#fstBytes(signal), this.tokenFile.path);
    this.#checkTokenCount(fst.keyCount);
    const find = (token: Uint8Array): number => {
      const id = fst.find(token);
      this.#checkId(id);
      return id;
    };
    return { find };
  }

  async tokens(signal?: AbortSignal): Promise<TokenTable> {
    const table = await this.#table(signal);
    if (!this.#isSorted) await runAsync(table.checkOrder(this.tokenFile));
    this.#isSorted = true;
    return table;
  }

  async #table(signal: AbortSignal | undefined): Promise<SortedTokens> {
    const [texts, ids] = await cachedColumns(this.files, `${this.tokenFile.cacheKey}columns`, async () => {
      // Other searches share what is read here, so it goes on when this one is aborted.
      if (this.tokenFormat === "fst") return this.#walkFst();
      return bothOf(this.tokenFile.column("_token"), this.tokenFile.column("_token_id"));
    });
    signal?.throwIfAborted();
    const words = integerWords(ids, this.tokenFile.path);
    this.#checkTokenCount(words.length);
    if (texts.kind !== "variable") return this.tokenFile.fail(`tokens in a column of kind ${texts.kind}`);
    return new SortedTokens(texts, words);
  }

  /** Returns the letters of {@link tokens} from the cache. */
  async letters(table: TokenTable): Promise<TokenLetters> {
    const columns = await cachedColumns(this.files, `${this.tokenFile.cacheKey}letters`, async () => {
      const { bits, tokenIndices, starts } = await runAsync(lettersOfTokens(table));
      return [bits, tokenIndices, starts].map(uint32Column);
    });
    const [bits, tokenIndices, starts] = columns.map((column) => integerWords(column, this.tokenFile.path));
    return { bits, tokenIndices, starts };
  }

  /** Returns the transducer from the cache. */
  async #fstBytes(signal?: AbortSignal): Promise<Uint8Array> {
    const { cacheKey, rowCount } = this.tokenFile;
    const span = { start: 0, end: rowCount };
    const column = await this.tokenFile.cachedSpan(`${cacheKey}map`, "_token_fst_bytes", span, signal);
    return byteValues(column)[0] ?? this.tokenFile.fail("the file has no token transducer");
  }

  async #walkFst(): Promise<Column[]> {
    const bytes = await this.#fstBytes();
    let all = new Uint8Array(4096);
    const ends: number[] = [0];
    const ids: number[] = [];
    const add = (key: Uint8Array, value: number): void => {
      const start = ends[ends.length - 1];
      if (start + key.length > all.length) all = enlarged(all, start + key.length);
      all.set(key, start);
      ends.push(start + key.length);
      ids.push(value);
    };
    await runAsync(new TokenFst(bytes, this.tokenFile.path).walk(add));
    const texts: VariableColumn = {
      kind: "variable",
      length: ids.length,
      validity: null,
      offsets: Int32Array.from(ends),
      bytes: all.slice(0, ends[ends.length - 1]),
    };
    return [texts, uint32Column(Uint32Array.from(ids))];
  }

  /** Returns packed posting lists through the cache. @param ids ascending and distinct */
  async lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]> {
    for (const id of ids) this.#checkId(id);
    const { parts } = this.files;
    const pace = new Pace(STEP_LISTS);
    const lists = new Map<number, PostingList>();
    for (const id of ids) {
      const list = parts.peek(this.#listKey(id, withPositions));
      if (list !== undefined) lists.set(id, list as PostingList);
      if (pace.isStep()) await yieldToEventLoop();
    }
    const missing = ids.filter((id) => !lists.has(id));
    const read = missing.length === 0 ? [] : await this.postings.lists(missing, withPositions, signal);
    for (const [index, id] of missing.entries()) {
      const list = read[index];
      parts.set(this.#listKey(id, withPositions), list, list.memoryWeight);
      lists.set(id, list);
      if (pace.isStep()) await yieldToEventLoop();
    }
    return Array.from(ids, (id) => lists.get(id) as PostingList);
  }

  /** Updates the cache weights of lists, which grow as searches unpack blocks. */
  async keep(ids: Uint32Array, lists: readonly PostingList[], withPositions: boolean): Promise<void> {
    const pace = new Pace(STEP_LISTS);
    for (const [index, list] of lists.entries()) {
      this.files.parts.set(this.#listKey(ids[index], withPositions), list, list.memoryWeight);
      if (pace.isStep()) await yieldToEventLoop();
    }
  }

  #listKey(id: number, withPositions: boolean): string {
    return `${this.postings.cacheKey}${withPositions ? "positions" : "list"}|${id}`;
  }

  /** Reads the lists of all tokens in turn, for a merge. */
  async *allPostings(signal?: AbortSignal): AsyncGenerator<{ id: number; postings: TokenPostings }> {
    const STEP = 256;
    const withPosition = this.hasPositions;
    const { tokenCount } = this.postings;
    for (let start = 0; start < tokenCount; start += STEP) {
      const count = Math.min(STEP, tokenCount - start);
      const ids = Uint32Array.from({ length: count }, (_, index) => start + index);
      for (const [index, list] of (await this.postings.lists(ids, withPosition, signal)).entries()) {
        const { documents, frequencies } = list.all();
        const positions = withPosition ? list.allPositions(frequencies) : null;
        yield { id: start + index, postings: { documents, frequencies, positions } };
      }
    }
  }

  #checkTokenCount(count: number): void {
    if (count === this.postings.tokenCount) return;
    this.tokenFile.fail(`the file has ${count} tokens, but the postings have ${this.postings.tokenCount}`);
  }

  #checkId(id: number): void {
    if (id >= this.postings.tokenCount) this.tokenFile.fail(`a token has the id ${id}, which does not exist`);
  }
}

/** Opens the files of a partition without its postings. */
async function openHead(
  files: IndexFiles,
  names: { readonly docs: string; readonly tokens: string },
  tokenFormat: PartitionForm["tokens"],
): Promise<{ readonly docs: OpenIndexFile; readonly tokens: OpenIndexFile }> {
  const fstColumns = [{ name: "_token_fst_bytes", type: LARGE_BINARY_TYPE }];
  const [docs, tokens] = await bothOf(
    OpenIndexFile.open(files, names.docs, DOCUMENT_COLUMNS),
    OpenIndexFile.open(files, names.tokens, tokenFormat === "fst" ? fstColumns : TOKEN_COLUMNS),
  );
  return { docs, tokens };
}

async function readDocuments(docs: OpenIndexFile, signal?: AbortSignal): Promise<DocumentTable> {
  const [ids, lengths] = await bothOf(
    documentNumbers(docs, "_rowid", signal),
    documentNumbers(docs, "_num_tokens", signal),
  );
  return { ids, lengths, count: docs.rowCount };
}

/** Returns a column of the documents from the cache. */
async function documentNumbers(
  docs: OpenIndexFile,
  name: "_rowid" | "_num_tokens",
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const span = { start: 0, end: docs.rowCount };
  return integerWords(await docs.cachedSpan(documentsKey(docs, name), name, span, signal), docs.path);
}

const documentsKey = (docs: OpenIndexFile, name: string): string => `${docs.cacheKey}${name}`;

/** Returns columns that are cached together. */
async function cachedColumns(
  files: IndexFiles,
  key: string,
  load: () => Promise<Column[]>,
): Promise<readonly Column[]> {
  const part = await files.parts.get(key, async () => {
    const children = await load();
    const value: StructColumn = { kind: "struct", length: children[0].length, validity: null, children };
    return { value, weight: 128 + columnBytes(value) };
  });
  return (part as StructColumn).children;
}

const NO_IDS = new Uint32Array(0);
/** Searches of a partition that look up single row ids, before one reads all. */
const SINGLE_ID_SEARCHES = 2;
/** Tokens between yields. */
const STEP_TOKENS = 1024;
/** Lists between yields. */
const STEP_LISTS = 128;

class SortedTokens {
  constructor(
    private readonly texts: VariableColumn,
    private readonly ids: Uint32Array,
  ) {}

  get count(): number {
    return this.ids.length;
  }

  /** Returns the bytes of a token, valid as long as the table. */
  token(position: number): Uint8Array {
    return this.texts.bytes.subarray(this.#start(position), this.#start(position + 1));
  }

  id(position: number): number {
    return this.ids[position];
  }

  /** Returns the id of a token; -1 if absent. */
  find(token: Uint8Array): number {
    const position = this.lowerBound(token);
    const isFound = position < this.count && compareBytes(this.token(position), token) === 0;
    return isFound ? this.ids[position] : -1;
  }

  /** Checks that tokens ascend, without an object per token. @throws CorruptFileError */
  *checkOrder(file: OpenIndexFile): Steps<void> {
    const { bytes } = this.texts;
    const pace = new Pace(STEP_TOKENS);
    for (let position = 1; position < this.count; position++) {
      const middle = this.#start(position);
      const end = this.#start(position + 1);
      const order = compareRanges(bytes, this.#start(position - 1), middle, bytes, middle, end);
      if (order >= 0) file.fail("the tokens do not ascend");
      if (pace.isStep()) yield;
    }
  }

  #start(position: number): number {
    return Number(this.texts.offsets[position]);
  }

  /** Returns the index of the first token that is at least `bytes`. */
  lowerBound(bytes: Uint8Array): number {
    return firstIndex(0, this.count, (position) => compareBytes(this.token(position), bytes) >= 0);
  }
}
