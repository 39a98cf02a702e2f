/** Histories of calls on the drop-in and on LanceDB give equal answers, and errors with the same sentence. */

import * as reference from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/lancedb/connect.js";
import { Index } from "../../src/lancedb/indices.js";
import { makeTempDir } from "../support/tempDir.js";

/** A database with its handles, in either library. */
// biome-ignore lint/suspicious/noExplicitAny: the libraries declare their classes each for itself
type Any = any;
interface World {
  readonly db: Any;
  readonly root: string;
  readonly Index: typeof Index;
  /** Handles by name. */
  readonly tables: Record<string, Any>;
}

/** A call, and the sentence of its error if it fails. */
type Step = readonly [name: string, call: (world: World) => unknown, fails?: RegExp];

type Outcome = { readonly value: string } | { readonly error: string };

async function outcomeOf(world: World, [, call]: Step): Promise<Outcome> {
  try {
    return { value: shown(await call(world)) };
  } catch (error) {
    return { error: `${(error as { code?: string }).code}: ${(error as Error).message}` };
  }
}

/** Returns a value as text. Handles, identifiers, sizes and times differ between the libraries. */
function shown(value: unknown): string {
  const replace = (key: string, each: unknown): unknown => {
    if (
      /^(indexUuid|createdAt|timestamp|sizeBytes|bytesRemoved|totalBytes|manifestSize|metadata)$/.test(key)
    ) {
      return typeof each;
    }
    if (typeof each === "bigint") return `${each}n`;
    if (typeof each === "object" && each !== null && "display" in each) return "a handle";
    return each;
  };
  return JSON.stringify(value, replace) ?? "undefined";
}

/** Takes the steps in both libraries, each in a database of its own. */
async function compare(steps: readonly Step[]): Promise<void> {
  const [ourRoot, nativeRoot] = [await makeTempDir(), await makeTempDir()];
  const ours: World = { db: await connect(ourRoot), root: ourRoot, Index, tables: {} };
  const native: World = {
    db: await reference.connect(nativeRoot),
    root: nativeRoot,
    Index: reference.Index as unknown as typeof Index,
    tables: {},
  };
  for (const step of steps) {
    const [name, , fails] = step;
    const [our, their] = [await outcomeOf(ours, step), await outcomeOf(native, step)];
    if (fails === undefined) expect({ [name]: our }).toEqual({ [name]: their });
    else {
      expect({ [name]: their }).toEqual({ [name]: { error: expect.stringMatching(fails) } });
      expect({ [name]: our }).toEqual({ [name]: { error: expect.stringMatching(fails) } });
    }
  }
}

const rowsOf = (...ids: number[]) => ids.map((id) => ({ id, name: `n${id}`, vector: [id, id + 1] }));

const create: Step = [
  "creates the table",
  async (world) => {
    world.tables.t = await world.db.createTable("t", rowsOf(1, 2, 3));
  },
];
const open = (handle: string, ...rest: unknown[]): Step => [
  `opens ${handle}`,
  async (world) => {
    world.tables[handle] = await world.db.openTable("t", ...rest);
  },
];
/** Calls a method of a handle. */
const on = (handle: string, method: string, ...operands: unknown[]): Step => [
  `${handle}.${method}(${JSON.stringify(operands).slice(1, -1)})`,
  ({ tables }) => tables[handle][method](...operands),
];
const failing = ([name, call]: Step, fails: RegExp): Step => [name, call, fails];
/** Shows version, number of rows, and rows of a handle. */
const look = (handle: string): Step => [
  `looks at ${handle}`,
  async ({ tables }) => [
    await tables[handle].version(),
    await tables[handle].countRows(),
    (await tables[handle].query().select(["id", "name"]).toArray()).map((row: Any) => row.toJSON()),
  ],
];

