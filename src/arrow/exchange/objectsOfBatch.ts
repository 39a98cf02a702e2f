/** Converts record batches to plain objects. */

import type { RecordBatch } from "apache-arrow";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { sliceColumn } from "../columns/sliceColumn.js";
import { decodeValues, makeObjects } from "../objects/decodeValues.js";
import { layoutOf } from "../types/layouts.js";
import { columnFromData, type ForeignData } from "./data.js";

/** Values made between two turns of the event loop. */
const MADE_VALUES = 16_384;

/** Yields the rows of a batch in groups. */
export async function* objectsOfBatch(batch: RecordBatch): AsyncGenerator<Record<string, unknown>[]> {
  const { fields } = batch.schema;
  const names = fields.map(({ name }) => name);
  const columns = fields.map(({ type, name }, index) =>
    columnFromData(batch.data.children[index] as unknown as ForeignData, layoutOf(type, name)),
  );
  const rows = Math.max(1, Math.floor(MADE_VALUES / Math.max(1, fields.length)));
  for (let start = 0; start < batch.numRows; start += rows) {
    await yieldToEventLoop();
    const count = Math.min(rows, batch.numRows - start);
    const values = columns.map((column, index) =>
      decodeValues(sliceColumn(column, start, count), fields[index].type),
    );
    yield makeObjects(names, values, count);
  }
}
