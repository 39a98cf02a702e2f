/**
 * Reads the rows of one version, batch by batch, in the order in which they lie on disk. Only pages of the projected
 * columns that hold wanted rows are read; of pages at the ends of an offset and limit, only the parts that hold those
 * rows. Reads are few and large, and some run ahead of the consumer. Memory is bounded by the read-ahead window and the
 * size of a page, not by the table.
 *
 * A batch never crosses a fragment or a page of any of its columns, so columns can be views of the bytes read.
 */

import type { RecordBatch } from "apache-arrow";
import type { Column, FixedColumn } from "../arrow/columns/column.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import { breathe } from "../async/eventLoop.js";
import type { DataFile, DataPage } from "../file/container/reader.js";
import { decodePage } from "../file/pages/decodePage.js";
import { type EncodedRows, readPageRows } from "../file/pages/pageRows.js";
import type { RowRuns } from "../file/pages/pageSlice.js";
import { columnBytes } from "../file/writing/writer.js";
import type { DataFragment } from "../format/table.js";
import type { MemoryShare } from "../memory.js";
import { HeldBlocks, leastRowBytes, rowsOfBatch } from "../rows/batchSize.js";
import { readBlobBatches } from "./blobs.js";
import { type FragmentSource, openColumns } from "./fragmentColumns.js";
import { liveIndices, selectSpan } from "./fragmentRows.js";
import { mapAhead } from "../async/parallel.js";
import { assembleOutputs, type Projection, returnedColumns } from "./projection.js";
import type { ReadAhead } from "../rows/readAhead.js";

/** Fragments opened ahead of the one being read. */
const OPEN_FRAGMENTS = 8;
/** Maximum rows of a batch: columns that a fragment lacks, and row ids, take memory for rows that have no bytes. */
const MAX_BATCH_ROWS = 1_048_576;
/**
 * Maximum groups of pages read ahead, even if they are small: data that is decoded soon after it was read is still in
 * the processor's caches, and the garbage collector has less to move.
 */
const MAX_GROUPS_AHEAD = 16;

/** Name of this use of memory. */
const PAGES = "pages";

export interface ScanRequest {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  readonly offset: number;
  readonly limit: number;
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** Approximate bytes of a batch. Default: as much as pages have. */
  readonly batchBytes?: number;
  readonly readAhead: ReadAhead;
  /** Accounts for the memory of pages read, and of each batch until the next is asked for. */
  readonly memory?: MemoryShare;
  readonly signal?: AbortSignal;
}

/** A fragment whose files are open and whose wanted rows are known. */
interface OpenFragment {
  readonly fragment: DataFragment;
  readonly start: number;
  readonly end: number;
  readonly deleted: Uint32Array | null;
  /** One of its files, for errors. */
  readonly path: string;
  /** The file of each projected column. */
  readonly files: readonly (DataFile | null)[];
  /** The pages of each projected column that hold wanted rows, or null if the fragment lacks the column. */
  readonly pages: readonly (readonly PageTask[] | null)[];
}

interface PageTask {
  /** Index in the projection. */
  readonly column: number;
  readonly file: DataFile;
  readonly columnIndex: number;
  readonly pageIndex: number;
  readonly page: DataPage;
  /** Wanted rows of the page; null for all. */
  readonly rows: RowRuns | null;
}

/** Pages fetched together. */
interface PageGroup {
  readonly owner: OpenFragment;
  readonly tasks: readonly PageTask[];
  readonly byteLength: number;
}

interface FetchedGroup extends PageGroup {
  /** The rows of each task. */
  readonly rows: readonly EncodedRows[];
}

export async function* scanRows(
  source: FragmentSource,
  request: ScanRequest,
): AsyncGenerator<RecordBatch, void, undefined> {
  const { projection } = request;
  for await (const { columns, rowCount } of scanColumns(source, request)) {
    yield makeBatch(projection.schema, returnedColumns(projection, columns), rowCount);
  }
}

/** The rows as columns of the engine: the projection's outputs. */
export async function* scanColumns(
  source: FragmentSource,
  request: ScanRequest,
): AsyncGenerator<BatchRows, void, undefined> {
  const { readAhead, memory, projection } = request;
  const groups = mapAhead(pageGroups(source, request), (group) => fetchGroup(source, group), {
    weigh: (group) => Math.max(group.byteLength, readAhead.windowBytes / MAX_GROUPS_AHEAD),
    get maxWeight() {
      return readAhead.windowBytes;
    },
    hold: (weight) => readAhead.hold?.(weight),
    ...(memory && { memory: { share: memory, bytesOf: (group) => group.byteLength } }),
  });
  let assembler: BatchAssembler | undefined;
  try {
    for await (const group of groups) {
      const { owner } = group;
      if (assembler?.owner !== owner) assembler = new BatchAssembler(owner, request);
      assembler.add(group);
      for (;;) {
        if (!(await assembler.advance(memory))) break;
        const batch = assembler.next();
        memory?.note(PAGES, assembler.heldBytes(batch));
        if (batch.rowCount === 0) continue;
        request.signal?.throwIfAborted();
        if (projection.hasBlobs) {
          const { columns, rowCount } = batch;
          const described = { columns, rowCount, files: owner.files };
          for await (const part of readBlobBatches(source, projection, described, request)) {
            request.signal?.throwIfAborted();
            yield part;
          }
        } else {
          yield batch;
        }
      }
    }
  } finally {
    memory?.note(PAGES, 0);
  }
}

