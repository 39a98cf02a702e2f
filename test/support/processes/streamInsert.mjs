/**
 * Inserts a long stream and reports the most memory the process ever had resident.
 * Arguments: root, MiB to insert, `batches` or `bytes`; or `fragments`, of 16 batches each, that are compacted then; or
 * `merge`, a stream into a table that has half of its rows; or `blobs` and the MiB of each, one in a batch.
 */

import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  LargeBinary,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { peakBytes } from "./peakMemory.mjs";

const [root, mebibytes, form, blobMebibytes] = process.argv.slice(2);
const ROWS = 8192;
const DIMENSION = 256;
const ROW_BYTES = 8 + 24 + 4 + DIMENSION * 4;
const batchCount = Math.ceil((Number(mebibytes) * 2 ** 20) / (ROWS * ROW_BYTES));
const vector = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
const schema = new Schema([
  new Field("id", new Int64(), true),
  new Field("text", new Utf8(), true),
  new Field("vector", vector, true),
]);

/** Fresh memory for every batch, as a decoder would hand out. */
function makeBatch(number) {
  const ids = new BigInt64Array(ROWS);
  const words = new Uint32Array(ids.buffer);
  for (let row = 0; row < ROWS; row++) words[2 * row] = number * ROWS + row;
  const text = new Uint8Array(ROWS * 24).fill(97 + (number % 26));
  const offsets = new Int32Array(ROWS + 1);
  for (let row = 0; row <= ROWS; row++) offsets[row] = row * 24;
  const floats = new Float32Array(ROWS * DIMENSION);
  for (let index = 0; index < floats.length; index++) floats[index] = index + number;
  const child = makeData({ type: new Float32(), data: floats, length: floats.length, nullCount: 0 });
  const children = [
    makeData({ type: new Int64(), data: ids, length: ROWS, nullCount: 0 }),
    makeData({ type: new Utf8(), data: text, valueOffsets: offsets, length: ROWS, nullCount: 0 }),
    makeData({ type: vector, child, length: ROWS, nullCount: 0 }),
  ];
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: ROWS, children, nullCount: 0 }),
  );
}

async function* batches(from = 0, to = batchCount) {
  for (let number = from; number < to; number++) yield makeBatch(number);
}

/** One IPC stream, a message at a time: a stream of one batch is schema, batch and an end mark of 8 bytes. */
async function* bytes() {
  const END_BYTES = 8;
  const ipcOf = (...batches) => tableToIPC(new Table(schema, batches), "stream");
  const empty = ipcOf();
  const schemaBytes = empty.length - END_BYTES;
  yield empty.subarray(0, schemaBytes);
  for (let number = 0; number < batchCount; number++)
    yield ipcOf(makeBatch(number)).subarray(schemaBytes, -END_BYTES);
  yield empty.subarray(schemaBytes);
}

async function insertFragments() {
  const FRAGMENT_BATCHES = 16;
  let rows = 0;
  for (let from = 0; from < batchCount; from += FRAGMENT_BATCHES) {
    const part = batches(from, Math.min(from + FRAGMENT_BATCHES, batchCount));
    const insert = from === 0 ? "createTable" : "insertIntoTable";
    rows += (await namespace[insert]({ id }, part)).numInsertedRows;
  }
  return rows;
}

/** The rows come as they are in the table, and as many new ones after them. */
async function mergeStream() {
  await namespace.createTable({ id }, batches(0, Math.floor(batchCount / 2)));
  const upsert = { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
  const merged = await namespace.mergeInsertIntoTable(upsert, bytes());
  if (merged.numUpdatedRows !== Math.floor(batchCount / 2) * ROWS) throw new Error(JSON.stringify(merged));
  return namespace.countTableRows({ id });
}

const blob = new Struct([new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)]);
const blobSchema = new Schema([
  new Field("b", blob, true, new Map([["ARROW:extension:name", "lance.blob.v2"]])),
]);

async function* blobs() {
  for (let number = 0; number < Number(mebibytes) / Number(blobMebibytes); number++) {
    const data = new Uint8Array(Number(blobMebibytes) * 2 ** 20).fill(number + 1);
    const valueOffsets = BigInt64Array.of(0n, BigInt(data.length));
    const children = [
      makeData({ type: new LargeBinary(), data, valueOffsets, length: 1, nullCount: 0 }),
      makeData({
        type: new Utf8(),
        valueOffsets: new Int32Array(2),
        length: 1,
        nullBitmap: new Uint8Array(8),
      }),
    ];
    const values = makeData({ type: blob, length: 1, children, nullCount: 0 });
    const type = new Struct(blobSchema.fields);
    yield new RecordBatch(blobSchema, makeData({ type, length: 1, children: [values], nullCount: 0 }));
  }
}

const inputs = { batches: () => batches(), bytes, blobs };

/** How often the event loop turns while the work goes on. */
async function countTurns(work) {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work;
  isDone = true;
  return { ...result, turns };
}

const id = ["big"];
const namespace = new DirectoryNamespace({
  root,
  durability: "none",
  ...(form === "blobs" && { dataStorageVersion: "2.2" }),
});
const started = performance.now();
const rows =
  form === "fragments"
    ? await insertFragments()
    : form === "merge"
      ? await mergeStream()
      : (await namespace.createTable({ id }, inputs[form]())).numInsertedRows;
const compaction = form === "fragments" ? await countTurns(namespace.optimizeTable({ id })) : undefined;
const seconds = (performance.now() - started) / 1000;
await namespace.close();
process.send({
  rows,
  expectedRows: form === "blobs" ? Number(mebibytes) / Number(blobMebibytes) : batchCount * ROWS,
  compaction,
  seconds,
  maxRssMiB: peakBytes() / 2 ** 20,
});