describe("a history of one handle", () => {
  it("changes rows", () =>
    compare([
      create,
      look("t"),
      on("t", "add", rowsOf(4, 5)),
      on("t", "delete", "id = 2"),
      on("t", "delete", "id = 99"),
      on("t", "update", { where: "id > 3", values: { name: "it's" } }),
      on("t", "update", { where: "id = 99", values: { name: "none" } }),
      on("t", "update", { name: "concat(name, '!')" }, { where: "id = 1" }),
      on("t", "update", new Map([["name", "upper(name)"]])),
      look("t"),
      on("t", "add", rowsOf(9), { mode: "overwrite" }),
      look("t"),
      [
        "lists versions",
        async ({ tables }) => (await tables.t.listVersions()).map(({ version }: Any) => version),
      ],
    ]));

  it("merges rows", () =>
    compare([
      create,
      [
        "upserts",
        ({ tables }) =>
          tables.t.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rowsOf(3, 4)),
      ],
      [
        "updates under a condition",
        ({ tables }) =>
          tables.t
            .mergeInsert(["id"])
            .whenMatchedUpdateAll({ where: "target.id > 1" })
            .execute([
              { id: 1, name: "one", vector: [0, 0] },
              { id: 2, name: "two", vector: [0, 0] },
              { id: 7, name: "seven", vector: [0, 0] },
            ]),
      ],
      [
        "replaces a range",
        ({ tables }) =>
          tables.t
            .mergeInsert("id")
            .whenNotMatchedInsertAll()
            .whenNotMatchedBySourceDelete({ where: "id < 3" })
            .execute(rowsOf(1, 8)),
      ],
      [
        "orders by id",
        async ({ tables }) =>
          (await tables.t.query().toArray()).map(({ id, name }: Any) => `${id} ${name}`).sort(),
      ],
      on("t", "countRows"),
      on("t", "version"),
    ]));

  it("travels in time", () =>
    compare([
      create,
      on("t", "add", rowsOf(4)),
      on("t", "checkout", 1),
      look("t"),
      failing(
        on("t", "add", rowsOf(5)),
        /GenericFailure: Invalid input, table cannot be modified when a specific version is checked out/,
      ),
      failing(on("t", "delete", "true"), /cannot be modified when a specific version is checked out/),
      failing(
        on("t", "update", { name: "'x'" }),
        /cannot be modified when a specific version is checked out/,
      ),
      failing(on("t", "createIndex", "id"), /cannot be modified when a specific version is checked out/),
      failing(on("t", "optimize"), /cannot be modified when a specific version is checked out/),
      failing(on("t", "dropColumns", ["name"]), /cannot be modified when a specific version is checked out/),
      on("t", "checkoutLatest"),
      look("t"),
      failing(on("t", "restore"), /you must run checkout before running restore/),
      failing(on("t", "checkout", 99), /was not found/),
      failing(on("t", "checkout", "none"), /Ref not found error: tag none does not exist/),
      look("t"),
      ["tags", async ({ tables }) => (await tables.t.tags()).create("first", 1)],
      on("t", "checkout", "first"),
      look("t"),
      on("t", "restore"),
      look("t"),
      on("t", "add", rowsOf(6)),
      look("t"),
    ]));

  it("changes columns", () =>
    compare([
      create,
      on("t", "addColumns", [{ name: "twice", valueSql: "id * 2" }]),
      on("t", "alterColumns", [
        { path: "twice", rename: "double" },
        { path: "name", nullable: true },
      ]),
      on("t", "updateFieldMetadata", [{ path: "name", metadata: { unit: "text" } }]),
      [
        "shows the schema",
        async ({ tables }) =>
          (await tables.t.schema()).fields.map((field: Any) => [String(field), [...field.metadata]]),
      ],
      on("t", "dropColumns", ["double"]),
      ["rows", async ({ tables }) => (await tables.t.toArrow()).toArray().map((row: Any) => row.toJSON())],
      failing(on("t", "dropColumns", ["foo"]), /Invalid input, Column foo does not exist in the dataset/),
      failing(
        on("t", "alterColumns", [{ path: "foo", rename: "x" }]),
        /Column "foo" does not exist in the dataset/,
      ),
      failing(
        on("t", "alterColumns", [{ path: "id" }]),
        /Alteration must have a 'rename', 'dataType', or 'nullable' field/,
      ),
      failing(on("t", "dropColumns", ["id", "name", "vector"]), /Cannot drop all columns from a dataset/),
      failing(on("t", "addColumns", "foo"), /undefined: Invalid input type for addColumns/),
      failing(on("t", "addColumns", [{ name: "q", valueSql: "foo + 1" }]), /No field named foo/),
    ]));

  it("builds, lists and drops indexes", () =>
    compare([
      create,
      on("t", "createIndex", "id"),
      on("t", "listIndices"),
      on("t", "indexStats", "id_idx"),
      on("t", "indexStats", "none"),
      on("t", "version"),
      on("t", "createIndex", "id"),
      [
        "bitmap",
        ({ tables, Index: I }) => tables.t.createIndex("name", { config: I.bitmap(), name: "by_name" }),
      ],
      on("t", "add", rowsOf(4)),
      on("t", "listIndices"),
      on("t", "optimize"),
      on("t", "listIndices"),
      on("t", "prewarmIndex", "id_idx"),
      failing(on("t", "createIndex", "id", { replace: false }), /Index name 'id_idx' already exists/),
      failing(on("t", "createIndex", "foo"), /Field path `foo` not found in schema/),
      failing(on("t", "dropIndex", "foo"), /Lance index not found: name=foo/),
      failing(on("t", "prewarmIndex", "foo"), /Lance index not found: name=foo/),
      failing(
        on("t", "prewarmData"),
        /not supported: prewarm_data is currently only supported on remote tables/,
      ),
      failing(on("t", "waitForIndex", ["foo"], 0.2), /timed out waiting for indices: \["foo"\]/),
      [
        "fts on a number",
        ({ tables, Index: I }) => tables.t.createIndex("id", { config: I.fts() }),
        /A FTS index cannot be created on the field `id` which has data type/,
      ],
      on("t", "dropIndex", "by_name"),
      on("t", "listIndices"),
    ]));
});

