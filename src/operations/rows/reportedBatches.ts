/** Batches of an operation that reads rows, with the errors of the operation. */

import type { RecordBatch } from "apache-arrow";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import { operationError } from "../failure.js";
import { removedError } from "../snapshot.js";

/** The operation that reads rows. */
export interface RowReading {
  readonly operation: string;
  readonly request: Parameters<typeof removedError>[1] & { readonly signal?: AbortSignal | undefined };
  /** Versions that it reads. */
  readonly versions: readonly OpenVersion<OperationContext>[];
}

/**
 * Yields batches, and reports their errors as those of the operation.
 *
 * This is a function of the module, as all generators of single queries are: V8 makes a hidden class for each
 * closure that is a generator. It lies among the old objects, and until a full collection it keeps all that
 * the closure refers to.
 * @param open called with the first read
 */
export async function* reportedBatches(
  open: () => AsyncIterable<RecordBatch>,
  { operation, request, versions }: RowReading,
): AsyncGenerator<RecordBatch, void, undefined> {
  try {
    yield* open();
  } catch (error) {
    throw operationError(await removedError(versions, request, error), operation, request.signal);
  }
}
