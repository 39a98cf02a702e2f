/** Plans queries: checks a request against the version that it reads. */

import { runAsync } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { InvalidInputError } from "../../errors.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import { ColumnReads } from "../../query/columns/columnReads.js";
import {
  DISTANCE,
  type FoundColumn,
  HIGHLIGHTS,
  RELEVANCE,
  SCORE,
} from "../../query/columns/foundColumns.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { selectColumns } from "../../query/columns/projection.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { projectionOf } from "../../query/columns/tableProjections.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import type { QueryOptions, QueryPlan } from "../../query/run/queryPlan.js";
import { decodeSchema } from "../../schema/schema.js";
import { schemaMetadataOf } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { filterOf, parametersOf, postfilterOf } from "../filter.js";
import { isAbsent, optionalBoolean, optionalCount } from "../request.js";
import { requireSnapshot } from "../snapshot.js";

/** A query that is ready to run. */
export interface PlannedQuery {
  readonly snapshot: OpenVersion<OperationContext>;
  readonly plan: QueryPlan;
  readonly source: FragmentSource;
  readonly numbers: RowNumbers;
  readonly options: Omit<QueryOptions, "readAhead">;
}

/** The first search, and the first query with an order, load these modules. */
const vectorQueries = lazyModule(() => import("./vectorQuery.js"));
const ordering = lazyModule(() => import("../../query/order/order.js"));
const textQueries = lazyModule(() => import("./textQuery.js"));
/** Loaded with the first rows that are too many for memory. */
const spillFiles = lazyModule(() => import("../spillFile.js"));
const hybridQueries = lazyModule(() => import("./hybridQuery.js"));

/** Default number of rows of a search. */
const DEFAULT_NEAREST = 10;

export async function planQuery(
  context: OperationContext,
  request: QueryTableRequest,
  access: Access,
): Promise<PlannedQuery> {
  const vectors = isAbsent(request.vector) ? null : await vectorQueries.get();
  const search = vectors === null ? null : vectors.readVectorSearch(request);
  const filtersFirst = optionalBoolean(request.prefilter, "prefilter") ?? true;
  const limit = readLimit(request, search !== null);
  const offset = optionalCount(request.offset, "offset") ?? 0;
  const batchSize = optionalCount(request.batchSize, "batchSize", 1);
  const withRowId = optionalBoolean(request.withRowId, "withRowId") ?? false;
  const batchBytes = optionalCount(request.batchBytes, "batchBytes", 1);
  const isFast = optionalBoolean(request.fastSearch, "fastSearch") ?? false;
  const maxColumns = optionalCount(request.maxColumns, "maxColumns", 1);
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest } = snapshot.file;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const parameters = parametersOf(request.params);
  const selection = { withRowId, maxColumns, parameters };
  const isTextSearch = !isAbsent(request.fullTextQuery);
  const isHybrid = isTextSearch && search !== null;
  const hybrid = isHybrid || !isAbsent(request.rerank) ? await hybridQueries.get() : null;
  if (isHybrid) hybrid?.checkHybrid(search, offset + limit);
  const rerank = hybrid?.readRerank(request.rerank, isHybrid);
  const planned =
    search === null || vectors === null ? null : await vectors.plannedSearch(snapshot, fields, search);
  const useIndexes = optionalBoolean(request.useScalarIndex, "useScalarIndex");
  const indexes = isFast && search === null && !isTextSearch && useIndexes !== false ? "only" : useIndexes;
  const highlights = optionalBoolean(request.highlight, "highlight") ?? false;
  if (highlights && !isTextSearch) throw new InvalidInputError("highlight: requires fullTextQuery");
  const addedColumns = isTextSearch ? textColumns(isHybrid, highlights) : planned?.resultColumns;
  // Searches and orders add columns to those that are read.
  const isPlain = addedColumns === undefined && isAbsent(request.orderBy);
  const reads = new ColumnReads(fields, addedColumns);
  const selecting = isPlain
    ? projectionOf(snapshot.file, request.columns, selection)
    : selectColumns(fields, reads, schemaMetadataOf(manifest), request.columns, selection);
  const projection = await runAsync(selecting, request.signal);
  const condition = request.filter ?? null;
  const isPostfilter = planned !== null && !filtersFirst && condition !== null;
  // A postfilter of a vector search may name `_distance` and is planned separately. In a hybrid search, each
  // search filters its own rows.
  const rowFilter =
    condition === null || (isPostfilter && !isTextSearch)
      ? null
      : await filterOf(snapshot, condition, request.params, "filter", request.signal, indexes);
  const filter = isPostfilter ? null : rowFilter;
  const plan: QueryPlan = {
    fragments: manifest.fragments,
    projection,
    search: planned && {
      ...planned,
      postfilter: isPostfilter
        ? await postfilterOf(fields, condition, parameters, "filter", planned.resultColumns, request.signal)
        : null,
    },
    textSearch: isTextSearch
      ? {
          version: snapshot,
          fields,
          query: (await textQueries.get()).readTextQuery(snapshot, fields, request.fullTextQuery),
          filter: rowFilter,
          isPrefiltered: filtersFirst,
          isFast,
          highlights,
        }
      : null,
    filter,
    rerank,
    order: isAbsent(request.orderBy)
      ? null
      : (await ordering.get()).planOrder(request.orderBy, fields, reads),
    offset,
    limit,
  };
  const options: Omit<QueryOptions, "readAhead"> = {
    batchRows: batchSize ?? Number.POSITIVE_INFINITY,
    batchBytes,
    memory: request.memory,
    signal: request.signal,
    makeFile: async () => {
      const { makeSpillFile } = await spillFiles.get();
      return makeSpillFile(snapshot.table, "orderBy", "a limit of up to 65,536 rows needs no file");
    },
  };
  const source = versionSource(snapshot);
  return { snapshot, plan, source, numbers: new RowNumbers(source, manifest, snapshot.path), options };
}

/** Returns the maximum number of rows; infinity without a limit. */
function readLimit(request: QueryTableRequest, isVectorSearch: boolean): number {
  const limit = optionalCount(request.limit, "limit", 1);
  const k = optionalCount(request.k, "k");
  if (limit !== undefined && k !== undefined && limit !== k) {
    throw new InvalidInputError("limit and k: give one of them");
  }
  if (isVectorSearch && k === 0) throw new InvalidInputError("k: must be at least 1 in a search by vector");
  return limit ?? k ?? (isVectorSearch ? DEFAULT_NEAREST : Number.POSITIVE_INFINITY);
}

/** Returns the columns that a text search or a hybrid search adds. */
const textColumns = (isHybrid: boolean, highlights: boolean): readonly FoundColumn[] => [
  ...(isHybrid ? [DISTANCE, SCORE, RELEVANCE] : [SCORE]),
  ...(highlights ? [HIGHLIGHTS] : []),
];
