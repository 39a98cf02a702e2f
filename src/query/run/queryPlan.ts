/** What a query asks for, and how it is run. */

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

/** What a query asks for. */
export interface QueryPlan {
  readonly fragments: readonly DataFragment[];
  readonly projection: Projection;
  /** The search by vector that finds the rows; null for none. */
  readonly search: VectorSearch | null;
  /** The search by text that finds the rows, the best first; null for none. */
  readonly textSearch: TextSearchPlan | null;
  /** How relevant rows are that two searches find. Default: by reciprocal rank fusion. */
  readonly rerank?: Rerank | undefined;
  /** Comes before the search. */
  readonly filter: Filter | null;
  /** Null for the order in which rows lie on disk. */
  readonly order: Order | null;
  readonly offset: number;
  readonly limit: number;
}

/** Most rows that the filter of a query has to find. */
export const mostFiltered = ({ search, textSearch, order, offset, limit }: QueryPlan): number =>
  order === null && search === null && textSearch === null ? offset + limit : Number.POSITIVE_INFINITY;

/** How a query is run. */
export interface QueryOptions extends SortOptions {
  /** Maximum rows of a batch. */
  readonly batchRows: number;
  /** Approximate bytes of a batch. Default: as the data lies on disk. */
  readonly batchBytes?: number;
  readonly readAhead: ReadAhead;
  readonly memory?: MemoryShare;
  readonly signal?: AbortSignal;
  /** Is told what becomes of the query. */
  readonly observer?: QueryObserver;
}
