/** QueryTable: rows of a version, with columns, filter, limit and offset. */

import type { RecordBatch, Table } from "apache-arrow";
import { toTable } from "../../arrow/exchange/batch.js";
import {
  CorruptFileError,
  InvalidInputError,
  TableVersionNotFoundError,
  UnsupportedError,
} from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { QueryResult, QueryTableRequest } from "../../namespace.js";
import { scanFiltered } from "../../query/filter.js";
import { resolveProjection } from "../../query/projection.js";
import { type ScanRequest, scanRows } from "../../query/scan.js";
import { versionSource } from "../../query/versionSource.js";
import { KEPT, type ReadAhead } from "../../rows/readAhead.js";
import { decodeSchema } from "../../schema/schema.js";
import { schemaMetadataOf } from "../../table/versions/manifest.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { operationError } from "../failure.js";
import { filterOf } from "../filter.js";
import { optionalBoolean, optionalCount, requireTableId } from "../request.js";
import { isInPlace, requireSnapshot } from "../snapshot.js";

/** Members for features that this release does not have, with the names of these features. */
const NOT_YET = {
  vector: "searches by vector",
  fullTextQuery: "searches by text",
  orderBy: "sorted results",
} as const;

export async function queryTable(
  context: OperationContext,
  request: QueryTableRequest,
  access: Access,
): Promise<QueryResult> {
  const asked = optionalCount(request.limit, "limit", 1);
  const k = optionalCount(request.k, "k");
  if (asked !== undefined && k !== undefined && asked !== k) {
    throw new InvalidInputError("limit and k: give one of them");
  }
  const limit = asked ?? k;
  const offset = optionalCount(request.offset, "offset") ?? 0;
  const batchSize = optionalCount(request.batchSize, "batchSize", 1);
  const withRowId = optionalBoolean(request.withRowId, "withRowId") ?? false;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1);
  const maxColumns = optionalCount(request.maxColumns, "maxColumns", 1);
  const snapshot = await requireSnapshot(context, request, access);
  refuseNotYet(request);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const metadata = schemaMetadataOf(manifest);
  const projection = resolveProjection(fields, metadata, request.columns, withRowId, maxColumns);
  if (withRowId && manifest.fragments.some((fragment) => fragment.inlineRowIds !== undefined)) {
    throw new UnsupportedError("withRowId: stable row ids are not supported by this release");
  }
  const { filter } = request;
  const filtered =
    filter === undefined || filter === null ? null : filterOf(snapshot, filter, request.params, "filter");
  const scan: Omit<ScanRequest, "readAhead"> = {
    fragments: manifest.fragments,
    projection,
    offset,
    limit: limit ?? Number.POSITIVE_INFINITY,
    batchRows: batchSize ?? Number.POSITIVE_INFINITY,
    batchBytes,
    memory: request.memory,
    signal: request.signal,
  };
  const source = versionSource(snapshot);
  /** Missing files of a removed version are not damage. */
  const whyUnreadable = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof CorruptFileError) || (await isInPlace(snapshot))) return error;
    return new TableVersionNotFoundError(
      `version ${snapshot.version} of table ${formatIdentifier(requireTableId(request.id))} was removed while it was read`,
      { cause: error },
    );
  };
  async function* batches(readAhead: ReadAhead): AsyncGenerator<RecordBatch, void, undefined> {
    try {
      const rows = { ...scan, readAhead };
      yield* filtered === null ? scanRows(source, rows) : scanFiltered(source, { ...rows, filter: filtered });
    } catch (error) {
      const reason = await whyUnreadable(error).catch((later: unknown) => later);
      throw operationError(reason, "queryTable", request.signal);
    }
  }
  return {
    schema: projection.schema,
    [Symbol.asyncIterator]: () => batches(context.streams.open()),
    async toArrow(): Promise<Table> {
      const kept: RecordBatch[] = [];
      for await (const batch of batches(KEPT)) kept.push(batch);
      return toTable(projection.schema, kept);
    },
  };
}

/**
 * Refuses members for missing features. Called after the table and version were found, because every release reports
 * these missing first. Called before the columns are resolved, because some columns exist only with a missing feature.
 */
function refuseNotYet(request: QueryTableRequest): void {
  for (const [member, missing] of Object.entries(NOT_YET)) {
    const value = request[member as keyof typeof NOT_YET];
    if (value === undefined || value === null) continue;
    throw new UnsupportedError(`${member}: ${missing} are not supported by this release`);
  }
}
