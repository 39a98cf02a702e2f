/** Batches that report how many of their rows the consumer has taken. */

import type { InputBatch } from "./input.js";

/** @param onRows called with the total number of rows after each batch is consumed; may be absent */
export async function* countedBatches(
  batches: AsyncIterable<InputBatch>,
  onRows: ((rowCount: number) => void) | undefined,
): AsyncGenerator<InputBatch> {
  let rowCount = 0;
  for await (const batch of batches) {
    yield batch;
    rowCount += batch.rowCount;
    onRows?.(rowCount);
  }
}
