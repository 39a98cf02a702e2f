/** Batches of an operation that reads rows, with the errors of the operation. */

import type { RecordBatch } from "apache-arrow";
import { untilAborted } from "../../async/abort.js";
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
  const { signal } = request;
  let batches: AsyncIterator<RecordBatch> | undefined;
  try {
    batches = open()[Symbol.asyncIterator]();
    for (;;) {
      // An abort ends the wait: the disk may take long to answer.
      const { done, value } = await untilAborted(batches.next(), signal);
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw operationError(await removedError(versions, request, error), operation, signal);
  } finally {
    // The caller has the reason of an abort, and waits for nothing else.
    const ending = batches?.return?.();
    if (!signal?.aborted) await ending;
    else ending?.catch(() => 0);
  }
}
