/** Rows by their offsets in the order of the caller. A server returns them in the order of the table. */

import type { Table } from "apache-arrow";
import { concatInSteps } from "../arrow/columns/concatColumns.js";
import { takeColumn } from "../arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../arrow/exchange/batch.js";
import type { InputBatch } from "../arrow/exchange/input.js";
import { runAsync } from "../async/eventLoop.js";
import { InvalidInputError } from "../errors.js";
import { malformedAnswer } from "./problems.js";
import type { OpenRows } from "./rowsResult.js";

/** Offsets without duplicates in ascending order, and where each wanted offset stands among them. */
export interface SortedOffsets {
  readonly offsets: readonly number[];
  readonly positions: Uint32Array;
}

/** Sorts the offsets of a caller. */
export function sortedOffsets(wanted: ArrayLike<number>): SortedOffsets {
  const offsets = [...new Set(Array.from(wanted))].sort((a, b) => a - b);
  const positionOf = new Map(offsets.map((offset, position) => [offset, position]));
  return { offsets, positions: Uint32Array.from(wanted, (offset) => positionOf.get(offset) as number) };
}

/**
 * Reads the rows at sorted offsets, and returns them in the wanted order.
 * @throws InvalidInputError if the server has no row at an offset; InternalError if it sends more rows
 */
export async function takenTable(rows: OpenRows, { offsets, positions }: SortedOffsets): Promise<Table> {
  const { schema } = rows;
  const batches: InputBatch[] = [];
  let rowCount = 0;
  for await (const batch of rows.columns()) {
    rowCount += batch.rowCount;
    if (rowCount > offsets.length) throw malformedAnswer(`it has more than ${offsets.length} rows`);
    batches.push(batch);
  }
  if (rowCount !== offsets.length) {
    const largest = offsets[offsets.length - 1];
    throw new InvalidInputError(`rowOffsets: ${largest} is beyond the live rows of the table`);
  }
  if (rowCount === 0) return toTable(schema, []);
  const columns = [];
  for (const index of schema.fields.keys()) {
    const whole = await runAsync(concatInSteps(batches.map((batch) => batch.columns[index])));
    columns.push(takeColumn(whole, positions));
  }
  return toTable(schema, [makeBatch(schema, columns, positions.length)]);
}
