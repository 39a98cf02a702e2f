/**
 * Clients that want a server to run out of memory, or of places for others.
 *
 *   arguments          port, kind, how many, key or nothing, MiB that a body inflates to
 *   clients → parent   { ready: true } once all of them have begun
 */

import { connect } from "node:net";
import {
  CompressionType,
  compressionRegistry,
  Field,
  Int32,
  makeData,
  makeVector,
  Null,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
} from "apache-arrow";

const [port, kind, count, key, inflatedMib] = process.argv.slice(2);
const JSON_TYPE = "application/json";
const ROWS_TYPE = "application/vnd.apache.arrow.stream";

const head = (path, type, length) =>
  `POST /v1/table/${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n` +
  `${key ? `x-api-key: ${key}\r\n` : ""}\r\n`;

const request = (path, type, body) =>
  Buffer.concat([Buffer.from(head(path, type, body.length)), Buffer.from(body)]);

/** A ZSTD frame that repeats the first byte. */
function repeat(bytes) {
  const blocks = Math.ceil(bytes.length / 131072);
  const frame = Buffer.alloc(9 + 4 * blocks);
  frame.set([0x28, 0xb5, 0x2f, 0xfd, 0xa0]);
  frame.writeUInt32LE(bytes.length, 5);
  for (let block = 0; block < blocks; block++) {
    const size = Math.min(131072, bytes.length - block * 131072);
    frame.writeUIntLE((size << 3) | 2 | (block === blocks - 1 ? 1 : 0), 9 + 4 * block, 3);
    frame[12 + 4 * block] = bytes[0];
  }
  return frame;
}

function inflating() {
  compressionRegistry.set(CompressionType.ZSTD, { encode: repeat });
  const length = (Number(inflatedMib) * 2 ** 20) / 4;
  const values = makeData({ type: new Int32(), length, data: new Int32Array(length) });
  const writer = new RecordBatchStreamWriter({ compressionType: CompressionType.ZSTD });
  return writer.writeAll(new Table({ v: makeVector(values) })).toUint8Array(true);
}

function nulls() {
  const length = 2 ** 30;
  const schema = new Schema([new Field("n", new Null(), true)]);
  const children = [makeData({ type: new Null(), length })];
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  const writer = new RecordBatchStreamWriter();
  writer.write(new RecordBatch(schema, data));
  writer.finish();
  return writer.toUint8Array(true);
}

/** The start of a batch of 64 MiB. */
function largeBatch() {
  const length = 2 ** 24;
  const values = makeData({ type: new Int32(), length, data: new Int32Array(length) });
  const bytes = new RecordBatchStreamWriter()
    .writeAll(new Table({ v: makeVector(values) }))
    .toUint8Array(true);
  return bytes.slice(0, 2 ** 21);
}

/** Rows of 16 MiB, each with a key of its own. */
function manyKeys() {
  const length = 2 ** 22;
  const data = Int32Array.from({ length }, (_, row) => Math.imul(row, 2654435761));
  const keys = makeVector(makeData({ type: new Int32(), length, data }));
  return new RecordBatchStreamWriter().writeAll(new Table({ a: keys })).toUint8Array(true);
}

const aliases = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`c${index}`, "b"]));

/** Sends `start`, and then a byte now and then. */
function dribble(socket, start) {
  socket.write(start);
  const timer = setInterval(() => socket.write(" "), 200);
  socket.once("close", () => clearInterval(timer));
  socket.resume();
}

/** Sends, and reads nothing of the answer. */
function deaf(socket, bytes) {
  socket.pause();
  socket.write(bytes);
}

/** Sends, reads nothing, and soon does so again on another connection. */
function hitAndRun(socket, bytes, patienceMs = 200) {
  deaf(socket, bytes);
  setTimeout(() => socket.destroy(), patienceMs);
}

/** Sends again when an answer has come. */
function again(socket, bytes) {
  socket.write(bytes);
  socket.on("data", () => setTimeout(() => socket.write(bytes), 1000));
}

