/** Mistakes of beginners: each error names the mistake and the correct code, and nothing has changed. */

import { inspect } from "node:util";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { AbortedError, DirectoryNamespace, NamespaceError, ServiceUnavailableError } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { afterAll, beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";
import { refusingDisk } from "../support/leftBatches.js";

/** Code without type checks. */
// biome-ignore lint/suspicious/noExplicitAny: these calls are wrong on purpose
type Unchecked = any;

const rows = new Table({ id: vectorFromArray([1, 2, 3], new Int32()) });
const root = sharedDirectory();
let ns: Unchecked;
let table: Unchecked;
let before: Record<string, string>;

beforeAll(async () => {
  const checked = new DirectoryNamespace({ root, durability: "none" });
  await checked.createNamespace({ id: "sales" });
  await checked.createTable({ id: "orders" }, [{ id: 1, price: 2.5, city: "Oslo", vector: [1, 2] }]);
  await checked.createTableTag({ id: "orders", tag: "first", version: 1 });
  ns = checked;
  table = checked.table("orders");
  before = await directorySnapshot(root);
});
afterAll(() => ns.close());

async function mistakeOf(call: () => unknown): Promise<NamespaceError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(NamespaceError);
    return error as NamespaceError;
  }
  throw new Error("nothing was refused");
}

type Mistake = [what: string, call: () => unknown, ...said: (string | RegExp)[]];
const open = (options: unknown) => () => new DirectoryNamespace(options as Unchecked);

const OPENING: Mistake[] = [
  ["a text for options", open("./data"), "options", '{ root: "./data" }'],
  ["no options", open(undefined), "options", "undefined"],
  ["another word for root", open({ uri: "./data" }), "options.uri", "did you mean root?"],
  ["a path for root", open({ path: "./data" }), "options.path", "root"],
  ["an option misspelt", open({ root: "x", durabilty: "none" }), "durabilty", "did you mean durability?"],
  ["an option in snake case", open({ root: "x", allowed_bases: [] }), "did you mean allowedBases?"],
  ["an object store", open({ root: "s3://bucket/tables" }), "root", "s3://bucket/tables", "file: URL"],
  ["another object store", open({ root: "gs://bucket" }), "root", "gs://bucket"],
  ["a server", open({ root: "https://example.com/x" }), "root", "https://example.com/x"],
  ["a URL of a server", open({ root: new URL("https://example.com/x") }), "https://example.com/x"],
  ["a cloud database", open({ root: "db://mine" }), "root", "db://mine"],
  ["memory", open({ root: "memory://" }), "root", "memory://"],
  ["a home directory for the shell", open({ root: "~/data" }), "root", "~/data", "os.homedir()"],
  ["a number for root", open({ root: 5 }), "root", "not 5"],
  ["a promised root", open({ root: Promise.resolve("x") }), "root", "await it"],
  ["a choice that there is not", open({ root: "x", durability: "sync" }), '"fsync" or "none"', '"sync"'],
  ["a version as a number", open({ root: "x", dataStorageVersion: 2.1 }), '"2.1"', "not 2.1"],
  ["a lock's option misspelt", open({ root: "x", lock: { staleMS: 5000 } }), "lock.staleMS", "staleMs"],
  ["one base as text", open({ root: "x", allowedBases: "/b" }), "allowedBases", "list", '"/b"'],
];

