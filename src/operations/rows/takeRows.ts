/** Rows of a version by their offsets; a query by position, which the spec has no operation for. */

import type { Table } from "apache-arrow";
import { InvalidInputError } from "../../errors.js";
import type { TakeRowsRequest } from "../../namespace.js";
import { resolveProjection } from "../../query/projection.js";
import { takeRows as takeOffsets } from "../../query/take.js";
import { schemaMetadataOf } from "../../table/manifest.js";
import { decodeSchema } from "../../table/schema.js";
import type { OperationContext } from "../context.js";
import { fragmentSource, requireSnapshot } from "../snapshot.js";

export async function takeRows(context: OperationContext, request: TakeRowsRequest): Promise<Table> {
  const rowOffsets = checkOffsets(request.rowOffsets);
  const snapshot = await requireSnapshot(context, request);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.entry.path);
  const projection = resolveProjection(fields, schemaMetadataOf(manifest), request.columns, false);
  const { fragments } = manifest;
  const { signal } = request;
  return takeOffsets(fragmentSource(context, snapshot), { fragments, projection, rowOffsets, signal });
}

/** Copies the offsets, so that the caller may go on using the array. */
function checkOffsets(value: unknown): Float64Array {
  const isNumbers = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (!isNumbers) throw new InvalidInputError("rowOffsets: must be an array of numbers");
  const numbers = value as ArrayLike<unknown>;
  const offsets = new Float64Array(numbers.length);
  for (let index = 0; index < offsets.length; index++) {
    const offset = numbers[index];
    if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 0) {
      const shown = typeof offset === "number" ? offset : typeof offset;
      throw new InvalidInputError(`rowOffsets: must be integers of at least 0, not ${shown}`);
    }
    offsets[index] = offset;
  }
  return offsets;
}
