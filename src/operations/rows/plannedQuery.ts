/** Plans of queries: what a request asks for, checked against the version that it reads. */

import { Field, Float32, Schema } from "apache-arrow";
import { InvalidInputError, PermissionDeniedError, UnsupportedError } from "../../errors.js";
import { isUnwritable } from "../../io/disk/errno.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import { ColumnReads } from "../../query/columnReads.js";
import type { FragmentSource } from "../../query/fragmentColumns.js";
import { planOrder } from "../../query/order.js";
import { type Projection, selectColumns } from "../../query/projection.js";
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
import { readTextQuery } from "./textQuery.js";
import { isFilteredFirst, readVectorSearch } from "./vectorRequest.js";

/** A query that is ready to run. */
export interface PlannedQuery {
  readonly snapshot: OpenVersion<OperationContext>;
  readonly plan: QueryPlan;
  readonly source: FragmentSource;
  readonly numbers: RowNumbers;
  readonly options: Omit<QueryOptions, "readAhead">;
}

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
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const metadata = schemaMetadataOf(manifest);
  const parameters = parametersOf(request.params);
  const selection = { withRowId, maxColumns, parameters };
  const isTextSearch = request.fullTextQuery !== undefined && request.fullTextQuery !== null;
  if (isTextSearch && search !== null) {
    throw new UnsupportedError(
      "vector and fullTextQuery: searches by both at once are not supported by this release",
    );
  }
  const planned =
    search === null
      ? null
      : await planVectorSearch(fields, search, (column, metric) => vectorIndexOf(snapshot, column, metric));
  if ((planned !== null || isTextSearch) && (request.orderBy?.length ?? 0) > 0) {
    throw new UnsupportedError(
      `orderBy: rows that a search found come in the order of their ${isTextSearch ? "scores" : "distance"}`,
    );
  }
  const reads = new ColumnReads(fields, planned?.found);
  const columns = isTextSearch ? withoutScore(request.columns) : request.columns;
  const selected = selectColumns(fields, reads, metadata, columns, selection);
  const given = request.filter ?? null;
  const isPostfilter = planned !== null && !filtersFirst && given !== null;
  const filter =
    given === null || isPostfilter ? null : filterOf(snapshot, given, request.params, "filter", useIndexes);
  const plan: QueryPlan = {
    fragments: manifest.fragments,
    projection: isTextSearch ? withScore(selected) : selected,
    search: planned && {
      ...planned,
      postfilter: isPostfilter ? postfilterOf(fields, given, parameters, "filter", planned.found) : null,
    },
    textSearch: isTextSearch
      ? {
          version: snapshot,
          fields,
          query: readTextQuery(snapshot, fields, request.fullTextQuery),
          filter,
          isPrefiltered: filtersFirst,
          isFast: optionalBoolean(request.fastSearch, "fastSearch") ?? false,
        }
      : null,
    filter,
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

const SCORE = "_score";

/** A selection without the score, which every row of a search has as its last column. */
function withoutScore(columns: QueryTableRequest["columns"]): QueryTableRequest["columns"] {
  const without = (names: readonly unknown[]) => names.filter((name) => name !== SCORE) as string[];
  if (Array.isArray(columns)) return without(columns);
  if (columns === undefined || columns === null || !("columnNames" in columns)) return columns;
  const { columnNames } = columns;
  return Array.isArray(columnNames) ? { ...columns, columnNames: without(columnNames) } : columns;
}

function withScore(projection: Projection): Projection {
  const { fields, metadata } = projection.schema;
  if (fields.some(({ name }) => name === SCORE)) {
    throw new InvalidInputError(
      `columns: ${SCORE} is the score of a search; return the column under another name`,
    );
  }
  return { ...projection, schema: new Schema([...fields, new Field(SCORE, new Float32(), true)], metadata) };
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
