import { DirectoryNamespace } from "tiltyard";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableFromArrays, vectorFromArray, Utf8, Table } from "apache-arrow";
import { existsSync } from "node:fs";
const ROWS = Number(process.argv[2] ?? 10_000_000), only = process.argv[3];
const root = `/dev/shm/aggperf-${ROWS}`;
const ns = new DirectoryNamespace({ root, durability: "none" });
const PART = Math.min(1_000_000, ROWS);
if (!existsSync(root)) {
  for (let first = 0; first < ROWS; first += PART) {
    const spread = (row) => Math.imul(first + row + 1, 2654435761) >>> 0;
    const k = BigInt64Array.from({ length: PART }, (_, r) => BigInt(spread(r) % 5_000_000));
    const g = Int32Array.from({ length: PART }, (_, r) => spread(r) % 1000);
    const n = BigInt64Array.from({ length: PART }, (_, r) => BigInt(spread(r)) - 2n ** 31n);
    const v = Float64Array.from({ length: PART }, (_, r) => (spread(r) % 100_003) / 7);
    let t = tableFromArrays({ k, g, n, v });
    t = t.assign(new Table({ w: vectorFromArray(Array.from({ length: PART }, (_, r) => `word ${spread(r) % 40}`), new Utf8()) }));
    if (first === 0) await ns.createTable({ id: ["t"] }, t); else await ns.insertIntoTable({ id: ["t"] }, t);
  }
}
const noDuck = process.env.NODUCK; const duck = noDuck ? null : await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
if (!noDuck) await duck.run(`create table t as select (h % 5000000)::bigint k, (h % 1000)::integer g, h - 2147483648 n, (h % 100003)/7.0::double v, 'word ' || (h % 40) w from (select ((i + 1) * 2654435761) % 4294967296 h from range(${ROWS}) r(i))`);
const cases = {
  "sum float": [{ values: { s: "sum(v)" } }, "select sum(v) from t"],
  "sum int64": [{ values: { s: "sum(n)" } }, "select sum(n) from t"],
  "sum avg min max": [{ values: { s: "sum(v)", a: "avg(n)", b: "min(g)", c: "max(v)" } }, "select sum(v), avg(n), min(g), max(v) from t"],
  "sum of product": [{ values: { s: "sum(v * g)" } }, "select sum(v*g) from t"],
  "sum filtered": [{ values: { s: "sum(v)" }, filter: "g < 100" }, "select sum(v) from t where g < 100"],
  "40 words": [{ groupBy: ["w"], values: { c: "count(*)", s: "sum(v)" } }, "select w, count(*), sum(v) from t group by w"],
  "1000 ints": [{ groupBy: ["g"], values: { c: "count(*)", s: "sum(v)" } }, "select g, count(*), sum(v) from t group by g"],
  "40000 pairs": [{ groupBy: ["g", "w"], values: { c: "count(*)", s: "sum(v)" } }, "select g, w, count(*), sum(v) from t group by g, w"],
  "5M int64": [{ groupBy: ["k"], values: { c: "count(*)", s: "sum(v)" } }, "select k, count(*), sum(v) from t group by k"],
  "count distinct k": [{ values: { c: "count(distinct k)" } }, "select count(distinct k) from t"],
  "approx distinct k": [{ values: { c: "approx_count_distinct(k)" } }, "select approx_count_distinct(k) from t"],
  "median v": [{ values: { c: "median(v)" } }, "select median(v) from t"],
};
for (const [name, [q, sql]] of Object.entries(cases)) {
  if (only && !name.includes(only)) continue;
  const ours = [], theirs = []; let rows = 0, theirRows = 0, hold = 0;
  for (let i = 0; i < (noDuck ? 20 : 3); i++) {
    let last = performance.now();
    const timer = setInterval(() => { const now = performance.now(); hold = Math.max(hold, now - last); last = now; }, 1);
    let s = performance.now(); rows = 0;
    for await (const b of await ns.aggregateTable({ id: ["t"], ...q })) rows += b.numRows;
    ours.push(performance.now() - s);
    clearInterval(timer);
    if (noDuck) { theirs.push(1); continue; }
    s = performance.now(); const r = await duck.stream(sql); theirRows = 0;
    for (;;) { const c = await r.fetchChunk(); if (!c || c.rowCount === 0) break; theirRows += c.rowCount; }
    theirs.push(performance.now() - s);
  }
  const med = (a) => a.sort((x, y) => x - y)[0];
  console.log(name.padEnd(18), med(ours).toFixed(0).padStart(7), med(theirs).toFixed(0).padStart(7), (med(ours) / med(theirs)).toFixed(1) + "x", rows, theirRows, "hold", hold.toFixed(0), "rss", (process.memoryUsage().rss / 2 ** 20).toFixed(0));
}
await ns.close();
process.exit(0);
