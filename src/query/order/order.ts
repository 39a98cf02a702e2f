/** Orders of queries: the columns that sort the rows, and the plan for reading them. */

import { UnsupportedError } from "../../errors.js";
import { typeName, UINT64, valueTypeOfField } from "../../expression/values/types.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type ColumnSource, type RowsPlan } from "../columns/columnReads.js";
import { spelledPath } from "../columns/systemColumns.js";
import { type SortedColumn, sortColumns } from "./sortColumns.js";
import { isSortable, type KeyOrder } from "./sortKeys.js";

export interface OrderKey extends KeyOrder {
  /** Path of the column. */
  readonly path: readonly string[];
}

/** Plan for reading rows to sort: outputs with the columns of the keys among them, and addresses. */
export interface SortedRead {
  readonly projection: RowsPlan;
  /** By key: the source of its column. */
  readonly sources: readonly ColumnSource[];
}

export interface Order {
  readonly keys: readonly OrderKey[];
  /** Reads the keys only. */
  readonly ofKeys: SortedRead;
  /** Reads the returned columns, and the keys. The outputs of the query's projection come first. */
  readonly ofRows: SortedRead;
}

/**
 * @param reads of the query's projection, complete
 * @returns null for no order
 * @throws InvalidInputError, TableColumnNotFoundError; UnsupportedError for a column that cannot sort rows
 */
export function planOrder(
  orderBy: QueryTableRequest["orderBy"],
  fields: readonly TableField[],
  reads: ColumnReads,
): Order | null {
  const columns = sortColumns(orderBy);
  if (columns.length === 0) return null;
  const keys = columns.map((column) => planKey(column, fields));
  const readWith = (columnReads: ColumnReads): SortedRead => {
    const sources = keys.map(({ path }) => columnReads.source(path));
    return { sources, projection: { ...columnReads.plan(), withAddresses: true } };
  };
  return { keys, ofKeys: readWith(new ColumnReads(fields)), ofRows: readWith(reads) };
}

function planKey(
  { label, columnName, ascending, nullsFirst }: SortedColumn,
  fields: readonly TableField[],
): OrderKey {
  const path = spelledPath(parseFieldPath(columnName), fields, label);
  const reads = new ColumnReads(fields);
  const source = reads.source(path);
  const chain = source.kind === "stored" ? reads.chain(path) : null;
  const type = chain === null ? UINT64 : valueTypeOfField(chain[chain.length - 1]);
  if (!isSortable(type)) {
    throw new UnsupportedError(
      `${label}: rows can't be sorted by ${formatFieldPath(path)}, a column of type ${typeName(type)}`,
    );
  }
  return { path, type, ascending, nullsFirst };
}