const REQUESTS: Mistake[] = [
  ["a name for a request", () => ns.dropTable("orders"), 'dropTable({ id: "orders" })'],
  ["a name and rows", () => ns.createTable("o", rows), 'createTable({ id: "o" }, rows)'],
  ["a request of nothing", () => ns.describeTable(), "describeTable", "undefined"],
  ["a promised request", () => ns.describeTable(Promise.resolve({ id: "orders" })), "await it"],
  ["a promised id", () => ns.describeTable({ id: Promise.resolve("orders") }), "id", "await it"],
  ["a number for an id", () => ns.describeTable({ id: 7 }), "id", "not 7"],
  ["a number in an id", () => ns.describeTable({ id: ["orders", 7] }), "id", "7"],
  ["an id with an empty part", () => ns.describeTable({ id: "sales$" }), "sales$", "position 6"],
  ["an id with slashes", () => ns.describeTable({ id: "sales/orders" }), "sales/orders"],
  ["a name for the id", () => ns.describeTable({ name: "orders" }), "name", "did you mean id?"],
  ["a table for the id", () => ns.queryTable({ table: "orders" }), "table", "did you mean id?"],
  [
    "two filters in a query",
    () => ns.queryTable({ id: "orders", where: "id > 7", filter: "id > 8" }),
    "where",
    "filter",
  ],
  ["select", () => ns.queryTable({ id: "orders", select: ["id"] }), "select", "mean columns?"],
  ["sort", () => ns.queryTable({ id: "orders", sort: "id" }), "sort", "mean orderBy?"],
  ["skip", () => ns.queryTable({ id: "orders", skip: 1 }), "skip", "mean offset?"],
  ["with_row_id", () => ns.queryTable({ id: "orders", with_row_id: true }), "mean withRowId?"],
  ["a misspelt limit", () => ns.queryTable({ id: "orders", limt: 1 }), "limt", "mean limit?"],
  ["a limit as text", () => ns.queryTable({ id: "orders", limit: "10" }), "limit", '"10"'],
  ["a limit of nothing", () => ns.queryTable({ id: "orders", limit: 0 }), "limit", "at least 1", "0"],
  ["a column as text that is misspelt", () => ns.queryTable({ id: "orders", columns: "idd" }), "idd"],
  ["an order as a number", () => ns.queryTable({ id: "orders", orderBy: 7 }), "orderBy"],
  [
    "a direction of its own",
    () => ns.queryTable({ id: "orders", orderBy: [{ columnName: "id", desc: true }] }),
    ...["orderBy[0].desc", "ascending"],
  ],
  [
    "another word for a column",
    () => ns.queryTable({ id: "orders", orderBy: [{ column: "id" }] }),
    ...["orderBy[0].column", "columnName"],
  ],
  ["a column misspelt", () => ns.queryTable({ id: "orders", columns: ["pric"] }), "pric", "mean price?"],
  ["a table misspelt", () => ns.queryTable({ id: "order" }), "order", "not"],
  ["a version that is not there", () => ns.queryTable({ id: "orders", version: 9 }), "version 9"],
  ["rows in the request", () => ns.createTable({ id: "o", data: [{ id: 1 }] }), "data", "second argument"],
  ["rows forgotten", () => ns.insertIntoTable({ id: "orders" }), "rows", "undefined"],
  [
    "promised rows",
    () => ns.insertIntoTable({ id: "orders" }, Promise.resolve([{ id: 1 }])),
    ...["rows", "await it"],
  ],
  ["one row for rows", () => ns.insertIntoTable({ id: "orders" }, { id: 1 }), "rows", "an array"],
  ["a text for rows", () => ns.insertIntoTable({ id: "orders" }, '[{"id":1}]'), "rows", "a text"],
  ["a handle for rows", () => ns.insertIntoTable({ id: "orders" }, table), "rows", "scan()"],
  ["an overwrite by a flag", () => ns.createTable({ id: "o", overwrite: true }, rows), "mean mode?"],
  [
    "a mode that there is not",
    () => ns.createTable({ id: "o", mode: "replace" }, rows),
    ...["mode", "Create, ExistOk, Overwrite", '"replace"'],
  ],
  ["a behaviour as a flag", () => ns.dropNamespace({ id: "sales", cascade: true }), "mean behavior?"],
  [
    "a behaviour that there is not",
    () => ns.dropNamespace({ id: "sales", behavior: "all" }),
    ...["behavior", "Restrict, Cascade", '"all"'],
  ],
  ["a new name", () => ns.renameTable({ id: "orders", newName: "o" }), "newName", "mean newTableName?"],
  ["a tag's name", () => ns.createTableTag({ id: "orders", name: "t", version: 1 }), "name", "mean"],
  [
    "a column with another word for its type",
    () => ns.alterTableAddColumns({ id: "orders", newColumns: [{ name: "x", type: "int32" }] }),
    ...["newColumns[0].type", "mean dataType?"],
  ],
  [
    "a column of another client",
    () => ns.alterTableAddColumns({ id: "orders", newColumns: [{ name: "x", valueSql: "1" }] }),
    ...["newColumns[0].valueSql", "mean expression?"],
  ],
  [
    "columns under another name",
    () => ns.alterTableAddColumns({ id: "orders", columns: [{ name: "x", expression: "1" }] }),
    ...["columns", "mean newColumns?"],
  ],
  [
    "a kind of index that there is not",
    () => ns.createTableIndex({ id: "orders", column: "id", indexType: "HASH" }),
    ...["indexType", "BTREE", '"HASH"'],
  ],
  [
    "a type for an index",
    () => ns.createTableIndex({ id: "orders", column: "id", type: "BTREE" }),
    "indexType",
  ],
  [
    "a search of texts without an index",
    () => ns.queryTable({ id: "orders", fullTextQuery: { stringQuery: { query: "Oslo" } } }),
    ...["fullTextQuery", "no column has an index of type FTS", "name the columns"],
  ],
  [
    "texts of a column misspelt",
    () =>
      ns.queryTable({ id: "orders", fullTextQuery: { stringQuery: { query: "Oslo", columns: ["cty"] } } }),
    ...["cty", "mean city?"],
  ],
  [
    "texts of numbers",
    () => ns.queryTable({ id: "orders", fullTextQuery: { stringQuery: { query: "1", columns: ["id"] } } }),
    ...["column id", "holds no text"],
  ],
  [
    "columns of a text misspelt",
    () =>
      ns.queryTable({ id: "orders", fullTextQuery: { stringQuery: { query: "Oslo", colums: ["city"] } } }),
    ...["stringQuery.colums", "mean columns?"],
  ],
  [
    "an option of a match misspelt",
    () =>
      table
        .query()
        .matching({ match: { terms: "Oslo", column: "city", fuzzines: 1 } })
        .toArray(),
    ...["match.fuzzines", "mean fuzziness?"],
  ],
  [
    "another word for the words",
    () =>
      table
        .query()
        .matching({ phrase: { query: "Oslo", column: "city" } })
        .toArray(),
    ...["phrase.query", "terms"],
  ],
  [
    "a kind of query that there is not",
    () =>
      table
        .query()
        .matching({ term: { terms: "Oslo", column: "city" } })
        .toArray(),
    ...["match, phrase, boost, multiMatch or boolean", "term"],
  ],
  [
    "a text for a search in full",
    () => ns.queryTable({ id: "orders", fullTextQuery: "Oslo" }),
    ...["fullTextQuery", "stringQuery", '"Oslo"'],
  ],
  [
    "a structured query for a search in full",
    () => ns.queryTable({ id: "orders", fullTextQuery: { match: { terms: "Oslo", column: "city" } } }),
    ...["fullTextQuery", "stringQuery or structuredQuery"],
  ],
  [
    "a match inside of several",
    () =>
      table
        .query()
        .matching({ multiMatch: { matchQueries: [{ match: { terms: "Oslo", column: "city" } }] } })
        .toArray(),
    ...["matchQueries.match", "terms"],
  ],
  [
    "LanceDB's name for the length of windows",
    () => ns.createTableIndex({ id: "orders", column: "city", indexType: "FTS", ngramMinLength: 2 }),
    ...["ngramMinLength", "mean minNgramLength?"],
  ],
  [
    "a rerank without a text",
    () =>
      table
        .query()
        .nearestTo([1, 2])
        .rerank(() => 1)
        .toArray(),
    "rerank",
  ],
  ["a metric", () => ns.createTableIndex({ id: "orders", column: "vector", metric: "l2" }), "distanceType"],
  ["a cursor", () => ns.listTables({ cursor: "x" }), "cursor", "mean pageToken?"],
  ["an abort under another name", () => ns.listTables({ abortSignal: AbortSignal.abort() }), "mean signal?"],
  ["a filter that is no text", () => ns.deleteFromTable({ id: "orders", predicate: { id: 1 } }), "predicate"],
  ["no filter", () => ns.deleteFromTable({ id: "orders" }), "predicate", "undefined"],
  ["a filter that does not parse", () => ns.deleteFromTable({ id: "orders", predicate: "id = = 1" }), "="],
  ["a job's id under another name", () => ns.describeJob({ id: "x" }), "jobId"],
  ["an option of closing", () => ns.close({ job: "wait" }), "options.job", "jobs"],
];

