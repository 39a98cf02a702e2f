/** Reads rows of a version in the order of a key: stable row ids, or key columns. */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { valueBytes } from "../../arrow/columns/columnBytes.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { UINT64 } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { MemoryShare } from "../../memory.js";
import { rowsOfBatch } from "../../rows/batchSize.js";
import type { ReadAhead } from "../../rows/readAhead.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { ColumnReads } from "../columns/columnReads.js";
import { returnedColumns, selectColumns } from "../columns/projection.js";
import { addressesAmong } from "../columns/rowAddresses.js";
import { RowNumbers } from "../columns/systemColumns.js";
import { type ReaderEnvironment, versionSource } from "../indexes/versionSource.js";
import { planOrder } from "../order/order.js";
import { orderedRows } from "../order/orderedRows.js";
import type { MakeSpillFile } from "../order/sortedRuns.js";
import { compareRows, type KeyOrder, type SortKeys, sortKeys } from "../order/sortKeys.js";
import type { BatchRows } from "../scan/scan.js";
import type { ComparedColumn } from "./comparedColumns.js";

/** Key that identifies rows in several versions: the names of columns, or null for stable row ids. */
export type RowKey = readonly string[] | null;

/** Bounds and memory of reads for a comparison. */
export interface CompareOptions {
  readonly readAhead: ReadAhead;
  readonly makeFile: MakeSpillFile;
  readonly memory?: MemoryShare | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Rows in the order of their keys. */
export interface KeyedRows {
  /** Values of the read columns. */
  readonly columns: readonly Column[];
  readonly keys: SortKeys;
  /** Columns of the key, and how they sort. */
  readonly keyColumns: readonly Column[];
  readonly orders: readonly KeyOrder[];
  readonly rowIds: FixedColumn;
  readonly addresses: FixedColumn;
  readonly rowCount: number;
}

/** Rows of a version to read in the order of a key. */
interface SortedRead {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly fields: readonly TableField[];
  readonly fragments: readonly DataFragment[];
  /** Columns to read; null reads a column without values. */
  readonly columns: readonly (ComparedColumn & { readonly source: TableField | null })[];
  readonly key: RowKey;
}

/** Maximum number of rows, and approximate bytes, that are compared and copied in one step. */
const BATCH_ROWS = 4096;
const BATCH_BYTES = 2 ** 22;

const BY_ROW_ID: readonly KeyOrder[] = [{ type: UINT64, ascending: true, nullsFirst: false }];

/**
 * Yields rows in the order of their keys.
 * @throws InvalidInputError if two rows have the same key; UnsupportedError for keys that cannot be sorted
 */
export async function* rowsByKey(
  { version, fields, fragments, columns, key }: SortedRead,
  options: CompareOptions,
): AsyncGenerator<KeyedRows> {
  const { signal } = options;
  const { manifest } = version.file;
  const read = columns.flatMap(({ source }) => (source === null ? [] : [source.name]));
  const names = [...new Set([...read, ...(key ?? [])])];
  const reads = new ColumnReads(fields);
  const paths = { columnNames: names.map((name) => formatFieldPath([name])) };
  const selecting = selectColumns(fields, reads, new Map(), paths, { withRowId: true });
  const projection = await runAsync(selecting, signal);
  const orderBy = (key ?? ["_rowid"]).map((name) => ({ columnName: formatFieldPath([name]) }));
  const order = planOrder(orderBy, fields, reads);
  if (order === null) throw new InvalidInputError("on: must name at least one column");
  const orders = key === null ? BY_ROW_ID : order.keys;
  const source = versionSource(version);
  const numbers = new RowNumbers(source, manifest, version.path);
  const every = { offset: 0, limit: Number.POSITIVE_INFINITY, batchRows: Number.POSITIVE_INFINITY };
  const request = { ...options, ...every, fragments, projection, filter: null, order, numbers };
  const unique = new UniqueKeys(version.version, key);
  for await (const batch of smallBatches(orderedRows(source, request))) {
    const { rowCount } = batch;
    const returned = await returnedColumns(projection, numbers, batch.columns, rowCount, signal);
    const plain = returned.map(plainColumn);
    const rowIds = plain[plain.length - 1] as FixedColumn;
    const keyed = key === null ? [rowIds] : key.map((name) => plain[names.indexOf(name)]);
    const keys = sortKeys(orders, keyed, rowCount);
    unique.check(keys);
    yield {
      columns: columns.map(({ source: field, layout }) =>
        field === null ? nullColumn(layout, rowCount) : plain[names.indexOf(field.name)],
      ),
      keys,
      keyColumns: keyed,
      orders,
      rowIds,
      addresses: addressesAmong(batch.columns),
      rowCount,
    };
  }
}

/** Cuts batches, so that a step on one of them is short. */
async function* smallBatches(batches: AsyncIterable<BatchRows>): AsyncGenerator<BatchRows> {
  for await (const { columns, rowCount } of batches) {
    const rowBytes = valueBytes(columns) / rowCount;
    const batchRows = Math.min(BATCH_ROWS, rowsOfBatch(BATCH_BYTES, columns.length, rowBytes));
    for (let start = 0; start < rowCount; start += batchRows) {
      const count = Math.min(batchRows, rowCount - start);
      yield { columns: columns.map((column) => sliceColumn(column, start, count)), rowCount: count };
      await yieldToEventLoop();
    }
  }
}

/** Checks that ascending keys differ. */
class UniqueKeys {
  readonly #version: number;
  readonly #key: RowKey;
  #last: SortKeys | null = null;

  constructor(version: number, key: RowKey) {
    this.#version = version;
    this.#key = key;
  }

  /** @throws InvalidInputError if two rows have the same key */
  check(keys: SortKeys): void {
    const last = this.#last;
    let isUnique =
      last === null || keys.rowCount === 0 || compareRows(last, last.rowCount - 1, keys, 0) !== 0;
    for (let row = 1; row < keys.rowCount && isUnique; row++) {
      isUnique = compareRows(keys, row - 1, keys, row) !== 0;
    }
    if (keys.rowCount > 0) this.#last = keys;
    if (isUnique) return;
    throw duplicateKeyError(this.#version, this.#key);
  }
}

/** Returns the error for rows of a version that have the same key. */
export function duplicateKeyError(version: number, key: RowKey): InvalidInputError {
  const what = key === null ? "row id" : `value of ${key.join(", ")}`;
  return new InvalidInputError(
    `on: several rows of version ${version} have the same ${what}; a key must identify one row`,
  );
}

/** Walks through sorted batches. */
export class Cursor<Batch extends { readonly keys: SortKeys; readonly rowCount: number }> {
  readonly #batches: AsyncGenerator<Batch>;
  /** Null after the last batch. */
  batch: Batch | null = null;
  row = 0;

  constructor(batches: AsyncGenerator<Batch>) {
    this.#batches = batches;
  }

  /** True at the end of a batch. */
  get isOver(): boolean {
    return this.batch !== null && this.row === this.batch.rowCount;
  }

  async next(): Promise<void> {
    do {
      const { done, value } = await this.#batches.next();
      this.batch = done === true ? null : value;
    } while (this.batch?.rowCount === 0);
    this.row = 0;
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}
