/**
 * Writes a data file front to back. Each column gathers rows until they make a page. A page is encoded while
 * the disk writes the one before. Columns cut their pages independently of each other.
 *
 * Memory use depends on the size of a page, not of the file (waitingRows.ts).
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes, valueBytes } from "../../arrow/columns/columnBytes.js";
import { ColumnGatherer, isGatherable } from "../../arrow/columns/columnGatherer.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { withLeaf } from "../../arrow/columns/spine.js";
import { runAsync, runSync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { crc32 } from "../../bytes/crc32.js";
import { InternalError } from "../../errors.js";
import type { Schema } from "../../format/file.js";
import type { Disk } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { Arena, type Lender } from "../../io/memory/arena.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";
import type { MemoryShare } from "../../memory.js";
import { DESCRIPTOR_LAYOUT, DESCRIPTOR_ROW_LAYOUT } from "../blobs/descriptorLayouts.js";
import { compressionOptions } from "../compression/compressionOptions.js";
import type { PageRecord } from "../container/container.js";
import { FileAppender } from "../container/fileAppender.js";
import type { FileColumn, FileVersion } from "../container/page.js";
import { type BufferChecksum, encodeBlockTable } from "../container/pageChecksums.js";
import { encodeTail } from "../container/tailEncoder.js";
import { loadEncoders } from "../pages/encoders.js";
import { BlobWriter } from "./blobWriter.js";
import { holdColumn } from "./heldColumns.js";
import {
  encodeInThread,
  encodePageInput,
  isForThreads,
  type LentOutput,
  type PageInput,
  type PageOutput,
  ROOM_SHARE,
} from "./pageEncoding.js";
import {
  endCopies,
  nothingWaiting,
  rowsWithin,
  sharedDictionary,
  type WaitingRows,
  withDictionaryOf,
} from "./waitingRows.js";

/** Maximum rows of a data file; the caller writes more rows to another file. */
export const MAX_FILE_ROWS = 1_048_576;
/**
 * Maximum rows of a data file whose rows take no bytes, such as rows of nulls: a page only says their number.
 * Readers of 2.0 refuse pages with more rows (v20/rowColumns).
 */
export const MAX_BARE_FILE_ROWS = 2 ** 26;

/** Target size of pages, in bytes of unencoded values; a page may be half as large again. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** Waiting bytes of a column that are enough for a page. */
const MIN_PAGE_BYTES = PAGE_BYTES / 2;
/** Maximum bytes that wait in all columns together. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Bytes that may wait in all columns together even if memory is short. */
const MIN_WAITING_BYTES = 128 * 1024;
/**
 * Bytes of a file's values that this thread encodes before it asks others: another thread costs a copy and a
 * message.
 */
const IN_LINE_BYTES = 1024 * 1024;
/** Minimum bytes of values of a page that is encoded in steps. */
const IN_STEPS_BYTES = 256 * 1024;
/** Minimum bytes of a piece of memory that is lent for copies: pools have no smaller pieces. */
const MIN_LENT_BYTES = 64 * 1024;
/** Uses of memory. */
const WAITING = "waiting";
const IN_THREADS = "in threads";

export interface WriterOptions {
  /** Share of memory that holds the waiting rows. */
  readonly memory?: MemoryShare;
  /** Threads that encode pages. Default: this thread encodes them. */
  readonly pool?: WorkerPool;
  /** Number of rows that the file probably gets. Default: unknown. */
  readonly expectedRows?: number;
  /**
   * Minimum bytes of values of a page. Pages get smaller towards the end of the file, if {@link expectedRows}
   * tells where it ends: if rows come slowly, little is left to write after the last one. Default: all pages
   * have about one size.
   */
  readonly lastPageBytes?: number;
  /** Lends memory for copies of transient rows if there are no threads. Default: new memory. */
  readonly scratch?: ScratchMemory;
}

/** A page that a thread encodes, or a page that waits for such a page. */
interface EncodingPage {
  /** Index of its column. */
  readonly index: number;
  readonly output: PageOutput | Promise<LentOutput>;
  /** True if there is nothing to wait for. */
  isEncoded: boolean;
  /** Bytes of its values. */
  readonly byteCount: number;
  /** Memory of copied rows of the page; null if no rows were copied. */
  readonly copies: Arena | null;
}

