/**
 * Writes the small tables under test/releases, in the directory of a project that has one release of LanceDB:
 *
 *     node writeGoldens.mjs <directory>
 *
 * They hold what that release encodes otherwise than later ones: texts with few values (0.22.0), and vectors whose items
 * are null (0.22.3 to 0.27), in structs, lists and vectors of vectors.
 */

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const lancedb = require("@lancedb/lancedb");
const arrow = require("apache-arrow");

const ROWS = 120;
const DIMENSION = 4;
const WORDS = ["quick", "brown", "", "fox"];

/** Bits and the number of nulls among `length` values. */
function bits(length, isValid) {
  const nullBitmap = new Uint8Array((length + 63) >> 3);
  let nullCount = 0;
  for (let index = 0; index < length; index++) {
    if (isValid(index)) nullBitmap[index >> 3] |= 1 << (index & 7);
    else nullCount++;
  }
  return { nullBitmap, nullCount };
}

const all = () => true;
const none = () => false;
const some = (index) => index % 3 !== 0;

function numbers(length, isValid) {
  const data = Float32Array.from({ length }, (_, index) => index % 100);
  return arrow.makeData({ type: new arrow.Float32(), length, ...bits(length, isValid), data });
}

const itemField = (child) => new arrow.Field("item", child.type, true);

function vectors(child, dimension, length, isValid) {
  const type = new arrow.FixedSizeList(dimension, itemField(child));
  return arrow.makeData({ type, length, ...bits(length, isValid), child });
}

function struct(child, isValid) {
  const type = new arrow.Struct([new arrow.Field("m", child.type, true)]);
  return arrow.makeData({ type, length: ROWS, ...bits(ROWS, isValid), children: [child] });
}

function lists(child, isValid) {
  const type = new arrow.List(itemField(child));
  const valueOffsets = Int32Array.from({ length: ROWS + 1 }, (_, row) => 2 * row);
  return arrow.makeData({ type, length: ROWS, ...bits(ROWS, isValid), valueOffsets, child });
}

const texts = (type, make) =>
  arrow.vectorFromArray(
    Array.from({ length: ROWS }, (_, row) => (row % 5 === 0 ? null : make(WORDS[row % 4]))),
    type,
  ).data[0];

function vectorColumns() {
  const columns = {};
  for (const [name, rowIsValid, itemIsValid] of [
    ["nulls_of_nulls", none, none],
    ["some_of_nulls", some, none],
    ["all_of_nulls", all, none],
    ["some_of_some", some, (index) => index % 5 !== 0],
  ]) {
    const top = (length) => vectors(numbers(length * DIMENSION, itemIsValid), DIMENSION, length, rowIsValid);
    columns[name] = top(ROWS);
    columns[`${name}_in_struct`] = struct(top(ROWS), (row) => row % 4 !== 0);
    columns[`${name}_in_list`] = lists(top(2 * ROWS), (row) => row % 7 !== 0);
    // The reference does not read vectors of valid vectors of nulls.
    if (rowIsValid === all) continue;
    columns[`${name}_in_vector`] = vectors(top(2 * ROWS), 2, ROWS, rowIsValid);
  }
  return columns;
}

const textColumns = () => ({
  text: texts(new arrow.Utf8(), (word) => word),
  large_text: texts(new arrow.LargeUtf8(), (word) => word),
  bytes: texts(new arrow.Binary(), (word) => Buffer.from(word)),
  large_bytes: texts(new arrow.LargeBinary(), (word) => Buffer.from(word)),
});

async function write(db, name, columns, dataStorageVersion) {
  const fields = Object.entries(columns).map(([column, { type }]) => new arrow.Field(column, type, true));
  const schema = new arrow.Schema(fields);
  const children = Object.values(columns);
  const data = arrow.makeData({ type: new arrow.Struct(fields), length: ROWS, nullCount: 0, children });
  await db.createTable(name, new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]), {
    dataStorageVersion,
    storageOptions: { newTableDataStorageVersion: dataStorageVersion },
    useLegacyFormat: false,
  });
}

const db = await lancedb.connect(process.argv[2]);
for (const version of ["2.0", "2.1"]) {
  const suffix = version.replace(".", "_");
  for (const [name, columnsOf] of [
    ["texts", textColumns],
    ["vectors", vectorColumns],
  ]) {
    await write(db, `${name}_${suffix}`, columnsOf(), version).catch((error) => {
      console.info(`${name}_${suffix}: ${error.message.slice(0, 200)}`);
    });
  }
}
