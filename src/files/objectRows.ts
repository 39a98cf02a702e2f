/** Converts the rows that a text file gets to values of JSON. */

import { valueBytes } from "../arrow/columns/columnBytes.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import type { ArrowInput } from "../arrow/exchange/input.js";
import { decodeValues } from "../arrow/objects/decodeValues.js";
import type { ValueForms } from "../arrow/objects/valueForms.js";
import { yieldToEventLoop } from "../async/eventLoop.js";

/** Values that are made between two turns of the event loop, and their approximate bytes. */
const MADE_VALUES = 8192;
const MADE_BYTES = 2 ** 18;

/** Some rows: their columns of values. */
export interface RowGroup {
  readonly values: readonly (readonly unknown[])[];
  readonly rowCount: number;
}

/** Yields the rows of an input in groups. */
export async function* valuesOf(
  { schema, batches }: ArrowInput,
  forms: ValueForms,
): AsyncGenerator<RowGroup> {
  const { fields } = schema;
  const maxRows = MADE_VALUES / Math.max(1, fields.length);
  for await (const { columns, rowCount } of batches) {
    const rowBytes = valueBytes(columns) / rowCount;
    const groupRows = Math.max(1, Math.floor(Math.min(maxRows, MADE_BYTES / Math.max(1, rowBytes))));
    for (let start = 0; start < rowCount; start += groupRows) {
      await yieldToEventLoop();
      const count = Math.min(groupRows, rowCount - start);
      const values = columns.map((column, index) =>
        decodeValues(sliceColumn(column, start, count), fields[index].type, forms),
      );
      yield { values, rowCount: count };
    }
  }
}
