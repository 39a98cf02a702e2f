/** A column that is wanted under many names, or inside others that are wanted, is read and decoded once. */

import * as arrow from "apache-arrow";
import { DirectoryNamespace, InvalidInputError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { fieldOf, int32s, utf8s } from "../support/arrowColumns.js";
import { type CountingDisk, countingDisk } from "../support/countingDisk.js";
import { sharedDirectory } from "../support/fixtures.js";

const ROWS = 20_000;
const ALIASES = 1500;

const root = sharedDirectory();
let disk: CountingDisk;
let namespace: DirectoryNamespace;

beforeAll(async () => {
  disk = countingDisk(new NodeDisk({ durability: "none" }));
  namespace = new DirectoryNamespace({ root, disk } as ConstructorParameters<typeof DirectoryNamespace>[0]);
  await namespace.createTable({ id: ["t"] }, nestedTable());
});
afterAll(() => namespace.close());

/** `n`, `s.a` and `s.t.b`, of values that are packed in their pages. */
function nestedTable(): arrow.Table {
  const numbers = int32s(ROWS, (row) => row % 1000);
  const words = utf8s(ROWS, (row) => `word ${row % 7}`);
  const inner = new arrow.Struct([fieldOf("b", new arrow.Utf8())]);
  const outer = new arrow.Struct<{ a: arrow.Int32; t: typeof inner }>([
    fieldOf("a", new arrow.Int32()),
    fieldOf("t", inner),
  ] as never);
  const t = arrow.makeData({ type: inner, length: ROWS, nullCount: 0, children: [words.data[0]] });
  const s = arrow.makeData({ type: outer, length: ROWS, nullCount: 0, children: [numbers.data[0], t] });
  const schema = new arrow.Schema([fieldOf("n", new arrow.Int32()), fieldOf("s", outer)]);
  const data = arrow.makeData({
    type: new arrow.Struct(schema.fields),
    length: ROWS,
    nullCount: 0,
    children: [numbers.data[0], s],
  });
  return new arrow.Table([new arrow.RecordBatch(schema, data)]);
}

const aliases = (count: number, path: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, path]));

/** Memory that the batches of a table stand on, and bytes read for it. */
async function costOf(
  read: () => Promise<arrow.Table>,
): Promise<{ memory: number; bytesRead: number; table: arrow.Table }> {
  const before = disk.bytesRead;
  const table = await read();
  const buffers = new Set<ArrayBufferLike>();
  for (const { data } of table.batches) {
    const visit = ({ buffers: parts, children }: arrow.Data): void => {
      for (const view of Object.values(parts)) if (ArrayBuffer.isView(view)) buffers.add(view.buffer);
      for (const child of children) visit(child);
    };
    visit(data);
  }
  const memory = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { memory, bytesRead: disk.bytesRead - before, table };
}

const query = async (columns: object) =>
  (await namespace.queryTable({ id: ["t"], columns: columns as never })).toArrow();
const take = (columns: object) =>
  namespace.takeRows({
    id: ["t"],
    rowOffsets: Int32Array.from({ length: 4000 }, (_, index) => (index * 7) % ROWS),
    columns: columns as never,
  });

describe.each([
  ["queries", query],
  ["takes", take],
  [
    "queries of some rows",
    async (columns: object) =>
      (
        await namespace.queryTable({ id: ["t"], columns: columns as never, offset: 100, limit: 5000 })
      ).toArrow(),
  ],
] as const)("%s", (_, read) => {
  it.each([
    "n",
    "s",
    "s.a",
    "s.t.b",
  ])("one path under many names costs what it costs under one: %s", async (path) => {
    // What is kept in caches is there for both.
    await read({ columnAliases: aliases(1, path) });
    const one = await costOf(() => read({ columnAliases: aliases(1, path) }));
    const many = await costOf(() => read({ columnAliases: aliases(ALIASES, path) }));
    // Files are opened again now and then.
    expect(many.bytesRead).toBeLessThanOrEqual(one.bytesRead + 1024);
    expect(many.memory).toBe(one.memory);
    expect(many.table.numCols).toBe(ALIASES);
    const expected = one.table.getChildAt(0)?.slice(0, 100).toArray();
    for (const column of [0, 1, ALIASES - 1]) {
      expect(many.table.getChildAt(column)?.slice(0, 100).toArray()).toEqual(expected);
    }
  });

  it("a struct and what is in it are read once", async () => {
    await read({ columnNames: ["s"] });
    const whole = await costOf(() => read({ columnNames: ["s"] }));
    const parts = await costOf(() => read({ columnNames: ["s", "s.a", "s.t", "s.t.b"] }));
    expect(parts.bytesRead).toBeLessThanOrEqual(whole.bytesRead + 1024);
    // Rows that are picked are copied, for each struct once.
    expect(parts.memory).toBeLessThanOrEqual(3 * whole.memory);
    const rows = parts.table.slice(0, 50).toArray();
    for (const row of rows) expect(row["s.t.b"]).toBe(row.s.t.b);
  });
});

describe("the number of columns", () => {
  it("is bounded where the caller says so", async () => {
    const count = async (names: number, maxColumns: number) => {
      const result = await namespace.queryTable({
        id: ["t"],
        columns: { columnAliases: aliases(names, "n") },
        limit: 1,
        maxColumns,
      });
      return result.schema.fields.length;
    };
    expect(await count(10, 10)).toBe(10);
    await expect(count(11, 10)).rejects.toThrow(InvalidInputError);
    await expect(count(11, 10)).rejects.toThrow("columns: 11 are named; at most 10 are returned");
  });

  it("may be that of the table's fields all the same", async () => {
    const named = ["n", "s", "s.a", "s.t", "s.t.b"];
    const query = (columns: readonly string[]) => namespace.queryTable({ id: ["t"], columns, maxColumns: 1 });
    expect((await query(named)).schema.fields.map(({ name }) => name)).toEqual(named);
    expect((await namespace.queryTable({ id: ["t"], maxColumns: 1 })).schema.fields).toHaveLength(2);
  });
});
