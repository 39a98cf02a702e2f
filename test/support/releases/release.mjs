/**
 * Run in the directory of a project that has one release of LanceDB: writes tables with it, or asks it about tables. The only argument
 * is a JSON text; the answer is JSON on the last line of the output. Releases differ in what they can do, so whatever one
 * refuses is part of the answer, in its words.
 *
 *     node release.mjs '{"action": "write", "root": "/tmp/tables"}'
 *     node release.mjs '{"action": "ask", "root": "/tmp/tables", "tables": { "base": [{ "count": "id > 5" }] }}'
 */

import { createRequire } from "node:module";
import { join } from "node:path";

// LanceDB is CommonJS, and takes the tables of the apache-arrow that it loads itself.
const require = createRequire(join(process.cwd(), "package.json"));
const lancedb = require("@lancedb/lancedb");
const arrow = require("apache-arrow");
const { Index } = lancedb;

export const ROWS = 300;
export const DIMENSION = 8;

// ------------------------------------------------------------------------------------------------- values

const WORDS = ["quick", "brown", "fox", "lazy", "dog", "river", "stone", "cloud", "amber", "violet"];

/** A number from 0 to 1 that two numbers determine. */
const noise = (a, b) => {
  const x = Math.sin(a * 127.1 + b * 311.7) * 43758.5453;
  return x - Math.floor(x);
};

const vectorOf = (id) => Array.from({ length: DIMENSION }, (_, at) => Math.fround(noise(id, at)));
const textOf = (id) =>
  id % 11 === 0 ? null : id % 13 === 0 ? "" : `${WORDS[id % 10]} ${WORDS[(id * 7) % 10]} row ${id}`;
const tagsOf = (id) =>
  id % 9 === 0 ? null : Array.from({ length: id % 4 }, (_, at) => WORDS[(id + at) % 10]);

const fixed = (type, size) => new arrow.FixedSizeList(size, new arrow.Field("item", type, true));
const list = (type) => new arrow.List(new arrow.Field("item", type, true));

/** Columns: name, type, value of a row. */
const BASE = [
  ["id", () => new arrow.Int32(), (id) => id],
  ["n", () => new arrow.Int64(), (id) => (id % 7 === 0 ? null : BigInt(id * 3 - 100))],
  ["x", () => new arrow.Float64(), (id) => id / 8],
  ["text", () => new arrow.Utf8(), textOf],
  ["kind", () => new arrow.Utf8(), (id) => WORDS[id % 5]],
  ["flag", () => new arrow.Bool(), (id) => (id % 6 === 0 ? null : id % 2 === 0)],
  ["tags", () => list(new arrow.Utf8()), tagsOf],
  ["v", () => fixed(new arrow.Float32(), DIMENSION), vectorOf],
];

const TYPES = [
  ["id", () => new arrow.Int32(), (id) => id],
  ["tiny", () => new arrow.Int8(), (id) => (id % 5 === 0 ? null : (id % 200) - 100)],
  ["wide", () => new arrow.Uint64(), (id) => BigInt(id) * 2n ** 40n],
  ["f32", () => new arrow.Float32(), (id) => (id % 3 === 0 ? null : id / 4)],
  ["none_int", () => new arrow.Int32(), () => null],
  ["none_text", () => new arrow.Utf8(), () => null],
  ["late_text", () => new arrow.Utf8(), (id) => (id < 200 ? null : `late ${id}`)],
  ["empty_text", () => new arrow.Utf8(), () => ""],
  ["same_text", () => new arrow.Utf8(), () => "always the same"],
  ["few_texts", () => new arrow.Utf8(), (id) => (id % 4 === 0 ? null : WORDS[id % 3])],
  ["long_text", () => new arrow.Utf8(), (id) => (id % 10 === 0 ? null : "long ".repeat(60 + (id % 50)) + id)],
  ["bin", () => new arrow.Binary(), (id) => (id % 8 === 0 ? null : new Uint8Array([id & 255, 0, 255]))],
  ["code", () => new arrow.FixedSizeBinary(5), (id) => new Uint8Array([1, 2, 3, id & 255, id >> 8])],
  ["day", () => new arrow.DateDay(), (id) => new Date(86_400_000 * id)],
  [
    "stamp",
    () => new arrow.TimestampMicrosecond("UTC"),
    (id) => (id % 6 === 0 ? null : 1_700_000_000_000 + id),
  ],
  ["yes", () => new arrow.Bool(), () => true],
  ["rare_bool", () => new arrow.Bool(), (id) => (id % 40 === 7 ? id % 80 === 7 : null)],
  ["w", () => fixed(new arrow.Float32(), 4), (id) => (id % 5 === 0 ? null : [id, 1, 2, 3])],
  ["late_w", () => fixed(new arrow.Float32(), 4), (id) => (id < 200 ? null : [id, 1, 2, 3])],
  ["none_w", () => fixed(new arrow.Float32(), 4), () => null],
  [
    "numbers",
    () => list(new arrow.Int32()),
    (id) => (id % 7 === 0 ? null : Array.from({ length: id % 3 }, (_, at) => id + at)),
  ],
  ["none_list", () => list(new arrow.Utf8()), () => null],
  ["empty_list", () => list(new arrow.Utf8()), () => []],
  [
    "p",
    () =>
      new arrow.Struct([
        new arrow.Field("a", new arrow.Int32(), true),
        new arrow.Field("s", new arrow.Utf8(), true),
      ]),
    (id) => ({ a: id % 5 === 0 ? null : id, s: id % 4 === 0 ? null : `s${id}` }),
  ],
];

