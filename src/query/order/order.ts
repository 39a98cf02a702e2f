/** Orders of queries: the columns that sort the rows, and the plan for reading them. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { typeName, UINT64, valueTypeOfField } from "../../expression/values/types.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type ColumnSource, type RowsPlan } from "../columns/columnReads.js";
import { spelledPath } from "../columns/systemColumns.js";
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
  if (orderBy === undefined || orderBy === null) return null;
  if (!Array.isArray(orderBy))
    throw new InvalidInputError(`orderBy: must be a list, as in [{ columnName: "id", ascending: false }]`);
  if (orderBy.length === 0) return null;
  const keys = (orderBy as readonly unknown[]).map((key, index) => planKey(key, index, fields));
  const readWith = (columnReads: ColumnReads): SortedRead => {
    const sources = keys.map(({ path }) => columnReads.source(path));
    return { sources, projection: { ...columnReads.plan(), withAddresses: true } };
  };
  return { keys, ofKeys: readWith(new ColumnReads(fields)), ofRows: readWith(reads) };
}

function planKey(key: unknown, index: number, fields: readonly TableField[]): OrderKey {
  const label = `orderBy[${index}]`;
  if (typeof key !== "object" || key === null) {
    throw new InvalidInputError(`${label}: must be an object, as in { columnName: "id", ascending: false }`);
  }
  const { columnName, ascending, nullsFirst } = key as Readonly<Record<string, unknown>>;
  if (typeof columnName !== "string") throw new InvalidInputError(`${label}.columnName: must be a text`);
  const isAscending = flag(ascending, `${label}.ascending`, true);
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
  return {
    path,
    type,
    ascending: isAscending,
    nullsFirst: flag(nullsFirst, `${label}.nullsFirst`, false),
  };
}

function flag(value: unknown, label: string, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "boolean") return value;
  throw new InvalidInputError(`${label}: must be true or false`);
}