describe("a history of two handles", () => {
  it("moves only the handle that writes", () =>
    compare([
      create,
      open("u"),
      on("t", "add", rowsOf(4)),
      look("t"),
      look("u"),
      on("u", "add", rowsOf(5)),
      look("u"),
      look("t"),
      on("t", "add", rowsOf(6)),
      look("t"),
      look("u"),
      on("u", "checkoutLatest"),
      look("u"),
      open("v", [], { version: 1 }),
      look("v"),
      failing(on("v", "add", rowsOf(7)), /cannot be modified/),
      on("v", "checkoutLatest"),
      look("v"),
      on("v", "createIndex", "id"),
      on("t", "listIndices"),
      on("t", "checkoutLatest"),
      on("t", "listIndices"),
    ]));

  it("shows another handle's new columns after checkoutLatest", () =>
    compare([
      create,
      open("u"),
      on("t", "addColumns", [{ name: "twice", valueSql: "id * 2" }]),
      ["columns", async ({ tables }) => (await tables.u.schema()).fields.map(({ name }: Any) => name)],
      on("u", "checkoutLatest"),
      ["columns", async ({ tables }) => (await tables.u.schema()).fields.map(({ name }: Any) => name)],
    ]));

  it("keeps the rows of an overwritten table", () =>
    compare([
      create,
      [
        "overwrites",
        async (world) => {
          world.tables.u = await world.db.createTable("t", [{ other: "x" }], { mode: "overwrite" });
        },
      ],
      look("t"),
      ["new rows", async ({ tables }) => [await tables.u.version(), await tables.u.countRows()]],
      on("t", "checkoutLatest"),
      ["columns", async ({ tables }) => (await tables.t.schema()).fields.map(({ name }: Any) => name)],
    ]));

  it("keeps branches apart", () =>
    compare([
      create,
      [
        "forks",
        async (world) => {
          world.tables.b = await (await world.tables.t.branches()).create("exp");
        },
      ],
      on("b", "add", rowsOf(4)),
      on("t", "add", rowsOf(5, 6)),
      look("b"),
      look("t"),
      on("b", "currentBranch"),
      on("t", "currentBranch"),
      ["lists", async ({ tables }) => Object.keys(await (await tables.t.branches()).list())],
      open("c", [], { branch: "exp", version: 1 }),
      look("c"),
      [
        "tags a branch",
        async ({ tables }) => (await tables.b.tags()).create("tip", await tables.b.version()),
      ],
      ...["restore", "checkoutLatest"].flatMap((way) => [
        open("e"),
        on("e", "checkout", "tip"),
        look("e"),
        on("e", "currentBranch"),
        on("e", way),
        look("e"),
        on("e", "currentBranch"),
      ]),
      on("e", "add", rowsOf(8)),
      look("e"),
      failing(open("d", [], { branch: "none" }), /Not found/),
      [
        "deletes an unknown branch",
        async ({ tables }) => (await tables.t.branches()).delete("none"),
        /Branch none does not exist/,
      ],
      [
        "no name",
        async ({ tables }) => (await tables.t.branches()).create(""),
        /branch name must be a non-empty string/,
      ],
      [
        "compares",
        async ({ tables }) => (await tables.t.branches()).diff("exp"),
        /not supported: Branch diffs are only supported on Enterprise tables/,
      ],
    ]));
});

