/** Queries and searches of tables that Tiltyard reads. */

import { Table } from "./abstractTable.js";
import { failure } from "./failures.js";
import { offsetsOf } from "./queries/numbers.js";
import { searchTable, searchVectors } from "./queries/tableSearch.js";
import { type AutoQuery, type FullTextQuery, Query, TakeQuery, type VectorQuery } from "./query.js";
import type { TableReader } from "./tableReader.js";
import { rowIdsOf } from "./tableRequests.js";
import type { TableState } from "./tableState.js";
import type { IntoVector, MultiVector } from "./vectors.js";

const readers = new WeakMap<Table, TableReader>();

/** Returns the reader of a table. @throws Error for anything else */
export function readerOf(table: Table): TableReader {
  const reader = readers.get(table);
  if (reader === undefined) throw failure("a table is required");
  return reader;
}

/** A table whose queries read through its state. */
export abstract class QueriedTable extends Table {
  protected readonly inner: TableState;

  /** Makes a table. Programs get theirs from a connection. */
  constructor(inner: TableState) {
    super();
    this.inner = inner;
    readers.set(this, inner);
  }

  /** State of the open handle. @throws Error if the handle is closed */
  protected get state(): TableState {
    this.inner.requireOpen();
    return this.inner;
  }

  query(): Query {
    return new Query(this.state);
  }

  takeOffsets(offsets: number[]): TakeQuery {
    return new TakeQuery(this.state, { offsets: offsetsOf(offsets) });
  }

  takeRowIds(rowIds: readonly (bigint | number)[]): TakeQuery {
    return new TakeQuery(this.state, { rowIds: rowIdsOf(rowIds) });
  }

  search(
    query: string | IntoVector | MultiVector | FullTextQuery,
    queryType?: string,
    ftsColumns?: string | string[],
  ): VectorQuery | Query | AutoQuery {
    return searchTable(this.state, query, queryType, ftsColumns);
  }

  vectorSearch(vector: IntoVector | MultiVector): VectorQuery {
    return searchVectors(this.state, vector);
  }
}