function columnOf(type, values) {
  if (arrow.DataType.isFixedSizeList(type)) return vectorsOf(type, values);
  if (arrow.DataType.isList(type)) return listsOf(type, values);
  return arrow.vectorFromArray(values, type).data[0];
}

/** Lists: the builder leaves out the offsets of nulls at the end. */
function listsOf(type, values) {
  const length = values.length;
  const valueOffsets = new Int32Array(length + 1);
  const nullBitmap = new Uint8Array((length + 63) >> 3);
  let nullCount = 0;
  for (const [row, value] of values.entries()) {
    valueOffsets[row + 1] = valueOffsets[row] + (value?.length ?? 0);
    if (value === null) nullCount++;
    else nullBitmap[row >> 3] |= 1 << (row & 7);
  }
  const items = values.flatMap((value) => value ?? []);
  const child = columnOf(type.children[0].type, items);
  return arrow.makeData({ type, length, nullCount, nullBitmap, valueOffsets, child });
}

/** Vectors with numbers in place of nulls, too: the builder leaves them out where all are null. */
function vectorsOf(type, values) {
  const length = values.length;
  const numbers = new Float32Array(length * type.listSize);
  const nullBitmap = new Uint8Array((length + 63) >> 3);
  let nullCount = 0;
  for (const [row, value] of values.entries()) {
    if (value === null) nullCount++;
    else {
      numbers.set(value, row * type.listSize);
      nullBitmap[row >> 3] |= 1 << (row & 7);
    }
  }
  const item = type.children[0].type;
  const child = arrow.makeData({ type: item, length: numbers.length, nullCount: 0, data: numbers });
  return arrow.makeData({ type, length, nullCount, nullBitmap, child });
}

function rowsOf(columns, first, count) {
  const ids = Array.from({ length: count }, (_, row) => first + row);
  const fields = columns.map(([name, type]) => new arrow.Field(name, type(), true));
  const children = columns.map(([, , make], index) => columnOf(fields[index].type, ids.map(make)));
  const schema = new arrow.Schema(fields);
  const data = arrow.makeData({
    type: new arrow.Struct(fields),
    length: count,
    nullCount: 0,
    children,
  });
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);
}

// ------------------------------------------------------------------------------------------------- tables

const few = { numPartitions: 2 };
const codes = { ...few, numSubVectors: 4 };

/** Tables with one index each: the column, and what makes the index. Null where the release does not know the kind. */
const INDEXES = {
  btree: ["n", () => Index.btree?.()],
  btree_text: ["text", () => Index.btree?.()],
  bitmap: ["kind", () => Index.bitmap?.()],
  label_list: ["tags", () => Index.labelList?.()],
  fts: ["text", () => Index.fts?.({ withPosition: false })],
  fts_positions: ["text", () => Index.fts?.({ withPosition: true })],
  ivf_flat: ["v", () => Index.ivfFlat?.(few)],
  ivf_sq: ["v", () => Index.ivfSq?.(few)],
  ivf_pq: ["v", () => Index.ivfPq?.(codes)],
  ivf_rq: ["v", () => Index.ivfRq?.(few)],
  hnsw_sq: ["v", () => Index.hnswSq?.(few)],
  hnsw_pq: ["v", () => Index.hnswPq?.(codes)],
  hnsw_flat: ["v", () => Index.hnswFlat?.(few)],
};

