/** An open BTREE index: what its pages begin and end with is in memory, the pages themselves are read as needed. */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { isSet, isValid } from "../../arrow/columns/validity.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { HeldBlocks } from "../../rows/batchSize.js";
import { type AskedValues, askedValues } from "../askedValues.js";
import { integerWords, type OpenIndexFile } from "../indexFile.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexQuery,
  IndexRows,
  IndexSearchOptions,
  OpenIndex,
  SearchEstimate,
} from "../kind.js";
import { RowIds, RowIdsBuilder } from "../rowIds.js";
import { compareValues, firstAfter, firstFrom, type OrderedValues, orderedValues } from "../valueOrder.js";

/** Pages that are in memory at once. */
const PAGES_AT_ONCE = 64;
/** Rows of a batch where all of the index is read. */
const BATCH_ROWS = 16_384;
/** Share of a page's rows that a condition is expected to hold for where only part of the page meets it. */
const PART_OF_PAGE = 1 / 2;

/** The columns of the file of pages. */
export interface PageColumns {
  readonly min: Column;
  readonly max: Column;
  readonly nullCounts: Column;
  readonly pageNumbers: Column;
}

/** The pages that hold rows of an answer. */
interface WantedPages {
  /** Entries of pages all of whose rows belong to it. */
  readonly whole: readonly number[];
  /** Entries of pages that have to be looked into. */
  readonly part: readonly number[];
}

interface AskedPages extends WantedPages {
  readonly asked: AskedValues;
}

export class BTreeSearch implements OpenIndex {
  readonly kind = "BTREE";
  readonly memoryWeight: number;
  readonly #files: IndexFiles;
  readonly #type: LogicalType;
  readonly #data: OpenIndexFile;
  readonly #pageRows: number;
  /** By entry: what a page begins and ends with. */
  readonly #min: OrderedValues;
  readonly #max: OrderedValues;
  readonly #nullCounts: Uint32Array;
  /** By entry: the number of its page. */
  readonly #pages: Uint32Array;
  readonly #rowBytes: number;
  /**
   * Entries before this one have nulls only, and those from it on follow each other by their values; null where they lie in
   * another order.
   */
  readonly #firstWithValues: number | null;
  /** What is asked, and the pages that hold it: an estimate is followed by the search. */
  readonly #asked = new WeakMap<IndexQuery, AskedPages>();

