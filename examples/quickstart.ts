/**
 * Shows the main steps on generated data: declare a table, insert batches, make versions, overwrite the rows
 * by mistake, restore, read, print statistics and files. Run it with `npm run quickstart`. The directory
 * stays for inspection.
 */

import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { styleText } from "node:util";
import {
  Bool,
  Decimal,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  type Table,
  TimestampMicrosecond,
  tableFromIPC,
  Utf8,
  type Vector,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";

const ROOT = resolve("quickstart-data");
/** Tells a directory this example made from one that is yours. */
const OWN_MARK = join(ROOT, ".made-by-quickstart");
const BATCHES = 4;
const ROWS_PER_BATCH = 30_000;
const DIMENSION = 128;

// ------------------------------------------------------------------------------------------------ output

let step = 0;
const style = (format: Parameters<typeof styleText>[0], text: string) =>
  process.stdout.isTTY ? styleText(format, text) : text;
const dim = (text: string) => style("gray", text);

function heading(text: string): void {
  step++;
  console.log(`\n${style(["bold", "cyan"], `${step}. ${text}`)}`);
}

async function timed<T>(work: () => Promise<T>): Promise<[T, string]> {
  const start = performance.now();
  const result = await work();
  return [result, `${(performance.now() - start).toFixed(1)} ms`];
}

const count = (value: number) => value.toLocaleString("en");

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/** Rows of cells in columns; cells of numbers to the right. */
function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const line = (cells: readonly string[]) =>
    `   ${cells.map((cell, i) => (/^[\d,.-]/.test(cell) ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  ")}`.trimEnd();
  console.log(dim(line(header)));
  for (const row of rows) console.log(line(row));
}

function printTree(directory: string, indent = "   "): void {
  const entries = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      console.log(`${indent}${style("bold", `${entry.name}/`)}`);
      printTree(path, `${indent}  `);
    } else {
      console.log(`${indent}${entry.name}  ${dim(size(statSync(path).size))}`);
    }
  }
}

// ------------------------------------------------------------------------------------------------ data

const SCHEMA = new Schema([
  new Field("id", new Int64(), false),
  new Field("at", new TimestampMicrosecond("UTC"), false),
  new Field("amount", new Decimal(2, 12, 128), false),
  new Field("score", new Float64(), true),
  new Field("note", new Utf8(), true),
  new Field("paid", new Bool(), false),
  new Field("embedding", new FixedSizeList(DIMENSION, new Field("item", new Float32(), true)), false),
]);

const NOTES = ["gift wrap", "leave at the door", "ring twice", "café, 2nd floor", "fragile", "express"];

