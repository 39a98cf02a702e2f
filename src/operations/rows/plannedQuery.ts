/** Plans of queries: what a request asks for, checked against the version that it reads. */

import { InvalidInputError, PermissionDeniedError, UnsupportedError } from "../../errors.js";
import { isUnwritable } from "../../io/disk/errno.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import { ColumnReads } from "../../query/columnReads.js";
import type { FragmentSource } from "../../query/fragmentColumns.js";
import { planOrder } from "../../query/order.js";
import { selectColumns } from "../../query/projection.js";
import type { QueryOptions, QueryPlan } from "../../query/runQuery.js";
import type { SpillFile } from "../../query/spill.js";
import { RowNumbers } from "../../query/systemColumns.js";
import { vectorIndexOf } from "../../query/vectorIndexes.js";
import { planVectorSearch } from "../../query/vectorSearch.js";
import { versionSource } from "../../query/versionSource.js";
import { decodeSchema } from "../../schema/schema.js";
import { schemaMetadataOf } from "../../table/versions/manifest.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { filterOf, parametersOf, postfilterOf } from "../filter.js";
import { optionalBoolean, optionalCount } from "../request.js";
import { requireSnapshot } from "../snapshot.js";
import { isFilteredFirst, readVectorSearch } from "./vectorRequest.js";

/** A query that is ready to run. */
export interface PlannedQuery {
  readonly snapshot: OpenVersion<OperationContext>;
  readonly plan: QueryPlan;
  readonly source: FragmentSource;
  readonly numbers: RowNumbers;
  readonly options: Omit<QueryOptions, "readAhead">;
}

/** Members for features that this release does not have, with the names of these features. */
const NOT_YET = {
  fullTextQuery: "searches by text",
} as const;

/** Rows of a search that says not how many. */
const DEFAULT_NEAREST = 10;

export async function planQuery(
  context: OperationContext,
  request: QueryTableRequest,
  access: Access,
): Promise<PlannedQuery> {
  const asked = optionalCount(request.limit, "limit", 1);
  const k = optionalCount(request.k, "k");
  if (asked !== undefined && k !== undefined && asked !== k) {
    throw new InvalidInputError("limit and k: give one of them");
  }
  const search = readVectorSearch(request);
  if (search !== null && k === 0) throw new InvalidInputError("k: must be at least 1 in a search by vector");
  const filtersFirst = isFilteredFirst(request);
  const limit = asked ?? k ?? (search === null ? undefined : DEFAULT_NEAREST);
  const offset = optionalCount(request.offset, "offset") ?? 0;
  const batchSize = optionalCount(request.batchSize, "batchSize", 1);
  const withRowId = optionalBoolean(request.withRowId, "withRowId") ?? false;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1);
  const useIndexes = optionalBoolean(request.useScalarIndex, "useScalarIndex");
  const maxColumns = optionalCount(request.maxColumns, "maxColumns", 1);
  const snapshot = await requireSnapshot(context, request, access);
  refuseNotYet(request);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const metadata = schemaMetadataOf(manifest);
  const parameters = parametersOf(request.params);
  const selection = { withRowId, maxColumns, parameters };
  const planned =
    search === null
      ? null
      : await planVectorSearch(fields, search, (column, metric) => vectorIndexOf(snapshot, column, metric));
  if (planned !== null && (request.orderBy?.length ?? 0) > 0) {
    throw new UnsupportedError(
      "orderBy: rows that a search by vector found come in the order of their distance",
    );
  }
  const reads = new ColumnReads(fields, planned?.found);
  const projection = selectColumns(fields, reads, metadata, request.columns, selection);
  const filter = request.filter ?? null;
  const isPostfilter = planned !== null && !filtersFirst && filter !== null;
  const plan: QueryPlan = {
    fragments: manifest.fragments,
    projection,
    search: planned && {
      ...planned,
      postfilter: isPostfilter ? postfilterOf(fields, filter, parameters, "filter", planned.found) : null,
    },
    filter:
      filter === null || isPostfilter
        ? null
        : filterOf(snapshot, filter, request.params, "filter", useIndexes),
    order: planOrder(request.orderBy, fields, reads),
    offset,
    limit: limit ?? Number.POSITIVE_INFINITY,
  };
  const options: Omit<QueryOptions, "readAhead"> = {
    batchRows: batchSize ?? Number.POSITIVE_INFINITY,
    batchBytes,
    memory: request.memory,
    signal: request.signal,
    makeFile: () => makeSpillFile(snapshot.at),
  };
  const source = versionSource(snapshot);
  return { snapshot, plan, source, numbers: new RowNumbers(source, manifest, snapshot.path), options };
}

/** Makes a file for rows that are sorted, in the table's directory: what a crash leaves there, a cleanup removes. */
async function makeSpillFile({ disk, root }: TableAt<OperationContext>): Promise<SpillFile> {
  try {
    return await TemporaryFile.create(disk, root);
  } catch (cause) {
    if (!isUnwritable(cause)) throw cause;
    throw new PermissionDeniedError(
      "orderBy: the rows are too many to be sorted in memory, and the table's directory, where they would be put " +
        "meanwhile, can't be written; a limit of up to 65,536 rows needs no room there",
      { cause },
    );
  }
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
