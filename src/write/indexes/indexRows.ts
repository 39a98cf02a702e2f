/** Streams the rows of a new index. */

import type { Column } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import type { BuildableKind, IndexTarget, RowStream } from "../../indexes/kind.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import { addressesAmong } from "../../query/columns/rowAddresses.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { offsetsOfRows, scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import type { IndexColumn } from "./indexColumn.js";
import { sortByValue, type ValueSortOptions } from "./sortByValue.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Approximate bytes of a batch. */
const BATCH_BYTES = 16 * 1024 * 1024;

export interface RowsWanted {
  readonly column: IndexColumn;
  readonly fragments: readonly DataFragment[];
  /** True to read the positions of rows, and their physical addresses in place of stable ids. */
  readonly byPlace: boolean;
  /** True if values, and items of lists, may come in dictionaries. Default false. */
  readonly takesDictionaries?: boolean;
  /** True if each batch is used only until the next one is requested. Default false. */
  readonly isTransient?: boolean;
  readonly signal?: AbortSignal;
}

/** Returns the rows of a new index as an iterable that may be read repeatedly. */
export const rowsOfKind = (
  base: OpenVersion<ReaderEnvironment>,
  { storesAddresses, takesDictionaries, keepsNoRows }: Omit<BuildableKind, "name">,
  wanted: Pick<RowsWanted, "column" | "fragments" | "signal">,
): RowStream => ({
  [Symbol.asyncIterator]: () =>
    indexRows(base, {
      ...wanted,
      byPlace: storesAddresses,
      takesDictionaries,
      // Threads decode text, into memory of its own.
      isTransient: keepsNoRows === true && wanted.column.field.type.kind !== "string",
    })[Symbol.asyncIterator](),
});

/** Yields the live rows of fragments, in stored order. */
export async function* indexRows(
  base: OpenVersion<ReaderEnvironment>,
  { column, fragments, byPlace, takesDictionaries = false, isTransient = false, signal }: RowsWanted,
): RowStream {
  const source = versionSource(base);
  const numbers = new RowNumbers(source, base.file.manifest, base.path);
  const rows = scanColumns(source, {
    fragments,
    projection: column.projection,
    batchRows: BATCH_ROWS,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    isTransient,
    ...(takesDictionaries && { keeps: "itemDictionaries" as const }),
    signal,
  });
  const areAddresses = byPlace || !numbers.hasStableIds;
  for await (const { columns, rowCount, places } of rows) {
    const addresses = addressesAmong(columns);
    const { fragmentId, start, picked } = places;
    yield {
      values: takesDictionaries && hasPlainEntries(columns[0]) ? columns[0] : plainColumn(columns[0]),
      ids: areAddresses ? addresses : await numbers.column("_rowid", addresses),
      ...(areAddresses && picked === null && { firstId: { high: fragmentId, low: start } }),
      ...(byPlace && { fragmentRows: { fragmentId, offsets: offsetsOfRows(places, rowCount) } }),
      rowCount,
      isTransient,
    };
    await yieldToEventLoop();
  }
}

/** True for a dictionary column without a null among its entries. */
const hasPlainEntries = (column: Column): boolean =>
  column.kind === "dictionary" && column.dictionary.validity === null;

/** Makes the sorter of rows by value, nulls first. It spills to files of the table's directory. */
export const rowSorter =
  ({ disk, root }: VersionsAt, memory: Pick<ValueSortOptions, "scratch" | "signal">): IndexTarget["sort"] =>
  (rows, type, request) =>
    sortByValue(rows, type, { ...request, ...memory, makeFile: () => TemporaryFile.create(disk, root) });