const HANDLES: Mistake[] = [
  [
    "two filters in a scan",
    () => table.scan({ where: "id > 7", filter: "id > 8" }).toArray(),
    "where",
    "filter",
  ],
  ["a text for a search's options", () => table.search("Oslo"), "search", "options", "{ text: …"],
  ["a vector for a search's options", () => table.search([1, 2]), "search", "options", "{ vector: …"],
  [
    "a text twice",
    () => table.search({ text: "a", fullTextQuery: { stringQuery: { query: "a" } } }).toArray(),
    ...["text", "fullTextQuery"],
  ],
  ["a text for a scan's options", () => table.scan("id > 7"), "scan", "options", '"id > 7"'],
  ["a version in a scan", () => table.scan({ version: 1 }), "version", "ns.table(id, { version })"],
  ["options for a count", () => table.countRows({ filter: "id > 7" }), "filter", 'countRows("id > 7")'],
  ["options for a deletion", () => table.delete({ where: "id > 7" }), "predicate", 'delete("id > 7")'],
  [
    "two filters in an update",
    () => table.update({ predicate: "true", where: "false", values: { id: 1 } }),
    "where",
  ],
  ["set in an update", () => table.update({ set: { id: 1 } }), "set", "mean values?"],
  ["an id among options", () => table.insert(rows, { id: "other" }), "id", "ns.table(id)"],
  ["a mode as text", () => table.insert(rows, "overwrite"), "insert", "options", '"overwrite"'],
  ["a merge without clauses", () => table.mergeInsert("id", rows), "whenMatchedUpdateAll"],
  [
    "a merge's clause misspelt",
    () => table.mergeInsert("id", rows, { whenMatchedUpdate: true }),
    ...["whenMatchedUpdate", "mean whenMatchedUpdateAll?"],
  ],
  ["a merge by steps", () => table.mergeInsert("id"), "rows", "undefined"],
  ["a branch's source as text", () => table.createBranch("b", "first"), "from", "{ tag }", '"first"'],
  ["a handle's option misspelt", () => ns.table("orders", { versoin: 1 }), "versoin", "mean version?"],
  ["a promised handle", () => ns.table(Promise.resolve("orders")), "id", "await it"],
  ["a handle of nothing", () => ns.table(), "id"],
  ["a tag and a version", () => ns.table("orders", { tag: "first", version: 1 }), "tag", "version"],
  ["writing to a version", () => ns.table("orders", { version: 1 }).insert(rows), "version", "reads"],
  [
    "a direction in a column's name",
    () => table.query().orderBy("id DESC"),
    'columnName: "id", ascending: false',
  ],
  [
    "an expression as a column",
    () => table.scan({ columns: ["id + 1"] }).toArray(),
    "id + 1",
    "columnAliases",
  ],
  ["a text in double quotes", () => table.countRows('city = "Oslo"'), "no column Oslo", "'Oslo'"],
  ["a single row", () => table.insert({ id: 2 }), "array of objects", "[row]"],
  ["a text for a signal", () => table.countRows("id > 1", {}, { signal: "x" }), "signal", "AbortSignal"],
  [
    "a controller for a signal",
    () => ns.listTables({ signal: new AbortController() }),
    "signal",
    "AbortSignal",
  ],
  ["a job's id for a request", () => ns.waitForJob("7"), 'waitForJob({ jobId: "7" })'],
  ["rows without a table", () => ns.createTable({}, rows), "id", '["namespace", "t"]'],
  ["a direction as a column", () => table.query().orderBy("id", "desc"), "ascending: false"],
  ["a condition that is none", () => table.query().where({ id: 1 }), "where", "an object"],
  ["a query's option misspelt", () => table.query({ limits: 1 }), "limits", "mean limit?"],
  ["openTable", () => ns.openTable("orders"), "ns.openTable", "ns.table(name)"],
  ["tableNames", () => ns.tableNames(), "ns.tableNames", "listTables()"],
  ["createEmptyTable", () => ns.createEmptyTable("o", {}), "createTable({ id, schema }, [])"],
  ["add", () => table.add(rows), "table.add", "table.insert(rows)"],
  ["toArray of a handle", () => table.toArray(), "table.scan().toArray()"],
  ["toArrow of a handle", () => table.toArrow(), "table.scan().toArrow()"],
  ["where of a handle", () => table.where("id > 7"), "table.query().where(filter)"],
  ["checkout", () => table.checkout(1), "ns.table(id, { version })"],
  ["listIndices", () => table.listIndices(), "table.indexes()"],
  [
    "a promised namespace",
    () => createRestHandler(Promise.resolve(ns) as Unchecked, { auth: { anonymous: true } }),
    ...["namespace", "await it"],
  ],
  ["a path for a namespace", () => createRestHandler("./data" as Unchecked), "namespace", '"./data"'],
  ["a server's option misspelt", () => createRestHandler(ns, { authn: {} } as Unchecked), "mean auth?"],
];

