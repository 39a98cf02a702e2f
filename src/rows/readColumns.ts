/**
 * Reads columns of data files batch by batch, in the order of the rows on disk. Reads only pages with wanted
 * rows, and only parts of the pages at the ends of a span. Reads are few and large, and some run ahead of the
 * consumer. The read-ahead window and the size of a page bound the memory, not the size of the files.
 */

import type { Column } from "../arrow/columns/column.js";
import { lazyModule } from "../async/lazy.js";
import { type AheadLimit, mapAhead } from "../async/parallel.js";
import type { WorkerPool } from "../async/workerPool.js";
import type { DataFileMetadata, DataPage } from "../file/container/reader.js";
import { isForThread } from "../file/pages/pageDecoding.js";
import {
  type EncodedRows,
  endsWithDecoding,
  endsWithItsRows,
  type PageSource,
  readPageRows,
} from "../file/pages/pageRows.js";
import type { RowRuns } from "../file/pages/pageSlice.js";
import type { ByteRange } from "../io/disk/ranges.js";
import { Arena } from "../io/memory/arena.js";
import type { MemoryShare } from "../memory.js";
import { BatchAssembler, type BatchBounds, PAGES } from "./batchAssembler.js";
import type { LeafPlan } from "./leafPlan.js";
import type { RowSpan } from "./openColumns.js";
import { type ReadAhead, TransientReadAhead } from "./readAhead.js";
import { type RowPositions, slicePositions } from "./rowPositions.js";

/** The first column of blobs loads this module. */
export const blobReading = lazyModule(() => import("./blobValues.js"));

/** Maximum groups of pages read ahead: data decoded soon is still in the processor's caches. */
const MAX_GROUPS_AHEAD = 16;