export class DataFileWriter {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #file: FileAppender;
  readonly #blobs: BlobWriter;
  readonly #columns: readonly FileColumn[];
  readonly #waiting: WaitingRows[];
  readonly #pages: PageRecord[][];
  readonly #checksums: BufferChecksum[][];
  readonly #metadata: Map<string, Uint8Array>;
  /** Locations of the added global buffers, and their checksums. */
  readonly #globalBuffers: ByteRange[] = [];
  readonly #globalChecksums: number[] = [];
  /** Pages in the order in which they are appended. */
  #encoding: EncodingPage[] = [];
  /** Bytes of the values of all pages so far that a thread could have encoded. */
  #cutBytes = 0;
  #rowCount = 0;

  private constructor(
    { disk, path, file }: { readonly disk: Disk; readonly path: string; readonly file: FileAppender },
    columns: readonly FileColumn[],
    private readonly schema: Schema,
    private readonly version: FileVersion,
    private readonly options: WriterOptions,
  ) {
    this.#disk = disk;
    this.#path = path;
    this.#file = file;
    this.#blobs = new BlobWriter(disk, path, file);
    this.#columns = columns.map(withDescriptors);
    this.#metadata = new Map(schema.metadata);
    this.#waiting = columns.map(nothingWaiting);
    this.#pages = columns.map(() => []);
    this.#checksums = columns.map(() => []);
  }

  /**
   * Creates the file, whose name must be free.
   * @param columns the physical columns, in the order of the file
   * @param schema content of the file's schema descriptor; only stand-alone readers of the file use it
   * @throws InvalidInputError if a column's metadata asks for an encoding that does not exist; no file is
   *   made
   */
  static async create(
    disk: Disk,
    path: string,
    columns: readonly FileColumn[],
    schema: Schema,
    version: FileVersion,
    options: WriterOptions = {},
  ): Promise<DataFileWriter> {
    if (version !== "2.0") for (const column of columns) compressionOptions(column.metadata, column.path);
    await loadEncoders(columns, version);
    const file = await FileAppender.create(disk, path);
    return new DataFileWriter({ disk, path, file }, columns, schema, version, options);
  }

