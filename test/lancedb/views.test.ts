/** Materialized views of the drop-in, beside LanceDB's and through LanceDB. */

import * as reference from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { TableNotFoundError } from "../../src/errors.js";
import { connect } from "../../src/lancedb/connect.js";
import { Database } from "../../src/lancedb/database.js";
import { DEFINITION_META_KEY, definitionFromMetadata } from "../../src/lancedb/materialized_view.js";
import type { NamespaceCalls } from "../../src/lancedb/tableReader.js";
import { viewNames } from "../../src/lancedb/views.js";
import { makeTempDir } from "../support/tempDir.js";

const PEOPLE = [
  { name: "ada", age: 36 },
  { name: "kid", age: 7 },
  { name: "grace", age: 85 },
];
const STABLE = { storageOptions: { newTableEnableStableRowIds: "true" } };

// biome-ignore lint/suspicious/noExplicitAny: the libraries declare their classes each for itself
type Any = any;

/** Returns the rows of a view in the order of their source. */
const rowsOf = async (view: Any) =>
  (await view.table().toArrow())
    .toArray()
    .map((row: Any) => row.toJSON())
    .sort((a: Any, b: Any) => Number(a.__source_row_id - b.__source_row_id));

/** Runs a history on both libraries; what the calls return must be equal. */
async function compare(history: (db: Any) => AsyncGenerator<unknown>): Promise<void> {
  const ours = history(await connect(await makeTempDir()));
  const native = history(await reference.connect(await makeTempDir()));
  for (;;) {
    const [our, their] = [await ours.next(), await native.next()];
    expect(our).toEqual(their);
    if (our.done === true) return;
  }
}

const mode = async (refresh: Promise<Any>) => {
  const { mode: how, rowsWritten, sourceVersion } = await refresh;
  return { how, rowsWritten: Number(rowsWritten), sourceVersion: Number(sourceVersion) };
};

