/** Reads index files written by LanceDB, and writes the same files. */

import { join } from "node:path";
import { Field, Schema, tableToIPC } from "apache-arrow";
import { type Connection, connect, Index, type Table } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Column, ListColumn } from "../../src/arrow/columns/column.js";
import { makeBatch, toTable } from "../../src/arrow/exchange/batch.js";
import { arrowTypeFromLogical } from "../../src/arrow/types/logicalTypes.js";
import { formatType } from "../../src/arrow/types/type.js";
import { uint64Column } from "../../src/indexes/indexColumns.js";
import { OpenIndexFile } from "../../src/indexes/indexFile.js";
import type { IndexKind } from "../../src/indexes/kind.js";
import { kindOfName, kindOfTypeUrl } from "../../src/indexes/kinds/kinds.js";
import { RowIds } from "../../src/indexes/rowIds.js";
import { columnsOfFile } from "../../src/rows/openColumns.js";
import type { TableField } from "../../src/schema/schema.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { readManifestFile } from "../../src/table/versions/manifest.js";
import { indicesOf } from "../../src/table/versions/versionContent.js";
import { Random } from "../support/generators.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { expectAnswers } from "./expectAnswers.js";
import { batchesOf, bytesOfValues, disk, filesIn, targetOf } from "./indexDirectory.js";
import {
  columnOf,
  drawValues,
  fieldOf,
  idWords,
  ORDERED_TYPES,
  rowsOfAnswer,
  sortKey,
  type Value,
} from "./indexValues.js";

const ROWS = 9000;
const BITMAP_TYPES = ["bool", "int8", "int32", "uint64", "string", "large_string", "binary", "large_binary"];
const LIST_TYPES = ["bool", "int32", "uint64", "string", "binary"];

interface Indexed {
  readonly name: string;
  readonly kind: "BTREE" | "BITMAP" | "LABEL_LIST";
  readonly field: TableField;
  readonly column: Column;
  readonly values: readonly Value[];
  /** First item of each list, then the number of items. */
  readonly ends: readonly number[];
}

const random = new Random(11);
const nameOf = (kind: string, type: string) => `${kind.toLowerCase()}_${type.replace(/\W/g, "_")}`;

const plainColumn = (kind: "BTREE" | "BITMAP", type: string): Indexed => {
  const name = nameOf(kind, type);
  const field = { ...fieldOf(type), name };
  const values = drawValues(random, field.type, { rowCount: ROWS, nulls: 0.5, distinct: 20 });
  return { name, kind, field, values, column: columnOf(field.type, values), ends: [] };
};

const listColumn = (type: string): Indexed => {
  const item = { ...fieldOf(type), name: "item" };
  const name = nameOf("LABEL_LIST", type);
  const ends = [0];
  for (let row = 0; row < ROWS; row++) ends.push(ends[row]! + (row % 7 === 0 ? 0 : random.below(4)));
  const values = drawValues(random, item.type, { rowCount: ends[ROWS]!, nulls: 0.1, distinct: 20 });
  const bits = new Uint8Array(Math.ceil(ROWS / 8)).fill(255);
  let nullCount = 0;
  for (let row = 0; row < ROWS; row += 21) {
    bits[row >>> 3]! &= ~(1 << (row & 7));
    nullCount++;
  }
  const column: ListColumn = {
    kind: "list",
    length: ROWS,
    validity: { bytes: bits, bitOffset: 0, nullCount },
    offsets: Int32Array.from(ends),
    items: columnOf(item.type, values),
  };
  return {
    name,
    kind: "LABEL_LIST",
    field: { ...fieldOf("list"), name, children: [item] },
    values,
    column,
    ends,
  };
};

const INDEXED: Indexed[] = [
  ...ORDERED_TYPES.map((type) => plainColumn("BTREE", type)),
  ...BITMAP_TYPES.map((type) => plainColumn("BITMAP", type)),
  ...LIST_TYPES.map(listColumn),
];

let root: string;
let connection: Connection;
let table: Table;
const written = new Map<string, { directory: string; kind: IndexKind; version: number }>();

const arrowFieldOf = ({ name, type, children }: TableField): Field =>
  new Field(name, arrowTypeFromLogical(type, name, children.map(arrowFieldOf)), true);

beforeAll(async () => {
  root = await makeTempDir();
  const schema = new Schema(INDEXED.map(({ field }) => arrowFieldOf(field)));
  const rows = toTable(schema, [
    makeBatch(
      schema,
      INDEXED.map(({ column }) => column),
      ROWS,
    ),
  ]);
  await reference.createTable(root, "t", tableToIPC(rows, "stream"));
  connection = await connect(root);
  table = await connection.openTable("t");
  const configs = { BTREE: Index.btree, BITMAP: Index.bitmap, LABEL_LIST: Index.labelList };
  for (const { name, kind } of INDEXED) await table.createIndex(name, { config: configs[kind]() });
  const tableRoot = join(root, "t.lance");
  const version = await findLatestVersion({ disk, root: tableRoot });
  const content = (await readManifestFile(disk, version!.path))!;
  for (const { name, uuid, indexDetails, indexVersion } of indicesOf(content)) {
    const hex = Buffer.from(uuid!.uuid).toString("hex");
    const directory = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    const kind = kindOfTypeUrl(indexDetails!.typeUrl)!;
    written.set(name.slice(0, -"_idx".length), {
      directory: join(tableRoot, "_indices", directory),
      kind,
      version: indexVersion ?? 0,
    });
  }
});
afterAll(() => connection.close());

