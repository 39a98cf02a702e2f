/** Required and forbidden content of the declaration of a computed column. */

import { Field, Int32, Int64, Struct, Utf8 } from "apache-arrow";
import { DirectoryNamespace, type TableHandle, type UserFunction } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectInvalid } from "../support/outcomes.js";
import { makeTempDir } from "../support/tempDir.js";

const functions: Record<string, UserFunction> = {
  tenfold: {
    ...{ version: "1", inputs: ["a"], output: new Int64() },
    row: ({ a }) => (a as bigint) * 10n,
  },
  text: { version: "1", inputs: ["a"], output: new Utf8(), row: ({ a }) => `{"a":${a}}` },
  pair: {
    version: "1",
    inputs: ["a", "st.x"],
    output: new Struct([new Field("x", new Int32(), true)]),
    row: () => ({ x: 1 }),
  },
};

let ns: DirectoryNamespace;
let t: TableHandle;
beforeEach(async () => {
  ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", functions });
  t = ns.table(["t"]);
  await t.create([
    { a: 1n, st: { x: 1n } },
    { a: 2n, st: { x: 2n } },
  ]);
});
afterEach(() => ns.close());

/** Adds a column with a declaration of its own, like another engine. */
const declared = (metadata: Record<string, string>, type = "int64") =>
  t.addColumns({ name: "b", dataType: { type }, metadata });

const values = async () =>
  (await t.scan({ columns: ["a", "b"] }).toArray()).map(({ a, b }) => [a, b] as const);

describe("a backfill waits until the declaration names the inputs", () => {
  it.each<Record<string, string>>([
    {},
    { "virtual_column.udf_inputs": "null" },
    { "virtual_column.udf_inputs": "[]" },
  ])("where a function computes it: %o", async (inputs) => {
    await declared({ virtual_column: "true", "virtual_column.udf_name": "tenfold", ...inputs });
    await expectInvalid(
      t.backfill("b"),
      'column b: its metadata does not say what it is computed from, so that changes of that would go unnoticed; set virtual_column.udf_inputs to "[\\"a\\"]" in the metadata of the field (updateFieldMetadata)',
    );
    await t.updateFieldMetadata([{ path: "b", metadata: { "virtual_column.udf_inputs": '["a"]' } }]);
    await ns.waitForJob(await t.backfill("b"));
    await t.update({ where: "a = 1", values: { a: 3n } });
    expect(new Map(await values())).toEqual(
      new Map([
        [2n, 20n],
        [3n, null],
      ]),
    );
    await expectInvalid(t.dropColumns("a"), "b is computed from it");
  });

  it.each([undefined, "null", "[]", '["st.x"]', '["a.x"]'])("where SQL does: %s", async (inputs) => {
    const sql = {
      computed_column: "true",
      "computed_column.kind": "sql",
      "computed_column.expression": "a * st.x",
    };
    await declared(inputs === undefined ? sql : { ...sql, "computed_column.inputs": inputs });
    await expectInvalid(
      t.backfill("b"),
      "expression of column b: it names a, and computed_column.inputs in the metadata of the field does not",
    );
    await t.dropColumns("b");
    // The parent of an input counts too.
    await declared({ ...sql, "computed_column.inputs": '["a","st"]' });
    await ns.waitForJob(await t.backfill("b"));
    expect(await values()).toEqual([
      [1n, 1n],
      [2n, 4n],
    ]);
  });
});

it("a declaration refuses metadata that changes the type of the function's output", async () => {
  const virtual = (name: string) => ({
    name: "b",
    virtualColumn: { udfName: "text", fieldMetadata: { "ARROW:extension:name": name } },
  });
  await expectInvalid(
    t.addColumns(virtual("arrow.json")),
    "field b: ARROW:extension:name cannot be arrow.json: the field is of type string, not json",
  );
  await t.addColumns(virtual("own.text"));
  await ns.waitForJob(await t.backfill("b"));
  expect(await values()).toEqual([
    [1n, '{"a":1}'],
    [2n, '{"a":2}'],
  ]);
});

it("a computed column stays nullable, filled or not", async () => {
  await t.addColumns([
    { name: "b", virtualColumn: { udfName: "tenfold" } },
    { name: "c", computed: "a + 1" },
    { name: "d", virtualColumn: { udfName: "pair" } },
  ]);
  for (const column of ["b", "c", "d"]) {
    const tighten = () => t.alterColumns({ path: column, nullable: false });
    const message = `column ${column} is computed: rows have no value until a job computes it, so it stays nullable`;
    await expectInvalid(tighten(), message);
    await ns.waitForJob(await t.backfill(column));
    await expectInvalid(tighten(), message);
    await t.alterColumns({ path: column, nullable: true });
  }
  await t.insert([{ a: 5n, st: { x: 5n } }]);
  expect(new Map(await values()).get(5n)).toBeNull();
});