export interface ReadOptions extends BatchBounds {
  readonly readAhead: ReadAhead;
  /** Accounts for the memory of pages, and of each batch until the next is asked for. */
  readonly memory?: MemoryShare;
  /**
   * True if a batch is valid only until the next one is requested, so that batches may share memory. Default:
   * false.
   */
  readonly isTransient?: boolean;
  /**
   * True if texts may lie in shared memory that is valid only until the next batch is requested. Such texts
   * come from threads. Default: false.
   */
  readonly lendsTexts?: boolean;
  /** Ends the reading: the next batch throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Some rows of one span. */
export interface RowBatch<Span extends RowSpan = RowSpan> {
  /** The outputs of the plan. */
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly span: Span;
  /** Positions of the rows in their files. */
  readonly positions: RowPositions;
}

/**
 * Reads spans of rows one after the other. While one is read, the next ones are asked for already.
 *
 *     const file = await source.openDataFile(path);
 *     const { fields, file: columns } = columnsOfFile(file);
 *     const plan = planLeaves([[fields[0]]]);
 *     const stored = await openColumns([columns], plan.leaves);
 *     const span = { stored, start: 0, end: file.rowCount, skipped: null };
 *     for await (const batch of readColumns(source, plan, [span], { batchRows, readAhead })) …
 *
 * @throws CorruptFileError; UnsupportedError for pages that this release does not read
 */
export async function* readColumns<Span extends RowSpan>(
  source: PageSource,
  plan: LeafPlan,
  spans: AsyncIterable<Span> | Iterable<Span>,
  options: ReadOptions,
): AsyncGenerator<RowBatch<Span>> {
  const { memory, signal } = options;
  const readAhead =
    options.isTransient === true ? new TransientReadAhead(options.readAhead) : options.readAhead;
  const reused = options.isTransient === true ? plan.leaves.map(() => new Arena(source.scratch)) : null;
  const pool = threadsFor(source, options);
  const lender = options.lendsTexts === true ? source.scratch.shared : null;
  const threads = pool === undefined ? null : { pool, lender };
  const groups = mapAhead<PageGroup<Span>, FetchedGroup<Span>>(
    pageGroups(spans, readAhead),
    (group) => fetchGroup(source, plan, group, options),
    new GroupLimit(readAhead, memory, signal),
  );
  let assembler: BatchAssembler | undefined;
  let lent: LentPages[] = [];
  try {
    for await (const { span, tasks, rows, arena } of groups) {
      if (assembler?.span !== span) {
        assembler?.release();
        assembler = new BatchAssembler(plan, span, options, reused, threads);
        if (span.arena !== undefined) lent.push({ span, rowEnd: span.end, arena: span.arena });
      }
      const { row } = assembler;
      lent = lent.filter((pages) => !isReleased(pages, span, row));
      lent.push({ span, rowEnd: endOf(tasks), arena });
      for (const [index, { leaf, page }] of tasks.entries()) assembler.add({ leaf, page, rows: rows[index] });
      while (await assembler.advance(memory)) {
        const batch = assembler.next();
        memory?.note(PAGES, assembler.heldBytes(batch));
        if (batch.rowCount === 0) continue;
        signal?.throwIfAborted();
        if (!plan.hasBlobs) {
          yield { ...batch, span };
          continue;
        }
        const { columns, rowCount, positions } = batch;
        const files = span.stored.map((stored) => stored?.file ?? null);
        const { readBlobBatches } = blobReading.current ?? (await blobReading.get());
        for await (const part of readBlobBatches(source, plan, { columns, rowCount, files }, options)) {
          signal?.throwIfAborted();
          yield {
            columns: part.columns,
            rowCount: part.rowCount,
            span,
            positions: slicePositions(positions, part.firstRow, part.rowCount),
          };
        }
      }
    }
    // The consumer is done with the last batch. If it stops earlier, the garbage collector frees the memory.
    assembler?.release();
    for (const { arena } of lent) arena.release();
    for (const arena of reused ?? []) arena.release();
  } finally {
    memory?.note(PAGES, 0);
  }
}

/** Returns the threads that may decode pages: for batches with memory of their own and no accounting. */
function threadsFor(
  { workers }: PageSource,
  { isTransient, keeps, memory }: ReadOptions,
): WorkerPool | undefined {
  const isPlain = isTransient !== true && keeps === undefined && memory === undefined;
  return isPlain && workers !== undefined && workers.size > 0 ? workers : undefined;
}

/** Bounds the groups fetched ahead. A class: a getter in a literal gives each object its own shape. */
class GroupLimit implements AheadLimit<PageGroup<unknown>> {
  readonly #readAhead: ReadAhead;
  readonly memory: AheadLimit<PageGroup<unknown>>["memory"];
  readonly signal: AbortSignal | undefined;

  constructor(readAhead: ReadAhead, memory: MemoryShare | undefined, signal: AbortSignal | undefined) {
    this.#readAhead = readAhead;
    this.memory = memory && { share: memory, bytesOf: (group) => group.byteLength };
    this.signal = signal;
  }

  get maxWeight(): number {
    return this.#readAhead.windowBytes;
  }