const kinds = [
  ["opening a namespace", OPENING],
  ["a request", REQUESTS],
  ["a handle", HANDLES],
] as const;
describe.each(kinds)("in %s", (_where, mistakes) => {
  it.each(mistakes)("the error says what to write: %s", async (_what, call, ...said) => {
    const error = await mistakeOf(call);
    for (const text of said) expect(error.message).toMatch(text);
    expect(error.message).not.toMatch(/\[object|undefined \(|_[A-Z]\w*Type/);
    expect(await directorySnapshot(root)).toEqual(before);
  });
});

it("there are more than 82 mistakes", () => {
  expect(OPENING.length + REQUESTS.length + HANDLES.length).toBeGreaterThanOrEqual(82);
});

describe("refusals of the disk", () => {
  const refused: [code: string, type: string, said: RegExp][] = [
    ["EACCES", "PermissionDenied", /does not let this process do that \(EACCES/],
    ["EPERM", "PermissionDenied", /does not let this process do that \(EPERM/],
    ["EROFS", "PermissionDenied", /read-only \(EROFS/],
    ["ENOSPC", "ServiceUnavailable", /no room left \(ENOSPC/],
    ["EDQUOT", "ServiceUnavailable", /no room left \(EDQUOT/],
    ["EMFILE", "ServiceUnavailable", /too many files are open \(EMFILE/],
  ];
  it.each(refused)("the error has the right class: %s", async (code, type, said) => {
    const disk = refusingDisk(new NodeDisk({ durability: "none" }), (verb) =>
      verb === "create" || verb === "makeDirectory" ? code : undefined,
    );
    const refusing = new DirectoryNamespace({ root, durability: "none", disk });
    for (const call of [
      () => refusing.insertIntoTable({ id: "orders" }, [{ id: 4 }]),
      () => refusing.createTable({ id: "more" }, rows),
    ]) {
      const error = await mistakeOf(call);
      expect(error).toMatchObject({ type, cause: { code } });
      expect(error.message).toMatch(said);
    }
    await refusing.close();
    expect(await directorySnapshot(root)).toEqual(before);
  });

  it("the error for a missing table names a missing root, or a root that is a file", async () => {
    await using missing = new DirectoryNamespace({ root: `${root}/orders.lance/none`, durability: "none" });
    expect((await mistakeOf(() => missing.queryTable({ id: "orders" }))).message).toMatch(
      /orders.*: the namespace's directory .*none does not exist$/,
    );
    expect((await mistakeOf(() => missing.listTables({ id: "sales" }))).message).toMatch(/does not exist$/);
  });
});

describe("errors", () => {
  it("errors of aborted calls are named AbortError, with the reason as cause", async () => {
    const reason = new Error("enough");
    for (const call of [
      () => ns.describeTable({ id: "orders", signal: AbortSignal.abort(reason) }),
      () => table.scan({ signal: AbortSignal.abort(reason) }).toArray(),
      () => table.stats({ signal: AbortSignal.abort(reason) }),
    ]) {
      const error = await mistakeOf(call);
      expect(error).toBeInstanceOf(AbortedError);
      expect(error).toBeInstanceOf(ServiceUnavailableError);
      expect(error).toMatchObject({ name: "AbortError", code: 17, type: "ServiceUnavailable" });
      expect(error.cause).toBe(reason);
    }
  });

  it("errors print their class, code and message, and no absent cause", async () => {
    const error = await mistakeOf(() => ns.queryTable({ id: "none" }));
    const printed = inspect(error);
    expect(printed).toMatch(/^TableNotFoundError: table none/);
    expect(printed).toMatch(/code: 4/);
    expect(printed).not.toMatch(/\[cause\]: undefined/);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "TableNotFoundError",
      type: "TableNotFound",
      code: 4,
      status: 404,
      message: error.message,
      operation: "queryTable",
    });
    expect(error.stack).toMatch(/^TableNotFoundError: /);
  });
});

it("ids may be strings or arrays", async ({ ns }) => {
  await ns.createNamespace({ id: "a" });
  await ns.createTable({ id: "a$x" }, rows);
  for (const id of ["a$x", ["a", "x"]]) {
    expect(await ns.countTableRows({ id })).toBe(3);
    expect(await ns.table(id).countRows()).toBe(3);
  }
  const [listed] = (await ns.listAllTables()).tables;
  expect(ns.table(listed).id).toEqual(["a", "x"]);
});
