/**
 * BTREE: the rows sorted by value, and the first and last value of each page of rows. Two files:
 *
 *     page_data.lance    values  the indexed type, nullable
 *                        ids     u64; `row_ids` in files of LanceDB before 0.22
 *                        one row per table row, in the order of valueOrder.ts, nulls first
 *     page_lookup.lance  min, max    first and last value of a page as stored, null if that is null
 *                        null_count  u32, nulls of the page
 *                        page_idx    u32, number of the page
 *                        one row per page
 *                        metadata: batch_size, rows of a page (4096); range_partitioned, "false"
 *
 * Page `i` holds the rows from `i · batch_size`; only the last page may be short. Rows of one value may span
 * pages.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { bothOf } from "../../async/parallel.js";
import { UnsupportedError } from "../../errors.js";
import type { TableField } from "../../schema/schema.js";
import { withSortProgress } from "../buildProgress.js";
import { type FileColumnType, UINT32, UINT64_TYPE, uint32Column } from "../indexColumns.js";
import { OpenIndexFile, writeIndexFile } from "../indexFile.js";
import type {
  IndexFiles,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  WrittenFiles,
} from "../kind.js";
import { counted, mergeSorted, movedRows } from "../sortedRows.js";
import { BTreeSearch } from "./btreeSearch.js";

const PAGE_DATA = "page_data.lance";
const PAGE_LOOKUP = "page_lookup.lance";
const PAGE_ROWS = 4096;
/** Bounds against corrupt files: a page and the whole lookup are held in memory. */
const MAX_PAGE_ROWS = 2 ** 20;
const MAX_PAGES = 2 ** 24;

const pageData = (type: LogicalType): FileColumnType[] => [
  { name: "values", type, nullable: true },
  { name: "ids", type: UINT64_TYPE, legacyName: "row_ids" },
];

const pageLookup = (type: LogicalType): FileColumnType[] => [
  { name: "min", type, nullable: true },
  { name: "max", type, nullable: true },
  { name: "null_count", type: UINT32 },
  { name: "page_idx", type: UINT32 },
];

function build(rows: RowStream, target: IndexTarget): Promise<WrittenFiles> {
  const sorting = withSortProgress(target);
  const request = { rowCount: target.rowCount, isTransient: true };
  return write(sorting.sort(counted(rows, sorting), target.field.type, request), target);
}

function merge(old: readonly OldSegment[], rows: RowStream, target: IndexTarget): Promise<WrittenFiles> {
  const sorted = old.map(({ index, moves }) => movedRows((index as BTreeSearch).rows(target.signal), moves));
  const sorting = withSortProgress(target);
  const added = sorting.sort(counted(rows, sorting), target.field.type);
  return write(mergeSorted([...sorted, added], target.field.type), target);
}

async function open(files: IndexFiles, field: TableField): Promise<OpenIndex> {
  const [lookup, data] = await bothOf(
    OpenIndexFile.open(files, PAGE_LOOKUP, pageLookup(field.type)),
    OpenIndexFile.open(files, PAGE_DATA, pageData(field.type)),
  );
  if ((lookup.text("range_partitioned") ?? "false") !== "false") {
    throw new UnsupportedError(`${lookup.path}: this release does not support range-partitioned indexes`);
  }
  const pageRows = lookup.count("batch_size", PAGE_ROWS, MAX_PAGE_ROWS);
  const pageCount = Math.ceil(data.rowCount / pageRows);
  if (lookup.rowCount !== pageCount || pageCount > MAX_PAGES) {
    lookup.fail(
      `the file lists ${lookup.rowCount} pages for ${data.rowCount} rows, with ${pageRows} rows a page`,
    );
  }
  const [min, max, nullCounts, pageNumbers] = await Promise.all(
    pageLookup(field.type).map(({ name }) => lookup.column(name)),
  );
  return new BTreeSearch(files, field.type, data, pageRows, lookup, { min, max, nullCounts, pageNumbers });
}

/** Writes both files. @param sorted rows by value */
async function write(sorted: RowStream, target: IndexTarget): Promise<WrittenFiles> {
  const { type } = target.field;
  const lookup = new LookupRows();
  const data = await writeIndexFile(target, PAGE_DATA, pageData(type), lookup.noted(sorted));
  const written = await writeIndexFile(target, PAGE_LOOKUP, pageLookup(type), lookup.batches(), (file) => {
    file.addMetadata("batch_size", String(PAGE_ROWS));
    file.addMetadata("range_partitioned", "false");
  });
  return [data, written];
}

/** Collects the first and last value of each page while the rows pass through. */
class LookupRows {
  readonly #firsts: Column[] = [];
  readonly #lasts: Column[] = [];
  #rowCount = 0;
  #nullCount = 0;

  async *noted(sorted: RowStream): AsyncGenerator<InputBatch> {
    let last: Column | null = null;
    for await (const { values, ids, rowCount, isTransient } of sorted) {
      if (rowCount === 0) continue;
      const start = this.#rowCount;
      const firstRows = rowsOfPages(start, rowCount, 0);
      const lastRows = rowsOfPages(start, rowCount, PAGE_ROWS - 1);
      if (firstRows.length > 0) this.#firsts.push(takeColumn(values, firstRows));
      if (lastRows.length > 0) this.#lasts.push(takeColumn(values, lastRows));
      last = takeColumn(values, Uint32Array.of(rowCount - 1));
      this.#rowCount += rowCount;
      this.#nullCount += values.validity?.nullCount ?? 0;
      yield { columns: [values, ids], rowCount, isTransient };
    }
    if (last !== null && this.#rowCount % PAGE_ROWS !== 0) this.#lasts.push(last);
  }

  async *batches(): AsyncGenerator<InputBatch> {
    const pageCount = Math.ceil(this.#rowCount / PAGE_ROWS);
    if (pageCount === 0) return;
    const numbers = Uint32Array.from({ length: pageCount }, (_, page) => page);
    // Nulls come first.
    const nullCounts = numbers.map((page) =>
      Math.max(0, Math.min(PAGE_ROWS, this.#nullCount - page * PAGE_ROWS)),
    );
    const bounds = [concatColumns(this.#firsts), concatColumns(this.#lasts)];
    yield { columns: [...bounds, uint32Column(nullCounts), uint32Column(numbers)], rowCount: pageCount };
  }
}

/**
 * Returns the offsets, in a batch, of row number `which` of each page. @param start number of rows before the
 * batch
 */
function rowsOfPages(start: number, rowCount: number, which: number): Uint32Array {
  const rows: number[] = [];
  const page = Math.ceil((start - which) / PAGE_ROWS);
  for (let row = page * PAGE_ROWS + which; row < start + rowCount; row += PAGE_ROWS) rows.push(row - start);
  return Uint32Array.from(rows);
}

export const BTREE_FILES: KindFiles = { build, merge, open };