describe.each(INDEXED)("an index $name of LanceDB", ({ name, kind, field, column, values, ends }) => {
  it("answers like a scan", async () => {
    const theirs = written.get(name)!;
    expect(theirs.kind.name).toBe(kind);
    expect(theirs.kind).toBe(kindOfName(kind));
    expect(theirs.version).toBe(theirs.kind.indexVersion);
    const files = filesIn(theirs.directory);
    const index = await theirs.kind.open(files, field);
    if (kind !== "LABEL_LIST") {
      await expectAnswers(formatType(field.type), index, values, random, () => 0);
      await files.close();
      return;
    }
    const { type } = field.children[0]!;
    const keys = values.map((value) => value && sortKey(type, value));
    const rows = Array.from({ length: ROWS }, (_, row) => new Set(keys.slice(ends[row], ends[row + 1])));
    for (let query = 0; query < 20; query++) {
      const wanted = values.filter((value) => value !== null).slice(5 * query, 5 * query + 2);
      const asked = wanted.map((value) => sortKey(type, value));
      const where = (holds: (set: Set<unknown>) => boolean) =>
        [...rows.keys()].filter((row) => row % 21 !== 0 && holds(rows[row]!));
      const any = await index.search({ kind: "hasAny", values: columnOf(type, wanted) });
      expect(rowsOfAnswer(any.rows, () => 0)).toEqual(where((set) => asked.some((key) => set.has(key))));
      const all = await index.search({ kind: "hasAll", values: columnOf(type, wanted) });
      expect(rowsOfAnswer(all.rows, () => 0)).toEqual(where((set) => asked.every((key) => set.has(key))));
    }
    const nulls = await index.search({ kind: "isNull" });
    expect(rowsOfAnswer(nulls.rows, () => 0)).toEqual(
      Array.from({ length: Math.ceil(ROWS / 21) }, (_, index) => 21 * index),
    );
    await files.close();
  });

  it("equals the files that we write", async () => {
    const theirs = written.get(name)!;
    const directory = await makeTempDir();
    const ids = uint64Column(idWords(values.slice(0, ROWS).map((_, row) => BigInt(row))));
    const all =
      ids.length === ROWS
        ? ids
        : uint64Column(idWords(Array.from({ length: ROWS }, (_, row) => BigInt(row))));
    const made = await theirs.kind.build(batchesOf(column, all), targetOf(directory, field));
    const names = (await disk.list(theirs.directory))!.map((entry) => entry.name).sort();
    expect(made.map((file) => file.name).sort()).toEqual(names);
    for (const { name: fileName, byteLength } of made) {
      expect((await disk.stat(join(directory, fileName)))?.size).toBe(byteLength);
      const ours = await contentOf(directory, fileName, kind === "LABEL_LIST");
      expect(ours, fileName).toEqual(await contentOf(theirs.directory, fileName, kind === "LABEL_LIST"));
    }
  });
});

async function contentOf(directory: string, name: string, isUnordered: boolean) {
  const files = filesIn(directory);
  const metadata = await files.open(name);
  const { fields } = columnsOfFile(metadata);
  const file = await OpenIndexFile.open(files, name, fields);
  const columns = new Map<string, unknown[]>();
  for (const field of fields) {
    const values = bytesOfValues(await file.column(field.name));
    const shown = values.map((value) => {
      if (value === null) return null;
      // Equal sets may have different encodings.
      if (field.name !== "bitmaps") return Buffer.from(value).toString("hex");
      return rowsOfAnswer(RowIds.decode(value, { path: name, byteOffset: 0 }), () => 0).join();
    });
    columns.set(field.name, shown);
  }
  const rows = Array.from({ length: metadata.rowCount }, (_, row) =>
    [...columns.values()].map((values) => values[row]),
  );
  // Rows of equal values have no order.
  if (isUnordered || name === "page_data.lance") rows.sort((a, b) => (String(a) < String(b) ? -1 : 1));
  const buffers: string[] = [];
  for (let number = 1; number < metadata.globalBuffers.length; number++) {
    buffers.push(Buffer.from((await file.globalBuffer(number)).bytes).toString("hex"));
  }
  await files.close();
  const text = new TextDecoder();
  return {
    version: metadata.version,
    fields: fields.map(({ id, name: fieldName, type, nullable }) => [
      id,
      fieldName,
      formatType(type),
      nullable,
    ]),
    metadata: [...(metadata.descriptor.schema?.metadata ?? [])]
      .map(([key, value]) => [key, text.decode(value)])
      .sort(),
    order: isUnordered ? [] : columns.get(fields[0]!.name),
    rows,
    buffers,
  };
}
