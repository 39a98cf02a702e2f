/** JSON columns: stored bytes, texts and refused appends equal the reference's. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { CorruptFileError, InvalidInputError, TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { JSONB_LAYOUT } from "../../src/arrow/columns/column.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { decodePage } from "../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../src/file/pages/decoders.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { readPageBuffers } from "../file/pageBuffers.js";
import { fieldOf } from "../support/arrowColumns.js";
import { RUN_SEED } from "../support/effort.js";
import { sharedDirectory } from "../support/fixtures.js";
import { FILE_VERSIONS, sharedNamespaces } from "../support/interop.js";
import { compareTables, reference } from "../support/reference.js";

await loadAllDecoders();

const JSON_TEXT = new Map([["ARROW:extension:name", "arrow.json"]]);
const JSON_BINARY = new Map([["ARROW:extension:name", "lance.json"]]);

const root = sharedDirectory();
let tableCount = 0;
const freshName = () => `j${tableCount++}`;
const namespaces = sharedNamespaces(root);
const namespace = namespaces["2.2"];

function columnOf(
  values: unknown[],
  type: arrow.DataType = new arrow.Utf8(),
  metadata = JSON_TEXT,
): arrow.Table {
  const field = new arrow.Field("j", type, true, metadata);
  return new arrow.Table(new arrow.Schema([field]), { j: arrow.vectorFromArray(values, type) });
}

const readHere = async (name: string): Promise<arrow.Table> => namespace.table([name]).scan().toArrow();
const readThere = async (name: string): Promise<arrow.Table> =>
  arrow.tableFromIPC(await reference.readTable(root, name));

/** Values in the first page of a table's only file, in hex. */
async function storedValues(name: string): Promise<string[]> {
  const directory = join(root, `${name}.lance`, "data");
  const path = join(directory, readdirSync(directory)[0]!);
  const handle = (await new NodeDisk({ durability: "none" }).open(path))!;
  const file = await openDataFile(handle, path);
  const [page] = file.columns[0]!.pages;
  const [[buffers]] = (await readPageBuffers(handle, file, [{ columnIndex: 0, pageIndexes: [0] }])) as [
    [Uint8Array[]],
  ];
  await handle.close();
  const column = decodePage(JSONB_LAYOUT, page!.layout, page!.rowCount, buffers, { path, byteOffset: 0 });
  if (column.kind !== "variable") throw new Error(column.kind);
  return Array.from({ length: column.length }, (_, row) =>
    Buffer.from(column.bytes.subarray(Number(column.offsets[row]), Number(column.offsets[row + 1]))).toString(
      "hex",
    ),
  );
}

const SAMPLES = [
  '{"b":1,"a":[1,2.5,-3,null,true,false,"x"],"":0,"B":{"q":[]},"é":1,"𝄞":2}',
  null,
  '"str"',
  "  [ 1 , -0.0 , 1e300 ] ",
  "18446744073709551616",
  "null",
  null,
  "{}",
];

