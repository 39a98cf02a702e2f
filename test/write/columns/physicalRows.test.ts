import * as arrow from "apache-arrow";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { makeBatch } from "../../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { logicalFieldOf } from "../../../src/arrow/types/logicalTypes.js";
import { physicalRows } from "../../../src/write/columns/physicalRows.js";
import { fieldOf, mapOf } from "../../support/arrowColumns.js";

const members = [fieldOf("a", new arrow.Int32(), false), fieldOf("b", new arrow.Utf8())];
const texts = Array.from({ length: 128 }, (_, row) => `text ${row}`);
/** By type: values of each row. */
const TYPES: [arrow.DataType, (row: number) => unknown][] = [
  [new arrow.Int32(), (row) => row],
  [new arrow.Bool(), (row) => row % 3 === 0],
  [new arrow.Utf8(), (row) => `row ${row}`],
  // As many texts as indices.
  [new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()), (row) => texts[row % 128]],
  [new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())), (row) => [row, -row]],
  [new arrow.List(fieldOf("item", new arrow.Int32(), false)), (row) => Array(row % 3).fill(row)],
  [new arrow.Struct(members), (row) => ({ a: row, b: row % 2 === 0 ? null : "b" })],
  [
    mapOf(new arrow.Utf8(), new arrow.Int32()),
    (row) => new Map(Array.from({ length: row % 3 }, (_, key) => [`${key}`, row])),
  ],
];
const valueText = (value: unknown) =>
  JSON.stringify(value, (_, part) => (part instanceof Map ? [...part] : part));

it("live rows keep their offsets for any deletions and batches", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      async (isDeleted, cut, batchRows, nullable) => {
        const live = isDeleted.flatMap((deleted, position) => (deleted ? [] : [position]));
        const deleted = Uint32Array.from(isDeleted.flatMap((gone, position) => (gone ? [position] : [])));
        const arrowFields = TYPES.map(([type], index) => fieldOf(`c${index}`, type, nullable));
        const fields = arrowFields.map((field) => logicalFieldOf(field, field.name));
        const columns = TYPES.map(([type, valueAt]) => {
          const { data } = arrow.vectorFromArray(live.map(valueAt) as never[], type as never);
          return columnFromData(data[0] as never, layoutOf(type, "c"));
        });
        async function* batches() {
          for (let start = 0; start < live.length; start += cut) {
            const rowCount = Math.min(cut, live.length - start);
            yield { columns: columns.map((column) => sliceColumn(column, start, rowCount)), rowCount };
          }
        }
        const places = { rowCount: isDeleted.length, deleted, batchRows, nullStructs: true };
        let position = 0;
        for await (const batch of physicalRows(batches(), fields, places)) {
          expect(batch.rowCount).toBeGreaterThan(0);
          expect(batch.rowCount).toBeLessThanOrEqual(batchRows);
          const table = makeBatch(new arrow.Schema(arrowFields), batch.columns, batch.rowCount);
          for (let row = 0; row < batch.rowCount; row++, position++) {
            for (const [index, [type, valueAt]] of TYPES.entries()) {
              const value = table.getChildAt(index)?.get(row);
              if (isDeleted[position]) {
                expect(value === null, String(type)).toBe(nullable);
              } else {
                const [expected] = arrow.vectorFromArray([valueAt(position)] as never[], type as never);
                expect(valueText(value), String(type)).toBe(valueText(expected));
              }
            }
          }
        }
        expect(position).toBe(isDeleted.length);
      },
    ),
    { numRuns: 100 },
  );
});

it("nullable members stand in for null structs that a file cannot store", async () => {
  const field = fieldOf("st", new arrow.Struct([fieldOf("a", new arrow.Int32())]));
  async function* none() {}
  const places = { rowCount: 2, deleted: Uint32Array.of(0, 1), batchRows: 10, nullStructs: false };
  const seen: unknown[] = [];
  for await (const { columns, rowCount } of physicalRows(none(), [logicalFieldOf(field, "st")], places)) {
    seen.push(...makeBatch(new arrow.Schema([field]), columns, rowCount).toArray());
  }
  expect(JSON.stringify(seen)).toBe('[{"st":{"a":null}},{"st":{"a":null}}]');
});