/** The fragments with wanted rows: for each the span of physical rows that holds them, and its deleted rows. */
async function* wantedFragments(source: FragmentSource, request: ScanRequest) {
  let skip = request.offset;
  let take = request.limit;
  for (const fragment of request.fragments) {
    if (take <= 0) return;
    const deleted = fragment.deletionFile === undefined ? null : await source.readDeletions(fragment);
    const span = selectSpan(fragment.physicalRows, deleted, skip, take);
    const live = fragment.physicalRows - (deleted?.length ?? 0);
    skip -= Math.min(skip, live);
    if (span === null) continue;
    take -= span.liveRows;
    yield { fragment, start: span.start, end: span.end, deleted };
  }
}

async function* pageGroups(
  source: FragmentSource,
  request: ScanRequest,
): AsyncGenerator<PageGroup, void, undefined> {
  const opened = mapAhead(
    wantedFragments(source, request),
    (wanted) => openFragment(source, request, wanted),
    { weigh: () => 1, maxWeight: OPEN_FRAGMENTS },
  );
  for await (const owner of opened) {
    const tasks = owner.pages.flatMap((pages) => pages ?? []);
    tasks.sort((a, b) => a.page.rowStart - b.page.rowStart || a.column - b.column);
    let group: PageTask[] = [];
    let byteLength = 0;
    for (const task of tasks) {
      group.push(task);
      byteLength += wantedBytes(task);
      if (byteLength < request.readAhead.groupBytes) continue;
      yield { owner, tasks: group, byteLength };
      group = [];
      byteLength = 0;
    }
    // A fragment without pages to read still has rows: nulls, or row ids.
    if (group.length > 0 || tasks.length === 0) yield { owner, tasks: group, byteLength };
  }
}

async function openFragment(
  source: FragmentSource,
  { projection, limit }: ScanRequest,
  wanted: Omit<OpenFragment, "pages" | "path" | "files">,
): Promise<OpenFragment> {
  const { fragment, start, end } = wanted;
  const isScanned = limit === Number.POSITIVE_INFINITY;
  const stored = await openColumns(source, fragment, projection.columns, isScanned);
  const pages = stored.map((column, columnNumber) => {
    if (column === null) return null;
    const tasks: PageTask[] = [];
    for (const [pageIndex, page] of column.pages.entries()) {
      const first = Math.max(start - page.rowStart, 0);
      const last = Math.min(end - page.rowStart, page.rowCount);
      if (first >= last) continue;
      const whole = first === 0 && last === page.rowCount;
      const rows = whole ? null : { starts: Uint32Array.of(first), counts: Uint32Array.of(last - first) };
      const { file, columnIndex } = column;
      tasks.push({ column: columnNumber, file, columnIndex, pageIndex, page, rows });
    }
    return tasks;
  });
  const files = stored.map((column) => column?.file ?? null);
  return { ...wanted, path: files.find((file) => file !== null)?.path ?? "", files, pages };
}

async function fetchGroup(source: FragmentSource, group: PageGroup): Promise<FetchedGroup> {
  const byFile = new Map<DataFile, number[]>();
  for (const [index, task] of group.tasks.entries()) {
    const indexes = byFile.get(task.file);
    if (indexes === undefined) byFile.set(task.file, [index]);
    else indexes.push(index);
  }
  const rows = new Array<EncodedRows>(group.tasks.length);
  await Promise.all(
    Array.from(byFile, async ([file, indexes]) => {
      const requests = indexes.map((index) => group.tasks[index]);
      await readPageRows(source, file, requests, (fetched, position) => {
        rows[indexes[position]] = fetched;
      });
    }),
  );
  return { ...group, rows };
}

/** Approximate bytes that reading a page's wanted rows fetches. */
function wantedBytes({ page, rows }: PageTask): number {
  let byteLength = 0;
  for (const range of page.bufferRanges) byteLength += range.length;
  return rows === null ? byteLength : Math.ceil((byteLength * rows.counts[0]) / page.rowCount);
}

/** The columns of a batch, as the projection's outputs. */
export interface BatchRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** A page being cut into batches. */
interface CurrentPage {
  readonly rowEnd: number;
  readonly rowStart: number;
  readonly column: Column;
  readonly rowBytes: number;
}

/** Assembles the pages of one fragment to batches. */
class BatchAssembler {
  readonly owner: OpenFragment;
  readonly #request: ScanRequest;
  readonly #queues: { page: DataPage; rows: EncodedRows }[][];
  readonly #current: (CurrentPage | null)[];
  /** How often each physical column is returned. */
  readonly #copies: readonly number[];
  #row: number;

