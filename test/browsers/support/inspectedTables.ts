/** Tables that the inspector is tried on: a large one, a hostile one, and those that the reference wrote. */

import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import {
  Bool,
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  makeData,
  makeVector,
  type RecordBatch,
  Table,
  TimestampMillisecond,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";

const GOLDEN = fileURLToPath(new URL("../../golden", import.meta.url));
const BATCH_ROWS = 50_000;
const DIMENSION = 16;
const CLUSTERS = 9;
const WORDS =
  "river stone cloud market silver garden winter letter engine harbor planet forest music bridge copper night".split(
    " ",
  );

/** Returns numbers from 0 to 1 that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = seeded(7);

function numbers<Numbers extends Float64Array | Int32Array>(target: Numbers, scale: number): Vector {
  for (let row = 0; row < target.length; row++) target[row] = random() * scale;
  return makeVector(target) as unknown as Vector;
}

/** A small picture with a colour of its own. */
function picture(red: number, green: number, blue: number): Uint8Array {
  const size = 20;
  const raw = Buffer.alloc((size * 3 + 1) * size);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const offset = y * (size * 3 + 1) + 1 + x * 3;
      raw.set([(red * x) / size, (green * y) / size, blue], offset);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2], 8);
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  const chunks = [chunk("IHDR", header), chunk("IDAT", deflateSync(raw)), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat([signature, ...chunks]));
}

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4);
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  }
  return ~crc >>> 0;
}

const texts = (make: (row: number) => string): Vector =>
  vectorFromArray(
    Array.from({ length: BATCH_ROWS }, (_, row) => make(row)),
    new Utf8(),
  );

const titles = texts((row) => `${WORDS[row % 16]} ${WORDS[(row * 31 + 7) % 16]}`);
const bodies = texts((row) =>
  Array.from({ length: 8 }, (_, word) => WORDS[(row * (word + 3) + word * word) % 16]).join(" "),
);
const cities = texts((row) => WORDS[(row * 7919) % 7]);
const actives = vectorFromArray(
  Array.from({ length: BATCH_ROWS }, (_, row) => row % 3 === 0),
  new Bool(),
);

/** Rows from a number on, with 30 columns. */
function batchFrom(start: number, count: number): RecordBatch {
  const clusters = Int32Array.from({ length: count }, () => random() * CLUSTERS);
  const values = new Float32Array(count * DIMENSION);
  for (let index = 0; index < values.length; index++) {
    const cluster = clusters[Math.floor(index / DIMENSION)];
    values[index] = Math.sin(cluster * 7.3 + (index % DIMENSION) * 3.1) + (random() + random() - 1) * 0.6;
  }
  const list = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
  const items = makeData({ type: new Float32(), data: values });
  const moments = BigInt64Array.from(
    { length: count },
    (_, row) => 1_700_000_000_000n + BigInt(start + row) * 1000n,
  );
  const part = (vector: Vector): Vector => vector.slice(0, count);
  const columns: Record<string, Vector> = {
    id: makeVector(Int32Array.from({ length: count }, (_, row) => start + row)) as unknown as Vector,
    title: part(titles),
    price: numbers(new Float64Array(count), 100),
    city: part(cities),
    active: part(actives) as unknown as Vector,
    created: new Vector([
      makeData({ type: new TimestampMillisecond("UTC"), data: moments }),
    ]) as unknown as Vector,
    cluster: makeVector(clusters) as unknown as Vector,
    vector: new Vector([
      makeData({ type: list, length: count, nullCount: 0, child: items }),
    ]) as Vector<DataType>,
    body: part(bodies),
  };
  for (let index = 0; Object.keys(columns).length < 20; index++) {
    columns[`measure_${index}`] = numbers(new Float64Array(count), (index + 1) * 10);
  }
  for (let index = 0; Object.keys(columns).length < 30; index++) {
    columns[`count_${index}`] = numbers(new Int32Array(count), 10 ** ((index % 6) + 1));
  }
  return new Table(columns).batches[0];
}

async function* batches(start: number, end: number): AsyncGenerator<RecordBatch> {
  for (let row = start; row < end; row += BATCH_ROWS) yield batchFrom(row, Math.min(BATCH_ROWS, end - row));
}

/** Makes the table `events`, with versions, a branch, a tag, and indexes that lack its last rows. */
export async function makeLargeTable(ns: DirectoryNamespace, rowCount: number): Promise<void> {
  const table = ns.table("events");
  const late = Math.min(3000, Math.floor(rowCount / 20));
  await ns.createTable({ id: ["events"], stableRowIds: true }, batches(0, rowCount - late));
  await table.delete("id % 100 = 7 AND id < 10000", { message: "Remove doubtful events" });
  const indexes = [
    ["id", { indexType: "BTREE" }],
    ["body", { indexType: "FTS" }],
    ["vector", { indexType: "IVF_PQ", numPartitions: 64, numSubVectors: 4 }],
  ] as const;
  for (const [column, options] of indexes) {
    const { jobId } = await table.createIndex(column, options);
    await ns.waitForJob({ jobId });
  }
  await table.createTag("release-1", 2);
  await table.createBranch("experiment");
  await ns.table("events", { branch: "experiment" }).delete("id > 1000");
  await ns.insertIntoTable({ id: ["events"], message: "Late arrivals" }, batches(rowCount - late, rowCount));
}

/** Names and values that try to become more than text. */
export async function makeHostileTables(ns: DirectoryNamespace): Promise<void> {
  await ns.createNamespace({ id: ["sales"] });
  const names = [
    "<img src=x onerror=alert(1)>",
    "طلبات العملاء",
    `${"a long name ".repeat(12)}`.trim(),
    "'; DROP TABLE x; --",
  ];
  for (const name of names) await ns.createTable({ id: ["sales", name] }, [{ id: 1, "<b>column</b>": "x" }]);
  await ns.createTable({ id: ["hostile"] }, [
    {
      markup: "<script>window.attacked = true</script><img src=x onerror='window.attacked = true'>",
      long: "x".repeat(2_000_000),
      control: "a\u0000b\u0007c\u001b[31m\u202eevil\u202c\r\n\tz",
      arabic: "نص طويل من اليمين إلى اليسار مع English inside",
      url: "javascript:window.attacked = true",
      wide: Number.NaN,
      deep: { a: { b: { c: { d: { e: { f: [{ g: "<b>deep</b>" }] } } } } } },
      bytes: new TextEncoder().encode(
        "<svg xmlns='http://www.w3.org/2000/svg' onload='window.attacked = true'/>",
      ),
      photo: picture(250, 120, 90),
    },
    {
      markup: "{{window.attacked = true}}",
      long: "",
      control: "\ud83d\ude00 emoji",
      arabic: null,
      url: null,
      wide: Number.POSITIVE_INFINITY,
      deep: null,
      bytes: picture(90, 120, 250),
      photo: null,
    },
  ]);
  await ns.declareTable({ id: ["declared"] });
  await ns.createTable({ id: ["empty"] }, [{ id: 1 }]);
  await ns.deleteFromTable({ id: ["empty"], predicate: "true" });
}

/** Copies the tables of the reference into a root, and returns their names. */
export async function copyGoldenTables(root: string): Promise<string[]> {
  const names = (await readdir(GOLDEN)).filter((name) => name.endsWith(".lance"));
  for (const name of names) await cp(join(GOLDEN, name), join(root, name), { recursive: true });
  return names.map((name) => name.slice(0, -".lance".length));
}
