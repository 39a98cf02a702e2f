import * as arrow from "apache-arrow";
import { fieldOf, int64s } from "../../support/arrowColumns.js";

/** The type of a column, and its value in the row of an id. */
export type SampleColumn = readonly [type: arrow.DataType, cellOf: (id: number) => unknown];

/** Numbers, of which every seventh is null. */
export const NUMBERS: SampleColumn = [new arrow.Float64(), (id) => (id % 7 === 0 ? null : id / 4)];
export const TEXTS: SampleColumn = [new arrow.Utf8(), (id) => (id % 5 === 0 ? null : `text ${id % 13}`)];
/** Vectors of four dimensions, each of one row only. */
export const VECTORS: SampleColumn = [
  new arrow.FixedSizeList(4, fieldOf("item", new arrow.Float32())),
  (id) => [id, id % 10, (id * 7) % 31, 1],
];

export const numbersFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

/** Makes a row for each id: column `id` of 64 bits, and then the others. */
export function rowsOf(ids: readonly number[], columns: Readonly<Record<string, SampleColumn>>): arrow.Table {
  const vectors = Object.entries(columns).map(([name, [type, cellOf]]) => [
    name,
    arrow.vectorFromArray(ids.map(cellOf) as never, type as never),
  ]);
  return new arrow.Table({
    id: int64s(ids.map(BigInt)),
    ...Object.fromEntries(vectors),
  });
}

const ID_SCHEMA = new arrow.Schema([fieldOf("id", new arrow.Int64())]);

export const idRows = (...ids: readonly number[]): arrow.Table =>
  new arrow.Table(ID_SCHEMA, { id: int64s(ids.map(BigInt)) });

/** Ids of rows, in their order. */
export const idsOf = (rows: arrow.Table): number[] => Array.from(rows.getChild("id") ?? [], Number);

export const ascending = (ids: readonly number[]): number[] => [...ids].sort((one, two) => one - two);

export const sortedIdsOf = (rows: arrow.Table): number[] => ascending(idsOf(rows));

/** Rows in the order of a column of integers. */
export function sortedBy(column: string, rows: arrow.Table): arrow.Table {
  const keys = Array.from(rows.getChild(column) ?? [], Number);
  const order = [...keys.keys()].sort((one, two) => keys[one] - keys[two]);
  const slices = order.map((row) => rows.slice(row, row + 1));
  return slices.length === 0 ? rows : new arrow.Table(slices.flatMap(({ batches }) => batches));
}
