/** Rows with ids, and the ids of rows. */

import {
  Table as ArrowTable,
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  Schema,
  type Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

/** The type of a column, and its value in the row of an id. */
export type SampleColumn = readonly [type: DataType, cellOf: (id: number) => unknown];

/** Numbers, of which every seventh is null. */
export const NUMBERS: SampleColumn = [new Float64(), (id) => (id % 7 === 0 ? null : id / 4)];
/** Texts that repeat, of which every fifth is null. */
export const TEXTS: SampleColumn = [new Utf8(), (id) => (id % 5 === 0 ? null : `text ${id % 13}`)];
/** Vectors of four dimensions, each of one row only. */
export const VECTORS: SampleColumn = [
  new FixedSizeList(4, new Field("item", new Float32(), true)),
  (id) => [id, id % 10, (id * 7) % 31, 1],
];

/** Numbers from `first` on. */
export const numbersFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

/** Makes a row for each id: column `id` of 64 bits, and then the others. */
export function rowsOf(ids: readonly number[], columns: Readonly<Record<string, SampleColumn>>): Table {
  const vectors = Object.entries(columns).map(([name, [type, cellOf]]) => [
    name,
    vectorFromArray(ids.map(cellOf) as never, type as never),
  ]);
  return new ArrowTable({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    ...Object.fromEntries(vectors),
  });
}

const ID_SCHEMA = new Schema([new Field("id", new Int64(), true)]);

/** Rows that have an id only. */
export const idRows = (...ids: readonly number[]): Table =>
  new ArrowTable(ID_SCHEMA, { id: vectorFromArray(ids.map(BigInt), new Int64()) });

/** Ids of rows, in their order. */
export const idsOf = (rows: Table): number[] => Array.from(rows.getChild("id") ?? [], Number);

export const ascending = (ids: readonly number[]): number[] => [...ids].sort((one, two) => one - two);

/** Ids of rows, ascending. */
export const sortedIdsOf = (rows: Table): number[] => ascending(idsOf(rows));

/** Rows in the order of a column of integers. */
export function sortedBy(column: string, rows: Table): Table {
  const keys = Array.from(rows.getChild(column) ?? [], Number);
  const order = [...keys.keys()].sort((one, two) => keys[one] - keys[two]);
  const slices = order.map((row) => rows.slice(row, row + 1));
  return slices.length === 0 ? rows : new ArrowTable(slices.flatMap(({ batches }) => batches));
}
