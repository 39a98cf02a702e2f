/** Streams the rows that an index is built of, and sorts them in bounded memory. */

import type { LogicalType } from "../../arrow/types/type.js";
import { breathe } from "../../async/eventLoop.js";
import { plainColumn } from "../../expression/values/operands.js";
import { valueTypeOfField } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import type { IndexRows, IndexTarget } from "../../indexes/kind.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import { type BatchRows, physicalRow, type RowPlaces, scanColumns } from "../../query/scan.js";
import { SORT_BYTES, sortRows } from "../../query/sortRows.js";
import { addressesAmong, RowNumbers } from "../../query/systemColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import type { IndexColumn } from "./indexColumn.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Approximate bytes of a batch. */
const BATCH_BYTES = 16 * 1024 * 1024;

export interface RowsWanted {
  readonly column: IndexColumn;
  readonly fragments: readonly DataFragment[];
  /** Whether addresses are wanted even of rows that have stable ids. */
  readonly byPlace: boolean;
  readonly signal?: AbortSignal;
}

/** The live rows of fragments, in the order in which they lie there. */
export async function* indexRows(
  base: OpenVersion<ReaderEnvironment>,
  { column, fragments, byPlace, signal }: RowsWanted,
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
    signal,
  });
  for await (const { columns, rowCount, places } of rows) {
    const addresses = addressesAmong(columns);
    yield {
      values: plainColumn(columns[0]),
      ids: byPlace ? addresses : await numbers.column("_rowid", addresses),
      places: { fragmentId: places.fragmentId, offsets: offsetsOf(places, rowCount) },
      rowCount,
    };
    await breathe();
  }
}

const offsetsOf = (places: RowPlaces, rowCount: number): Uint32Array =>
  Uint32Array.from({ length: rowCount }, (_, row) => physicalRow(places, row));

/** What sorts rows by their values: nulls first. What memory does not hold waits in files of the table's directory. */
export const rowSorter =
  ({ disk, root }: VersionsAt, signal?: AbortSignal): IndexTarget["sort"] =>
  (rows, type, atOnce) =>
    sortedRows(rows, type, {
      makeFile: () => TemporaryFile.create(disk, root),
      ...(atOnce !== undefined && { atOnce }),
      signal,
    });

async function* sortedRows(
  rows: AsyncIterable<IndexRows>,
  type: LogicalType,
  options: {
    readonly makeFile: () => Promise<TemporaryFile>;
    readonly atOnce?: number;
    readonly signal?: AbortSignal;
  },
): AsyncGenerator<IndexRows, void, undefined> {
  const sorted = sortRows(valuesAndIds(rows), {
    ...options,
    orders: [{ type: valueTypeOfField({ name: "", type, children: [] }), ascending: true, nullsFirst: true }],
    keyPlaces: [0],
    limit: Number.POSITIVE_INFINITY,
    sortBytes: options.atOnce ?? SORT_BYTES,
  });
  for await (const { columns, rowCount } of sorted) {
    const [values, ids, codes] = columns;
    yield { values, ids, rowCount, ...(codes && { codes }) };
  }
}

async function* valuesAndIds(rows: AsyncIterable<IndexRows>): AsyncGenerator<BatchRows, void, undefined> {
  for await (const { values, ids, codes, rowCount } of rows) {
    if (rowCount > 0) yield { columns: codes === undefined ? [values, ids] : [values, ids, codes], rowCount };
  }
}