  constructor(owner: OpenFragment, request: ScanRequest) {
    this.owner = owner;
    this.#request = request;
    this.#queues = owner.pages.map(() => []);
    this.#current = owner.pages.map(() => null);
    this.#row = owner.start;
    const { outputs, returned, columns } = request.projection;
    const copies = columns.map(() => 0);
    for (const output of returned) for (const leaf of outputs[output].leaves) copies[leaf]++;
    this.#copies = copies;
  }

  /** Adds pages. */
  add(group: FetchedGroup): void {
    for (const [index, task] of group.tasks.entries()) {
      this.#queues[task.column].push({ page: task.page, rows: group.rows[index] });
    }
  }

  /** The next batch, which may have no rows. Its pages must be current. */
  next(): BatchRows {
    const end = this.#batchEnd();
    const batch = this.#cut(this.#row, end);
    this.#row = end;
    return batch;
  }

  /** Bytes held by the current pages and a batch cut from them. */
  heldBytes(batch: BatchRows): number {
    return new HeldBlocks([...this.#currentColumns(), ...batch.columns]).bytes;
  }

  #currentColumns(): (Column | null)[] {
    return this.#current.map((current) => current?.column ?? null);
  }

  /**
   * Makes the page that holds the next row current in every column, one column after the other: the memory that a page
   * takes is known only when it was decoded, and the next page has to wait for room then. Returns false if a page has
   * not been read yet, and at the end of the fragment.
   */
  async advance(memory: MemoryShare | undefined): Promise<boolean> {
    if (this.#row >= this.owner.end) return false;
    await breathe();
    const held = new HeldBlocks(memory && this.#currentColumns());
    for (let index = 0; index < this.#queues.length; index++) {
      if (this.owner.pages[index] === null) continue;
      const current = this.#current[index];
      if (current !== null && current.rowEnd > this.#row) continue;
      const next = this.#queues[index].shift();
      if (next === undefined) {
        this.#current[index] = null;
        return false;
      }
      if (memory !== undefined) {
        const room = memory.hold(PAGES, held.bytes + this.#leastBytes(index, next.rows));
        if (room !== undefined) await room;
      }
      const column = this.#decode(index, next.page, next.rows);
      if (memory === undefined) continue;
      held.add(column);
      memory.note(PAGES, held.bytes);
      await breathe();
    }
    return true;
  }

  /** Minimum bytes that a page takes, before it is decoded. */
  #leastBytes(index: number, { rowCount, buffers }: EncodedRows): number {
    let bytes = rowCount * leastRowBytes(this.#request.projection.columns[index].layout);
    for (const { byteLength } of buffers) bytes += byteLength;
    return bytes;
  }

  #decode(index: number, page: DataPage, { rows, rowCount, layout, buffers, origin }: EncodedRows): Column {
    const rowStart = page.rowStart + rows.starts[0];
    const columnLayout = this.#request.projection.columns[index].layout;
    const column = decodePage(columnLayout, layout, rowCount, buffers, origin);
    const rowBytes = this.#request.batchBytes === undefined ? 0 : columnBytes(column) / rowCount;
    this.#current[index] = { rowStart, rowEnd: rowStart + rowCount, column, rowBytes };
    return column;
  }

  #batchEnd(): number {
    let end = Math.min(this.owner.end, this.#row + Math.min(this.#request.batchRows, MAX_BATCH_ROWS));
    for (const current of this.#current) if (current !== null) end = Math.min(end, current.rowEnd);
    const { batchBytes, projection } = this.#request;
    if (batchBytes === undefined) return end;
    let rowBytes = 0;
    for (const [index, { layout }] of projection.columns.entries()) {
      rowBytes += this.#copies[index] * (this.#current[index]?.rowBytes ?? leastRowBytes(layout));
    }
    return Math.min(end, this.#row + rowsOfBatch(batchBytes, projection.returned.length, rowBytes));
  }

  #cut(start: number, end: number): BatchRows {
    const { deleted } = this.owner;
    const { projection } = this.#request;
    const live = deleted === null || deleted.length === 0 ? null : liveIndices(start, end, deleted);
    const picked = live === null || live.length === end - start ? null : live;
    const rowCount = picked?.length ?? end - start;
    // Deleted rows are removed before parts of one column from several files are merged: the parts may disagree about
    // those rows.
    const wanted = <C extends Column>(column: C): C =>
      picked === null ? column : takeColumn(column, picked);
    const read = this.#current.map((current) =>
      current === null ? null : wanted(sliceColumn(current.column, start - current.rowStart, end - start)),
    );
    const columns = assembleOutputs(projection, read, rowCount, this.owner.path);
    if (projection.withRowId) columns.push(wanted(rowAddresses(this.owner.fragment.id, start, end)));
    return { columns, rowCount };
  }
}

/** Row addresses: the fragment's id in the upper 32 bits, the physical offset in the lower. */
function rowAddresses(fragmentId: number, start: number, end: number): FixedColumn {
  const length = end - start;
  const words = new Uint32Array(length * 2);
  for (let row = 0; row < length; row++) {
    words[2 * row] = start + row;
    words[2 * row + 1] = fragmentId;
  }
  return { kind: "fixed", length, validity: null, byteWidth: 8, values: new Uint8Array(words.buffer) };
}