describe("a history of a connection", () => {
  const call = (method: string, ...operands: unknown[]): Step => [
    `${method}(${JSON.stringify(operands).slice(1, -1)})`,
    ({ db }) => db[method](...operands),
  ];

  it("names tables that exist and that do not", () =>
    compare([
      create,
      call("tableNames"),
      call("listTables"),
      call("tableNames", { limit: 0 }),
      failing(call("openTable", "none"), /GenericFailure: Table 'none' was not found/),
      failing(call("dropTable", "none"), /GenericFailure: Table 'none' was not found/),
      failing(call("createTable", "t", rowsOf(1)), /GenericFailure: Table 't' already exists/),
      failing(
        call("createTable", "a/b", rowsOf(1)),
        /Invalid table name \("a\/b"\): Table names can only contain/,
      ),
      failing(call("createTable", "", rowsOf(1)), /Invalid table name \(""\): Table names cannot be empty/),
      failing(
        call("createTable", "x", []),
        /undefined: At least one record or a schema needs to be provided/,
      ),
      failing(call("createTable", "x", undefined), /undefined: data is required/),
      failing(call("createTable", "x", rowsOf(1), { mode: "q" }), /Invalid mode q/),
      call("createTable", "t", rowsOf(7), { existOk: true }),
      failing(
        call("createTable", "t", [{ other: 1 }], { existOk: true }),
        /Provided schema does not match existing table schema/,
      ),
      call("createTable", { name: "s", data: rowsOf(1), mode: "overwrite" }),
      call("tableNames", { startAfter: "s" }),
      call("tableNames", { limit: 1 }),
      failing(call("renameTable", "t", "u"), /not supported: rename_table/),
      failing(call("openJob", "x"), /not supported: open_job is not supported by this database/),
      failing(call("listJobs"), /not supported: list_jobs is not supported by this database/),
      failing(call("cancelJob", "x"), /not supported: cancel_job is not supported by this database/),
      call("listMaterializedViews"),
      failing(call("openMaterializedView", "t"), /Table 't' is not a materialized view/),
      call("dropTable", "s"),
      call("dropAllTables"),
      call("tableNames"),
      ["display", ({ db, root }) => String(db.display()).replace(root, "root")],
      call("close"),
      call("close"),
      call("isOpen"),
      failing(call("tableNames"), /GenericFailure: Connection is closed/),
      failing(call("createTable", "x", rowsOf(1)), /Connection is closed/),
      failing(call("display"), /Connection is closed/),
    ]));

  it("has namespaces", () =>
    compare([
      call("createNamespace", ["n"], { properties: { a: "b" } }),
      call("createNamespace", ["n", "m"]),
      call("describeNamespace", ["n"]),
      call("listNamespaces"),
      call("listNamespaces", ["n"]),
      call("createTable", "t", rowsOf(1), ["n"]),
      call("tableNames", ["n"]),
      ["opens", async ({ db }) => (await db.openTable("t", ["n"])).countRows()],
      failing(call("openTable", "none", ["n"]), /Table 'none' was not found/),
      failing(call("openTable", "t", ["q"]), /Table 't' was not found/),
      call("tableNames", ["q"]),
      failing(call("createNamespace", ["n"]), /Namespace already exists/),
      failing(call("createNamespace", ["q", "r"]), /Namespace not found/),
      failing(call("describeNamespace", ["q"]), /Namespace not found/),
      failing(call("dropNamespace", ["n"]), /Namespace not empty/),
      failing(call("dropNamespace", ["q"]), /Namespace not found/),
      failing(
        call("createNamespace", ["x"], { mode: "foo" }),
        /Invalid mode 'foo': expected one of 'create', 'exist_ok', 'overwrite'/,
      ),
      failing(
        call("dropNamespace", ["n"], { behavior: "foo" }),
        /Invalid behavior 'foo': expected one of 'restrict', 'cascade'/,
      ),
      call("dropTable", "t", ["n"]),
      call("dropNamespace", ["n", "m"]),
      call("listNamespaces", ["n"]),
    ]));

  it("lets tables outlive it, until they are closed", () =>
    compare([
      create,
      call("close"),
      look("t"),
      on("t", "add", rowsOf(4)),
      look("t"),
      on("t", "close"),
      on("t", "isOpen"),
      on("t", "display"),
      ["name", ({ tables }) => tables.t.name],
      ...[
        "countRows",
        "schema",
        "query",
        "version",
        "toArrow",
        "tags",
        "branches",
        "checkoutLatest",
        "stats",
      ].map((method) => failing(on("t", method), /GenericFailure: Table t is closed/)),
      failing(on("t", "search", [1, 2]), /GenericFailure: Table t is closed/),
      failing(on("t", "mergeInsert", "id"), /GenericFailure: Table t is closed/),
    ]));
});