function kinds() {
  switch (kind) {
    case "slow JSON": {
      const start = `${head("t/exists", JSON_TYPE, 60_000)}{"more":"${"x".repeat(50_000)}`;
      return (socket) => dribble(socket, start);
    }
    case "slow rows": {
      const start = Buffer.concat([Buffer.from(head("t/insert", ROWS_TYPE, 2 ** 30)), largeBatch()]);
      return (socket) => dribble(socket, start);
    }
    case "readers that read nothing": {
      const bytes = request("large/query", JSON_TYPE, "{}");
      return (socket) => deaf(socket, bytes);
    }
    case "aliases": {
      const bytes = request(
        "large/query",
        JSON_TYPE,
        JSON.stringify({ columns: { column_aliases: aliases } }),
      );
      return (socket) => deaf(socket, bytes);
    }
    case "pipeliners": {
      const bytes = Buffer.concat(Array(200).fill(request("t/describe", JSON_TYPE, "{}")));
      return (socket) => hitAndRun(socket, bytes);
    }
    case "inflaters": {
      const bytes = request("inflated/create?mode=overwrite", ROWS_TYPE, inflating());
      return (socket) => again(socket, bytes);
    }
    case "nulls": {
      const bytes = request("nulls/create?mode=overwrite", ROWS_TYPE, nulls());
      return (socket) => again(socket, bytes);
    }
    case "mergers": {
      const query = "on=a&when_matched_update_all=true&when_not_matched_insert_all=true";
      const bytes = request(`merged/merge_insert?${query}`, ROWS_TYPE, manyKeys());
      return (socket) => again(socket, bytes);
    }
    case "sorters": {
      const query = { filter: "b < 50", order_by: [{ column_name: "a" }] };
      const bytes = request("large/query", JSON_TYPE, JSON.stringify(query));
      return (socket) => hitAndRun(socket, bytes, 5000);
    }
    case "searchers": {
      const vector = Array.from({ length: 64 }, (_, at) => at / 64);
      const bytes = request("vectors/query", JSON_TYPE, JSON.stringify({ vector, k: 1000 }));
      return (socket) => again(socket, bytes);
    }
    case "builders": {
      // Every tenth changes the table, so that there is something to build again; all others search, sort and count.
      const bodies = [
        ["large/create_index", { column: "a", index_type: "BTREE", name: "a", replace: true }],
        ["vectors/query", { vector: Array.from({ length: 64 }, (_, at) => at / 64), k: 100 }],
        [
          "vectors/create_index",
          { column: "s", index_type: "FTS", name: "s", with_position: true, replace: true },
        ],
        ["large/query", { filter: "b < 50", order_by: [{ column_name: "a" }], k: 1000 }],
        ["vectors/create_index", { column: "x", index_type: "IVF_HNSW_SQ", name: "x", replace: true }],
        ["large/count_rows", { predicate: "a > 5 or b = 7" }],
        ["vectors/create_index", { column: "s", index_type: "NGRAM", name: "n", replace: true }],
        ["large/delete", { predicate: "b = 99 and a < -2000000000" }],
        ["large/optimize", { materialize_deletions_threshold: 0, background: true }],
        ["large/create_index", { column: "b", index_type: "BITMAP", name: "b", replace: true }],
      ];
      let turn = 0;
      return (socket) => {
        const [path, body] = bodies[turn++ % bodies.length];
        again(socket, request(path, JSON_TYPE, JSON.stringify(body)));
      };
    }
    case "large JSON": {
      const bytes = request("t/exists", JSON_TYPE, `{"more":[${"{},".repeat(1_000_000)}{}]}`);
      return (socket) => again(socket, bytes);
    }
  }
  throw new Error(`there are no ${kind}`);
}

const attack = kinds();
function begin() {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  // Whoever is cut off comes again.
  socket.once("close", () => setTimeout(begin, 1000));
  socket.once("connect", () => attack(socket));
}
for (let client = 0; client < Number(count); client++) begin();
process.send({ ready: true });
process.once("disconnect", () => process.exit());
