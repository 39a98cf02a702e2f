/** Tables without rows of two apache-arrow releases, which leave out different buffers. */

import * as arrow21 from "apache-arrow";
import { InvalidInputError, type RowsInput } from "tiltyard";
import { describe, expect, it } from "vitest";
import { arrow18 } from "../support/arrow18.js";
import { someOf } from "../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareSchemas, reference } from "../support/reference.js";

type Arrow = typeof arrow21;

const root = sharedDirectory();
const ns = sharedNamespace({ root });
let tableCount = 0;

const TYPES: Record<string, (arrow: Arrow) => arrow21.DataType> = {
  bool: ({ Bool }) => new Bool(),
  text: ({ Utf8 }) => new Utf8(),
  list: ({ List, Field, Int32 }) => new List(new Field("item", new Int32(), true)),
  "list of text": ({ List, Field, Utf8 }) => new List(new Field("item", new Utf8(), true)),
  struct: (arrow) => pair(arrow),
  "fixed-size list": ({ FixedSizeList, Field, Float32 }) =>
    new FixedSizeList(3, new Field("item", new Float32(), true)),
  "fixed-size list of structs": (arrow) =>
    new arrow.FixedSizeList(3, new arrow.Field("item", pair(arrow), true)),
  map: (arrow) => textMap(arrow),
  dictionary: ({ Dictionary, Utf8, Int32 }) => new Dictionary(new Utf8(), new Int32(), 1),
  "list of lists of structs": (arrow) => {
    const { List, Field } = arrow;
    return new List(new Field("item", new List(new Field("item", pair(arrow), true)), true));
  },
  "struct of lists of fixed-size lists": ({ Struct, List, FixedSizeList, Field, Int32 }) => {
    const sized = new FixedSizeList(2, new Field("item", new Int32(), true));
    return new Struct([new Field("l", new List(new Field("item", sized, true)), true)]);
  },
  "list of maps": (arrow) => new arrow.List(new arrow.Field("item", textMap(arrow), true)),
};

const NEW_TYPES: typeof TYPES = {
  "large list of text": ({ LargeList, LargeUtf8, Field }) =>
    new LargeList(new Field("item", new LargeUtf8(), true)),
};

const RELEASES: [name: string, arrow: Arrow, types: typeof TYPES][] = [
  ["apache-arrow 21", arrow21, { ...TYPES, ...NEW_TYPES }],
  ["apache-arrow 18", arrow18 as Arrow, TYPES],
];

function pair({ Struct, Field, Int32, Utf8 }: Arrow): arrow21.DataType {
  return new Struct([new Field("a", new Int32(), true), new Field("b", new Utf8(), true)]);
}

function textMap({ Map_, Struct, Field, Utf8, Int32 }: Arrow): arrow21.DataType {
  const entries = new Struct<{ key: arrow21.Utf8; value: arrow21.Int32 }>([
    new Field("key", new Utf8(), false),
    new Field("value", new Int32(), true),
  ]);
  return new Map_(new Field("entries", entries, false));
}

function batchOf(arrow: Arrow, schema: arrow21.Schema, data: arrow21.Data): arrow21.RecordBatch {
  const { RecordBatch, Struct, makeData } = arrow;
  const type = new Struct(schema.fields);
  return new RecordBatch(schema, makeData({ type, length: data.length, nullCount: 0, children: [data] }));
}

const tableOver = (arrow: Arrow, schema: arrow21.Schema, data: arrow21.Data): arrow21.Table =>
  new arrow.Table(schema, [batchOf(arrow, schema, data)]);

/** A batch without the members that some releases of apache-arrow leave out. */
function bareBatch(schema: arrow21.Schema, column: object | undefined): RowsInput {
  const children = column === undefined ? [] : [{ length: 0, offset: 0, nullCount: 0, ...column }];
  return { schema, data: { length: 0, children } } as unknown as RowsInput;
}

type Way = (arrow: Arrow, schema: arrow21.Schema) => RowsInput;

const WAYS: Record<string, Way> = {
  "makeData of length 0": (arrow, schema) =>
    tableOver(arrow, schema, arrow.makeData({ type: schema.fields[0].type as never, length: 0 })),
  "makeData of a type": (arrow, schema) =>
    tableOver(arrow, schema, arrow.makeData({ type: schema.fields[0].type as never })),
  "a Data by hand": (arrow, schema) =>
    tableOver(arrow, schema, new arrow.Data(schema.fields[0].type, 0, 0, 0)),
  vectorFromArray: (arrow, schema) =>
    tableOver(arrow, schema, arrow.vectorFromArray([], schema.fields[0].type as never).data[0]),
  "a table of a schema": (arrow, schema) => new arrow.Table(schema),
  tableFromIPC: (arrow, schema) => arrow.tableFromIPC(arrow.tableToIPC(new arrow.Table(schema))),
  "tableFromIPC of a file": (arrow, schema) =>
    arrow.tableFromIPC(arrow.tableToIPC(new arrow.Table(schema), "file")),
  "a stream of IPC": (arrow, schema) => arrow.tableToIPC(new arrow.Table(schema)),
  "no columns in a batch": (_, schema) => bareBatch(schema, undefined),
  "no buffers, no children": (_, schema) => bareBatch(schema, {}),
  "buffers and children that are null": (_, schema) =>
    bareBatch(schema, {
      children: null,
      values: null,
      valueOffsets: null,
      nullBitmap: null,
      dictionary: null,
    }),
  "empty offsets, and a child that is not there": (_, schema) =>
    bareBatch(schema, { children: [undefined], valueOffsets: new Int32Array(0), values: new Uint8Array(0) }),
};

