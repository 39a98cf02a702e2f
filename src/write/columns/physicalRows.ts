/**
 * Aligns the live rows of a fragment with its physical rows, with stand-ins for deleted rows: a file that
 * joins a fragment has a value for every physical row. Values of deleted rows are never read. They may not
 * fit a column's new type, or may disagree between the files of the fragment.
 */

import type { Column, FixedSizeListColumn, Validity } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowFieldFromLogical, type LogicalField } from "../../arrow/types/logicalTypes.js";

export interface PhysicalPlaces {
  /** Number of rows of the fragment, including deleted ones. */
  readonly rowCount: number;
  /** Physical offsets of the deleted rows, ascending; null for none: the batches stay as they are. */
  readonly deleted: Uint32Array | null;
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** True if structs may be null; files of 2.0 have no null structs. */
  readonly nullStructs: boolean;
}

/** @param live rows that are not deleted, in order */
export async function* physicalRows(
  live: AsyncIterable<InputBatch>,
  fields: readonly LogicalField[],
  { rowCount, deleted, batchRows, nullStructs }: PhysicalPlaces,
): AsyncGenerator<InputBatch> {
  if (deleted === null) {
    yield* live;
    return;
  }
  let position = 0;
  let nextDeleted = 0;
  let last: readonly Column[] = fields.map((field) => {
    const { type } = arrowFieldFromLogical(field, field.name);
    return nullColumn(layoutOf(type, field.name), 0);
  });
  /** Returns indexes of live rows for the next physical rows; `end` stands for a deleted row. */
  const nextPlaces = (liveRow: number, end: number): Uint32Array => {
    const rows: number[] = [];
    for (let row = liveRow; rows.length < batchRows && position < rowCount; position++) {
      if (nextDeleted < deleted.length && deleted[nextDeleted] === position) {
        nextDeleted++;
        rows.push(end);
      } else if (row < end) rows.push(row++);
      else break;
    }
    return Uint32Array.from(rows);
  };
  for await (const batch of live) {
    const extended = batch.columns.map((column, index) =>
      concatColumns([column, standIn(column, fields[index], nullStructs)]),
    );
    for (let row = 0; row < batch.rowCount; ) {
      const places = nextPlaces(row, batch.rowCount);
      const taken = places.reduce((count, index) => (index < batch.rowCount ? count + 1 : count), 0);
      const columns =
        taken === places.length
          ? batch.columns.map((column) => sliceColumn(column, row, taken))
          : extended.map((column) => takeColumn(column, places));
      yield { columns, rowCount: places.length };
      row += taken;
    }
    last = batch.columns;
  }
  const standIns = last.map((column, index) => standIn(column, fields[index], nullStructs));
  while (position < rowCount) {
    const places = nextPlaces(0, 0);
    if (places.length === 0) return;
    yield { columns: standIns.map((column) => takeColumn(column, places)), rowCount: places.length };
  }
}

const ONE_NULL: Validity = { bytes: new Uint8Array(1), bitOffset: 0, nullCount: 1 };
const NOT_NULL: Pick<LogicalField, "nullable" | "children"> = { nullable: false, children: [] };

/** Returns one row of a column's kind: null if the column is nullable, else the smallest value. */
function standIn(
  column: Column,
  field: Pick<LogicalField, "nullable" | "children">,
  nullStructs: boolean,
): Column {
  const validity = field.nullable ? ONE_NULL : null;
  const times = <C extends Column>(item: C, count: number): C => takeColumn(item, new Uint32Array(count));
  switch (column.kind) {
    case "null":
      return { kind: "null", length: 1, validity: null };
    case "fixed":
      return { ...column, length: 1, validity, values: new Uint8Array(column.byteWidth) };
    case "bits":
      return { kind: "bits", length: 1, validity, bits: new Uint8Array(1), bitOffset: 0 };
    case "variable": {
      const offsets = areNarrow(column.offsets) ? new Int32Array(2) : new BigInt64Array(2);
      return { kind: "variable", length: 1, validity, offsets, bytes: new Uint8Array(0) };
    }
    case "fixedSizeList": {
      const item = standIn(column.items, NOT_NULL, nullStructs) as FixedSizeListColumn["items"];
      return { ...column, length: 1, validity, items: times(item, column.dimension) };
    }
    case "dictionary": {
      const indices = standIn(column.indices, NOT_NULL, nullStructs) as typeof column.indices;
      const isEmpty = column.dictionary.length === 0;
      const dictionary = isEmpty
        ? (standIn(column.dictionary, NOT_NULL, nullStructs) as typeof column.dictionary)
        : column.dictionary;
      return { kind: "dictionary", length: 1, validity, indices, dictionary };
    }
    case "list": {
      const offsets = areNarrow(column.offsets) ? new Int32Array(2) : new BigInt64Array(2);
      return { kind: "list", length: 1, validity, offsets, items: sliceColumn(column.items, 0, 0) };
    }
    case "sizedList": {
      const item = standIn(column.items, field.children[0], nullStructs) as typeof column.items;
      return { ...column, length: 1, validity, items: times(item, column.dimension) };
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child, index) =>
        standIn(child, field.children[index], nullStructs),
      );
      return { ...column, length: 1, validity: nullStructs ? validity : null, children } as Column;
    }
  }
}
