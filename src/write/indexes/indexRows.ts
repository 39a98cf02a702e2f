/** Streams the rows that an index is built of. */

import type { Column } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import type { BuildableKind, IndexRows, IndexTarget } from "../../indexes/kind.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import { addressesAmong } from "../../query/columns/rowAddresses.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { offsetsOfRows, scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import type { IndexColumn } from "./indexColumn.js";
import { sortByValue } from "./sortByValue.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Approximate bytes of a batch. */
const BATCH_BYTES = 16 * 1024 * 1024;

export interface RowsWanted {
  readonly column: IndexColumn;
  readonly fragments: readonly DataFragment[];
  /** True if addresses are wanted even of rows that have stable ids, and the places of rows beside them. */
  readonly byPlace: boolean;
  /** True if values, and items of lists, may come in dictionaries. Default false. */
  readonly takesDictionaries?: boolean;
  /** True if each batch is looked at only until the next is asked for. Default false. */
  readonly isTransient?: boolean;
  readonly signal?: AbortSignal;
}

/** The rows that an index of a kind is built of, which may be gone through more than once. */
export const rowsOfKind = (
  base: OpenVersion<ReaderEnvironment>,
  { storesAddresses, takesDictionaries, keepsNoRows }: Omit<BuildableKind, "name">,
  wanted: Pick<RowsWanted, "column" | "fragments" | "signal">,
): AsyncIterable<IndexRows> => ({
  [Symbol.asyncIterator]: () =>
    indexRows(base, {
      ...wanted,
      byPlace: storesAddresses,
      takesDictionaries,
      isTransient: keepsNoRows,
    })[Symbol.asyncIterator](),
});

/** The live rows of fragments, in the order in which they lie there. */
export async function* indexRows(
  base: OpenVersion<ReaderEnvironment>,
  { column, fragments, byPlace, takesDictionaries = false, isTransient = false, signal }: RowsWanted,
): AsyncGenerator<IndexRows, void, undefined> {
  const source = versionSource(base);
  const numbers = new RowNumbers(source, base.file.manifest, base.path);
  const rows = scanColumns(source, {
    fragments,
    projection: column.projection,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
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
    };
    await yieldToEventLoop();
  }
}

/** True if a column is a dictionary without a null among its values. */
const hasPlainEntries = (column: Column): boolean =>
  column.kind === "dictionary" && column.dictionary.validity === null;

/**
 * What sorts rows by their values: nulls first. What memory does not hold waits in files of the table's
 * directory.
 */
export const rowSorter =
  ({ disk, root }: VersionsAt, signal?: AbortSignal): IndexTarget["sort"] =>
  (rows, type, concurrency) =>
    sortByValue(rows, type, {
      makeFile: () => TemporaryFile.create(disk, root),
      ...(concurrency !== undefined && { concurrency }),
      ...(signal && { signal }),
    });
