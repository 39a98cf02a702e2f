/**
 * Reads the postings of LanceDB before 0.21, in indexes of one partition:
 *
 *     invert.lance  _rowid u64, _frequency f32      row: a document of a token, by token id
 *                   _position list<i32>             with positions
 *                   metadata: offsets, a JSON array with the first row of each token
 *
 * Documents appear as row ids. The reader converts lists to the present form.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { Pace, runAsync, type Steps } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { firstIndex } from "../../bytes/search.js";
import { UnsupportedError } from "../../errors.js";
import { FLOAT32_TYPE, integerWords, LIST_TYPE, UINT64_TYPE, uint32Column } from "../indexColumns.js";
import { OpenIndexFile } from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import type { DocumentTable } from "./documentIds.js";
import { type BlockedPositions, plainPositions } from "./positions.js";
import { PostingEncoder } from "./postingEncoder.js";
import type { PostingFile } from "./postingFile.js";
import { PostingList } from "./postingList.js";
import type { Corpus } from "./score.js";

/** Form of the converted lists. */
const FORM = { blockSize: 128, tail: "varint_delta_v1", withPosition: false } as const;
/** Bytes of metadata, or list entries, between yields. */
const STEP = 16_384;

/** Documents of a partition, sorted by id. */
interface LegacyDocuments extends DocumentTable {
  /** Documents in ascending order of their ids; null if they ascend already. */
  readonly order: Uint32Array | null;
  readonly corpus: Corpus;
}

export class LegacyPostings implements PostingFile {
  readonly hasPositions: boolean;

  private constructor(
    private readonly files: IndexFiles,
    private readonly file: OpenIndexFile,
    readonly tokenCount: number,
    private readonly documents: () => Promise<DocumentTable>,
  ) {
    this.hasPositions = file.has("_position");
  }

  /**
   * Opens the file.
   * @param tokenCount number of tokens of the partition
   * @throws UnsupportedError for another layout; CorruptFileError
   */
  static async open(
    files: IndexFiles,
    name: string,
    tokenCount: number,
    documents: () => Promise<DocumentTable>,
  ): Promise<LegacyPostings> {
    const file = await OpenIndexFile.open(files, name, [
      { name: "_rowid", type: UINT64_TYPE },
      { name: "_frequency", type: FLOAT32_TYPE },
      { name: "_position", type: LIST_TYPE, isOptional: true },
    ]);
    if (file.metadataBytes("offsets") === null) {
      throw new UnsupportedError(`${file.path} lacks the offsets of the posting lists`);
    }
    return new LegacyPostings(files, file, tokenCount, documents);
  }

  get path(): string {
    return this.file.path;
  }

  get cacheKey(): string {
    return this.file.cacheKey;
  }

