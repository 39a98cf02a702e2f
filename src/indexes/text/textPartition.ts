/**
 * A partition of an index of words: its documents, which have numbers of their own, its tokens, and the documents of
 * each token.
 *
 *     part_<id>_docs.lance    _rowid u64, _num_tokens u32                      row: a document
 *     part_<id>_tokens.lance  _token utf8, _token_id u32                       sorted by the bytes of tokens; or
 *                             _token_fst_bytes large_binary, …                 one row: a transducer (tokenFst.ts)
 *     part_<id>_invert.lance  the documents of each token (postingFile.ts)
 */

import type { Column, StructColumn, VariableColumn } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { Pace, runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import { compareBytes } from "../../bytes/compare.js";
import { enlarged } from "../../bytes/growing.js";
import { firstIndex } from "../../bytes/search.js";
import {
  integerWords,
  LARGE_BINARY_TYPE,
  OpenIndexFile,
  TEXT_TYPE,
  UINT32,
  UINT64_TYPE,
  uint32Column,
} from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import { DocumentIds, type DocumentTable, findIdRuns, type IdRuns } from "./documentIds.js";
import { FormerPostings } from "./formerPostings.js";
import type { PostingForm, Postings } from "./postingBlocks.js";
import { byteValues, type PositionLayout, type PostingFile, StoredPostings } from "./postingFile.js";
import type { PostingList } from "./postingList.js";
import { TokenFst, walkTokenFst } from "./tokenFst.js";
import { lettersOfTokens, type TokenLetters } from "./tokenLetters.js";

export interface PartitionForm extends PostingForm {
  readonly tokens: "fst" | "arrow";
  readonly positions: PositionLayout;
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
  token(position: number): Uint8Array;
  id(position: number): number;
  /** The place of the first token that does not come before some bytes. */
  lowerBound(bytes: Uint8Array): number;
}

/** The documents of a token, and where it is in each. */
export interface TokenPostings extends Postings {
  /** The positions of all documents, one document after the other; null where they were not asked for. */
  readonly positions: Uint32Array | null;
}

export const partitionFiles = (id: string) => ({
  docs: `part_${id}_docs.lance`,
  tokens: `part_${id}_tokens.lance`,
  invert: `part_${id}_invert.lance`,
});

/** Files of the only partition of an index that LanceDB before 0.21 wrote. */
export const FORMER_FILES = { docs: "docs.lance", tokens: "tokens.lance", invert: "invert.lance" } as const;

export class TextPartition {
  readonly #files: IndexFiles;
  readonly #docs: OpenIndexFile;
  readonly #tokens: OpenIndexFile;
  readonly #tokenFormat: PartitionForm["tokens"];
  readonly #postings: PostingFile;
  /** Whether it knows where in texts the tokens are. */
  readonly hasPositions: boolean;
  #totalTokens: number | null = null;
  /** Undefined until they were looked for. */
  #idRuns: IdRuns | null | undefined;
  /** Whether the order of the tokens was looked at. */
  #isSorted = false;

  private constructor(
    files: IndexFiles,
    { docs, tokens }: PartitionHead,
    tokenFormat: PartitionForm["tokens"],
    postings: PostingFile,
    hasPositions: boolean,
  ) {
    this.#files = files;
    this.#docs = docs;
    this.#tokens = tokens;
    this.#tokenFormat = tokenFormat;
    this.#postings = postings;
    this.hasPositions = hasPositions;
  }

  /** @throws UnsupportedError for files that are laid out in another way; CorruptFileError */
  static async open(files: IndexFiles, id: string, form: PartitionForm): Promise<TextPartition> {
    const names = partitionFiles(id);
    const { tokens, positions } = form;
    const head = await openHead(files, names, tokens);
    const { rowCount } = head.docs;
    const postings = await StoredPostings.open(files, names.invert, form, positions, rowCount);
    return new TextPartition(files, head, tokens, postings, positions !== null);
  }

  /**
   * Opens the partition that {@link FORMER_FILES} are.
   * @throws UnsupportedError for files that are laid out in another way; CorruptFileError
   */
  static async openFormer(files: IndexFiles): Promise<TextPartition> {
    const head = await openHead(files, FORMER_FILES, "arrow");
    const { docs, tokens } = head;
    const documents = (): Promise<DocumentTable> => readDocuments(files, docs);
    const postings = await FormerPostings.open(files, FORMER_FILES.invert, tokens.rowCount, documents);
    return new TextPartition(files, head, "arrow", postings, postings.hasPositions);
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

  documents(signal?: AbortSignal): Promise<DocumentTable> {
    return readDocuments(this.#files, this.#docs, signal);
  }

  /** Finds the ids of {@link documents}. */
  async documentIds({ ids }: DocumentTable): Promise<DocumentIds> {
    if (this.#idRuns === undefined) this.#idRuns = await runAsync(findIdRuns(ids));
    return new DocumentIds(ids, this.#idRuns);
  }

  /** Finds tokens without a look at all others, as {@link tokens} has: where these are damaged, some may not be found. */
  async finder(signal?: AbortSignal): Promise<TokenFinder> {
    if (this.#tokenFormat !== "fst") return this.#table(signal);
    const fst = new TokenFst(await this.#fstBytes(signal), this.#tokens.path);
    this.#checkTokenCount(fst.keyCount);
    const find = (token: Uint8Array): number => {
      const id = fst.find(token);
      if (id >= this.#postings.tokenCount) this.#tokens.fail(`has a token with the id ${id}`);
      return id;
    };
    return { find };
  }

  async tokens(signal?: AbortSignal): Promise<TokenTable> {
    const table = await this.#table(signal);
    if (!this.#isSorted) await runAsync(table.checkOrder(this.#tokens));
    this.#isSorted = true;
    return table;
  }

  async #table(signal: AbortSignal | undefined): Promise<SortedTokens> {
    const [texts, ids] = await keptColumns(this.#files, this.#tokens, async () => {
      if (this.#tokenFormat === "fst") return this.#walkFst(signal);
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
      const { bits, places, starts } = await runAsync(lettersOfTokens(table));
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
    const [bytes] = byteValues(part as Column);
    return bytes ?? this.#tokens.fail("holds no map of tokens");
  }

  async #walkFst(signal: AbortSignal | undefined): Promise<Column[]> {
    const bytes = await this.#fstBytes(signal);
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
    await runAsync(walkTokenFst(bytes, this.#tokens.path, add));
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
      if (pace.isStep()) await yieldToEventLoop();
    }
    const missing = ids.filter((id) => !found.has(id));
    const read = missing.length === 0 ? [] : await this.#postings.lists(missing, withPositions, signal);
    for (const [index, id] of missing.entries()) {
      const list = read[index];
      parts.set(this.#listKey(id, withPositions), list, list.memoryWeight);
      found.set(id, list);
      if (pace.isStep()) await yieldToEventLoop();
    }
    return Array.from(ids, (id) => found.get(id) as PostingList);
  }

  /** Keeps lists in memory as large as a search has made them: what is kept of a list grows with those that come to it. */
  async keep(ids: Uint32Array, lists: readonly PostingList[], withPositions: boolean): Promise<void> {
    const pace = new Pace(STEP_LISTS);
    for (const [index, list] of lists.entries()) {
      this.#files.parts.set(this.#listKey(ids[index], withPositions), list, list.memoryWeight);
      if (pace.isStep()) await yieldToEventLoop();
    }
  }

  #listKey(id: number, withPositions: boolean): string {
    return `${this.#postings.cacheKey}${withPositions ? "positions" : "list"}|${id}`;
  }

  /** The lists of all tokens, one by one, as a merge wants them. */
  async *allPostings(signal?: AbortSignal): AsyncGenerator<{ id: number; postings: TokenPostings }> {
    const STEP = 256;
    const withPosition = this.hasPositions;
    const { tokenCount } = this.#postings;
    for (let start = 0; start < tokenCount; start += STEP) {
      const count = Math.min(STEP, tokenCount - start);
      const ids = Uint32Array.from({ length: count }, (_, index) => start + index);
      for (const [index, list] of (await this.#postings.lists(ids, withPosition, signal)).entries()) {
        const { documents, frequencies } = list.all();
        const positions = withPosition ? list.allPositions(frequencies) : null;
        yield { id: start + index, postings: { documents, frequencies, positions } };
      }
    }
  }

  #checkTokenCount(count: number): void {
    if (count === this.#postings.tokenCount) return;
    this.#tokens.fail(`has ${count} tokens, and postings for ${this.#postings.tokenCount}`);
  }

  #checkIds(ids: Uint32Array): void {
    for (const id of ids)
      if (id >= this.#postings.tokenCount) this.#tokens.fail(`has a token with the id ${id}`);
  }
}

/** The files of a partition that are open before its postings. */
interface PartitionHead {
  readonly docs: OpenIndexFile;
  readonly tokens: OpenIndexFile;
}

async function openHead(
  files: IndexFiles,
  names: { readonly docs: string; readonly tokens: string },
  tokenFormat: PartitionForm["tokens"],
): Promise<PartitionHead> {
  const docs = await OpenIndexFile.open(files, names.docs, [
    { name: "_rowid", type: UINT64_TYPE },
    { name: "_num_tokens", type: UINT32 },
  ]);
  const tokens = await OpenIndexFile.open(
    files,
    names.tokens,
    tokenFormat === "fst"
      ? [{ name: "_token_fst_bytes", type: LARGE_BINARY_TYPE }]
      : [
          { name: "_token", type: TEXT_TYPE },
          { name: "_token_id", type: UINT32 },
        ],
  );
  return { docs, tokens };
}

async function readDocuments(
  files: IndexFiles,
  docs: OpenIndexFile,
  signal?: AbortSignal,
): Promise<DocumentTable> {
  const table = await keptColumns(files, docs, async () => [
    await docs.column("_rowid", signal),
    await docs.column("_num_tokens", signal),
  ]);
  return {
    ids: integerWords(table[0], docs.path),
    lengths: integerWords(table[1], docs.path),
    count: docs.rowCount,
  };
}

/** Columns of a file that are kept in memory together. */
async function keptColumns(
  files: IndexFiles,
  file: OpenIndexFile,
  load: () => Promise<Column[]>,
): Promise<readonly Column[]> {
  const part = await files.parts.get(`${file.cacheKey}columns`, async () => {
    const children = await load();
    const value: StructColumn = { kind: "struct", length: file.rowCount, validity: null, children };
    return { value, weight: 128 + children.reduce((sum, column) => sum + weightOf(column), 0) };
  });
  return (part as StructColumn).children;
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

  token(position: number): Uint8Array {
    const { bytes, offsets } = this.#texts;
    return bytes.subarray(offsetAt(offsets, position), offsetAt(offsets, position + 1));
  }

  id(position: number): number {
    return this.#ids[position];
  }

  find(token: Uint8Array): number {
    const position = this.lowerBound(token);
    return position < this.count && compareBytes(this.token(position), token) === 0
      ? this.#ids[position]
      : -1;
  }

  /** Checks that the tokens ascend by their bytes, without an object for each. @throws CorruptFileError */
  *checkOrder(file: OpenIndexFile): Steps<void> {
    const { bytes } = this.#texts;
    const pace = new Pace(STEP_TOKENS);
    let start = this.#start(0);
    let middle = this.#start(1);
    for (let position = 1; position < this.count; position++) {
      const end = this.#start(position + 1);
      const most = Math.min(middle - start, end - middle);
      let offset = 0;
      while (offset < most && bytes[start + offset] === bytes[middle + offset]) offset++;
      const isBefore =
        offset < most ? bytes[start + offset] < bytes[middle + offset] : middle - start < end - middle;
      if (!isBefore) file.fail("its tokens do not ascend");
      start = middle;
      middle = end;
      if (pace.isStep()) yield;
    }
  }

  #start(position: number): number {
    return offsetAt(this.#texts.offsets, position);
  }

  lowerBound(bytes: Uint8Array): number {
    return firstIndex(0, this.count, (position) => compareBytes(this.token(position), bytes) >= 0);
  }
}
