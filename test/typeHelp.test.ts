/** What an editor offers and refuses in programs that use typed tables. */

import { beforeAll, describe, expect, it } from "vitest";
import { Editor } from "./support/languageService.js";

const START = `
import { DirectoryNamespace, sql } from "tiltyard";
interface Place { street: string; geo: { lat: number; lon: number } | null }
interface Order {
  id: bigint;
  city: string | null;
  price: number;
  placed: Date;
  place: Place | null;
  "odd.name": string;
  vector: Float32Array;
}
const ns = new DirectoryNamespace({ root: "/nowhere" });
const orders = ns.table<Order>("orders");
`;
const PATHS = ["city", "id", "place", "place.geo", "place.geo.lat", "place.geo.lon", "place.street"]
  .concat(["placed", "price", "vector", "`odd.name`"])
  .sort();

let editor: Editor;
beforeAll(() => {
  editor = new Editor();
});

/** Completion also offers names of the program where any text is allowed, so only the paths are compared. */
const offeredPaths = (statement: string): string[] =>
  editor.completions(START + statement).filter((name) => PATHS.includes(name) || /cty|btree/.test(name));
const errorsOf = (statement: string) => editor.errors(START + statement);

describe("names of columns", () => {
  it.each([
    ["the columns of a scan", 'orders.scan({ columns: ["^"] });'],
    ["the one column of a scan", 'orders.scan({ columns: "^" });'],
    ["the selection of a query", 'orders.query().select(["id", "^"]);'],
    ["the columns of a search", 'orders.search({ vector: [1], columns: ["^"] });'],
    ["the vector column of a search", 'orders.search({ vector: [1], vectorColumn: "^" });'],
    ["the order of a scan", 'orders.scan({ orderBy: "^" });'],
    ["the order of a scan, in an object", 'orders.scan({ orderBy: [{ columnName: "^" }] });'],
    ["the order of a query", 'orders.query().orderBy("^");'],
    ["the key of a merge", 'orders.mergeInsert("^", []);'],
    ["the keys of a merge", 'orders.mergeInsert(["^"], []);'],
    ["the column of an index", 'orders.createIndex("^");'],
    ["the columns of rows at offsets", 'orders.take([0], ["^"]);'],
    ["the computed column of a backfill", 'orders.backfill("^");'],
    ["the columns to drop", 'orders.dropColumns(["^"]);'],
    ["the key of a comparison", 'orders.diff(1, 2, { on: "^" });'],
    ["the keys of a merged branch", 'orders.mergeBranch("b", { on: ["^"] });'],
    ["the keys of groups", 'orders.aggregate({ groupBy: ["^"], values: { n: "count(*)" } });'],
    ["the one key of groups", 'orders.aggregate({ groupBy: "^", values: { n: "count(*)" } });'],
    ["distinct columns", 'orders.distinct(["id", "^"]);'],
    ["the one distinct column", 'orders.distinct("^");'],
  ])("completion offers %s", (_, statement) => {
    expect(offeredPaths(statement)).toEqual(PATHS);
  });

  it.each([
    ['orders.scan({ columns: ["id", "cty"] });', '"cty"'],
    ['orders.scan({ columns: "cty" });', "columns"],
    ['orders.scan({ columns: { columnNames: ["cty"] } });', "columns"],
    ['orders.scan({ columns: ["place.geo.lat", "place.geo.cty"] });', '"place.geo.cty"'],
    ['orders.query().select(["id", "cty"]);', '"cty"'],
    ['orders.search({ vector: [1], columns: ["cty"] });', '"cty"'],
    ['orders.search({ vector: [1], vectorColumn: "cty" });', "vectorColumn"],
    ['orders.scan({ orderBy: ["cty"] });', '"cty"'],
    ['orders.scan({ orderBy: "-cty" });', "orderBy"],
    ['orders.scan({ orderBy: { columnName: "cty" } });', "orderBy"],
    ['orders.scan({ orderBy: { cty: "desc" } });', "cty"],
    ['orders.query().orderBy("cty");', '"cty"'],
    ['orders.mergeInsert("cty", []);', '"cty"'],
    ['orders.mergeInsert(["id", "cty"], []);', '["id", "cty"]'],
    ['orders.createIndex("cty");', '"cty"'],
    ['orders.take([0], ["cty"]);', '"cty"'],
    ['orders.aggregate({ groupBy: ["id", "cty"], values: { n: "count(*)" } });', '"cty"'],
    ['orders.aggregate({ groupBy: "cty", values: { n: "count(*)" } });', "groupBy"],
    ['orders.aggregate({ groupBy: ["id"], values: { n: "count(*)" }, orderBy: ["-cty"] });', '"-cty"'],
    ['orders.aggregate({ values: { n: "count(*)" }, orderBy: { n: "desc", cty: "asc" } });', "cty"],
    ['orders.aggregate({ groupBy: ["id"], values: { town: "cty" } });', "town"],
    ['orders.aggregate({ values: { n: "count(*)", most: "max(cty)" } });', "most"],
    ['orders.distinct(["id", "cty"]);', '"cty"'],
    ['orders.distinct("cty");', '"cty"'],
    ['orders.distinct(["id"], { orderBy: "cty" });', "orderBy"],
    ['orders.update({ values: { cty: "Oslo" } });', "cty"],
    ['orders.update({ valuesSql: { cty: "upper(city)" } });', "cty"],
    [
      'orders.insert([{ id: 1, price: 1, placed: "2026-01-01", vector: [1], "odd.name": "", cty: "" }]);',
      "cty",
    ],
  ])("the compiler points at the wrong name in %s", (statement, name) => {
    expect(errorsOf(statement).map(({ text }) => text)).toEqual([name]);
  });

  it("every correct name compiles", () => {
    const statements = `
      orders.scan({ columns: ["id", "place.geo.lat", "\`odd.name\`", "_rowid", "*"], orderBy: ["-price", { city: "asc" }] });
      orders.scan({ columns: { columnAliases: { gross: "price * 2", town: "city" } }, orderBy: "_rowid" });
      orders.search({ text: "oak", columns: ["id", "_score"] });
      orders.backfill("added_later");
      orders.aggregate({ groupBy: ["city", "upper(city)", "price + 1", "Price", "month", "_rowid", sql\`id\`], values: { month: "date_trunc('month', placed)" }, orderBy: "any" });
      orders.aggregate({ groupBy: ["place.geo.lat"], values: { n: "count(*)", one: "count(1)", sum: "SUM(Price)", both: "min(price) + max(price)" }, orderBy: ["place.geo.lat", "-n", { both: "asc" }] });
      orders.aggregate({ values: { n: "count(*) filter (where city = $city)" }, params: { city: "Oslo" }, having: "n > 1", limit: 2 });
      orders.distinct(["city", "lower(city)"], { orderBy: ["-city", { columnName: "lower(city)" }], filter: "price > 1" });
      const keys: string[] = ["city"];
      orders.aggregate({ groupBy: keys, values: { n: "count(*)" }, orderBy: "city" });
      ns.table("untyped").aggregate({ groupBy: ["any"], values: { x: "sum(other)" }, orderBy: ["any", "-x"] });
      ns.table("untyped").distinct("any", { orderBy: "any" });
      ns.table("untyped").scan({ columns: ["any", "name.at.all"], orderBy: "else" });
      const names: string[] = ["id"];
      ns.table("untyped").scan({ columns: names });
      const paths: import("tiltyard").ColumnPath<Order>[] = ["id"];
      orders.scan({ columns: paths });
      interface Tree { name: string; child: Tree | null }
      ns.table<Tree>("trees").scan({ columns: ["name", "child.child.name"] });
    `;
    expect(errorsOf(statements)).toEqual([]);
  });
});

