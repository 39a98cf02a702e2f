/** Computed columns of other engines, whose rules this release does not support. */

import { DirectoryNamespace, InvalidInputError, type TableHandle, UnsupportedError } from "tiltyard";
import { connect } from "tiltyard-reference/session.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

/** Declaration of a registered function's column by LanceDB. */
const FUNCTION = {
  computed_column: "true",
  "computed_column.kind": "function",
  "computed_column.function.binding_id": "fb_01",
  "computed_column.function.output_ordinal": "0",
  "computed_column.inputs": '["a"]',
  unit: "m",
};
const BINDINGS = {
  "lancedb::function_bindings": '{"version":1,"bindings":[{"binding_id":"fb_01"}]}',
  note: "n",
};

let root: string;
let ns: DirectoryNamespace;
let t: TableHandle;
beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none" });
  t = ns.table(["t"]);
  await t.create([1n, 2n, 3n].map((a) => ({ a, other: `${a}` })));
});
afterEach(() => ns.close());

const declare = (metadata: Record<string, string> = FUNCTION) =>
  t.addColumns({ name: "b", dataType: { type: "int64" }, metadata });

const metadataOf = async (name: string, version?: { branch: string }) => {
  const { schema } = await ns.queryTable({ id: t.id, ...version });
  const field = schema.fields.find((each) => each.name === name);
  return [Object.fromEntries(field?.metadata ?? []), Object.fromEntries(schema.metadata)];
};

const values = async () => (await t.scan({ columns: ["a", "b"] }).toArray()).map(({ a, b }) => [a, b]).sort();