describe.each(RELEASES)("%s", (_, arrow, types) => {
  // apache-arrow neither writes these lists nor reads what it writes.
  it.each([
    "struct",
    "fixed-size list of structs",
    "map",
    "struct of lists of fixed-size lists",
  ])("a batch without rows in IPC, of type %s", async (type) => {
    const schema = new arrow.Schema([new arrow.Field("v", types[type](arrow), true)]);
    const empty = tableOver(arrow, schema, arrow.makeData({ type: schema.fields[0].type as never }));
    for (const format of ["stream", "file"] as const) {
      const bytes = arrow.tableToIPC(empty, format);
      const id = [`t${tableCount++}`];
      await ns.createTable({ id }, bytes);
      await ns.insertIntoTable({ id }, [bytes.subarray(0, 100), bytes.subarray(100)]);
      expect(await ns.countTableRows({ id })).toBe(0);
      const [nulls] = arrow.vectorFromArray([null, null], schema.fields[0].type as never).data;
      const some = batchOf(arrow, schema, nulls);
      const between = new arrow.Table(schema, [some, empty.batches[0], some]);
      await ns.insertIntoTable({ id }, arrow.tableToIPC(between, format));
      const [filled] = await reads(id[0]);
      expect(filled.getChild("v")!.nullCount).toBe(4);
    }
  });

  describe.each(someOf(Object.entries(types)))("a column of type %s", (_type, make) => {
    const schema = new arrow.Schema([new arrow.Field("v", make(arrow), true)]);

    it.each(Object.entries(WAYS))("without rows, by %s", async (_way, empty) => {
      const name = `t${tableCount++}`;
      const id = [name];
      expect((await ns.createTable({ id }, empty(arrow, schema))).numInsertedRows).toBe(0);
      const created = await ns.table(name).scan().toArrow();
      expect(created.numRows).toBe(0);

      await ns.insertIntoTable({ id }, empty(arrow, schema));
      const nulls = new arrow.Table(schema, [nullRows(arrow, schema, 3)]);
      await ns.insertIntoTable({ id }, nulls);
      await ns.insertIntoTable({ id }, empty(arrow, schema));
      expect(await ns.countTableRows({ id })).toBe(3);
      const [filled] = await reads(name);
      expect(filled.numRows).toBe(3);
      expect(filled.getChild("v")!.nullCount).toBe(3);

      await ns.insertIntoTable({ id, mode: "Overwrite" }, empty(arrow, schema));
      await ns.createTable({ id, mode: "Overwrite" }, empty(arrow, schema));
      for (const read of await reads(name)) {
        expect(read.numRows).toBe(0);
        compareSchemas(created.schema, read.schema, { metadata: false });
      }
    });

    it("without rows, in between batches that have some", async () => {
      const id = [`t${tableCount++}`];
      const batches = [1, 0, 2, 0].map((count) =>
        count === 0
          ? tableOver(arrow, schema, arrow.makeData({ type: schema.fields[0].type as never })).batches[0]
          : nullRows(arrow, schema, count),
      );
      expect((await ns.createTable({ id }, batches)).numInsertedRows).toBe(3);
    });
  });
});

async function reads(name: string): Promise<arrow21.Table[]> {
  return [arrow21.tableFromIPC(await reference.readTable(root, name)), await ns.table(name).scan().toArrow()];
}

/** Nested nulls have no children either. */
function nullRows(arrow: Arrow, schema: arrow21.Schema, length: number): arrow21.RecordBatch {
  const type = schema.fields[0].type as never;
  const nullBitmap = new Uint8Array(8);
  return batchOf(arrow, schema, arrow.makeData({ type, length, nullCount: length, nullBitmap }));
}

describe("what is refused", () => {
  const int32 = new arrow21.Field("item", new arrow21.Int32(), true);
  const list = new arrow21.Schema([new arrow21.Field("v", new arrow21.List(int32), true)]);
  const struct = new arrow21.Schema([new arrow21.Field("v", new arrow21.Struct([int32]), true)]);
  const refused: [what: string, schema: arrow21.Schema, length: number, column: object][] = [
    ["lists of items that are not there", list, 1, { length: 1, valueOffsets: Int32Array.of(0, 2) }],
    ["structs whose members are not there", struct, 1, { length: 1 }],
    ["values in a batch without rows", list, 0, { length: 2, valueOffsets: Int32Array.of(0, 0, 0) }],
    ["a negative length", list, 0, { length: -1 }],
  ];
  it.each(refused)("%s", async (_, schema, length, column) => {
    const data = { length, children: [{ offset: 0, nullCount: 0, ...column }] };
    const rows = { schema, data } as unknown as RowsInput;
    await expect(ns.createTable({ id: ["refused"] }, rows)).rejects.toThrow(InvalidInputError);
  });
});
