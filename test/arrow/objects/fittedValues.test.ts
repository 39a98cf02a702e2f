/** The type of a column decides what a value of JSON means, in inserts, merges and updates alike. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { TableSchemaValidationError } from "tiltyard";
import { expect, it } from "vitest";
import { fieldOf, listOf } from "../../support/arrowColumns.js";
import { sharedNamespace } from "../../support/fixtures.js";
import { VALUE_TYPES } from "../../support/valueTypes.js";

const namespace = sharedNamespace();

const schema = new arrow.Schema([
  fieldOf("id", new arrow.Int32(), false),
  ...Object.entries(VALUE_TYPES).map(([name, { type }]) => fieldOf(name, type)),
]);
const row = fc.record(
  Object.fromEntries(Object.entries(VALUE_TYPES).map(([name, { value }]) => [name, fc.option(value)])),
);
const inJson = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value === null || name === "id" ? value : VALUE_TYPES[name].json(value as never),
    ]),
  );
const parsed = (values: object) => JSON.parse(JSON.stringify(values)) as Record<string, unknown>;
const stored = (name: string) =>
  namespace
    .table(name)
    .scan({ orderBy: [{ columnName: "id" }] })
    .toArray();

it("rows of JSON.parse give the rows that values of the types give: created, inserted, merged and updated", async () => {
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (values) => {
      const rows = values.map((value, id) => ({ id, ...value }));
      const texts = rows.map((value) => parsed(inJson(value)));
      const names = ["native", "created", "inserted", "merged", "updated"].map((name) => `${name}${number}`);
      number++;
      const [native, created, inserted, merged, updated] = names;
      await namespace.createTable({ id: [native], schema }, rows);
      await namespace.createTable({ id: [created], schema }, texts);
      for (const name of [inserted, merged]) await namespace.createTable({ id: [name], schema }, []);
      await namespace.insertIntoTable({ id: [inserted] }, texts);
      await namespace.mergeInsertIntoTable({ id: [merged], on: "id", whenNotMatchedInsertAll: true }, texts);
      await namespace.createTable(
        { id: [updated], schema },
        rows.map(({ id }) => ({ id })),
      );
      for (const text of texts) {
        await namespace.updateTable({ id: [updated], values: text, predicate: `id = ${text.id}` });
      }
      const wanted = await stored(native);
      for (const name of names.slice(1)) expect(await stored(name)).toEqual(wanted);
    }),
    { numRuns: 12 },
  );
}, 120_000);

const INT = new arrow.Int32();
const ITEM = new arrow.Struct([fieldOf("day", new arrow.DateDay())]);
const REFUSED: readonly (readonly [arrow.DataType, unknown, string])[] = [
  [INT, Symbol("s"), "column v: a symbol where a value of type Int32 is wanted"],
  [INT, { valueOf: () => 1 }, "column v: an object where"],
  [INT, 1.5, "column v: 1.5 where a value of type Int32 is wanted"],
  [INT, Number.NaN, "column v: NaN where"],
  [INT, Number.POSITIVE_INFINITY, "column v: Infinity where"],
  [INT, 2 ** 31, "column v: 2147483648 where"],
  [new arrow.Uint8(), -1, "column v: -1 where a value of type Uint8 is wanted"],
  [new arrow.Int64(), 2 ** 53, "column v: 9007199254740992 where a value of type Int64 is wanted"],
  [new arrow.Int64(), "1e3", 'column v: the text "1e3" where'],
  [new arrow.Float32(), 1e300, "column v: 1e+300 where a value of type Float32 is wanted"],
  [new arrow.Float16(), 70_000, "column v: 70000 where a value of type Float16 is wanted"],
  [new arrow.Float64(), 2n ** 53n + 1n, "column v: 9007199254740993n where"],
  [new arrow.Float64(), "1", 'column v: the text "1" where a value of type Float64 is wanted'],
  [new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())), [1, 1e39], "column v[]: 1e+39 where"],
  [
    new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())),
    Float64Array.of(1, 1e39),
    "column v[]: 1e+39",
  ],
  [
    new arrow.Binary(),
    "not base64!",
    'column v: the text "not base64!" where a value of type Binary is wanted',
  ],
  [new arrow.FixedSizeBinary(4), "AAAA", "where a value of type FixedSizeBinary[4] is wanted"],
  [new arrow.TimestampSecond(), "+999999999999-01-01", "where a value of type Timestamp<SECOND> is wanted"],
  [
    new arrow.TimestampNanosecond("UTC"),
    "2300-01-01",
    "where a value of type Timestamp<NANOSECOND, UTC> is wanted",
  ],
  [
    listOf(ITEM),
    [{ day: "2024-01-01" }, { day: "2024-02-30" }],
    'column v[].day: the text "2024-02-30" where',
  ],
  [
    listOf(ITEM),
    [{ dya: "2024-01-01" }],
    "column v[]: the type, Struct<{day:Date32<DAY>}>, has no member dya",
  ],
];

it.each(
  REFUSED,
)("%s refuses %o in every kind of change, which changes nothing", async (type, value, message) => {
  const id = ["refusals"];
  const typed = new arrow.Schema([fieldOf("id", INT), fieldOf("v", type)]);
  const created = namespace.createTable({ id: ["never"], schema: typed }, [{ id: 0 }, { id: 1, v: value }]);
  await expect(created).rejects.toThrow(message);
  await namespace.createTable({ id, schema: typed, mode: "Overwrite" }, [{ id: 0 }]);
  const rows = [{ id: 0 }, { id: 1, v: value }];
  const version = await namespace.table("refusals").version();
  const changes = [
    [() => namespace.insertIntoTable({ id }, rows), "row 1, "],
    [
      () =>
        namespace.mergeInsertIntoTable(
          { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
          rows,
        ),
      "row 1, ",
    ],
    [() => namespace.updateTable({ id, values: { v: value } }), ""],
  ] as const;
  for (const [change, row] of changes) {
    const error = await change().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TableSchemaValidationError);
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).toContain(row);
  }
  expect(await namespace.table("refusals").version()).toBe(version);
  await expect(namespace.tableExists({ id: ["never"] })).rejects.toThrow("never");
});

it("an update refuses a value that contains itself", async () => {
  await namespace.createTable({ id: ["copied"], schema }, [{ id: 1 }]);
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const update = namespace.updateTable({ id: ["copied"], values: { list: cycle } });
  await expect(update).rejects.toThrow("values: nested deeper than 64 levels");
});
