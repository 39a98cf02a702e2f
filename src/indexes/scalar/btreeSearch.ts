/** An open BTREE index. The page lookup is in memory; pages are read on demand. */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { isSet, isValid } from "../../arrow/columns/validity.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { LatestValues } from "../../io/memory/latestValues.js";
import { HeldBlocks } from "../../rows/batchSize.js";
import { integerWords } from "../indexColumns.js";
import type { OpenIndexFile } from "../indexFile.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexQuery,
  IndexSearchOptions,
  OpenIndex,
  RowStream,
  SearchEstimate,
} from "../kind.js";
import {
  isAbove,
  isBelow,
  isOrderQuery,
  type QueryValues,
  queryValues,
  rangeWithin,
} from "../queryValues.js";
import { RowIds, RowIdsBuilder } from "../rowIds.js";
import { compareValues, firstAfter, firstFrom, type OrderedValues, orderedValues } from "../valueOrder.js";

/** Maximum number of pages in memory at once. */
const PAGES_AT_ONCE = 64;
const BATCH_ROWS = 16_384;
/** Expected fraction of a page's rows that meet a condition if only some do. */
const PART_OF_PAGE = 1 / 2;

/** Columns of the page lookup. */
export interface PageColumns {
  readonly min: Column;
  readonly max: Column;
  readonly nullCounts: Column;
  readonly pageNumbers: Column;
}

/** Pages that hold rows of an answer. */
interface QueryPages {
  readonly wanted: QueryValues;
  /** Entries of pages whose rows all belong to it. */
  readonly whole: readonly number[];
  /** Entries of pages to search. */
  readonly part: readonly number[];
}

export class BTreeSearch implements OpenIndex {
  readonly kind = "BTREE";
  readonly memoryWeight: number;
  /** First and last value of each page, by entry. */
  readonly #min: OrderedValues;
  readonly #max: OrderedValues;
  readonly #nullCounts: Uint32Array;
  /** Page number of each entry. */
  readonly #pages: Uint32Array;
  readonly #rowBytes: number;
  /** First entry with values, if only nulls precede it and all others ascend; else null. */
  readonly #firstWithValues: number | null;
  /** Selected pages of the last queries: a search follows the estimate for the same query. */
  readonly #asked = new LatestValues<IndexQuery, QueryPages>();

  /** @throws CorruptFileError if the columns do not match the pages */
  constructor(
    private readonly files: IndexFiles,
    private readonly type: LogicalType,
    private readonly data: OpenIndexFile,
    private readonly pageRows: number,
    lookup: OpenIndexFile,
    { min, max, nullCounts, pageNumbers }: PageColumns,
  ) {
    this.#min = orderedValues(type, min);
    this.#max = orderedValues(type, max);
    this.#nullCounts = integerWords(nullCounts, lookup.path);
    this.#pages = integerWords(pageNumbers, lookup.path);
    const pageCount = this.#pages.length;
    const seen = new Uint8Array(pageCount);
    for (let entry = 0; entry < pageCount; entry++) {
      const page = this.#pages[entry];
      if (page >= pageCount || seen[page] === 1)
        lookup.fail(`page ${page} of ${pageCount} does not exist, or is listed twice`);
      seen[page] = 1;
      this.#checkEntry(lookup, entry);
    }
    this.#firstWithValues = this.#findFirstWithValues();
    const fileBytes = data.byteLength(["values", "ids"]);
    this.#rowBytes = data.rowCount === 0 ? 0 : fileBytes / data.rowCount;
    const columns = [min, max, nullCounts, pageNumbers];
    this.memoryWeight =
      1024 + columns.reduce((sum, column) => sum + columnBytes(column), 0) + lookup.metadata.memoryWeight;
  }

