/**
 * Moves rows from a file to a table and from the table to a file, and reports the memory. Arguments: root, format
 * (csv, jsonl or parquet), rows.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DirectoryNamespace } from "tiltyard";
import * as files from "tiltyard/files";
import { peakBytes } from "./peakMemory.mjs";

const [root, format, count] = process.argv.slice(2);
const rowCount = Number(count);
const { read, write } = {
  csv: { read: files.readCsv, write: files.writeCsv },
  jsonl: { read: files.readJsonLines, write: files.writeJsonLines },
  parquet: { read: files.readParquet, write: files.writeParquet },
}[format];

async function* rows() {
  for (let id = 0; id < rowCount; id++) {
    yield { id, name: `row number ${id}`, price: id / 7, ok: id % 3 === 0, note: "x".repeat(200) };
  }
}

const path = join(root, `rows.${format}`);
const copy = join(root, `copy.${format}`);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const seconds = {};
const holdMs = {};
async function measured(name, step) {
  delay.reset();
  const started = performance.now();
  const result = await step();
  seconds[name] = Math.round(performance.now() - started) / 1000;
  holdMs[name] = Math.round(delay.max / 1e6);
  return result;
}

const namespace = new DirectoryNamespace({ root: join(root, "tables"), durability: "none" });
const table = namespace.table("t");
const written = await measured("write", () => write(rows(), path));
await measured("import", () => table.create(read(path)));
const exported = await measured("export", () => write(table.scan(), copy));
process.send({
  written: written.rowCount,
  rows: await table.countRows(),
  exported: exported.rowCount,
  isSame: (await stat(path)).size === (await stat(copy)).size,
  fileMiB: written.byteCount / 2 ** 20,
  maxRssMiB: peakBytes() / 2 ** 20,
  seconds,
  holdMs,
});
await namespace.close();
process.disconnect();