describe("a column of another engine's function", () => {
  beforeEach(async () => {
    await declare();
    await ns.updateTableSchemaMetadata({ id: t.id, metadata: BINDINGS });
    // The other engine fills the column.
    await t.update({ values: { b: 7n } });
  });

  it("a foreign column is read and written, and becomes null when its inputs are set", async () => {
    await t.insert([{ a: 4n, other: "4" }]);
    await t.insert([{ a: 5n, other: "5", b: 50n }]);
    await t.update({ where: "a = 2", values: { a: 20n } });
    await t.update({ where: "a = 3", values: { other: "three" } });
    expect(await values()).toEqual([
      [1n, 7n],
      [20n, null],
      [3n, 7n],
      [4n, null],
      [5n, 50n],
    ]);
    expect(await t.countRows("b = 7")).toBe(2);
  });

  it("every kind of commit keeps the metadata of a foreign column and of the schema", async () => {
    const before = await metadataOf("b");
    expect(before).toEqual([FUNCTION, BINDINGS]);
    const merge = () =>
      ns.mergeInsertIntoTable(
        { id: t.id, on: ["a"], whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
        [
          { a: 1n, other: "one" },
          { a: 9n, other: "nine" },
        ],
      );
    const commits: (() => Promise<unknown>)[] = [
      () => t.insert([{ a: 4n, other: "4" }]),
      () => t.update({ where: "a = 2", values: { a: 20n } }),
      () => t.update({ where: "a = 3", values: { b: 3n } }),
      merge,
      () => t.delete("a = 4"),
      () => t.addColumns({ name: "c", expression: "a + 1" }),
      () => t.alterColumns({ path: "c", rename: "e" }),
      () => t.alterColumns({ path: "b", rename: "f" }),
      () => t.alterColumns({ path: "f", rename: "b" }),
      () => t.addColumns({ name: "d", computed: "b + 1" }),
      async () => ns.waitForJob(await t.backfill("d")),
      () => t.updateFieldMetadata([{ path: "a", metadata: { k: "v" } }]),
      () => t.dropColumns("e"),
      () => t.createIndex("b", { indexType: "BTREE" }),
      () => ns.optimizeTable({ id: t.id }),
      () => ns.restoreTable({ id: t.id, version: 5 }),
      () => ns.cleanupTable({ id: t.id }),
      () => ns.updateTableSchemaMetadata({ id: t.id, metadata: BINDINGS }),
    ];
    for (const commit of commits) {
      await commit();
      const renamed = (await metadataOf("b"))[0].unit === undefined;
      expect(await metadataOf(renamed ? "f" : "b"), String(commit)).toEqual(before);
    }
    await ns.createTableBranch({ id: t.id, name: "dev" });
    await ns.insertIntoTable({ id: t.id, branch: "dev" }, [{ a: 5n, other: "5" }]);
    expect(await metadataOf("b", { branch: "dev" })).toEqual(before);
    const theirs = await (await connect(root)).openTable("t");
    const field = (await theirs.schema()).fields.find(({ name }) => name === "b");
    expect(Object.fromEntries(field?.metadata ?? [])).toEqual(FUNCTION);
    expect(await theirs.countRows()).toBe(Number(await t.countRows()));
  });

  it("describeComputedColumns lists a foreign column with its inputs and its rows without a value", async () => {
    await t.addColumns({ name: "c", computed: "a + 1" });
    await t.insert([{ a: 4n, other: "4" }]);
    const { columns } = await ns.describeComputedColumns({ id: t.id });
    expect(columns).toMatchObject([
      { column: "b", kind: "foreign", declaredKind: "function", inputs: ["a"], staleRows: 1 },
      { column: "c", kind: "sql", staleRows: 4 },
    ]);
  });

  it("a backfill of a foreign column is refused with a reason, and starts nothing", async () => {
    const refused = t.backfill("b");
    await expect(refused).rejects.toThrow(UnsupportedError);
    await expect(refused).rejects.toThrow(
      'column: b can\'t be filled by this release: another engine computes it: computed_column.kind of its metadata is "function"',
    );
    expect((await ns.listJobs()).jobs).toEqual([]);
  });

  it("a foreign column keeps its inputs, its type and its declaration", async () => {
    const refused: [call: () => Promise<unknown>, told: string][] = [
      [() => t.dropColumns("a"), "b is computed from it"],
      [() => t.alterColumns({ path: "a", rename: "z" }), "b is computed from it"],
      [() => t.alterColumns({ path: "b", dataType: { type: "int32" } }), "cannot be cast"],
      [
        () => t.updateFieldMetadata([{ path: "b", metadata: { "computed_column.kind": "sql" } }]),
        "cannot be edited",
      ],
      [() => t.updateFieldMetadata([{ path: "b", metadata: {}, replace: true }]), "cannot be edited"],
      [() => ns.updateTableSchemaMetadata({ id: t.id, metadata: { note: "m" } }), "what computes column b"],
    ];
    for (const [call, told] of refused) {
      const error: unknown = await call().catch((reason) => reason);
      expect(error).toBeInstanceOf(InvalidInputError);
      expect((error as Error).message).toContain(told);
    }
    await t.updateFieldMetadata([{ path: "b", metadata: { unit: "km" } }]);
    await ns.updateTableSchemaMetadata({ id: t.id, metadata: { ...BINDINGS, note: "m" } });
    expect(await metadataOf("b")).toEqual([
      { ...FUNCTION, unit: "km" },
      { ...BINDINGS, note: "m" },
    ]);
    await t.dropColumns("b");
    await ns.updateTableSchemaMetadata({ id: t.id, metadata: {} });
    expect((await metadataOf("a"))[1]).toEqual({});
  });
});

it.each<
  [
    text: string,
    metadata: Record<string, string>,
    declaredKind: string | undefined,
    inputs: readonly string[],
  ]
>([
  ["an unknown kind", { "computed_column.kind": "udf", "computed_column.inputs": '["a"]' }, "udf", ["a"]],
  ["an empty kind", { "computed_column.kind": "" }, "", []],
  ["a kind in other letters", { "computed_column.kind": "SQL" }, "SQL", []],
  [
    "a kind with inputs that are none",
    { "computed_column.kind": "k", "computed_column.inputs": "{" },
    "k",
    [],
  ],
  [
    "a kind with inputs that are no paths",
    { "computed_column.kind": "k", "computed_column.inputs": '["`"]' },
    "k",
    [],
  ],
  [
    "a kind with inputs that are no texts",
    { "computed_column.kind": "k", "computed_column.inputs": "[1]" },
    "k",
    [],
  ],
  ["no kind", {}, undefined, []],
  [
    "SQL without its text",
    { "computed_column.kind": "sql", "computed_column.inputs": '["a"]' },
    "sql",
    ["a"],
  ],
  [
    "SQL with damaged inputs",
    { "computed_column.kind": "sql", "computed_column.expression": "a + 1", "computed_column.inputs": "x" },
    ...(["sql", []] as const),
  ],
  ["a function without a name", { virtual_column: "true", computed_column: "false" }, undefined, []],
  [
    "a function with damaged inputs",
    { virtual_column: "true", "virtual_column.udf_name": "f", "virtual_column.udf_inputs": "[[]]" },
    ...([undefined, []] as const),
  ],
])("a declaration of %s keeps nobody from using the table", async (_, metadata, declaredKind, inputs) => {
  const all = { computed_column: "true", ...metadata };
  await declare(all);
  await t.insert([{ a: 4n, other: "4", b: 1n }]);
  await t.update({ where: "a = 1", values: { a: 10n } });
  await t.addColumns({ name: "c", computed: "a + 1" });
  await ns.waitForJob(await t.backfill("c"));
  await ns.optimizeTable({ id: t.id });
  expect((await metadataOf("b"))[0]).toEqual(all);
  const { columns } = await ns.describeComputedColumns({ id: t.id });
  expect(columns).toEqual([
    {
      ...{ column: "b", kind: "foreign", inputs, staleRows: 3, staleFragments: [expect.any(Number)] },
      ...(declaredKind !== undefined && { declaredKind }),
    },
    expect.objectContaining({ column: "c", kind: "sql", staleRows: 0 }),
  ]);
  await expect(t.backfill("b")).rejects.toThrow(UnsupportedError);
});