  async lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]> {
    if (ids.length === 0) return [];
    const starts = await this.#cached("starts", () => this.#readStarts());
    const spans = Array.from(ids, (id) => ({ start: starts[id], end: starts[id + 1] }));
    const rows = await this.file.spans("_rowid", spans, signal);
    const frequencies = await this.file.spans("_frequency", spans, signal);
    const hasPositions = withPositions && this.hasPositions;
    const positions = hasPositions ? await this.file.spans("_position", spans, signal) : null;
    const documents = await this.#numbered();
    return runAsync(this.#listsOf(rows, frequencies, positions, documents));
  }

  *#listsOf(
    rows: readonly Column[],
    frequencies: readonly Column[],
    positions: readonly Column[] | null,
    documents: LegacyDocuments,
  ): Steps<PostingList[]> {
    const pace = new Pace(STEP);
    const lists: PostingList[] = [];
    for (const [index, column] of rows.entries()) {
      const ids = integerWords(column, this.file.path);
      const counts = floatsOf(frequencies[index]);
      const numbers = new Uint32Array(counts.length);
      let isAscending = true;
      for (let row = 0; row < counts.length; row++) {
        const document = numberOf(documents, ids[2 * row], ids[2 * row + 1]);
        if (document < 0) this.file.fail("a token names a document that does not exist");
        isAscending &&= row === 0 || numbers[row - 1] < document;
        numbers[row] = document;
        if (pace.isStep()) yield;
      }
      const entryRows = Uint32Array.from({ length: numbers.length }, (_, row) => row);
      if (!isAscending) entryRows.sort((a, b) => numbers[a] - numbers[b]);
      const entries = { numbers, rows: entryRows, counts };
      lists.push(yield* this.#listOf(entries, positions?.[index] ?? null, documents, pace));
    }
    return lists;
  }

  *#listOf(
    { numbers, rows, counts }: { numbers: Uint32Array; rows: Uint32Array; counts: Float32Array },
    positions: Column | null,
    documents: LegacyDocuments,
    pace: Pace,
  ): Steps<PostingList> {
    const count = rows.length;
    const sorted = new Uint32Array(count);
    const frequencies = new Uint32Array(count);
    for (let index = 0; index < count; index++) {
      sorted[index] = numbers[rows[index]];
      frequencies[index] = counts[rows[index]];
      if (index > 0 && sorted[index - 1] === sorted[index]) this.file.fail("a token lists a document twice");
      if (pace.isStep()) yield;
    }
    const encoder = new PostingEncoder(FORM, documents.corpus, documents.lengths);
    encoder.add(sorted, frequencies, count, null, 0);
    const { bytes, byteStarts: starts } = encoder.finish();
    const blocks = Array.from(starts.subarray(1), (end, block) => bytes.subarray(starts[block], end));
    return new PostingList({
      blocks,
      count,
      documentCount: documents.count,
      form: FORM,
      positions: positions === null ? null : yield* this.#positionsOf(positions, rows, frequencies, pace),
      path: this.file.path,
    });
  }

  *#positionsOf(
    column: Column,
    rows: Uint32Array,
    frequencies: Uint32Array,
    pace: Pace,
  ): Steps<BlockedPositions> {
    if (column.kind !== "list") return this.file.fail(`positions in a column of kind ${column.kind}`);
    const { offsets, items } = column;
    const all = items.length === 0 ? new Uint32Array(0) : integerWords(items, this.file.path);
    const starts = new Uint32Array(rows.length);
    for (const [index, row] of rows.entries()) {
      const start = Number(offsets[row]);
      if (Number(offsets[row + 1]) - start !== frequencies[index])
        this.file.fail("the number of positions in a document is not the frequency of the token");
      starts[index] = start;
      if (pace.isStep()) yield;
    }
    return plainPositions(all, starts, this.file.path);
  }

  /** Returns numbers from the cache. */
  async #cached(name: string, load: () => Steps<Uint32Array>): Promise<Uint32Array> {
    const part = await this.files.parts.get(`${this.cacheKey}${name}`, async () => {
      const words = await runAsync(load());
      return { value: uint32Column(words), weight: 128 + words.byteLength };
    });
    return integerWords(part as FixedColumn, this.file.path);
  }

  /** Returns the first row of each token, then the row count. */
  *#readStarts(): Steps<Uint32Array> {
    const text = this.file.metadataBytes("offsets") ?? new Uint8Array(0);
    const starts = new Uint32Array(this.tokenCount + 1);
    const pace = new Pace(STEP);
    let count = 0;
    let value = -1;
    for (const byte of text) {
      if (byte >= ZERO && byte <= ZERO + 9) {
        value = Math.max(value, 0) * 10 + byte - ZERO;
      } else if (value >= 0) {
        const last = count === 0 ? 0 : starts[count - 1];
        if (count >= this.tokenCount || value < last || value > this.file.rowCount) this.#failStarts();
        starts[count++] = value;
        value = -1;
      }
      if (pace.isStep()) yield;
    }
    if (count !== this.tokenCount || value >= 0 || (starts[0] !== 0 && count > 0)) this.#failStarts();
    starts[count] = this.file.rowCount;
    return starts;
  }

  #failStarts(): never {
    return this.file.fail(`the offsets of the posting lists do not match ${this.tokenCount} tokens`);
  }

  async #numbered(): Promise<LegacyDocuments> {
    const documents = await this.documents();
    const order = await this.#cached("order", () => orderOf(documents));
    let tokens = 0;
    for (const length of documents.lengths) tokens += length;
    const corpus = { documents: documents.count, tokens };
    return { ...documents, order: order.length === 0 ? null : order, corpus };
  }
}

const ZERO = 0x30;

function floatsOf(column: Column): Float32Array {
  if (column.kind !== "fixed" || column.byteWidth !== 4) return new Float32Array(0);
  const { buffer, byteOffset } = alignedBytes(column.values, 4);
  return new Float32Array(buffer, byteOffset, column.length);
}

const compareIds = (ids: Uint32Array, document: number, low: number, high: number): number =>
  ids[2 * document + 1] - high || ids[2 * document] - low;

/** Sorts the documents by id; empty if they ascend already. */
function* orderOf({ ids, count }: DocumentTable): Steps<Uint32Array> {
  const pace = new Pace(STEP);
  let isAscending = true;
  for (let document = 1; document < count && isAscending; document++) {
    isAscending = compareIds(ids, document - 1, ids[2 * document], ids[2 * document + 1]) < 0;
    if (pace.isStep()) yield;
  }
  if (isAscending) return new Uint32Array(0);
  const order = Uint32Array.from({ length: count }, (_, document) => document);
  return order.sort((a, b) => compareIds(ids, a, ids[2 * b], ids[2 * b + 1]) || a - b);
}

/** Returns the document with an id; -1 if none. */
function numberOf({ ids, order, count }: LegacyDocuments, low: number, high: number): number {
  const documentOf = (rank: number) => (order === null ? rank : order[rank]);
  const rank = firstIndex(0, count, (each) => compareIds(ids, documentOf(each), low, high) >= 0);
  if (rank === count) return -1;
  const document = documentOf(rank);
  return compareIds(ids, document, low, high) === 0 ? document : -1;
}
