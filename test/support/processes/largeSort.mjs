/**
 * Sorts a table and reports the most memory the process ever had resident while it did. Arguments: root, MiB of rows.
 */

import { Field, Int32, LargeBinary, makeData, RecordBatch, Schema, Struct } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { peakBytes } from "./peakMemory.mjs";

const [root, mebibytes] = process.argv.slice(2);
const ROWS = 8192;
const BODY_BYTES = 120;
const batchCount = Math.ceil((Number(mebibytes) * 2 ** 20) / (ROWS * (BODY_BYTES + 12)));
const schema = new Schema([new Field("key", new Int32(), true), new Field("body", new LargeBinary(), true)]);

function makeBatch(number) {
  const keys = Int32Array.from({ length: ROWS }, (_, row) => Math.imul(number * ROWS + row + 1, 2654435761));
  const bytes = new Uint8Array(ROWS * BODY_BYTES);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 4) view.setUint32(at, Math.imul(at + number, 2654435761));
  // Each body begins with its key.
  for (let row = 0; row < ROWS; row++) view.setInt32(row * BODY_BYTES, keys[row]);
  const offsets = BigInt64Array.from({ length: ROWS + 1 }, (_, row) => BigInt(row * BODY_BYTES));
  const children = [
    makeData({ type: new Int32(), data: keys, length: ROWS, nullCount: 0 }),
    makeData({ type: new LargeBinary(), data: bytes, valueOffsets: offsets, length: ROWS, nullCount: 0 }),
  ];
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: ROWS, children }));
}

async function* batches() {
  for (let number = 0; number < batchCount; number++) yield makeBatch(number);
}

const namespace = new DirectoryNamespace({ root, durability: "none" });
await namespace.createTable({ id: ["t"] }, batches());
let rows = 0;
let unordered = 0;
let foreign = 0;
let last = Number.NEGATIVE_INFINITY;
for await (const batch of namespace.table("t").scan({ orderBy: [{ columnName: "key" }] })) {
  const keys = batch.getChild("key").toArray();
  const bodies = batch.getChild("body");
  for (const key of keys) {
    if (key < last) unordered++;
    last = key;
  }
  const [first] = bodies;
  if (new DataView(first.buffer, first.byteOffset).getInt32(0) !== keys[0]) foreign++;
  rows += batch.numRows;
}
await namespace.close();
const peakRss = peakBytes();
process.send({ rows, expected: batchCount * ROWS, unordered, foreign, peakRss });
