/** Input that reports how many of its rows the consumer has taken. */

import type { ArrowInput, InputBatch } from "./input.js";

/** @param onRows called with the total number of rows after each batch is consumed; may be absent */
export function countedInput(
  input: ArrowInput,
  onRows: ((rowCount: number) => void) | undefined,
): ArrowInput {
  if (onRows === undefined) return input;
  return { schema: input.schema, batches: counted(input.batches, onRows), close: () => input.close() };
}

async function* counted(
  batches: AsyncIterable<InputBatch>,
  onRows: (rowCount: number) => void,
): AsyncGenerator<InputBatch> {
  let rowCount = 0;
  for await (const batch of batches) {
    yield batch;
    rowCount += batch.rowCount;
    onRows(rowCount);
  }
}