/** Orders `firstId` to `firstId + rowCount - 1`; every fifth has no note, every ninth no score. */
function makeOrders(firstId: number, rowCount: number): RecordBatch {
  const ids = new BigInt64Array(rowCount);
  const times = new BigInt64Array(rowCount);
  const amounts = new Uint32Array(rowCount * 4);
  const scores = new Float64Array(rowCount);
  const scoreValidity = new Uint8Array(Math.ceil(rowCount / 8));
  const noteOffsets = new Int32Array(rowCount + 1);
  const noteValidity = new Uint8Array(Math.ceil(rowCount / 8));
  const notes: Uint8Array[] = [];
  const paid = new Uint8Array(Math.ceil(rowCount / 8));
  const embedding = new Float32Array(rowCount * DIMENSION);
  const encoder = new TextEncoder();
  const start = BigInt(Date.UTC(2025, 0, 1)) * 1000n;
  let scoreNulls = 0;
  let noteNulls = 0;
  for (let row = 0; row < rowCount; row++) {
    const id = firstId + row;
    const bit = 1 << (row & 7);
    ids[row] = BigInt(id);
    times[row] = start + BigInt(id) * 7_300_000n;
    amounts[row * 4] = 199 + ((id * 7919) % 100_000);
    scores[row] = Math.sin(id) * 100;
    if (id % 9 === 0) scoreNulls++;
    else scoreValidity[row >> 3] |= bit;
    noteOffsets[row + 1] = noteOffsets[row];
    if (id % 5 === 0) noteNulls++;
    else {
      const note = encoder.encode(`${NOTES[id % NOTES.length]} #${id % 1000}`);
      notes.push(note);
      noteOffsets[row + 1] += note.length;
      noteValidity[row >> 3] |= bit;
    }
    if (id % 3 !== 0) paid[row >> 3] |= bit;
    for (let i = 0; i < DIMENSION; i++)
      embedding[row * DIMENSION + i] = Math.fround(((id * 31 + i * 17) % 997) / 997);
  }
  const [id, time, amount, score, note, isPaid, vector] = SCHEMA.fields.map(({ type }) => type);
  const base = { length: rowCount, nullCount: 0 };
  const children = [
    makeData({ ...base, type: id as Int64, data: ids }),
    makeData({ ...base, type: time as TimestampMicrosecond, data: times }),
    makeData({ ...base, type: amount as Decimal, data: amounts }),
    makeData({
      ...base,
      nullCount: scoreNulls,
      nullBitmap: scoreValidity,
      type: score as Float64,
      data: scores,
    }),
    makeData({
      ...base,
      nullCount: noteNulls,
      nullBitmap: noteValidity,
      type: note as Utf8,
      valueOffsets: noteOffsets,
      data: Buffer.concat(notes),
    }),
    makeData({ ...base, type: isPaid as Bool, data: paid }),
    makeData({
      ...base,
      type: vector as FixedSizeList<Float32>,
      child: makeData({ type: new Float32(), length: embedding.length, nullCount: 0, data: embedding }),
    }),
  ];
  return new RecordBatch(SCHEMA, makeData({ ...base, type: new Struct(SCHEMA.fields), children }));
}

// ------------------------------------------------------------------------------------------------ the job

/** Removes what an earlier run left; never anything else. */
function clearRoot(): void {
  if (!existsSync(ROOT)) return;
  if (!existsSync(OWN_MARK) && readdirSync(ROOT).length > 0) {
    throw new Error(`${ROOT} is there and was not made by this example; move it away and run again`);
  }
  rmSync(ROOT, { recursive: true });
}

/** Formats a value: apache-arrow returns timestamps as milliseconds and decimals without their point. */
function cell(name: string, value: unknown): string {
  if (value === null) return "null";
  if (name === "at") return new Date(Number(value)).toISOString();
  if (name === "amount") return (Number(String(value)) / 100).toFixed(2);
  if (name === "score") return (value as number).toFixed(3);
  return String(value);
}

function printRows(rows: Table): void {
  const names = rows.schema.fields.map(({ name }) => name);
  printTable(
    names,
    rows.toArray().map((row) => names.map((name) => cell(name, row[name]))),
  );
}

clearRoot();
console.log(style("bold", "Tiltyard quickstart"));
console.log(`A namespace in ${ROOT}`);

const ns = new DirectoryNamespace({ root: ROOT });
const id = ["orders"];
const orders = ns.table(id);

heading("Declare a table");
const [declared, declareTime] = await timed(() => ns.declareTable({ id }));
writeFileSync(OWN_MARK, "npm run quickstart makes this directory anew; keep nothing here.\n");
console.log(`   reserved ${declared.location}  ${dim(declareTime)}`);
console.log(`   it exists (${await orders.exists()}) and has no versions yet`);

heading(`Insert ${count(BATCHES * ROWS_PER_BATCH)} rows in ${BATCHES} batches`);
console.log(dim(`   ${SCHEMA.fields.map(({ name, type }) => `${name}: ${type}`).join(", ")}`));
for (let batch = 0; batch < BATCHES; batch++) {
  const rows = makeOrders(batch * ROWS_PER_BATCH, ROWS_PER_BATCH);
  const [result, time] = await timed(() => ns.insertIntoTable({ id }, rows));
  console.log(
    `   version ${result.version}: +${count(result.numInsertedRows)} rows, synced to disk  ${dim(time)}`,
  );
}
const goodVersion = await orders.version();