describe("a view of the drop-in", () => {
  it("follows appends, updates and deletions of its source as LanceDB's does", () =>
    compare(async function* (db) {
      const people = await db.createTable("people", PEOPLE, STABLE);
      const view = await db.createMaterializedView("adults", "people", {
        select: ["name", ["shout", "upper(name)"]],
        where: "age >= 18",
      });
      yield await view.definition();
      yield await mode(view.refresh());
      yield await rowsOf(view);
      yield await mode(view.refresh());
      await people.add([
        { name: "alan", age: 41 },
        { name: "boy", age: 3 },
      ]);
      yield await mode(view.refresh());
      await people.update({ where: "name = 'ada'", values: { name: "Ada" } });
      await people.update({ where: "name = 'grace'", values: { age: 8 } });
      yield (await mode(view.refresh())).how;
      yield await rowsOf(view);
      await people.delete("name = 'Ada'");
      yield (await mode(view.refresh())).how;
      yield await rowsOf(view);
      yield await mode(view.refresh({ full: true }));
      yield await rowsOf(view);
      yield await db.listMaterializedViews();
    }));

  it("computes a limited number of rows, and those of an earlier version", () =>
    compare(async function* (db) {
      const people = await db.createTable("people", PEOPLE, STABLE);
      const view = await db.createMaterializedView("two", "people", { limit: 2 });
      yield await mode(view.refresh());
      yield (await rowsOf(view)).length;
      const copy = await db.createMaterializedView("copy", "people", {
        select: { n: "name", next: "age + 1" },
      });
      await people.add([{ name: "alan", age: 41 }]);
      yield await mode(copy.refresh());
      yield await mode(copy.refresh({ sourceVersion: 1 }));
      yield await rowsOf(copy);
    }));

  it("refuses what LanceDB refuses", async () => {
    const db = await connect(await makeTempDir());
    await db.createTable("people", PEOPLE, STABLE);
    await db.createTable("plain", PEOPLE);
    const create = (...operands: Parameters<typeof db.createMaterializedView>) =>
      db.createMaterializedView(...operands);
    await expect(create("v", "plain")).rejects.toThrow(/require stable row ids on the source table/);
    await expect(create("v", "none")).rejects.toThrow("Table 'none' was not found");
    await expect(create("people", "people")).rejects.toThrow("Table 'people' already exists");
    await expect(create("v", "people", { select: [["x", "missing + 1"]] })).rejects.toThrow(
      /Invalid expression for column 'x': .*missing/,
    );
    await expect(create("v", "people", { where: "missing = 1" })).rejects.toThrow(
      "invalid view filter: unknown column 'missing'",
    );
    for (const limit of [-5, 1.5, Number.POSITIVE_INFINITY, Number.NaN]) {
      await expect(create("v", "people", { limit })).rejects.toThrow("non-negative integer");
    }
    const twice: [string, string][] = [
      ["x", "age"],
      ["x", "name"],
    ];
    await expect(create("v", "people", { select: twice })).rejects.toThrow("Column 'x' already exists");
    await expect(db.openMaterializedView("people")).rejects.toThrow(
      "Table 'people' is not a materialized view",
    );
    expect(await db.listMaterializedViews()).toEqual([]);
    const stored = new Map([[DEFINITION_META_KEY, '{"source_table":"people","limit":9007199254740993}']]);
    expect(() => definitionFromMetadata(stored, "v")).toThrow(/too large to represent exactly/);
    for (const text of [
      "{",
      "null",
      "{}",
      '{"source_table":7}',
      '{"source_table":"people","inputs":"age"}',
    ]) {
      const metadata = new Map([[DEFINITION_META_KEY, text]]);
      expect(() => definitionFromMetadata(metadata, "v")).toThrow("definition of the view 'v' is not valid");
    }
  });

  it("is rebuilt if its record of the source is not valid, and may have no rows", async () => {
    const root = await makeTempDir();
    const db = await connect(root);
    await db.createTable("people", PEOPLE, STABLE);
    const view = await db.createMaterializedView("old", "people", { where: "age > 99" });
    expect(await view.refresh()).toMatchObject({ mode: "rebuild", rowsWritten: 0 });
    await using namespace = new DirectoryNamespace({ root });
    for (const [key, value] of [
      ["mv.source_version", "one"],
      ["mv.source_version_ts", "now"],
    ]) {
      const { metadata } = await namespace.describeTable({ id: ["old"] });
      await namespace.updateTableSchemaMetadata({ id: ["old"], metadata: { ...metadata, [key]: value } });
      const opened = await db.openMaterializedView("old");
      expect(await opened.refresh()).toMatchObject({ mode: "rebuild", rowsWritten: 0 });
      expect(await opened.refresh()).toMatchObject({ mode: "no_op" });
    }
  });

  it("is not listed if another connection drops its table meanwhile", async () => {
    const namespace = {
      listTables: async () => ({ tables: ["gone"] }),
      describeTable: async () => Promise.reject(new TableNotFoundError("there is no table gone")),
    } as unknown as NamespaceCalls;
    const database = new Database({ open: () => namespace, uri: "/db", kind: "ListingDatabase" });
    database.enter();
    expect(await viewNames(database)).toEqual([]);
  });

  it("is refreshed by LanceDB, and refreshes LanceDB's", async () => {
    const root = await makeTempDir();
    const [ours, native] = [await connect(root), await reference.connect(root)];
    const people = await ours.createTable("people", PEOPLE, STABLE);
    await ours.createMaterializedView("a", "people", { where: "age >= 18" }).then((view) => view.refresh());
    await (native as Any).createMaterializedView("b", "people", { where: "age >= 18" });
    await people.add([{ name: "alan", age: 41 }]);
    const theirs = await (native as Any).openMaterializedView("a");
    await theirs.refresh();
    expect((await rowsOf(theirs)).map(({ name }: Any) => name)).toEqual(["ada", "grace", "alan"]);
    const mine = await ours.openMaterializedView("b");
    await mine.refresh();
    expect((await rowsOf(mine)).map(({ name }: Any) => name)).toEqual(["ada", "grace", "alan"]);
    await people.delete("name = 'ada'");
    const again = await ours.openMaterializedView("a");
    expect(await again.refresh()).toMatchObject({ mode: expect.any(String) });
    expect((await rowsOf(again)).map(({ name }: Any) => name)).toEqual(["grace", "alan"]);
  });

  it("keeps no row twice if two handles refresh it at once", async () => {
    const db = await connect(await makeTempDir());
    const people = await db.createTable("people", PEOPLE, STABLE);
    const view = await db.createMaterializedView("copy", "people");
    await view.refresh();
    await people.add([{ name: "alan", age: 41 }]);
    const other = await db.openMaterializedView("copy");
    await Promise.allSettled([view.refresh(), other.refresh()]);
    const last = await db.openMaterializedView("copy");
    await last.refresh();
    expect(await rowsOf(last)).toHaveLength(4);
  });
});