it.each(FILE_VERSIONS)("any JSON is the same bytes here and there, version %s", async (version) => {
  const seed = RUN_SEED;
  console.info(`json ${version}: seed ${seed}`);
  const json = fc.oneof(
    fc.jsonValue({ stringUnit: "binary" }).map((value) => JSON.stringify(value)),
    fc.double().map((value) => JSON.stringify(value)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map(String),
    fc.constant(null),
  );
  const values = [...SAMPLES, ...fc.sample(json, { seed, numRuns: 600 })];
  const rows = columnOf(values);
  const [ours, theirs] = [freshName(), freshName()];
  await namespaces[version].createTable({ id: [ours] }, rows);
  await reference.createTable(root, theirs, arrow.tableToIPC(rows), { dataStorageVersion: version });
  expect(await storedValues(ours)).toEqual(await storedValues(theirs));
  const expected = await readThere(theirs);
  compareTables(expected, await readThere(ours));
  compareTables(expected, await readHere(theirs));
  compareTables(expected, await readHere(ours));
  expect(await reference.schemaJson(root, ours)).toEqual(await reference.schemaJson(root, theirs));
});

it("is nested as anything else, and appended by turns", async () => {
  const type = new arrow.Struct([
    new arrow.Field("j", new arrow.Utf8(), true, JSON_TEXT),
    fieldOf("l", new arrow.List(new arrow.Field("item", new arrow.Utf8(), true, JSON_TEXT))),
  ]);
  const rows = [{ j: '{"a":1}', l: ["1", null, "[2]"] }, null, { j: null, l: [] }, { j: "0", l: null }];
  const table = new arrow.Table(new arrow.Schema([fieldOf("s", type)]), {
    s: arrow.vectorFromArray(rows, type),
  });
  const [ours, theirs] = [freshName(), freshName()];
  await namespace.createTable({ id: [ours] }, table);
  await reference.createTable(root, theirs, arrow.tableToIPC(table));
  for (const name of [ours, theirs]) {
    await reference.appendTable(root, name, arrow.tableToIPC(table));
    await namespace.insertIntoTable({ id: [name] }, table);
    const all = table.concat(table, table);
    compareTables(all, await readThere(name));
    compareTables(all, await readHere(name));
    const picked = await namespace.table([name]).take([9, 0], ["s.j"]);
    expect([...picked.getChildAt(0)!]).toEqual(
      [null, '{"a":1}'].map((text, row) => (row === 0 ? null : text)),
    );
  }
});

describe("appends", () => {
  const jsonb = [Buffer.from("2000000040000000", "hex")];
  const appends: [what: string, onto: "json" | "text", rows: arrow.Table, taken: boolean][] = [
    ["text onto JSON", "json", columnOf(["[1]"], new arrow.Utf8(), new Map()), true],
    ["large text onto JSON", "json", columnOf(["[1]"], new arrow.LargeUtf8(), new Map()), true],
    ["large JSON text onto JSON", "json", columnOf(["[1]"], new arrow.LargeUtf8()), true],
    ["JSONB onto JSON", "json", columnOf(jsonb, new arrow.LargeBinary(), JSON_BINARY), true],
    ["binaries onto JSON", "json", columnOf(jsonb, new arrow.LargeBinary(), new Map()), false],
    ["numbers onto JSON", "json", columnOf([1], new arrow.Int32(), new Map()), false],
    ["JSON onto text", "text", columnOf(["[1]"]), false],
  ];
  it.each(appends)("%s", async (_, onto, rows, taken) => {
    const [ours, theirs] = [freshName(), freshName()];
    const first = columnOf(['{"k":1}'], new arrow.Utf8(), onto === "json" ? JSON_TEXT : new Map());
    await namespace.createTable({ id: [ours] }, first);
    await reference.createTable(root, theirs, arrow.tableToIPC(first));
    const there = () => reference.appendTable(root, theirs, arrow.tableToIPC(rows));
    const here = () => namespace.insertIntoTable({ id: [ours] }, rows);
    if (taken) {
      await there();
      await here();
      compareTables(await readThere(theirs), await readHere(ours));
      compareTables(await readThere(theirs), await readThere(ours));
    } else {
      await expect(there()).rejects.toThrow();
      await expect(here()).rejects.toThrow(TableSchemaValidationError);
    }
  });

  it("of JSONB onto text are refused, where the reference takes its bytes for characters", async () => {
    const name = freshName();
    await namespace.createTable({ id: [name] }, columnOf(["a"], new arrow.Utf8(), new Map()));
    const rows = columnOf(jsonb, new arrow.LargeBinary(), JSON_BINARY);
    await expect(namespace.insertIntoTable({ id: [name] }, rows)).rejects.toThrow(TableSchemaValidationError);
  });

  it("of what is no JSON leave nothing behind", async () => {
    const name = freshName();
    await namespace.createTable({ id: [name] }, columnOf(["1"]));
    const files = readdirSync(join(root, `${name}.lance`, "data"));
    const text = columnOf(["1", "{"], new arrow.Utf8(), new Map());
    await expect(namespace.insertIntoTable({ id: [name] }, text)).rejects.toThrow(InvalidInputError);
    for (const rows of [
      columnOf(["1", "{"]),
      columnOf([Buffer.of(0xff)], new arrow.LargeBinary(), JSON_BINARY),
    ]) {
      await expect(namespace.insertIntoTable({ id: [name] }, rows)).rejects.toThrow(InvalidInputError);
      await expect(namespace.createTable({ id: ["none"] }, rows)).rejects.toThrow(InvalidInputError);
    }
    expect(readdirSync(join(root, `${name}.lance`, "data"))).toEqual(files);
    expect(await namespace.table(["none"]).exists()).toBe(false);
    expect(await namespace.table([name]).version()).toBe(1);
  });
});

it("is refused where a file holds bytes that are none", async () => {
  const name = freshName();
  await reference.createTable(
    root,
    name,
    arrow.tableToIPC(columnOf([Buffer.of(0xff)], new arrow.LargeBinary(), JSON_BINARY)),
  );
  await expect(readHere(name)).rejects.toThrow(CorruptFileError);
});

it("names that say JSON, on types that hold none, are names only", async () => {
  for (const rows of [
    columnOf([1, null], new arrow.Int32()),
    columnOf(["no", null], new arrow.Utf8(), JSON_BINARY),
  ]) {
    const [ours, theirs] = [freshName(), freshName()];
    await namespace.createTable({ id: [ours] }, rows);
    await reference.createTable(root, theirs, arrow.tableToIPC(rows));
    for (const name of [ours, theirs]) compareTables(rows, await readHere(name));
    compareTables(rows, await readThere(ours));
  }
});
