/** Structs without members. From 2.1 on the reference reads its own only if no column follows them. */

import { makeData, RecordBatch, Schema, Struct, Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { TableColumnNotFoundError, TableSchemaValidationError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { sharedDirectory } from "../support/fixtures.js";
import * as interop from "../support/interop.js";
import {
  empty,
  leaf,
  list,
  makeNestedTable,
  map,
  type NestedSpec,
  sized,
  struct,
} from "../support/nestedGenerators.js";
import { compareSchemas, compareTables, reference } from "../support/reference.js";

const VERSIONS = interop.FILE_VERSIONS;
const LATER = ["2.1", "2.2"] as const;
const IGNORE = { metadata: false } as const;

const root = sharedDirectory();
const namespaces = interop.sharedNamespaces(root);
let tableCount = 0;
const freshName = () => `t${tableCount++}`;

const number = leaf("int32", "some");
const tableOf = (columns: NestedSpec[], rowCount = 50, seed = 1, batchRows?: number) =>
  makeNestedTable({ columns, rowCount, seed, batchRows });
const readThere = async (name: string, options = {}) =>
  tableFromIPC(await reference.readTable(root, name, options));

/** Positions of a struct without members that all versions store. */
const PLACES: Record<string, NestedSpec[]> = {
  alone: [empty()],
  first: [empty(), number],
  last: [number, empty()],
  between: [number, empty(), leaf("utf8", "some")],
  several: [empty(), number, empty(), empty(), leaf("bool")],
  "in a struct": [struct([empty(), number]), leaf("int64")],
  "last in a struct": [struct([number, empty()]), list(number, "some")],
  "alone in a struct": [struct([empty()]), number],
  deep: [struct([struct([struct([empty()]), number]), empty(), list(number)]), number],
};

function nullable(rows: Table): Table {
  const schema = new Schema(rows.schema.fields.map(({ name, type }) => fieldOf(name, type)));
  const batches = rows.batches.map(
    ({ numRows, data }) =>
      new RecordBatch(
        schema,
        makeData({ type: new Struct(schema.fields), length: numRows, nullCount: 0, children: data.children }),
      ),
  );
  return new Table(schema, batches);
}

describe.each(VERSIONS)("file version %s", (version) => {
  it.each(Object.entries(PLACES))("%s", async (_, columns) => {
    for (const rowCount of [0, 1, 1_200]) {
      const plain = tableOf(columns, rowCount, 1, 500);
      for (const rows of [plain, nullable(plain)]) {
        const ours = freshName();
        const theirs = freshName();
        await namespaces[version].createTable({ id: [ours] }, rows);
        await reference.createTable(root, theirs, tableToIPC(rows), { dataStorageVersion: version });
        compareTables(rows, await readThere(ours), IGNORE);
        for (const name of [ours, theirs]) {
          const table = namespaces[version].table([name]);
          compareTables(rows, await table.scan().toArrow(), IGNORE);
          expect(await table.countRows()).toEqual(rowCount);
          for (const column of rows.schema.names as string[]) {
            compareTables(rows.select([column]), await table.scan({ columns: [column] }).toArrow(), IGNORE);
            if (name === theirs) continue;
            compareTables(rows.select([column]), await readThere(ours, { columns: [column] }), IGNORE);
          }
          if (rowCount < 50) continue;
          const part = await table.scan({ offset: 7, limit: 30 }).toArrow();
          compareTables(rows.slice(7, 37), part, IGNORE);
          const [head, ...others] = [rowCount - 1, 0, 33, 0].map((row) => rows.slice(row, row + 1));
          compareTables(head.concat(...others), await table.take([rowCount - 1, 0, 33, 0]), IGNORE);
        }
        if (rowCount >= 50) {
          const taken = tableFromIPC(await reference.takeRows(root, ours, [3, 40]));
          compareTables(rows.slice(3, 4).concat(rows.slice(40, 41)), taken, IGNORE);
        }
      }
    }
  });

  it("take appends by turns, and are found by their paths", async () => {
    const name = freshName();
    const namespace = namespaces[version];
    const part = (seed: number) => tableOf([empty(), struct([number, empty()])], 500, seed);
    await namespace.createTable({ id: [name] }, part(0));
    await reference.appendTable(root, name, tableToIPC(part(1)));
    await namespace.insertIntoTable({ id: [name] }, part(2));
    const expected = part(0).concat(part(1), part(2));
    compareTables(expected, await namespace.table([name]).scan().toArrow(), IGNORE);
    expect(await namespace.getTableStats({ id: [name] })).toEqual(await reference.tableStats(root, name));

    const inner = await namespace
      .table([name])
      .scan({ columns: ["c1.m1", "c1.m0"], withRowId: true })
      .toArrow();
    expect(inner.numRows).toBe(1_500);
    expect(inner.getChild("c1.m1")!.nullCount).toBe(0);
    const members = expected
      .getChild("c1")!
      .toArray()
      .map((row: { m0: number | null }) => row.m0);
    expect([...inner.getChild("c1.m0")!]).toEqual(members);
    await expect(
      namespace
        .table([name])
        .scan({ columns: ["c0.m0"] })
        .toArrow(),
    ).rejects.toThrow(TableColumnNotFoundError);
  });

  it("keep their metadata, and the schema", async () => {
    const name = freshName();
    const field = fieldOf("nothing", new Struct([]), true, { unit: "none" });
    const schema = new Schema([field, fieldOf("inner", new Struct([field]), false)]);
    const rows = new Table(
      schema,
      tableOf([empty(), struct([empty()])]).batches.map(
        ({ data }) =>
          new RecordBatch(
            schema,
            makeData({
              type: new Struct(schema.fields),
              length: data.length,
              nullCount: 0,
              children: [
                data.children[0],
                makeData({
                  type: schema.fields[1].type as Struct,
                  length: data.length,
                  nullCount: 0,
                  children: data.children[1].children as never,
                }),
              ],
            }),
          ),
      ),
    );
    await namespaces[version].createTable({ id: [name] }, rows);
    compareSchemas(schema, (await namespaces[version].table([name]).scan().toArrow()).schema);
    compareSchemas(schema, (await readThere(name)).schema);
    const { schema: described } = await namespaces[version].describeTable({ id: [name] });
    expect(described!.fields[0]).toMatchObject({
      name: "nothing",
      nullable: true,
      type: { type: "struct", fields: [] },
      metadata: { unit: "none" },
    });
  });

  it("stand what the reference does to the table", async () => {
    const name = freshName();
    const namespace = namespaces[version];
    const rows = tableOf([leaf("int32", "none", "sorted"), struct([number]), empty()], 400);
    await namespace.createTable({ id: [name] }, rows.slice(0, 200));
    await namespace.insertIntoTable({ id: [name] }, rows.slice(200));
    const [, second, third] = [...rows.getChild("c0")!];
    await reference.deleteRows(root, name, `c0 = ${second} or c0 = ${third}`);
    const left = rows.slice(0, 1).concat(rows.slice(3));
    const check = async () => {
      compareTables(left, await readThere(name), IGNORE);
      compareTables(left, await namespace.table([name]).scan().toArrow(), IGNORE);
    };
    await check();
    await reference.optimizeTable(root, name);
    await check();
    await reference.addNullColumns(
      root,
      name,
      tableToIPC(new Table(new Schema([fieldOf("late", new Struct([]))]))),
    );
    const [late] = [
      await namespace
        .table([name])
        .scan({ columns: ["late"] })
        .toArrow(),
    ];
    expect(late.getChild("late")!.nullCount).toBe(398);
    compareTables(late, await readThere(name, { columns: ["late"] }), IGNORE);
    await namespace.alterTableDropColumns({ id: [name], columns: ["late"] });
    await check();
  });

  it("are no place for nulls", async () => {
    const namespace = namespaces[version];
    const allNull = empty("all");
    for (const columns of [
      [empty("some")],
      [allNull, number],
      [struct([empty("some")]), number],
      [struct([empty(), number], "some")],
    ]) {
      const name = freshName();
      await expect(namespace.createTable({ id: [name] }, tableOf(columns))).rejects.toThrow(UnsupportedError);
      await expect(namespace.tableExists({ id: [name] })).rejects.toThrow();
      // From 2.1 on the reference does not distinguish all null from none.
      if (version !== "2.0" && columns[0] === allNull) continue;
      const ipc = tableToIPC(tableOf(columns));
      await expect(reference.createTable(root, name, ipc, { dataStorageVersion: version })).rejects.toThrow(
        /null/,
      );
    }
    const id = [freshName()];
    await namespace.createTable({ id }, tableOf([struct([empty()]), number]));
    await expect(
      namespace.insertIntoTable({ id }, tableOf([struct([empty("some")]), number])),
    ).rejects.toThrow(version === "2.0" ? UnsupportedError : TableSchemaValidationError);
    expect(await namespace.countTableRows({ id })).toBe(50);
  });

  it("are null where rows lack them", async () => {
    const id = [freshName()];
    const namespace = namespaces[version];
    await namespace.createTable({ id }, nullable(tableOf([number, empty()])));
    const rest = nullable(tableOf([number], 20, 2));
    await namespace.insertIntoTable({ id }, rest);
    const read = await namespace.table(id).scan().toArrow();
    compareTables(rest.select(["c0"]), read.slice(50).select(["c0"]), IGNORE);
    expect([...read.getChild("c1")!].map((value) => value === null)).toEqual(
      Array.from({ length: 70 }, (_, row) => row >= 50),
    );
    compareTables(read, await readThere(id[0]!), IGNORE);
  });

  it("stay null where fragments without them are merged, and apart from those that have them", async () => {
    const id = [freshName()];
    const namespace = namespaces[version];
    const whole = (seed: number) => nullable(tableOf([number, struct([empty()])], 30, seed));
    const bare = (seed: number) => whole(seed).select(["c0"]);
    await namespace.createTable({ id }, whole(0));
    for (const rows of [whole(1), bare(2), bare(3), whole(4)]) await namespace.insertIntoTable({ id }, rows);
    const before = await namespace.table(id).scan().toArrow();
    await namespace.optimizeTable({ id });
    // Merged rows come last.
    const merged = before.slice(120).concat(before.slice(0, 120));
    compareTables(merged, await namespace.table(id).scan().toArrow(), IGNORE);
    compareTables(merged, await readThere(id[0]!), IGNORE);
    const { fragmentStats } = await namespace.getTableStats({ id });
    expect(fragmentStats.numFragments).toBe(3);
    expect(before.getChild("c1")!.nullCount).toBe(60);
  });

  it("are refused where they would be packed", async () => {
    const field = fieldOf("c0", new Struct([]), true, { "lance-encoding:packed": "true" });
    const rows = new Table(new Schema([field]));
    await expect(namespaces[version].createTable({ id: [freshName()] }, rows)).rejects.toThrow(
      UnsupportedError,
    );
  });
});

describe("in lists", () => {
  const columns = [
    list(empty()),
    list(empty(), "some"),
    list(list(empty(), "some", "mostlyEmpty")),
    list(struct([number, empty()]), "some"),
    struct([number, list(empty(), "all")]),
  ];

  it("are kept by version 2.0", async () => {
    for (const rowCount of [0, 1, 50, 3_000]) {
      const rows = tableOf(columns, rowCount, 5, 700);
      expect(await interop.writeHere(namespaces["2.0"], root, rows, "2.0")).toBeUndefined();
      expect(await interop.writeThere(namespaces["2.0"], root, rows, "2.0")).toBeUndefined();
    }
  });

  it("take no memory, however many they are", async () => {
    const id = [freshName()];
    const child = makeData({ type: new Struct([]), length: 2 ** 28, nullCount: 0, children: [] });
    const rows = tableOf([list(empty())], 2);
    const [batch] = rows.batches;
    const lists = batch.data.children[0].clone(rows.schema.fields[0].type, 0, 2, 0);
    const data = makeData({
      type: lists.type,
      length: 2,
      nullCount: 0,
      valueOffsets: Int32Array.of(0, 3, 2 ** 28),
      child,
    } as never);
    const many = new Table(rows.schema, [
      new RecordBatch(
        rows.schema,
        makeData({ type: new Struct(rows.schema.fields), length: 2, nullCount: 0, children: [data] }),
      ),
    ]);
    await namespaces["2.0"].createTable({ id }, many);
    const [read] = (await namespaces["2.0"].table(id).scan().toArrow()).getChild("c0")!.data;
    expect([...read.valueOffsets]).toEqual([0, 3, 2 ** 28]);
    expect(read.children[0].length).toBe(2 ** 28);
  });

  it.each(LATER)("are refused by version %s, in maps and fixed-size lists as well", async (version) => {
    const refused = [...columns, sized(struct([empty(), number])), sized(empty()), map(empty())];
    for (const rowCount of [0, 50]) {
      await interop.refuseColumns(namespaces[version], root, tableOf(refused, rowCount));
    }
  });
});
