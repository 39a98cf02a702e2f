/** The plan of a query and the options of its execution. */

import type { DataFragment } from "../../format/table.js";
import type { MemoryShare } from "../../memory.js";
import type { Rerank } from "../../namespace/queries.js";
import type { ReadAhead } from "../../rows/readAhead.js";
import type { Projection } from "../columns/projection.js";
import type { Filter } from "../filter/filter.js";
import type { Order } from "../order/order.js";
import type { SortOptions } from "../order/orderedRows.js";
import type { QueryObserver } from "../scan/observer.js";
import type { TextSearchPlan } from "../text/textSearch.js";
import type { VectorSearch } from "../vector/vectorSearch.js";

/** The rows and columns that a query returns. */
export interface QueryPlan {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** The vector search that selects the rows; null for none. */
  readonly search: VectorSearch | null;
  /** The full-text search that selects and ranks the rows; null for none. */
  readonly textSearch: TextSearchPlan | null;
  /** Computes the relevance of the rows of a hybrid search. Default: reciprocal rank fusion. */
  readonly rerank?: Rerank | undefined;
  /** Filter that the query applies before the search. */
  readonly filter: Filter | null;
  /** Null to return rows in their order on disk. */
  readonly order: Order | null;
  readonly offset: number;
  readonly limit: number;
}

/** Returns the maximum number of rows that the query's filter has to find. */
export const mostFiltered = ({ search, textSearch, order, offset, limit }: QueryPlan): number =>
  order === null && search === null && textSearch === null ? offset + limit : Number.POSITIVE_INFINITY;

/** Execution options of a query. */
export interface QueryOptions extends SortOptions {
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** Approximate bytes of a batch. Default: batches follow the pages on disk. */
  readonly batchBytes?: number;
  readonly readAhead: ReadAhead;
  readonly memory?: MemoryShare;
  readonly signal?: AbortSignal;
  /** Notified of the progress of the query. */
  readonly observer?: QueryObserver;
}
