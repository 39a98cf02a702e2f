/** Converts record batches to plain objects. */

import type { Field, RecordBatch } from "apache-arrow";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import type { Column } from "../columns/column.js";
import { valueBytes } from "../columns/columnBytes.js";
import { sliceColumn } from "../columns/sliceColumn.js";
import { decodeValues, makeObjects } from "../objects/decodeValues.js";
import type { ValueForms } from "../objects/valueForms.js";
import { layoutOf } from "../types/layouts.js";
import { columnFromDataInSteps, type ForeignData } from "./data.js";

/** Values made between two turns of the event loop. */
const MADE_VALUES = 16_384;

/**
 * Yields the rows of a batch in groups.
 * @param maxBytes approximate maximum of the values' bytes in a group of several rows
 * @throws InvalidInputError naming the column, for a value that the wanted form cannot hold
 */
export async function* objectsOfBatch(
  batch: RecordBatch,
  forms: ValueForms,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Record<string, unknown>[]> {
  const { fields } = batch.schema;
  const names = fields.map(({ name }) => name);
  const columns: Column[] = [];
  for (const [index, { type, name }] of fields.entries()) {
    const data = batch.data.children[index] as unknown as ForeignData;
    columns.push(await runAsync(columnFromDataInSteps(data, layoutOf(type, name))));
  }
  const rowBytes = valueBytes(columns) / Math.max(1, batch.numRows);
  const rows = Math.max(
    1,
    Math.floor(Math.min(MADE_VALUES / Math.max(1, fields.length), maxBytes / Math.max(1, rowBytes))),
  );
  for (let start = 0; start < batch.numRows; start += rows) {
    await yieldToEventLoop();
    const count = Math.min(rows, batch.numRows - start);
    const values = columns.map((column, index) =>
      valuesOf(sliceColumn(column, start, count), fields[index], forms),
    );
    yield makeObjects(names, values, count);
  }
}

function valuesOf(column: Column, { name, type }: Field, forms: ValueForms): unknown[] {
  try {
    return decodeValues(column, type, forms);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new InvalidInputError(`column ${name}: ${error.message}`);
  }
}