describe("rows", () => {
  it("rows of input may have other forms of the values, and lack columns that may be null", () => {
    const rows = `
      orders.insert([{ id: 1, price: 1, placed: "2026-01-01", vector: [1, 2], "odd.name": "" }]);
      orders.create([{ id: "9007199254740993", city: null, price: 2n, placed: new Date(), place: { street: "a" }, vector: new Float32Array(2), "odd.name": "" }]);
    `;
    expect(errorsOf(rows)).toEqual([]);
  });
  it("the compiler points at a value of a wrong type", () => {
    const row = 'orders.insert([{ id: 1, price: "2", placed: 0, vector: [1], "odd.name": "" }]);';
    expect(errorsOf(row).map(({ text }) => text)).toEqual(["price"]);
  });
  it.each([
    ['orders.search({ vector: [1], columns: ["id"] })', "{ id: bigint; _distance: number; }"],
    ['orders.search({ text: "oak", columns: ["id"] })', "_score: number"],
    ['orders.search({ vector: [1], text: "oak", columns: ["id"] })', "_relevance_score: number"],
    ['orders.search({ vector: [1], text: "oak", columns: ["id"] })', "_score: number | null"],
    ["orders.search({ vector: [1] })", "placed: Date"],
    ['orders.scan({ columns: "id" })', "{ id: bigint; }"],
    ['orders.scan({ columns: ["place.geo.lat"] })', '"place.geo.lat": number | null'],
    ['orders.query().select("city")', "{ city: string | null; }"],
    [
      'orders.aggregate({ groupBy: ["city"], values: { n: "count(*)" } })',
      "{ city: string | null; n: bigint; }",
    ],
    ['orders.aggregate({ values: { last: "max(placed)" } })', "{ last: Date | null; }"],
    [
      'orders.aggregate({ values: { mean: "AVG(price)", x: "sum(price) / 2" } })',
      "{ mean: number | null; x: unknown; }",
    ],
    [
      'orders.aggregate({ values: { all: "sum(id)", price: "sum(price)" } })',
      "{ all: bigint | null; price: number | bigint | null; }",
    ],
    ['orders.aggregate({ groupBy: "m", values: { m: "upper(city)" } })', "{ m: unknown; }"],
    ['orders.distinct(["city", "id"])', "city: string | null; }"],
    ['orders.distinct("place.geo.lat")', '{ "place.geo.lat": number | null; }'],
    [
      'ns.table("untyped").aggregate({ groupBy: ["a"], values: { n: "count(*)" } })',
      "{ a: unknown; n: bigint; }",
    ],
    ['ns.table("untyped").distinct(["a"] as string[])', "AnyRow"],
  ])("%s yields rows with %s", (query, type) => {
    const told = editor.typeAt(`${START}const ^rows = await ${query}.toArray();`);
    expect(told.replaceAll(/\s+/g, " ")).toContain(type);
  });
});

