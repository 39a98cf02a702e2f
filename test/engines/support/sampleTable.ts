/** A table of ours with what other engines must get right: kinds of values, fragments, deletions, indexes. */

import * as arrow from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { fieldOf, listOf } from "../../support/arrowColumns.js";
import { makeColumn, type TypeName } from "../../support/generators.js";
import { buildIndex } from "../../support/indexedTable.js";

/** Rows of a fragment, before deletions. */
export const FRAGMENT_ROWS = 150;
const FRAGMENTS = 3;
const TAGS = listOf(new arrow.Utf8());
const PLACE = new arrow.Struct([
  fieldOf("x", new arrow.Float64()),
  fieldOf("label", new arrow.Utf8()),
] as arrow.Field[]);
const VECTOR = new arrow.FixedSizeList(8, fieldOf("item", new arrow.Float32()));

const drawn = (type: TypeName, count: number, first: number): arrow.Vector =>
  new arrow.Vector([makeColumn({ type, shape: "random", nulls: "some" }, count, first + 1)]);

export interface SampleOptions {
  /** Data files 2.0 store no null structs. Default true. */
  readonly nullStructs?: boolean;
}

/** Rows with ids from `first` on. */
export function sampleRows(
  first: number,
  count = FRAGMENT_ROWS,
  { nullStructs = true }: SampleOptions = {},
): arrow.Table {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const column = <Value>(type: arrow.DataType, valueAt: (id: number) => Value): arrow.Vector =>
    arrow.vectorFromArray(ids.map(valueAt) as never, type as never);
  return new arrow.Table({
    id: column(new arrow.Int64(), BigInt),
    n: column(new arrow.Float64(), (id) => (id % 7 === 0 ? null : id / 4)),
    kind: column(new arrow.Utf8(), (id) => `kind ${id % 5}`),
    s: column(new arrow.Utf8(), (id) => (id % 6 === 0 ? null : `text ${id % 13} ä€`)),
    flag: column(new arrow.Bool(), (id) => (id % 4 === 0 ? null : id % 3 === 0)),
    small: column(new arrow.Int32(), (id) => (id % 9 === 0 ? null : id - 100)),
    day: column(new arrow.DateDay(), (id) => (id % 8 === 0 ? null : new Date(86_400_000 * (id * 3 - 200)))),
    moment: column(new arrow.TimestampMicrosecond("UTC"), (id) => (id % 10 === 0 ? null : id * 977_777)),
    price: drawn("decimal128", count, first),
    bytes: drawn("binary", count, first),
    tags: column(TAGS, (id) =>
      id % 5 === 0
        ? null
        : Array.from({ length: id % 4 }, (_, index) => (index === 2 ? null : `tag ${id % 3} ${index}`)),
    ),
    place: column(PLACE, (id) =>
      nullStructs && id % 11 === 0 ? null : { x: id % 3 === 0 ? null : id / 2, label: `label ${id % 4}` },
    ),
    vector: column(VECTOR, (id) => Array.from({ length: 8 }, (_, index) => Math.sin(id * 8 + index))),
    nothing: column(new arrow.Utf8(), () => null),
  });
}

/** Makes a table of three fragments, of which some rows are deleted and updated, with two indexes. */
export async function makeSampleTable(
  namespace: DirectoryNamespace,
  name: string,
  options: SampleOptions = {},
): Promise<void> {
  await namespace.createTable({ id: [name] }, sampleRows(0, FRAGMENT_ROWS, options));
  const table = namespace.table([name]);
  for (let fragment = 1; fragment < FRAGMENTS; fragment++) {
    await table.insert(sampleRows(fragment * FRAGMENT_ROWS, FRAGMENT_ROWS, options));
    // The last fragment is in no index.
    if (fragment === 1) {
      await buildIndex(namespace, { id: [name], column: "id", indexType: "BTREE" });
      await buildIndex(namespace, { id: [name], column: "kind", indexType: "BITMAP" });
    }
  }
  await table.delete("id % 10 = 9");
  await table.update({ where: "id between 20 and 40", valuesSql: { s: "upper(s)" } });
}
