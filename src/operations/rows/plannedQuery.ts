/** Plans queries: checks a request against the version that it reads. */

import { runAsync } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { InvalidInputError } from "../../errors.js";
import type { FoundRow, QueryTableRequest, Rerank } from "../../namespace/queries.js";
import { shortly } from "../../optionMembers.js";
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
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import type { QueryOptions, QueryPlan } from "../../query/run/queryPlan.js";
import type { RequestedSearch, VectorSearch } from "../../query/vector/vectorSearch.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { schemaMetadataOf } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { filterOf, parametersOf, postfilterOf } from "../filter.js";
import { isAbsent, optionalBoolean, optionalCount } from "../request.js";
import { requireSnapshot } from "../snapshot.js";
import { makeSpillFile } from "../spillFile.js";
import { isFilteredFirst, readVectorSearch } from "./vectorRequest.js";

/** A query that is ready to run. */
export interface PlannedQuery {
  readonly snapshot: OpenVersion<OperationContext>;
  readonly plan: QueryPlan;
  readonly source: FragmentSource;
  readonly numbers: RowNumbers;
  readonly options: Omit<QueryOptions, "readAhead">;
}

/** The first search, and the first query with an order, load these modules. */
const vectorSearches = lazyModule(() => import("../../query/vector/vectorSearch.js"));
const vectorIndexes = lazyModule(() => import("../../query/vector/vectorIndexes.js"));
const ordering = lazyModule(() => import("../../query/order/order.js"));
const textQueries = lazyModule(() => import("./textQuery.js"));

/** Default number of rows of a search. */
const DEFAULT_NEAREST = 10;
/** Maximum number of rows of a hybrid search. */
const MAX_HYBRID = 2 ** 16;

export async function planQuery(
  context: OperationContext,
  request: QueryTableRequest,
  access: Access,
): Promise<PlannedQuery> {
  const search = readVectorSearch(request);
  const filtersFirst = isFilteredFirst(request);
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
  const metadata = schemaMetadataOf(manifest);
  const parameters = parametersOf(request.params);
  const selection = { withRowId, maxColumns, parameters };
  const isTextSearch = !isAbsent(request.fullTextQuery);
  const isHybrid = isTextSearch && search !== null;
  if (isHybrid) checkHybrid(search, offset + limit);
  const rerank = readRerank(request.rerank, isHybrid);
  const planned = search === null ? null : await plannedSearch(snapshot, fields, search);
  const useIndexes = optionalBoolean(request.useScalarIndex, "useScalarIndex");
  const indexes = isFast && search === null && !isTextSearch && useIndexes !== false ? "only" : useIndexes;
  const highlights = optionalBoolean(request.highlight, "highlight") ?? false;
  if (highlights && !isTextSearch) throw new InvalidInputError("highlight: requires fullTextQuery");
  const addedColumns = isTextSearch ? textColumns(isHybrid, highlights) : planned?.resultColumns;
  const reads = new ColumnReads(fields, addedColumns);
  const projection = await runAsync(
    selectColumns(fields, reads, metadata, request.columns, selection),
    request.signal,
  );
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
    makeFile: () => makeSpillFile(snapshot.table, "orderBy", "a limit of up to 65,536 rows needs no file"),
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

async function plannedSearch(
  snapshot: OpenVersion<ReaderEnvironment>,
  fields: readonly TableField[],
  search: RequestedSearch,
): Promise<Omit<VectorSearch, "postfilter">> {
  const [{ planVectorSearch }, { vectorIndexesOn }] = await Promise.all([
    vectorSearches.get(),
    vectorIndexes.get(),
  ]);
  return planVectorSearch(fields, search, (column, metric) =>
    vectorIndexesOn(snapshot, column, metric, fields),
  );
}

/** Returns the columns that a text search or a hybrid search adds. */
const textColumns = (isHybrid: boolean, highlights: boolean): readonly FoundColumn[] => [
  ...(isHybrid ? [DISTANCE, SCORE, RELEVANCE] : [SCORE]),
  ...(highlights ? [HIGHLIGHTS] : []),
];

/**
 * Checks a hybrid search.
 * @throws InvalidInputError for several vectors, or too many rows
 */
function checkHybrid({ vectors }: RequestedSearch, rowCount: number): void {
  if (vectors.length > 1) {
    throw new InvalidInputError(`vector: one vector goes with fullTextQuery, not ${vectors.length}`);
  }
  if (rowCount > MAX_HYBRID) {
    throw new InvalidInputError(
      `limit: a search by vector and text finds at most ${MAX_HYBRID} rows, including the offset`,
    );
  }
}

function readRerank(value: unknown, isHybrid: boolean): Rerank | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "function")
    throw new InvalidInputError(`rerank: must be a function, not ${shortly(value)}`);
  if (!isHybrid)
    throw new InvalidInputError(
      "rerank: goes with a search by vector and text at once; give vector and fullTextQuery",
    );
  return checkedRerank(value as Parameters<typeof checkedRerank>[0]);
}

/** Returns a safe form of the caller's function, which may return anything, throw, or change its argument. */
const checkedRerank =
  (rerank: (row: FoundRow) => unknown): Rerank =>
  (row) => {
    const relevance = called(rerank, row);
    if (typeof relevance === "number" && !Number.isNaN(relevance)) return relevance;
    throw new InvalidInputError(
      `rerank: must return a number for each row synchronously, not ${shortly(relevance)}`,
    );
  };

function called(rerank: (row: FoundRow) => unknown, row: FoundRow): unknown {
  try {
    return rerank({ ...row });
  } catch (cause) {
    throw new InvalidInputError(`rerank: failed: ${String((cause as Error)?.message ?? cause)}`, { cause });
  }
}