  weigh(group: PageGroup<unknown>): number {
    return Math.max(group.byteLength, this.#readAhead.windowBytes / MAX_GROUPS_AHEAD);
  }

  hold(weight: number): void {
    this.#readAhead.hold?.(weight);
  }
}

interface PageTask {
  /** Index of the leaf in the plan. */
  readonly leaf: number;
  readonly file: DataFileMetadata;
  readonly columnIndex: number;
  readonly pageIndex: number;
  readonly page: DataPage;
  /** Wanted rows of the page; null for all. */
  readonly rows: RowRuns | null;
}

/** Pages that are fetched together. */
interface PageGroup<Span> {
  readonly span: Span;
  readonly tasks: readonly PageTask[];
  readonly byteLength: number;
}

interface FetchedGroup<Span> extends PageGroup<Span> {
  /** Rows of each task. */
  readonly rows: readonly EncodedRows[];
  /** Holds the pages. */
  readonly arena: Arena;
}

/** Pages from which batches may still be cut. */
interface LentPages {
  readonly span: RowSpan;
  /** Row of the span's files after the last page. */
  readonly rowEnd: number;
  readonly arena: Arena;
}

/** Releases pages that lie before a row of a span. Returns true if it did. */
function isReleased({ span, rowEnd, arena }: LentPages, current: RowSpan, row: number): boolean {
  if (span === current && rowEnd > row) return false;
  arena.release();
  return true;
}

const endOf = (tasks: readonly PageTask[]): number =>
  tasks.reduce((end, { page }) => Math.max(end, page.rowStart + page.rowCount), 0);

async function* pageGroups<Span extends RowSpan>(
  spans: AsyncIterable<Span> | Iterable<Span>,
  readAhead: ReadAhead,
): AsyncGenerator<PageGroup<Span>> {
  for await (const span of spans) {
    const tasks = pageTasks(span);
    let group: PageTask[] = [];
    let byteLength = 0;
    for (const task of tasks) {
      group.push(task);
      byteLength += wantedBytes(task);
      if (byteLength < readAhead.groupBytes) continue;
      yield { span, tasks: group, byteLength };
      group = [];
      byteLength = 0;
    }
    // A span without pages still has rows, all null.
    if (group.length > 0 || tasks.length === 0) yield { span, tasks: group, byteLength };
  }
}

/** Returns the pages with wanted rows, in the order of their rows. */
function pageTasks({ stored, start, end }: RowSpan): PageTask[] {
  const tasks: PageTask[] = [];
  for (const [leaf, column] of stored.entries()) {
    if (column === null) continue;
    const { file, columnIndex } = column;
    for (const [pageIndex, page] of column.pages.entries()) {
      const first = Math.max(start - page.rowStart, 0);
      const last = Math.min(end - page.rowStart, page.rowCount);
      if (first >= last) continue;
      const whole = first === 0 && last === page.rowCount;
      const rows = whole ? null : { starts: Uint32Array.of(first), counts: Uint32Array.of(last - first) };
      tasks.push({ leaf, file, columnIndex, pageIndex, page, rows });
    }
  }
  return tasks.sort((a, b) => a.page.rowStart - b.page.rowStart || a.leaf - b.leaf);
}

async function fetchGroup<Span>(
  source: PageSource,
  plan: LeafPlan,
  group: PageGroup<Span>,
  options: ReadOptions,
): Promise<FetchedGroup<Span>> {
  const lends = options.isTransient === true;
  // Kept batches must not be views of the pages.
  const mayLend = group.tasks.every(({ page }) => (lends ? endsWithItsRows(page) : endsWithDecoding(page)));
  const isShared =
    threadsFor(source, options) !== undefined &&
    group.tasks.some(({ leaf, page: { layout, bufferRanges } }) =>
      isForThread(plan.leaves[leaf].layout, layout, countRanges(bufferRanges)),
    );
  const { scratch } = source;
  const arena = new Arena<ArrayBufferLike>(isShared ? scratch.shared : scratch);
  const memory = mayLend ? arena : "own";
  const { tasks } = group;
  if (tasks.length > 0 && tasks.every(({ file }) => file === tasks[0].file)) {
    const rows = await readPageRows(source, tasks[0].file, tasks, (fetched) => fetched, memory);
    return { ...group, rows, arena };
  }
  const byFile = new Map<DataFileMetadata, number[]>();
  for (const [index, task] of tasks.entries()) {
    const indexes = byFile.get(task.file);
    if (indexes === undefined) byFile.set(task.file, [index]);
    else indexes.push(index);
  }
  const rows = new Array<EncodedRows>(tasks.length);
  await Promise.all(
    Array.from(byFile, async ([file, indexes]) => {
      const requests = indexes.map((index) => tasks[index]);
      const use = (fetched: EncodedRows, position: number) => {
        rows[indexes[position]] = fetched;
      };
      await readPageRows(source, file, requests, use, memory);
    }),
  );
  return { ...group, rows, arena };
}

const countRanges = (ranges: readonly ByteRange[]): number =>
  ranges.reduce((sum, { length }) => sum + length, 0);

/** Returns the approximate bytes that reading a page's wanted rows fetches. */
function wantedBytes({ page, rows }: PageTask): number {
  const byteLength = countRanges(page.bufferRanges);
  return rows === null ? byteLength : Math.ceil((byteLength * rows.counts[0]) / page.rowCount);
}
