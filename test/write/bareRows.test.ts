/** Rows without bytes, of which few bytes describe billions, cost no more than rows with bytes. */

import { readdir } from "node:fs/promises";
import * as arrow from "apache-arrow";
import { DirectoryNamespace, InvalidInputError } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { describe, expect } from "vitest";
import { openInput } from "../../src/arrow/exchange/input.js";
import { fieldOf, listOf } from "../support/arrowColumns.js";
import { it } from "../support/fixtures.js";

const HUGE = 2 ** 31 - 1;
const EMPTY = new arrow.Struct([]);

function batchOf(rowCount: number, types: Readonly<Record<string, arrow.DataType>>): arrow.RecordBatch {
  const fields = Object.entries(types).map(([name, type]) => fieldOf(name, type));
  const children = fields.map(({ type }) =>
    arrow.makeData({
      type: type as arrow.Null,
      length: rowCount,
      nullCount: type instanceof arrow.Null ? rowCount : 0,
    }),
  );
  const data = arrow.makeData({ type: new arrow.Struct(fields), length: rowCount, nullCount: 0, children });
  return new arrow.RecordBatch(new arrow.Schema(fields), data);
}

function streamOf(...batches: arrow.RecordBatch[]): Uint8Array {
  const writer = new arrow.RecordBatchStreamWriter();
  for (const batch of batches) writer.write(batch);
  writer.finish();
  return writer.toUint8Array(true);
}

const filesOf = async (ns: DirectoryNamespace, table: string) => readdir(`${ns.root}/${table}.lance/data`);

describe("rows without bytes", () => {
  it.for([
    ["2.2", { n: new arrow.Null() }],
    ["2.1", { n: new arrow.Null(), m: new arrow.Null() }],
    ["2.0", { n: new arrow.Null() }],
    ["2.2", { e: EMPTY }],
  ] as const)("are written to few files: %s %j", async ([dataStorageVersion, types], { ns }) => {
    await using boundedNamespace = new DirectoryNamespace({
      root: ns.root,
      durability: "none",
      dataStorageVersion,
    });
    const bytes = streamOf(batchOf(HUGE, types), batchOf(HUGE, types));
    expect(bytes.length).toBeLessThan(2000);
    await boundedNamespace.createTable({ id: ["t"] }, bytes);
    expect((await filesOf(ns, "t")).length).toBe(64);
    expect(await boundedNamespace.countTableRows({ id: ["t"] })).toBe(2 * HUGE);
    const [name] = Object.keys(types);
    const query = { id: ["t"], offset: HUGE + 5, limit: 3, columns: [name], withRowId: true } as const;
    const answer = await (await boundedNamespace.queryTable(query)).toArrow();
    expect(answer.numRows).toBe(3);
    expect(
      (await boundedNamespace.takeRows({ id: ["t"], rowOffsets: [0, HUGE, 2 * HUGE - 1] })).numRows,
    ).toBe(3);
    for await (const batch of await boundedNamespace.queryTable({ id: ["t"], withRowId: true })) {
      expect(batch.numRows).toBeLessThanOrEqual(2 ** 20);
      break;
    }
  });

  it("share files with rows that have bytes", async ({ ns }) => {
    const types = { e: EMPTY };
    const withNulls = batchOf(3 * 2 ** 20, types);
    await ns.createTable({ id: ["t"] }, streamOf(withNulls));
    expect(await filesOf(ns, "t")).toHaveLength(1);
    const numbers = arrow.makeData({
      type: new arrow.Int32(),
      length: 3 * 2 ** 20,
      data: new Int32Array(3 * 2 ** 20),
    });
    const schema = new arrow.Schema([fieldOf("v", new arrow.Int32())]);
    const data = arrow.makeData({
      type: new arrow.Struct(schema.fields),
      length: numbers.length,
      nullCount: 0,
      children: [numbers],
    });
    await ns.createTable({ id: ["u"] }, new arrow.Table([new arrow.RecordBatch(schema, data)]));
    expect(await filesOf(ns, "u")).toHaveLength(3);
  });

  it("get columns like others", async ({ ns }) => {
    await ns.createTable({ id: ["t"] }, streamOf(batchOf(2_500_000, { n: new arrow.Null() })));
    await ns.alterTableAddColumns({ id: ["t"], newColumns: [{ name: "v", expression: "7" }] });
    const answer = await (await ns.queryTable({ id: ["t"], offset: 2_499_998 })).toArrow();
    expect(answer.toArray().map((row) => Number(row.v))).toEqual([7, 7]);
    expect(await ns.countTableRows({ id: ["t"] })).toBe(2_500_000);
  });
});

describe("the number of rows", () => {
  it("is bounded by the caller's limit", async ({ ns }) => {
    const rows = streamOf(batchOf(60, { n: new arrow.Null() }), batchOf(40, { n: new arrow.Null() }));
    await ns.createTable({ id: ["t"], maxRows: 100 }, rows);
    await expect(ns.insertIntoTable({ id: ["t"], maxRows: 99 }, rows)).rejects.toThrow("more than 99 rows");
    await expect(ns.createTable({ id: ["u"], maxRows: 99 }, rows)).rejects.toThrow(InvalidInputError);
    expect(await ns.countTableRows({ id: ["t"] })).toBe(100);
    expect((await ns.listTables({ id: [] })).tables).toEqual(["t"]);
  });

  it("is bounded over HTTP: 400", async ({ ns }) => {
    const body = streamOf(batchOf(HUGE, { n: new arrow.Null() }));
    const ask = async (limits: object) => {
      const handler = createRestHandler(ns, { auth: { anonymous: true }, limits });
      const headers = { "content-type": "application/vnd.apache.arrow.stream" };
      return handler(
        new Request("http://localhost/v1/table/t/create", {
          method: "POST",
          headers,
          body: body as BodyInit,
        }),
      );
    };
    const refused = await ask({});
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      code: 13,
      detail: `the input has more than ${2 ** 30} rows`,
    });
    expect((await ask({ maxRows: HUGE })).status).toBe(200);
  });
});

it("items of lists without bytes count towards the limit of a batch", async () => {
  const type = listOf(new arrow.Null());
  const listsOf = (items: number) => {
    const child = arrow.makeData({ type: new arrow.Null(), length: items });
    const lists = arrow.makeData({
      type,
      length: 1,
      nullCount: 0,
      valueOffsets: Int32Array.of(0, items),
      child,
    });
    const schema = new arrow.Schema([fieldOf("l", type)]);
    const data = arrow.makeData({
      type: new arrow.Struct(schema.fields),
      length: 1,
      nullCount: 0,
      children: [lists],
    });
    return new arrow.Table([new arrow.RecordBatch(schema, data)]);
  };
  const read = async (items: number) => {
    const input = await openInput(listsOf(items), undefined, { maxBatchBytes: 2 ** 20 });
    for await (const { rowCount } of input.batches) expect(rowCount).toBe(1);
  };
  await read(2 ** 16);
  await expect(read(2 ** 16 + 1)).rejects.toThrow("65537 items of lists that have no bytes");
});
