/** Input that tells how many of its rows were taken. */

import type { ArrowInput, InputBatch } from "./input.js";

/**
 * @param onRows called with the number of rows when they were dealt with, those of all batches before
 *   included; undefined where nobody asks
 */
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
): AsyncGenerator<InputBatch, void, undefined> {
  let rowCount = 0;
  for await (const batch of batches) {
    yield batch;
    rowCount += batch.rowCount;
    onRows(rowCount);
  }
}