  /**
   * Checks an entry. Nulls come first, so a page that begins with a null has nulls, and a page that ends with
   * one has only nulls. Old releases ignored nulls when they recorded the first value.
   */
  #checkEntry(lookup: OpenIndexFile, entry: number): void {
    const nullCount = this.#nullCounts[entry];
    const rowCount = this.#rowCountOf(this.#pages[entry]);
    const beginsWithNull = !isValid(this.#min.validity, entry);
    const endsWithNull = !isValid(this.#max.validity, entry);
    if (
      (nullCount > 0 || !beginsWithNull) &&
      endsWithNull === (nullCount === rowCount) &&
      nullCount <= rowCount
    ) {
      return;
    }
    lookup.fail(`page ${this.#pages[entry]} cannot have ${nullCount} nulls among ${rowCount} rows`);
  }

  #findFirstWithValues(): number | null {
    const count = this.#pages.length;
    let first = 0;
    while (first < count && !isValid(this.#max.validity, first)) first++;
    for (let entry = first; entry < count; entry++) {
      const isFirst = entry === first;
      if (!isValid(this.#max.validity, entry) || (!isFirst && this.#nullCounts[entry] > 0)) return null;
      if (this.#nullCounts[entry] === 0 && compareValues(this.#min, entry, this.#max, entry) > 0) return null;
      if (!isFirst && compareValues(this.#max, entry - 1, this.#min, entry) > 0) return null;
    }
    return first;
  }

  /** Number of rows of a page. */
  #rowCountOf(page: number): number {
    return Math.min(this.pageRows, this.data.rowCount - page * this.pageRows);
  }

  answers(query: IndexQuery): boolean {
    return isOrderQuery(this.type, query);
  }

  estimate(query: IndexQuery): SearchEstimate {
    if (query.kind === "isNull") {
      const rows = this.#nullCounts.reduce((sum, count) => sum + count, 0);
      return { rows, bytes: rows * 8 };
    }
    const { wanted, whole, part } = this.#askedPages(query);
    const wholeRows = whole.length * this.pageRows;
    const partRows =
      wanted.kind === "points"
        ? Math.max(wanted.values.length, part.length)
        : part.length * this.pageRows * PART_OF_PAGE;
    const bytes = wholeRows * 8 + part.length * this.pageRows * this.#rowBytes;
    return { rows: Math.ceil(wholeRows + partRows), bytes: Math.ceil(bytes) };
  }

  async search(query: IndexQuery, { withNulls, signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    if (query.kind === "isNull") {
      return { rows: await this.#nullRows(signal), nulls: RowIds.none, isExact: true };
    }
    const { wanted, whole, part } = this.#askedPages(query);
    const rowIds = new RowIdsBuilder();
    if (whole.length > 0) {
      await this.#eachPage(["ids"], whole, signal, (_, ids) => rowIds.add(ids, 0, ids.length / 2));
    }
    await this.#eachPage(["ids", "values"], part, signal, (entry, ids, values) => {
      this.#checkPage(entry, values);
      this.#collect(wanted, values, this.#nullCounts[entry], ids, rowIds);
    });
    const nulls = withNulls ? await this.#nullRows(signal) : null;
    return { rows: rowIds.finish(), nulls, isExact: true };
  }

  /** Reads all rows in order, for a merge. */
  async *rows(signal?: AbortSignal): RowStream {
    for await (const { columns, rowCount } of this.data.batches(["values", "ids"], BATCH_ROWS, signal)) {
      integerWords(columns[1], this.data.path);
      yield { values: columns[0], ids: columns[1], rowCount };
    }
  }

  #askedPages(query: IndexQuery): QueryPages {
    const asked = this.#asked.get(query);
    if (asked !== undefined) return asked;
    const wanted = queryValues(this.type, query);
    const [whole, part]: number[][] = [[], []];
    const { start, end } = this.#candidates(wanted);
    for (let entry = start; entry < end; entry++) {
      if (!isValid(this.#max.validity, entry)) continue;
      const meets = this.#meets(wanted, entry);
      if (meets !== "none") (meets === "whole" ? whole : part).push(entry);
    }
    const pages = { wanted, whole, part };
    this.#asked.set(query, pages);
    return pages;
  }

  /** Returns the range of entries whose pages can hold the values. */
  #candidates(wanted: QueryValues): { readonly start: number; readonly end: number } {
    const count = this.#pages.length;
    const first = this.#firstWithValues;
    if (first === null) return { start: 0, end: count };
    const isRange = wanted.kind === "range";
    const least = isRange ? wanted.lower?.value : wanted.values;
    const most = isRange ? wanted.upper?.value : wanted.values;
    const start = least === undefined ? first : firstFrom(this.#max, first, count, least, 0);
    // The first value of entry `start` may be a null.
    const end = most === undefined ? count : firstAfter(this.#min, start + 1, count, most, most.length - 1);
    return { start, end: Math.min(count, end) };
  }

  #meets(wanted: QueryValues, entry: number): "none" | "part" | "whole" {
    const hasNulls = this.#nullCounts[entry] > 0;
    if (wanted.kind === "points") {
      const { values } = wanted;
      // The first value of a page that begins with nulls is unknown.
      const first = hasNulls ? 0 : firstFrom(values, 0, values.length, this.#min, entry);
      if (first === values.length || compareValues(values, first, this.#max, entry) > 0) return "none";
      return !hasNulls && compareValues(this.#min, entry, this.#max, entry) === 0 ? "whole" : "part";
    }
    const { lower, upper } = wanted;
    if (lower !== null && isBelow(this.#max, entry, lower)) return "none";
    if (upper !== null && !hasNulls && isAbove(this.#min, entry, upper)) return "none";
    const isWhole =
      !hasNulls &&
      (lower === null || !isBelow(this.#min, entry, lower)) &&
      (upper === null || !isAbove(this.#max, entry, upper));
    return isWhole ? "whole" : "part";
  }

  /** Adds the rows of a page that the query asks for. */
  #collect(
    wanted: QueryValues,
    page: Column,
    nullCount: number,
    ids: Uint32Array,
    rowIds: RowIdsBuilder,
  ): void {
    const values = orderedValues(this.type, page);
    const end = values.length;
    if (wanted.kind === "range") {
      const { first, last } = rangeWithin(values, nullCount, end, wanted);
      rowIds.add(ids, first, last);
      return;
    }
    const { values: points } = wanted;
    let row = nullCount;
    let point = row === end ? points.length : firstFrom(points, 0, points.length, values, row);
    for (; point < points.length && row < end; point++) {
      const first = firstFrom(values, row, end, points, point);
      row = firstAfter(values, first, end, points, point);
      rowIds.add(ids, first, row);
    }
  }

  async #nullRows(signal?: AbortSignal): Promise<RowIds> {
    const entries = Array.from(this.#pages.keys()).filter((entry) => this.#nullCounts[entry] > 0);
    const rowIds = new RowIdsBuilder();
    await this.#eachPage(["ids"], entries, signal, (entry, ids) =>
      rowIds.add(ids, 0, this.#nullCounts[entry]),
    );
    return rowIds.finish();
  }

  /** Reads the ids of pages, and their values if `names` has these too, some pages at a time. */
  async #eachPage(
    names: readonly string[],
    entries: readonly number[],
    signal: AbortSignal | undefined,
    use: (entry: number, ids: Uint32Array, values: Column) => void,
  ): Promise<void> {
    for (let start = 0; start < entries.length; start += PAGES_AT_ONCE) {
      const some = entries.slice(start, start + PAGES_AT_ONCE);
      const inMemory = names.map((name) => this.#columnsInMemory(name, some));
      const isComplete = inMemory.every((columns) => !columns.includes(undefined));
      const [ids, values] = isComplete
        ? (inMemory as Column[][])
        : await Promise.all(names.map((name, index) => this.#columnsOf(name, some, inMemory[index], signal)));
      for (const [index, entry] of some.entries()) {
        // One page in memory is too short to hold up anybody.
        if (entries.length > 1) await yieldToEventLoop();
        use(entry, integerWords(ids[index], this.data.path), values?.[index]);
      }
    }
  }

  /** Checks the values of a page against the lookup. */
  #checkPage(entry: number, column: Column): void {
    const nullCount = this.#nullCounts[entry];
    const { length, validity } = column;
    const page = this.#pages[entry];
    let areFirst = (validity?.nullCount ?? 0) === nullCount;
    for (let row = 0; row < nullCount && areFirst && validity !== null; row++)
      areFirst = !isSet(validity, row);
    if (!areFirst) this.data.fail(`the nulls of page ${page} are not its first ${nullCount} rows`);
    if (nullCount === length) return;
    const values = orderedValues(this.type, column);
    const hasMin = isValid(this.#min.validity, entry);
    const isMin = !hasMin || compareValues(values, nullCount, this.#min, entry) === 0;
    if (!isMin || compareValues(values, length - 1, this.#max, entry) !== 0) {
      this.data.fail(`the first or last value of page ${page} differs from its entry`);
    }
  }

  readonly #keyOf = (name: string, entry: number): string =>
    `${this.data.cacheKey}${name}|${this.#pages[entry]}`;

  /** Returns a column of pages, as far as it is in memory. */
  #columnsInMemory(name: string, entries: readonly number[]): (Column | undefined)[] {
    return entries.map((entry) => this.files.parts.peek(this.#keyOf(name, entry)) as Column | undefined);
  }

  /** Reads a column of pages. @param columns the pages in memory, to which it adds all others */
  async #columnsOf(
    name: string,
    entries: readonly number[],
    columns: (Column | undefined)[],
    signal?: AbortSignal,
  ): Promise<Column[]> {
    const missing = [...entries.keys()].filter((index) => columns[index] === undefined);
    const spans = missing.map((index) => {
      const page = this.#pages[entries[index]];
      const start = page * this.pageRows;
      return { start, end: start + this.#rowCountOf(page) };
    });
    const read = missing.length === 0 ? [] : await this.data.spans(name, spans, signal);
    for (const [position, index] of missing.entries()) {
      const column = read[position];
      columns[index] = column;
      this.files.parts.set(this.#keyOf(name, entries[index]), column, new HeldBlocks([column]).bytes);
    }
    return columns as Column[];
  }
}
