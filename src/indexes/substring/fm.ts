/**
 * FM: finds the texts, or bytes, that hold a text. Files: part_<number>_fm.lance, each with some documents
 * (suffixFile.ts). A document is the value of a row that is not null, in which bytes of 0 and 255 are spaces.
 * The caller rechecks the rows, because a space in a query may meet such a byte.
 */

import { isValid } from "../../arrow/columns/validity.js";
import { runAsync } from "../../async/eventLoop.js";
import { enlarged, NumberList } from "../../bytes/growing.js";
import { InternalError } from "../../errors.js";
import { integerWords } from "../indexColumns.js";
import type {
  IndexAnswer,
  IndexFiles,
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
import { RowIds } from "../rowIds.js";
import { counted } from "../sortedRows.js";
import { SuffixFile, writeSuffixFile } from "./suffixFile.js";
import { DOCUMENT_END, SPACE, SuffixIndex } from "./suffixIndex.js";

/** Maximum documents of a file, as in LanceDB. */
const MAX_DOCUMENTS = 10_000;
/** Bytes of documents after which a file ends. */
const MAX_BYTES = 4 * 1024 * 1024;
const FILE_NAME = /^part_(\d{1,19})_fm\.lance$/;
/** Rows are expected to be rarer by this factor for each byte of the text. */
const RARER = 8;

const build = (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => merge([], rows, target);

async function merge(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const writer = new FileWriter(target);
  for (const { index, moves } of old)
    for (const file of (index as SubstringSearch).files) await writer.addFile(file, moves);
  for await (const { values, ids } of counted(rows, target)) {
    if (values.kind === "null") continue;
    if (values.kind !== "variable")
      throw new InternalError(`a column of kind ${values.kind} cannot hold text`);
    const words = integerWords(ids, "rows of an index");
    for (let row = 0; row < values.length; row++) {
      if (!isValid(values.validity, row)) continue;
      const [start, end] = [Number(values.offsets[row]), Number(values.offsets[row + 1])];
      await writer.add(values.bytes.subarray(start, end), words[2 * row], words[2 * row + 1]);
    }
  }
  return writer.finish();
}

async function open(files: IndexFiles): Promise<OpenIndex> {
  const names = (await files.names()).filter((name) => FILE_NAME.test(name));
  return new SubstringSearch(await Promise.all(names.map((name) => SuffixFile.open(files, name))));
}

/** Writes files of documents. */
class FileWriter {
  readonly #written: WrittenIndexFile[] = [];
  #text = new Uint8Array(4096);
  #length = 0;
  #starts = new NumberList();
  #addresses = new NumberList();

  constructor(private readonly target: IndexTarget) {}

  async add(bytes: Uint8Array, low: number, high: number): Promise<void> {
    const room = this.#length + bytes.length + 2;
    if (room > this.#text.length) this.#text = enlarged(this.#text, room);
    this.#starts.push(this.#length);
    this.#addresses.push(low);
    this.#addresses.push(high);
    for (const byte of bytes) this.#text[this.#length++] = byte === 0 || byte === DOCUMENT_END ? SPACE : byte;
    this.#text[this.#length++] = DOCUMENT_END;
    if (this.#starts.length >= MAX_DOCUMENTS || this.#length >= MAX_BYTES) await this.#end();
  }

  /** Adds the documents of a file whose rows remain. */
  async addFile(file: SuffixFile, moves: RowMoves | null): Promise<void> {
    const { starts, addresses } = file.documents;
    const keeps = keptBy(moves);
    const rows = Array.from(starts, (_, row) => row);
    if (isFull(file) && rows.every((row) => keeps(addresses[2 * row + 1]))) {
      this.#written.push(await file.copy(this.target, this.#nextName()));
      return;
    }
    const text = await file.text(this.target.signal);
    for (const row of rows) {
      // A separator follows each document, and one more byte follows the last.
      const end = (starts[row + 1] ?? text.length - 1) - 1;
      const [low, high] = [addresses[2 * row], addresses[2 * row + 1]];
      if (keeps(high)) await this.add(text.subarray(starts[row], end), low, high);
    }
  }

  async finish(): Promise<WrittenIndexFile[]> {
    if (this.#starts.length > 0 || this.#written.length === 0) await this.#end();
    return this.#written;
  }

  #nextName(): string {
    return `part_${this.#written.length}_fm.lance`;
  }

  async #end(): Promise<void> {
    // The byte after the last document may still be one of earlier documents.
    const length = this.#length === 0 ? 0 : this.#length + 1;
    if (length > 0) this.#text[length - 1] = 0;
    const documents = { starts: this.#starts.numbers, addresses: this.#addresses.numbers };
    const steps = SuffixIndex.build(this.#text.subarray(0, length), documents);
    const index = await runAsync(steps, this.target.signal);
    this.#written.push(await writeSuffixFile(this.target, this.#nextName(), index));
    this.#length = 0;
    this.#starts = new NumberList();
    this.#addresses = new NumberList();
  }
}

/** True if a file is at least half as large as a file can be. Smaller ones are joined. */
const isFull = ({ documents: { starts } }: SuffixFile): boolean =>
  2 * starts.length >= MAX_DOCUMENTS || 2 * (starts.at(-1) ?? 0) >= MAX_BYTES;

/** Tells if rows whose addresses have a high word stay, and remembers the answers. */
function keptBy(moves: RowMoves | null): (high: number) => boolean {
  const answers = new Map<number, boolean>();
  return (high) => {
    const answer = answers.get(high) ?? moves?.keepsFragment(high) ?? true;
    answers.set(high, answer);
    return answer;
  };
}

class SubstringSearch implements OpenIndex {
  readonly kind = "FM";

  constructor(readonly files: readonly SuffixFile[]) {}

  get memoryWeight(): number {
    return this.files.reduce((sum, { memoryWeight }) => sum + memoryWeight, 1024);
  }

  answers(query: IndexQuery): boolean {
    return query.kind === "contains" && query.text !== "" && !query.text.includes("\0");
  }

  estimate(query: IndexQuery): SearchEstimate {
    const length = textOf(query).length;
    const rows = this.files.reduce((sum, { documents }) => sum + documents.starts.length, 0);
    const bytes = this.files.reduce((sum, { missingBytes }) => sum + missingBytes, 0);
    return { rows: Math.ceil(rows / RARER ** Math.min(length, 8)), bytes };
  }

  async search(query: IndexQuery, { signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    const text = textOf(query);
    let rows = RowIds.none;
    for (const file of this.files) {
      const { addresses } = file.documents;
      const index = await file.index(signal);
      const documents = await runAsync(index.find(text), signal);
      rows = rows.union(RowIds.of(documents === null ? addresses : addressesOf(addresses, documents)));
    }
    return { rows, nulls: null, isExact: false };
  }
}

const addressesOf = (addresses: Uint32Array, documents: Uint32Array): Uint32Array =>
  Uint32Array.from(
    { length: 2 * documents.length },
    (_, index) => addresses[2 * documents[index >>> 1] + (index & 1)],
  );

function textOf(query: IndexQuery): Uint8Array {
  if (query.kind !== "contains")
    throw new InternalError(`suffixes cannot answer a query of kind ${query.kind}`);
  return new TextEncoder().encode(query.text);
}

export const FM_FILES: KindFiles = { build, merge, open };