  /**
   * Appends rows. Nobody may write into the columns' memory until the file is finished, unless they are
   * transient.
   * @param columns one per column of the file, each `rowCount` long
   * @param isTransient true if the columns are valid only during this call; they have no blobs and no
   *   dictionaries
   */
  async write(columns: readonly Column[], rowCount: number, isTransient = false): Promise<void> {
    if (rowCount === 0) return;
    if (columns.length !== this.#columns.length) {
      throw new InternalError(`the file has ${this.#columns.length} columns and got ${columns.length}`);
    }
    if (this.#rowCount + rowCount > MAX_BARE_FILE_ROWS) {
      throw new InternalError(`a data file cannot hold more than ${MAX_BARE_FILE_ROWS} rows`);
    }
    this.#rowCount += rowCount;
    for (const [index, incoming] of columns.entries()) {
      if (incoming.length !== rowCount) {
        throw new InternalError(
          `column ${this.#columns[index].path} has ${incoming.length} rows, not ${rowCount}`,
        );
      }
      const { blobs, path } = this.#columns[index];
      if (isTransient) {
        if (blobs !== undefined || !isGatherable(incoming)) {
          throw new InternalError(`column ${path} is transient, but has blobs or a dictionary`);
        }
        this.#copy(index, incoming);
        if (this.#arePage(this.#waiting[index])) await this.#writePages(index);
        continue;
      }
      const column = blobs === undefined ? incoming : await this.#blobs.place(incoming, blobs, path);
      const dictionary = sharedDictionary(this.#waiting[index], column);
      if (dictionary === "differs") await this.#writePages(index);
      const waiting = this.#waiting[index];
      endCopies(waiting);
      const next = dictionary === "same" ? withDictionaryOf(column, waiting.parts[0]) : column;
      waiting.parts.push(next);
      waiting.rowCount += rowCount;
      waiting.byteCount += columnBytes(column);
      if (this.#arePage(waiting)) {
        await this.#writePages(index);
      } else {
        const last = waiting.parts.length - 1;
        const held = holdColumn(waiting.parts[last]);
        waiting.parts[last] = held.column;
        waiting.heldBytes += held.byteCount;
      }
    }
    await this.#appendEncoded();
    await this.#relieve();
  }

  /**
   * True if the waiting rows are enough for a page. If pages get smaller towards the end, a page is cut as
   * soon as it has as many rows as are still to come. Each page then has about half of the rest, down to the
   * least size.
   */
  #arePage({ byteCount, rowCount }: WaitingRows): boolean {
    const { expectedRows, lastPageBytes = MIN_PAGE_BYTES } = this.options;
    if (byteCount >= MIN_PAGE_BYTES) return true;
    if (byteCount < lastPageBytes || expectedRows === undefined) return false;
    const rowsLeft = expectedRows - this.#rowCount;
    return rowsLeft > 0 && rowsLeft <= rowCount;
  }

  /** Lends memory for copies of rows, shared if threads may encode them. Small pieces are new memory. */
  #lenderOfCopies(): Lender {
    const threads = this.options.pool;
    const pool = threads !== undefined && threads.size > 0 ? threads.memory : this.options.scratch;
    return {
      lend: (byteLength) =>
        pool && byteLength >= MIN_LENT_BYTES ? pool.lend(byteLength) : new Uint8Array(byteLength),
      giveBack: (bytes) => {
        if (bytes.length >= MIN_LENT_BYTES) pool?.giveBack(bytes as never);
      },
    };
  }

