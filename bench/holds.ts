/**
 * `node build/bench/holds.js [text]` measures how long each function and operator of SQL holds the event loop
 * on a value of 4 MB and on 100,000 rows. It also measures how soon each ends after an abort. With a text, it
 * makes only calls that contain the text.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Builder,
  type DataType,
  Field,
  Float64,
  Int64,
  List,
  makeBuilder,
  Table,
  TimestampMicrosecond,
  Utf8,
  type Vector,
} from "apache-arrow";
import { DirectoryNamespace } from "../src/index.js";
import { callsOf, HOLD_CASES } from "./holdCases.js";
import { usedMilliseconds } from "./turns.js";

const vectorOf = (type: DataType, values: readonly unknown[]): Vector => {
  const builder: Builder = makeBuilder<DataType>({ type, nullValues: [null, undefined] });
  for (const value of values) builder.append(value);
  return builder.finish().toVector();
};
const listOf = (type: DataType) => new List(new Field("item", type, true));
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

function tableOf(rows: number, size: number): Table {
  const length = Math.max(2, size / 8);
  const integers = (factor: number) => range(length).map((index) => BigInt((index * factor) % 1_000_003));
  const [l, m] = [integers(7919), integers(104_729)];
  const k = range(length / 2).map((index) => [BigInt(index), 7n]);
  const v = range(length).map((index) => index % 97);
  const of = <Value>(value: Value) => Array.from({ length: rows }, () => value);
  // In each row another text, so that none is computed for all.
  const texts = (length: number, end: string) =>
    range(rows).map((row) => `${"a".repeat(length - 8)}${row.toString(6).padStart(7, "0")}${end}`);
  return new Table({
    s: vectorOf(new Utf8(), rows === 1 ? of("a".repeat(size)) : texts(size, "a")),
    t: vectorOf(new Utf8(), rows === 1 ? of(`${"a".repeat(size / 2 - 1)}b`) : texts(size / 2, "b")),
    l: vectorOf(
      listOf(new Int64()),
      rows === 1 ? of(l) : range(rows).map((row) => l.map((item) => item + BigInt(row))),
    ),
    m: vectorOf(
      listOf(new Int64()),
      rows === 1 ? of(m) : range(rows).map((row) => m.map((item) => item + BigInt(row % 7))),
    ),
    k: vectorOf(listOf(listOf(new Int64())), of(k)),
    v: vectorOf(listOf(new Float64()), of(v)),
    n: vectorOf(
      new Int64(),
      range(rows).map((row) => BigInt(1 + (row % 3))),
    ),
    f: vectorOf(
      new Float64(),
      range(rows).map((row) => (row % 1000) / 7),
    ),
    d: vectorOf(
      new TimestampMicrosecond(),
      range(rows).map((row) => 1_600_000_000_000 + row),
    ),
  });
}

interface Held {
  readonly longestMs: number;
  readonly tookMs: number;
  readonly end: string;
}

/**
 * Runs the work and returns how long it held the loop: the time from one turn to the next. On a machine that
 * also runs other programs, the CPU time of the turn may be less, and then counts instead.
 */
async function held(work: () => Promise<unknown>): Promise<Held> {
  let longestMs = 0;
  let last = performance.now();
  let lastUsed = usedMilliseconds();
  let isOver = false;
  const look = () => {
    const now = performance.now();
    const used = usedMilliseconds();
    longestMs = Math.max(longestMs, Math.min(now - last, used - lastUsed));
    last = now;
    lastUsed = used;
    if (!isOver) setImmediate(look);
  };
  const start = performance.now();
  look();
  const end = await work().then(
    () => "done",
    (error: Error) => error.constructor.name,
  );
  const tookMs = performance.now() - start;
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  return { longestMs, tookMs, end };
}

const root = mkdtempSync(join(tmpdir(), "tiltyard-holds-"));
const only = process.argv[2] ?? "";
/** Milliseconds after which work is aborted the second time. */
const ABORT_MS = 20;
try {
  const namespace = new DirectoryNamespace({ root, durability: "none", workers: 0 });
  const inputs = [
    ["value_of_4_MB", tableOf(1, 2 ** 22)],
    ["100000_rows", tableOf(100_000, 16)],
  ] as const;
  for (const [name, table] of inputs) await namespace.createTable({ id: [name] }, table);
  console.log("| call | input | longest hold | took | ends after an abort |\n|---|---|---:|---:|---:|");
  for (const call of HOLD_CASES.flatMap(callsOf)) {
    if (!call.includes(only)) continue;
    for (const [name] of inputs) {
      const run = (signal?: AbortSignal) =>
        namespace.table(name).countRows(`(${call}) IS NULL`, undefined, { signal });
      await run(AbortSignal.timeout(50)).catch(() => undefined);
      const whole = await held(() => run(AbortSignal.timeout(20_000)));
      const aborter = new AbortController();
      let abortedAt = Number.NaN;
      setTimeout(() => {
        abortedAt = performance.now();
        aborter.abort();
      }, ABORT_MS);
      const aborted = await held(() => run(aborter.signal));
      const after = aborted.end === "done" ? "" : `${(performance.now() - abortedAt).toFixed(0)} ms`;
      console.log(
        `| \`${call}\` | ${name} | ${whole.longestMs.toFixed(1)} ms | ${whole.tookMs.toFixed(0)} ms ${whole.end === "done" ? "" : whole.end} | ${after} |`,
      );
    }
  }
  await namespace.close();
} finally {
  rmSync(root, { recursive: true, force: true });
}
