import * as arrow from "apache-arrow";
import { connect, arrow as theirs } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { fieldOf, int32s } from "../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { reference } from "../support/reference.js";

const field = (name: string, type: arrow.DataType, nullable = true) => fieldOf(name, type, nullable);
const point = new arrow.Struct([field("x", new arrow.Float64()), field("y", new arrow.Utf8())]);

const POOLS: Readonly<Record<string, readonly [arrow.DataType, readonly unknown[]]>> = {
  structs: [
    point,
    [
      null,
      { x: Number.NaN, y: "a" },
      { x: 0, y: "a" },
      { x: -0, y: "a" },
      { x: null, y: "a" },
      { x: 1, y: null },
      { x: null, y: null },
      { x: 1, y: "" },
      { x: 1, y: "é" },
    ],
  ],
  "structs in structs": [
    new arrow.Struct([
      field("d", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
      field("n", new arrow.Struct([field("b", new arrow.Bool())])),
    ]),
    [
      { d: "a", n: { b: true } },
      { d: "a", n: { b: false } },
      { d: "b", n: { b: true } },
      { d: "b", n: { b: null } },
      { d: "b", n: null },
      { d: null, n: null },
    ],
  ],
  lists: [
    new arrow.List(field("item", new arrow.Float64())),
    [null, [], [1], [1, 2], [1, null], [null], [null, 1], [Number.NaN], [0], [-0], [2, 1]],
  ],
  "lists of structs": [
    new arrow.List(field("item", point)),
    [[], [{ x: 1, y: "a" }], [{ x: 1, y: null }], [null], [{ x: null, y: null }], [{ x: 1, y: "a" }, null]],
  ],
  "lists of lists": [
    new arrow.List(field("item", new arrow.List(field("item", new arrow.Utf8())))),
    [[], [[]], [[], []], [["a"], ["b"]], [["a", "b"]], [["ab"]], [["a"], ["b"], null]],
  ],
  vectors: [
    new arrow.FixedSizeList(2, field("item", new arrow.Float32())),
    [null, [1, 2], [2, 1], [0, 0], [-0, 0], [Number.NaN, 1]],
  ],
};

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const rowsOf = (type: arrow.DataType, keys: readonly unknown[], first: number): arrow.Table =>
  new arrow.Table({
    k: arrow.vectorFromArray(keys as never[], type),
    v: int32s(keys.map((_, row) => first + row)),
  });

it.each(Object.entries(POOLS))("%s", async (name, [type, values]) => {
  const stored = values.filter((_, index) => index % 4 !== 3);
  const others = values.filter((_, index) => index % 4 !== 0);
  const outcomes: unknown[] = [];
  for (const engine of ["ours", "theirs"]) {
    const table = `${name.replaceAll(" ", "_")}_${engine}`;
    await reference.createTable(root, table, arrow.tableToIPC(rowsOf(type, stored, 0)));
    const rows = rowsOf(type, others, 100);
    if (engine === "ours") {
      const upsert = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
      await namespace.table(table).mergeInsert("k", rows, upsert);
    } else {
      const connection = await connect(root);
      const merge = (await connection.openTable(table)).mergeInsert("k");
      const upsert = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll();
      await upsert.execute(theirs.tableFromIPC(arrow.tableToIPC(rows)));
      connection.close();
    }
    const left = await namespace.table(table).scan().toArrow();
    outcomes.push(Array.from(left.getChild("v") as Iterable<number>).sort((a, b) => a - b));
  }
  expect(outcomes[0]).toEqual(outcomes[1]);
  expect((outcomes[0] as number[]).length).toBeLessThan(stored.length + others.length);
});