  /** Copies rows, which then wait in memory of their own. */
  #copy(index: number, column: Column): void {
    const waiting = this.#waiting[index];
    const { length } = column;
    const byteCount = columnBytes(column);
    if (waiting.copies === null) {
      waiting.arena ??= new Arena(this.#lenderOfCopies());
      const share = Math.min(MIN_PAGE_BYTES, MAX_WAITING_BYTES / (2 * this.#columns.length));
      const pageRows = byteCount === 0 ? length : Math.ceil(share / (byteCount / length)) + length;
      // The batch's rows are in the count already.
      const left = length + (this.options.expectedRows ?? Number.POSITIVE_INFINITY) - this.#rowCount;
      waiting.copies = new ColumnGatherer(column, Math.min(pageRows, left), waiting.arena);
      waiting.heldBytes += waiting.copies.heldBytes;
    }
    const heldBefore = waiting.copies.heldBytes;
    waiting.copies.append(column);
    waiting.heldBytes += waiting.copies.heldBytes - heldBefore;
    waiting.rowCount += length;
    waiting.byteCount += byteCount;
  }

  /**
   * Adds a global buffer: bytes that belong to no column. Files with blobs take none.
   * @returns its number
   */
  async addGlobalBuffer(bytes: Uint8Array): Promise<number> {
    if (this.#columns.some(({ blobs }) => blobs !== undefined)) {
      throw new InternalError(
        "a file with blobs cannot have further global buffers: the checksums of the blobs take their place",
      );
    }
    this.#globalBuffers.push(this.#appendBuffer([bytes]));
    this.#globalChecksums.push(crc32(bytes));
    await this.#file.relieve();
    // Number 0 is the schema descriptor.
    return this.#globalBuffers.length;
  }

  /** Sets a text in the metadata of the file's schema. */
  addMetadata(name: string, text: string): void {
    this.#metadata.set(name, new TextEncoder().encode(text));
  }

  /** Bytes of the file so far. */
  get byteLength(): number {
    return this.#file.position;
  }

  /**
   * Completes the file. Its bytes then survive a power cut; the caller must sync its name. Its side files and
   * their names survive too.
   */
  async finish(): Promise<{ byteLength: number; rowCount: number }> {
    for (const index of this.#columns.keys()) await this.#writePages(index);
    await this.#appendPages(0);
    this.options.memory?.note(WAITING, 0);
    await this.#blobs.finish();
    const blobChecksums = this.#blobs.writeChecksums();
    const globalChecksums = this.#globalChecksums.length === 0 ? [] : [this.#globalChecksums];
    const blocks = this.#writeBlockChecksums();
    const tail = encodeTail({
      version: this.version,
      position: this.#file.position,
      schema: { ...this.schema, metadata: this.#metadata },
      rowCount: this.#rowCount,
      columns: this.#pages,
      checksums: [...this.#checksums.map((column) => column.map(({ whole }) => whole)), ...globalChecksums],
      isBlob: this.#columns.map((column) => column.blobs !== undefined),
      globalBuffers: blobChecksums === null ? this.#globalBuffers : [blobChecksums],
      blocks,
    });
    this.#file.append(tail);
    await this.#file.finish();
    return { byteLength: this.#file.position, rowCount: this.#rowCount };
  }

  /** @returns the descriptor's members about checksums of blocks; none if there are no such checksums */
  #writeBlockChecksums(): { blockCounts?: number[]; blocksOffset?: number } {
    const table = encodeBlockTable(this.#checksums);
    if (table === null) return {};
    return { blockCounts: table.counts, blocksOffset: this.#appendBuffer(table.pieces).byteOffset };
  }

  /** Appends a buffer of pieces, and zeros up to the next multiple of 64. */
  #appendBuffer(pieces: readonly Uint8Array[]): ByteRange {
    const byteOffset = this.#file.position;
    for (const piece of pieces) this.#file.append(piece);
    const length = this.#file.position - byteOffset;
    this.#file.pad();
    return { byteOffset, length };
  }

  /** Gives up and removes the file and its side files. */
  async abort(): Promise<void> {
    this.#encoding = [];
    this.options.memory?.note(WAITING, 0);
    this.#noteInThreads();
    try {
      await this.#blobs.abort();
    } finally {
      try {
        await this.#file.abandon();
      } finally {
        await this.#disk.remove(this.#path);
      }
    }
  }

  /** Writes the waiting rows of the widest columns until few enough bytes wait. */
  async #relieve(): Promise<void> {
    let held = this.#waiting.reduce((sum, waiting) => sum + waiting.heldBytes, 0);
    // Other writers may need the spare memory, too.
    const spare = (this.options.memory?.spareBytes(WAITING) ?? Number.POSITIVE_INFINITY) / 2;
    const most = Math.min(MAX_WAITING_BYTES, Math.max(spare, MIN_WAITING_BYTES));
    if (held > most) {
      const widestFirst = [...this.#waiting.keys()].sort(
        (a, b) => this.#waiting[b].heldBytes - this.#waiting[a].heldBytes,
      );
      for (const index of widestFirst) {
        if (held <= most / 2) break;
        held -= this.#waiting[index].heldBytes;
        await this.#writePages(index);
      }
    }
    this.options.memory?.note(WAITING, held);
  }

  /** Encodes and writes all waiting rows of a column, in pages of about equal size. */
  async #writePages(index: number): Promise<void> {
    const waiting = this.#waiting[index];
    if (waiting.rowCount === 0) return;
    this.#waiting[index] = nothingWaiting();
    endCopies(waiting);
    const { arena } = waiting;
    const pageCount = Math.max(1, Math.round(waiting.byteCount / PAGE_BYTES));
    // One row more than the average: else rounding down would leave a few rows for a page of their own.
    const rowBytes = waiting.byteCount / waiting.rowCount;
    const pageBytes = waiting.byteCount / pageCount + rowBytes;
    let parts: Column[] = [];
    let rowCount = 0;
    let room = pageBytes;
    for (const part of waiting.parts) {
      for (let start = 0; start < part.length; ) {
        const rest = part.length - start;
        const fitting = rowsWithin(part, start, room);
        const count = Math.min(rest, rowCount === 0 ? Math.max(1, fitting) : fitting);
        if (count > 0) {
          const slice = count === part.length ? part : sliceColumn(part, start, count);
          parts.push(slice);
          rowCount += count;
          room -= columnBytes(slice);
          start += count;
        }
        if (count < rest) {
          await this.#writePage(index, parts, rowCount, arena);
          parts = [];
          rowCount = 0;
          room = pageBytes;
        }
      }
    }
    if (rowCount > 0) await this.#writePage(index, parts, rowCount, arena);
    arena?.release();
  }

  /**
   * Encodes rows as a page, or several, and appends them after the pages that were cut before. Threads, if
   * there are any, encode some pages ahead; the file is the same.
   * @param copies holds copies of rows, maybe of these
   */
  async #writePage(
    index: number,
    parts: readonly Column[],
    rowCount: number,
    copies: Arena | null,
  ): Promise<void> {
    const input: PageInput = { column: this.#columns[index], parts, rowCount, version: this.version };
    const pool = this.options.pool;
    const ahead = pool?.size ?? 0;
    const byteCount = valueBytes(parts);
    copies?.share();
    if (pool !== undefined && ahead > 0 && this.#isForThreads(input, byteCount)) {
      const output = encodeInThread(pool, input);
      const page: EncodingPage = { index, output, isEncoded: false, byteCount, copies };
      const end = (): void => {
        page.isEncoded = true;
      };
      // `append` throws the failure.
      output.then(end, end);
      this.#encoding.push(page);
    } else {
      const steps = encodePageInput(input);
      // Few values take less time than a look at the clock.
      const output = byteCount < IN_STEPS_BYTES ? runSync(steps) : await runAsync(steps);
      if (this.#encoding.length === 0) return this.#append(index, output, copies);
      // It is appended after the pages that threads still encode.
      this.#encoding.push({ index, output, isEncoded: true, byteCount, copies });
    }
    this.#noteInThreads();
    await yieldToEventLoop();
    await this.#appendPages(ahead + 1);
  }

  /** A thread has a copy of the values, and memory for its pages. */
  #noteInThreads(): void {
    this.options.memory?.note(
      IN_THREADS,
      this.#encoding.reduce((sum, { byteCount }) => sum + byteCount * (1 + ROOM_SHARE), 0),
    );
  }

  #isForThreads(input: PageInput, byteCount: number): boolean {
    if (!isForThreads(input, byteCount)) return false;
    this.#cutBytes += byteCount;
    return this.#cutBytes >= IN_LINE_BYTES && this.options.pool?.isWorth(byteCount) === true;
  }

  /** Appends the first pages that are being encoded until `left` are left. */
  async #appendPages(left: number): Promise<void> {
    while (this.#encoding.length > left) await this.#appendFirst();
  }

  /** Appends the first pages that are encoded, while the disk writes nothing. */
  async #appendEncoded(): Promise<void> {
    while (this.#encoding[0]?.isEncoded === true && !this.#file.isWriting) await this.#appendFirst();
  }

  async #appendFirst(): Promise<void> {
    const first = this.#encoding.shift();
    if (first === undefined) return;
    await this.#append(first.index, await first.output, first.copies);
    this.#noteInThreads();
  }

  async #append(index: number, output: PageOutput | LentOutput, copies: Arena | null): Promise<void> {
    for (const [number, page] of output.pages.entries()) {
      const buffers = page.buffers.map((pieces) => this.#appendBuffer(pieces));
      this.#checksums[index].push(...output.checksums[number]);
      this.#pages[index].push({ buffers, rowCount: page.rowCount, layout: page.encoding });
      await this.#file.relieve();
      // A batch may be many pages.
      await yieldToEventLoop();
    }
    if ("arena" in output) this.#file.whenWritten(() => output.arena.release());
    if (copies !== null) this.#file.whenWritten(() => copies.release());
  }
}

/** Returns the column as its pages store it: with descriptors in place of blobs. */
function withDescriptors(column: FileColumn): FileColumn {
  if (column.blobs === undefined) return column;
  const leaf = column.blobs.kind === "inFile" ? DESCRIPTOR_LAYOUT : DESCRIPTOR_ROW_LAYOUT;
  return { ...column, layout: withLeaf(column.layout, leaf) };
}