heading("Overwrite the table by mistake");
const [mistake, mistakeTime] = await timed(() =>
  ns.insertIntoTable({ id, mode: "overwrite" }, makeOrders(0, 10)),
);
console.log(`   version ${mistake.version} has ${count(await orders.countRows())} rows  ${dim(mistakeTime)}`);

heading(`Restore version ${goodVersion}`);
const [restored, restoreTime] = await timed(() => ns.restoreTable({ id, version: goodVersion }));
console.log(
  `   version ${restored.version} has ${count(await orders.countRows())} rows again  ${dim(restoreTime)}`,
);
console.log(`   version ${mistake.version} is still there to be read; nothing was lost`);

heading("Read back");
const [all, scanTime] = await timed(() => orders.scan().toArrow());
console.log(`   every column of ${count(all.numRows)} rows  ${dim(scanTime)}`);
const [two, twoTime] = await timed(() => orders.scan({ columns: ["id", "score"] }).toArrow());
console.log(`   two columns of ${count(two.numRows)} rows  ${dim(twoTime)}`);
const columns = ["id", "at", "amount", "score", "note", "paid"];
const [few, fewTime] = await timed(() => orders.scan({ columns, offset: 60_000, limit: 5 }).toArrow());
console.log(`   rows 60,000 to 60,004  ${dim(fewTime)}`);
printRows(few);

heading("Statistics");
const stats = await ns.getTableStats({ id });
const { lengths } = stats.fragmentStats;
printTable(
  ["rows", "bytes", "fragments", "small", "rows per fragment (min, median, max)", "indexes"],
  [
    [
      count(stats.numRows),
      size(stats.totalBytes),
      count(stats.fragmentStats.numFragments),
      count(stats.fragmentStats.numSmallFragments),
      `${count(lengths.min)}, ${count(lengths.p50)}, ${count(lengths.max)}`,
      count(stats.numIndices),
    ],
  ],
);

heading("Versions");
const { versions } = await ns.listTableVersions({ id });
printTable(
  ["version", "rows", "manifest", "committed"],
  await Promise.all(
    versions.map(async ({ version, manifestSize, timestampMillis }) => [
      String(version),
      count(await ns.countTableRows({ id, version })),
      size(manifestSize),
      new Date(timestampMillis).toISOString(),
    ]),
  ),
);

heading("Files");
console.log(`   ${ROOT}`);
printTree(ROOT);

heading("The same directory, opened by LanceDB");
await readWithReference(all);

await ns.close();
console.log(`\nThe directory stays: ${style("bold", ROOT)}. Run again to make it anew.`);

// ------------------------------------------------------------------------------------------------

/**
 * Shows that the reference implementation reads the same rows, where it is installed (in a checkout it is).
 */
async function readWithReference(expected: Table): Promise<void> {
  const reference = await import("tiltyard-reference").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  });
  if (reference === null) {
    console.log("   skipped: @lancedb/lancedb is not installed here");
    return;
  }
  const rows = tableFromIPC(await reference.readTable(ROOT, "orders"));
  console.log(
    `   it reads ${count(rows.numRows)} rows of version ${await reference.tableVersion(ROOT, "orders")}`,
  );
  const differing = SCHEMA.fields.map(({ name }) => name).filter((name) => !sameColumn(rows, expected, name));
  if (differing.length > 0) throw new Error(`LanceDB reads other values in ${differing.join(", ")}`);
  console.log(`   every value of all ${SCHEMA.fields.length} columns is the same`);
}

function sameColumn(left: Table, right: Table, name: string): boolean {
  const [a, b] = [left.getChild(name), right.getChild(name)];
  if (a === null || b === null || a.length !== b.length) return false;
  if (name === "embedding") return vectorBytes(a).equals(vectorBytes(b));
  for (let row = 0; row < a.length; row++) {
    const [x, y] = [a.get(row), b.get(row)];
    if (x !== y && String(x) !== String(y)) return false;
  }
  return true;
}

function vectorBytes(vector: Vector): Buffer {
  return Buffer.concat(
    vector.data.map((chunk) => {
      const values = chunk.children[0].values as Float32Array;
      return Buffer.from(values.buffer, values.byteOffset, chunk.length * DIMENSION * 4);
    }),
  );
}
