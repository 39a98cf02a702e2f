/**
 * Inserts rows as NDJSON through a handler, reads them back as NDJSON, and reports the memory and the longest
 * hold of the event loop. Arguments: root, rows.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { peakBytes } from "./peakMemory.mjs";

const [root, count] = process.argv.slice(2);
const rowCount = Number(count);
const LINES = 500;

const namespace = new DirectoryNamespace({ root, durability: "none" });
const handler = createRestHandler(namespace, { auth: { anonymous: true } });

const line = (id) =>
  `{"id":${id},"name":"row number ${id}","price":${id / 7},"at":"2024-05-06T07:08:09.${String(id % 1000).padStart(3, "0")}Z","ok":${id % 3 === 0},"vector":[${id % 10},0.5,-1.25,${id / 3}]}\n`;

function lines() {
  const utf8 = new TextEncoder();
  let id = 0;
  return new ReadableStream(
    {
      pull(controller) {
        let text = "";
        for (let index = 0; index < LINES && id < rowCount; index++) text += line(id++);
        if (text === "") controller.close();
        else controller.enqueue(utf8.encode(text));
      },
    },
    { highWaterMark: 0 },
  );
}

const call = (path, body, headers) =>
  handler(
    new Request(`http://localhost/v1/table/t/${path}`, { method: "POST", body, headers, duplex: "half" }),
  );

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let started = performance.now();
const inserted = await call("create", lines(), { "content-type": "application/x-ndjson" });
const answer = await inserted.json();
const insertSeconds = (performance.now() - started) / 1000;
const insertHoldMs = delay.max / 1e6;

delay.reset();
started = performance.now();
const read = await call("query", JSON.stringify({}), {
  "content-type": "application/json",
  accept: "application/x-ndjson",
});
let rows = 0;
let bytes = 0;
for await (const piece of read.body) {
  bytes += piece.length;
  for (const byte of piece) if (byte === 10) rows++;
}
const readSeconds = (performance.now() - started) / 1000;
await handler.close();
await namespace.close();
process.send({
  inserted: answer.num_inserted_rows,
  rows,
  bytes,
  insertSeconds,
  readSeconds,
  insertHoldMs,
  readHoldMs: delay.max / 1e6,
  maxRssMiB: peakBytes() / 2 ** 20,
});
