import { describe, expect, it } from "vitest";
import type { ListColumn } from "../../../src/arrow/columns/column.js";
import { uint64Column } from "../../../src/indexes/indexColumns.js";
import { BITMAP, LABEL_LIST } from "../../../src/indexes/kinds/scalarKinds.js";
import type { TableField } from "../../../src/schema/schema.js";
import { someOf } from "../../support/effort.js";
import { Random } from "../../support/generators.js";
import { makeTempDir } from "../../support/tempDir.js";
import { expectAnswers, expectRows } from "../expectAnswers.js";
import { batchesOf, filesIn, rowsOf, targetOf } from "../indexDirectory.js";
import {
  columnOf,
  drawValues,
  fieldOf,
  idOf,
  idWords,
  NARROW_TYPES,
  rowsOfAnswer,
  sortKey,
  type Value,
  type ValueShape,
} from "../indexValues.js";

const BITMAP_TYPES = [...NARROW_TYPES, "string", "large_string", "binary", "large_binary"];

const SHAPES: ValueShape[] = [
  { rowCount: 0, nulls: 0, distinct: 1 },
  { rowCount: 1, nulls: 0, distinct: 1 },
  { rowCount: 50, nulls: 1, distinct: 1 },
  { rowCount: 6000, nulls: 0, distinct: 5000 },
  { rowCount: 20_000, nulls: 0.3, distinct: 0 },
];

describe.each(someOf(BITMAP_TYPES, 3))("a BITMAP of %s", (type) => {
  const field = fieldOf(type);

  it.each(SHAPES)("answers like a scan: $rowCount rows, $nulls nulls", async (shape) => {
    expect(BITMAP.refusal(field)).toBeNull();
    const random = new Random(shape.rowCount + 1);
    const values = drawValues(random, field.type, shape);
    const ids = values.map((_, row) => idOf(row));
    const directory = await makeTempDir();
    await BITMAP.build(rowsOf(field.type, values, ids), targetOf(directory, field));
    const files = filesIn(directory);
    expect(await expectAnswers(type, await BITMAP.open(files, field), values, random)).toBeGreaterThan(20);
    await files.close();
  });
});

/** Lists of values; null for a null list. */
type Lists = (Value[] | null)[];

function listColumn(item: TableField, lists: Lists): ListColumn {
  const ends = [0];
  const items: Value[] = [];
  const bits = new Uint8Array((lists.length + 7) >>> 3);
  let nullCount = 0;
  for (const [row, list] of lists.entries()) {
    // Null lists may have items.
    items.push(...(list ?? [items[0] ?? null]));
    ends.push(items.length);
    if (list === null) nullCount++;
    else bits[row >>> 3]! |= 1 << (row & 7);
  }
  return {
    kind: "list",
    length: lists.length,
    validity: nullCount === 0 ? null : { bytes: bits, bitOffset: 0, nullCount },
    offsets: Int32Array.from(ends),
    items: columnOf(item.type, items),
  };
}

describe.each(someOf(BITMAP_TYPES, 5))("a LABEL_LIST of %s", (type) => {
  const item = fieldOf(type);
  const field: TableField = { ...item, ...fieldOf("list"), children: [item] };

  it.each([0, 1, 6000])("answers like a scan: %i rows", async (rowCount) => {
    expect(LABEL_LIST.refusal(field)).toBeNull();
    const random = new Random(5);
    const pool = drawValues(random, item.type, { rowCount: 60, nulls: 0.05, distinct: 30 });
    const lists: Lists = Array.from({ length: rowCount }, (_, row) =>
      row % 11 === 5 ? null : Array.from({ length: random.below(5) }, () => pool[random.below(pool.length)]!),
    );
    const directory = await makeTempDir();
    const ids = uint64Column(idWords(lists.map((_, row) => idOf(row))));
    await LABEL_LIST.build(batchesOf(listColumn(item, lists), ids), targetOf(directory, field));
    const files = filesIn(directory);
    const index = await LABEL_LIST.open(files, field);
    const keys = lists.map(
      (list) => list && new Set(list.map((value) => value && sortKey(item.type, value))),
    );
    const nulls = [...keys.keys()].filter((row) => keys[row] === null);
    const isNull = await index.search({ kind: "isNull" });
    expect(rowsOfAnswer(isNull.rows)).toEqual(nulls);
    const present = pool.filter((value) => value !== null);
    for (let query = 0; query < 40; query++) {
      const wanted = Array.from({ length: 1 + (query % 3) }, () => present[random.below(present.length)]!);
      const wantedKeys = wanted.map((value) => sortKey(item.type, value));
      const values = columnOf(item.type, wanted);
      const any = await index.search({ kind: "hasAny", values }, { withNulls: true });
      const all = await index.search({ kind: "hasAll", values });
      expect(index.estimate({ kind: "hasAll", values }).rows).toBeGreaterThanOrEqual(0);
      const rowsWhere = (holds: (set: Set<unknown>) => boolean) =>
        [...keys.keys()].filter((row) => keys[row] !== null && holds(keys[row]!));
      const hasAny = rowsWhere((set) => wantedKeys.some((key) => set.has(key)));
      const hasAll = rowsWhere((set) => wantedKeys.every((key) => set.has(key)));
      expectRows(rowsOfAnswer(any.rows), hasAny, "any");
      expectRows(rowsOfAnswer(all.rows), hasAll, "all");
      expectRows(rowsOfAnswer(any.nulls!), nulls, "nulls");
    }
    await files.close();
  });
});