  /** @throws CorruptFileError where the columns are not what such a file has */
  constructor(
    files: IndexFiles,
    type: LogicalType,
    data: OpenIndexFile,
    pageRows: number,
    lookup: OpenIndexFile,
    { min, max, nullCounts, pageNumbers }: PageColumns,
  ) {
    this.#files = files;
    this.#type = type;
    this.#data = data;
    this.#pageRows = pageRows;
    this.#min = orderedValues(type, min);
    this.#max = orderedValues(type, max);
    this.#nullCounts = integerWords(nullCounts, lookup.path);
    this.#pages = integerWords(pageNumbers, lookup.path);
    const pageCount = this.#pages.length;
    const seen = new Uint8Array(pageCount);
    for (let entry = 0; entry < pageCount; entry++) {
      const page = this.#pages[entry];
      if (page >= pageCount || seen[page] === 1) lookup.fail(`page ${page} of ${pageCount}, or twice`);
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
   * Nulls come first: a page that begins with a null has some, and one that ends with a null has nothing else. Old releases
   * left the nulls out when they looked for what a page begins with.
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
    lookup.fail(`page ${this.#pages[entry]}: ${nullCount} nulls among ${rowCount} rows`);
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

  /** Rows of a page. */
  #rowCountOf(page: number): number {
    return Math.min(this.#pageRows, this.#data.rowCount - page * this.#pageRows);
  }

  answers(query: IndexQuery): boolean {
    switch (query.kind) {
      case "in":
      case "range":
      case "isNull":
        return true;
      case "startsWith":
        return this.#type.kind === "string";
      default:
        return false;
    }
  }

  estimate(query: IndexQuery): SearchEstimate {
    if (query.kind === "isNull") {
      const rows = this.#nullCounts.reduce((sum, count) => sum + count, 0);
      return { rows, bytes: rows * 8 };
    }
    const { asked, whole, part } = this.#askedPages(query);
    const wholeRows = whole.length * this.#pageRows;
    const partRows =
      asked.kind === "points"
        ? Math.max(asked.values.length, part.length)
        : part.length * this.#pageRows * PART_OF_PAGE;
    const bytes = wholeRows * 8 + part.length * this.#pageRows * this.#rowBytes;
    return { rows: Math.ceil(wholeRows + partRows), bytes: Math.ceil(bytes) };
  }

  async search(
    query: IndexQuery,
    { withNulls = false, signal }: IndexSearchOptions = {},
  ): Promise<IndexAnswer> {
    if (query.kind === "isNull") {
      return { rows: await this.#nullRows(signal), nulls: RowIds.none, isExact: true };
    }
    const { asked, whole, part } = this.#askedPages(query);
    const found = new RowIdsBuilder();
    for (let start = 0; start < whole.length; start += PAGES_AT_ONCE) {
      const ids = await this.#idsOf(whole.slice(start, start + PAGES_AT_ONCE), signal);
      for (const words of ids) {
        found.add(words, 0, words.length / 2);
        await yieldToEventLoop();
      }
    }
    for (let start = 0; start < part.length; start += PAGES_AT_ONCE) {
      const entries = part.slice(start, start + PAGES_AT_ONCE);
      const [values, ids] = await Promise.all([
        this.#valuesOf(entries, signal),
        this.#idsOf(entries, signal),
      ]);
      for (const [index, entry] of entries.entries()) {
        this.#collect(asked, values[index], this.#nullCounts[entry], ids[index], found);
        await yieldToEventLoop();
      }
    }
    const nulls = withNulls ? await this.#nullRows(signal) : null;
    return { rows: found.finish(), nulls, isExact: true };
  }

  /** All rows in their order, as a merge reads them. */
  async *rows(signal?: AbortSignal): AsyncGenerator<IndexRows, void, undefined> {
    for await (const { columns, rowCount } of this.#data.batches(["values", "ids"], BATCH_ROWS, signal)) {
      integerWords(columns[1], this.#data.path);
      yield { values: columns[0], ids: columns[1], rowCount };
    }
  }

  // ----------------------------------------------------------------------------------------------- which pages

  #askedPages(query: IndexQuery): AskedPages {
    let pages = this.#asked.get(query);
    if (pages === undefined) {
      const asked = askedValues(this.#type, query);
      pages = { asked, ...this.#wanted(asked) };
      this.#asked.set(query, pages);
    }
    return pages;
  }

  #wanted(asked: AskedValues): WantedPages {
    const whole: number[] = [];
    const part: number[] = [];
    const { start, end } = this.#reach(asked);
    for (let entry = start; entry < end; entry++) {
      if (!isValid(this.#max.validity, entry)) continue;
      switch (this.#meets(asked, entry)) {
        case "whole":
          whole.push(entry);
          break;
        case "part":
          part.push(entry);
      }
    }
    return { whole, part };
  }

  /** The entries outside of which no page holds what is asked. */
  #reach(asked: AskedValues): { readonly start: number; readonly end: number } {
    const count = this.#pages.length;
    const first = this.#firstWithValues;
    if (first === null) return { start: 0, end: count };
    const { least, most } = extremesOf(asked);
    const start = least === null ? first : firstFrom(this.#max, first, count, least.values, least.row);
    // What the first of them begins with may be a null.
    const end = most === null ? count : firstAfter(this.#min, start + 1, count, most.values, most.row);
    return { start, end: Math.min(count, end) };
  }

  #meets(asked: AskedValues, entry: number): "none" | "part" | "whole" {
    const hasNulls = this.#nullCounts[entry] > 0;
    if (asked.kind === "points") {
      const { values, distinct } = asked;
      // Where a page begins with nulls, its first value is not known.
      const first = hasNulls ? 0 : firstFrom(values, 0, distinct, this.#min, entry);
      if (first === distinct || compareValues(values, first, this.#max, entry) > 0) return "none";
      return !hasNulls && compareValues(this.#min, entry, this.#max, entry) === 0 ? "whole" : "part";
    }
    const { lower, upper } = asked;
    if (lower !== null && isBelow(this.#max, entry, lower)) return "none";
    if (upper !== null && !hasNulls && isAbove(this.#min, entry, upper)) return "none";
    const isWhole =
      !hasNulls &&
      (lower === null || !isBelow(this.#min, entry, lower)) &&
      (upper === null || !isAbove(this.#max, entry, upper));
    return isWhole ? "whole" : "part";
  }

  // ----------------------------------------------------------------------------------------------- reading pages

  /** Adds the rows of a page that are asked for. */
  #collect(
    asked: AskedValues,
    page: Column,
    nullCount: number,
    ids: Uint32Array,
    found: RowIdsBuilder,
  ): void {
    const values = orderedValues(this.#type, page);
    const end = values.length;
    if (asked.kind === "range") {
      const { lower, upper } = asked;
      let first = nullCount;
      if (lower !== null) {
        const search = lower.isInclusive ? firstFrom : firstAfter;
        first = search(values, nullCount, end, lower.value, 0);
      }
      let last = end;
      if (upper !== null) {
        const search = upper.isInclusive ? firstAfter : firstFrom;
        last = search(values, first, end, upper.value, 0);
      }
      found.add(ids, first, last);
      return;
    }
    let row = nullCount;
    let point = row === end ? asked.distinct : firstFrom(asked.values, 0, asked.distinct, values, row);
    for (; point < asked.distinct && row < end; point++) {
      const first = firstFrom(values, row, end, asked.values, point);
      row = firstAfter(values, first, end, asked.values, point);
      found.add(ids, first, row);
    }
  }

  async #nullRows(signal?: AbortSignal): Promise<RowIds> {
    const entries = Array.from(this.#pages.keys()).filter((entry) => this.#nullCounts[entry] > 0);
    const found = new RowIdsBuilder();
    for (let start = 0; start < entries.length; start += PAGES_AT_ONCE) {
      const some = entries.slice(start, start + PAGES_AT_ONCE);
      const ids = await this.#idsOf(some, signal);
      for (const [index, entry] of some.entries()) {
        found.add(ids[index], 0, this.#nullCounts[entry]);
        await yieldToEventLoop();
      }
    }
    return found.finish();
  }

  async #idsOf(entries: readonly number[], signal?: AbortSignal): Promise<Uint32Array[]> {
    const columns = await this.#columnsOf("ids", entries, signal);
    return columns.map((column) => integerWords(column, this.#data.path));
  }

  /** The values of pages, checked against what the pages should begin and end with. */
  async #valuesOf(entries: readonly number[], signal?: AbortSignal): Promise<Column[]> {
    const columns = await this.#columnsOf("values", entries, signal);
    for (const [index, column] of columns.entries()) this.#checkPage(entries[index], column);
    return columns;
  }

  #checkPage(entry: number, column: Column): void {
    const nullCount = this.#nullCounts[entry];
    const { length, validity } = column;
    const page = this.#pages[entry];
    let areFirst = (validity?.nullCount ?? 0) === nullCount;
    for (let row = 0; row < nullCount && areFirst && validity !== null; row++)
      areFirst = !isSet(validity, row);
    if (!areFirst) this.#data.fail(`page ${page}: its nulls are not the first ${nullCount} rows`);
    if (nullCount === length) return;
    const values = orderedValues(this.#type, column);
    const hasMin = isValid(this.#min.validity, entry);
    const isMin = !hasMin || compareValues(values, nullCount, this.#min, entry) === 0;
    if (!isMin || compareValues(values, length - 1, this.#max, entry) !== 0) {
      this.#data.fail(`page ${page} does not begin and end with the values that its entry says`);
    }
  }

  /** A column of pages, of those in the cache and of others, which are read and cached. */
  async #columnsOf(name: string, entries: readonly number[], signal?: AbortSignal): Promise<Column[]> {
    const { parts } = this.#files;
    const keyOf = (entry: number) => `${this.#data.cacheKey}${name}|${this.#pages[entry]}`;
    const columns = entries.map((entry) => parts.peek(keyOf(entry)) as Column | undefined);
    const missing = [...entries.keys()].filter((index) => columns[index] === undefined);
    const spans = missing.map((index) => {
      const page = this.#pages[entries[index]];
      const start = page * this.#pageRows;
      return { start, end: start + this.#rowCountOf(page) };
    });
    const read = missing.length === 0 ? [] : await this.#data.spans(name, spans, signal);
    for (const [position, index] of missing.entries()) {
      const column = read[position];
      columns[index] = column;
      parts.set(keyOf(entries[index]), column, new HeldBlocks([column]).bytes);
    }
    return columns as Column[];
  }
}

interface Place {
  readonly values: OrderedValues;
  readonly row: number;
}

/** The least and the greatest value that is asked for; null where there is no such bound. */
function extremesOf(asked: AskedValues): { readonly least: Place | null; readonly most: Place | null } {
  if (asked.kind === "points") {
    const { values, distinct } = asked;
    if (distinct === 0) return { least: null, most: null };
    return { least: { values, row: 0 }, most: { values, row: distinct - 1 } };
  }
  const placeOf = (bound: Bound | null) => bound && { values: bound.value, row: 0 };
  return { least: placeOf(asked.lower), most: placeOf(asked.upper) };
}

type Bound = Extract<AskedValues, { kind: "range" }>["lower"] & object;

const isBelow = (values: OrderedValues, row: number, { value, isInclusive }: Bound): boolean => {
  const order = compareValues(values, row, value, 0);
  return isInclusive ? order < 0 : order <= 0;
};

const isAbove = (values: OrderedValues, row: number, { value, isInclusive }: Bound): boolean => {
  const order = compareValues(values, row, value, 0);
  return isInclusive ? order > 0 : order >= 0;
};