it("completion offers the names of values, as keys of groups and in their order", () => {
  const offered = (statement: string) => editor.completions(START + statement);
  expect(offered('orders.aggregate({ values: { month: "substr(city, 1, 2)" }, groupBy: ["^"] });')).toContain(
    "month",
  );
  const order = 'orders.aggregate({ groupBy: ["city"], values: { n: "count(*)" }, orderBy: ["^"] });';
  expect(offered(order)).toEqual(["-city", "-n", "city", "n"]);
  expect(offered('orders.distinct(["city", "id"], { orderBy: "^" });')).toEqual([
    "-city",
    "-id",
    "city",
    "id",
  ]);
});

it("types of another release of apache-arrow are accepted", () => {
  const program = `
    import * as arrow from "apache-arrow-of-reference";
    ns.alterTableAddColumns({ id: "t", newColumns: [{ name: "a", dataType: new arrow.Float32() }] });
    orders.addColumns({ name: "b", dataType: new arrow.List(new arrow.Field("item", new arrow.Utf8(), true)) });
    orders.alterColumns({ path: "price", dataType: new arrow.Int32() });
    const functions = { f: { version: "1", inputs: ["price"], output: new arrow.Timestamp(1, "UTC"), row: () => 0 } };
    new DirectoryNamespace({ root: "/nowhere", functions });
    orders.create([], { schema: new arrow.Schema([new arrow.Field("id", new arrow.Int64())]) });
    ns.createTable({ id: "t" }, arrow.tableFromArrays({ a: [1] }));
  `;
  expect(errorsOf(program)).toEqual([]);
});

it("a definition types its handle", () => {
  const program = `
    import { defineTable, int64, list, nullable, utf8, vector } from "tiltyard";
    const schema = defineTable({ id: int64(), tags: list(utf8()), note: nullable(utf8()), vector: vector(2) });
    const table = ns.table("notes", { schema });
  `;
  expect(editor.completions(`${START}${program}table.scan({ columns: ["^"] });`)).toEqual(
    expect.arrayContaining(["id", "tags", "note", "vector"]),
  );
  const rows = 'table.create([{ id: 1, tags: ["a"], vector: [1, 2] }]);';
  expect(errorsOf(program + rows)).toEqual([]);
  const wrong = 'table.create([{ id: 1, tags: ["a"], vector: [1, 2], nte: "" }]);';
  expect(errorsOf(program + wrong).map(({ text }) => text)).toEqual(["nte"]);
  expect(
    errorsOf(`${program}ns.table("notes", { schema, version: 3 }).query().select(["nte"]);`),
  ).toHaveLength(1);
});

describe("choices", () => {
  it.each([
    ['orders.insert([], { mode: "^" });', ["Append", "Overwrite"]],
    ['ns.createTable({ id: "t", mode: "^" }, []);', ["Create", "ExistOk", "Overwrite"]],
    [
      'orders.createIndex("id", { indexType: "^" });',
      [
        "BITMAP",
        "BLOOMFILTER",
        "BTREE",
        "FM",
        "FTS",
        "IVF_FLAT",
        "IVF_HNSW_FLAT",
        "IVF_HNSW_PQ",
        "IVF_HNSW_SQ",
      ].concat(["IVF_PQ", "IVF_RQ", "IVF_SQ", "LABEL_LIST", "NGRAM", "ZONEMAP"]),
    ],
    ['orders.query().explain({ format: "^" });', ["Json", "Text"]],
  ])("completion offers one spelling of each choice in %s", (statement, choices) => {
    expect(editor.completions(START + statement)).toEqual(choices);
  });
  it("other spellings compile", () => {
    const statements = `
      orders.insert([], { mode: "append" });
      ns.createTable({ id: "t", mode: "exist_ok" }, []);
      orders.createIndex("id", { indexType: "btree" });
      orders.createIndex("id", { indexType: "SCALAR" });
      orders.createIndex("city", { indexType: "inverted", stem: false });
    `;
    expect(errorsOf(statements)).toEqual([]);
  });
  it("completion offers the settings of indexes", () => {
    const names = editor.completions(`${START}orders.createIndex("city", { indexType: "FTS", ^ });`);
    expect(names).toContain("stem");
  });
  it("the compiler points at a setting of another kind of index", () => {
    const statement = 'orders.createIndex("id", { indexType: "BTREE", efConstruction: 3 });';
    expect(errorsOf(statement).map(({ text }) => text)).toEqual(["efConstruction"]);
  });
});