const messageOf = (error) => (error instanceof Error ? error.message : String(error)).slice(0, 400);

/** Creates a table of {@link ROWS} rows in two fragments, of which the rows after the 260th come after the index. */
async function createTable(db, name, columns, { dataStorageVersion, index }) {
  const options =
    dataStorageVersion === undefined
      ? {}
      : { dataStorageVersion, storageOptions: { newTableDataStorageVersion: dataStorageVersion } };
  const table = await db.createTable(name, rowsOf(columns, 0, 260), options);
  if (index !== undefined) {
    const [column, make] = INDEXES[index];
    const config = make();
    if (config === undefined) {
      await db.dropTable(name);
      return "the release has no such index";
    }
    await table.createIndex(column, { config });
  }
  await table.add(rowsOf(columns, 260, ROWS - 260));
  await table.delete("id % 10 = 3");
  return null;
}

/** Why each table could not be made; null for those that could. */
async function write(root) {
  const db = await lancedb.connect(root);
  const outcome = {};
  const make = async (name, columns, options) => {
    try {
      outcome[name] = await createTable(db, name, columns, options);
    } catch (error) {
      outcome[name] = messageOf(error);
      await db.dropTable(name).catch(() => undefined);
    }
  };
  await make("base", BASE, {});
  await make("types", TYPES, {});
  for (const version of ["2.0", "2.1", "2.2"]) {
    const suffix = version.replace(".", "_");
    await make(`types_${suffix}`, TYPES, { dataStorageVersion: version });
  }
  for (const index of Object.keys(INDEXES)) await make(`i_${index}`, BASE, { index });
  for (const index of Object.keys(INDEXES))
    await make(`i_${index}_2_1`, BASE, { index, dataStorageVersion: "2.1" });
  return outcome;
}

// ---------------------------------------------------------------------------------------------- questions

const plain = (value) => {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.getTime();
  if (value instanceof Uint8Array) return Array.from(value);
  if (
    value !== null &&
    typeof value === "object" &&
    typeof value.toArray === "function" &&
    !Array.isArray(value)
  ) {
    return Array.from(value.toArray(), plain);
  }
  if (value !== null && typeof value === "object" && typeof value.toJSON === "function")
    return plain(value.toJSON());
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
  }
  return value;
};

async function answer(table, question) {
  if ("count" in question) return table.countRows(question.count ?? undefined);
  if ("ids" in question) {
    const rows = await table.query().where(question.ids).select(["id"]).limit(100_000).toArray();
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }
  if ("rows" in question) {
    const rows = await table.query().limit(100_000).toArray();
    return rows.map((row) => plain(row.toJSON?.() ?? row)).sort((a, b) => a.id - b.id);
  }
  if ("words" in question) {
    const rows = await table
      .query()
      .fullTextSearch(question.words, { columns: ["text"] })
      .select(["id"])
      .limit(1000)
      .toArray();
    return rows.map(({ id }) => id).sort((a, b) => a - b);
  }
  const search = table.query().nearestTo(question.nearest).column("v");
  const rows = await (question.exact === true ? search.bypassVectorIndex() : search)
    .select(["id", "_distance"])
    .limit(question.limit ?? 5)
    .toArray();
  return rows.map(({ id }) => id);
}

async function ask(root, tables) {
  const db = await lancedb.connect(root);
  const answers = {};
  for (const [name, questions] of Object.entries(tables)) {
    answers[name] = [];
    for (const question of questions) {
      try {
        const table = await db.openTable(name);
        answers[name].push({ answer: await answer(table, question) });
      } catch (error) {
        answers[name].push({ error: messageOf(error) });
      }
    }
  }
  return answers;
}

const { action, root, tables } = JSON.parse(process.argv[2]);
const result = action === "write" ? await write(root) : await ask(root, tables);
process.stdout.write(`\n${JSON.stringify(result)}\n`);
