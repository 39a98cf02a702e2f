/**
 * A server with default limits, for callers with a key and for anybody else. Runs the built package.
 *
 *   arguments          key that is known, rows of the table of vectors
 *   server → parent    { port }
 *   parent → server    anything
 *   server → parent    { peak }: most bytes of memory that the process had so far
 */

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  makeData,
  makeVector,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { peakBytes } from "./peakMemory.mjs";

const [key, vectorRows] = process.argv.slice(2);
const DIMENSION = 64;
const ROWS = 2_000_000;

const root = await mkdtemp(join(tmpdir(), "tiltyard-bounds-"));
// As many threads as there are by default where there are processors for them.
const namespace = new DirectoryNamespace({ root, durability: "none", workers: 8 });
const ofMany = (value) => {
  const data = Int32Array.from({ length: ROWS }, (_, row) => value(row));
  return makeVector(makeData({ type: new Int32(), length: ROWS, data }));
};
// Values that stay as they are, and values that pages pack.
await namespace.createTable(
  { id: ["large"] },
  new Table({ a: ofMany((row) => row * 2654435761), b: ofMany((row) => row % 100) }),
);
await namespace.createTable({ id: ["merged"] }, new Table({ a: makeVector(Int32Array.of(1, 2, 3)) }));
if (Number(vectorRows) > 0) {
  const length = Number(vectorRows);
  const child = makeData({
    type: new Float32(),
    length: DIMENSION * length,
    data: Float32Array.from({ length: DIMENSION * length }, (_, at) => Math.sin(at * at)),
  });
  const type = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
  const texts = Array.from({ length }, (_, row) => `word${row % 991} of ${row} and others${row % 7}`);
  await namespace.createTable(
    { id: ["vectors"] },
    new Table({ x: makeVector(makeData({ type, length, child })), s: vectorFromArray(texts, new Utf8()) }),
  );
}
await namespace.createTable({ id: ["t"] }, new Table({ v: makeVector(Int32Array.of(1, 2, 3)) }));

const handler = createRestHandler(namespace, { auth: { apiKeys: [key], anonymous: true } });
const server = createServer(toNodeListener(handler)).listen(0, "127.0.0.1", () => {
  process.send({ port: server.address().port });
});

const watch = setInterval(() => note(), 20);
let peak = 0;
const note = () => {
  // The system's own mark sees what is let go of between two looks; it is kept in kilobytes.
  peak = Math.max(peak, process.memoryUsage.rss(), peakBytes());
};

process.on("message", () => {
  note();
  process.send({ peak });
});
process.once("disconnect", async () => {
  clearInterval(watch);
  await rm(root, { recursive: true, force: true }).catch(() => undefined);
  process.exit();
});
