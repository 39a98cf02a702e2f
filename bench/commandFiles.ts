/**
 * Processor time, time and peak memory of `tiltyard import` and `export` of large CSV and Parquet files,
 * beside DuckDB doing the same job. Each job runs in a process of its own.
 *
 *     npm run bench:files -- 1024     # size of the files in MB; default: 200
 */

import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";

const SCRIPT = "dist/esm/cli/tiltyard.js";
const ROWS_PER_PIECE = 10_000;

/** Writes what a process took to the file that a variable names, when the process ends. */
const USAGE = `import { writeFileSync } from "node:fs";
process.on("exit", () => writeFileSync(process.env.USAGE_FILE, JSON.stringify(process.resourceUsage())));`;

/** Runs statements of DuckDB: the database, then the statements. */
const DUCKDB = `import { DuckDBInstance } from "@duckdb/node-api";
const [database, ...statements] = JSON.parse(process.env.STATEMENTS);
const connection = await (await DuckDBInstance.create(database)).connect();
for (const statement of statements) await connection.run(statement);
connection.closeSync();`;

const module = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;

interface Measure {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
}

/** Runs a program of Node.js, and measures it. */
async function measured(directory: string, words: readonly string[], env: object): Promise<Measure> {
  const usageFile = join(directory, "usage");
  const begun = performance.now();
  const child = spawn(process.execPath, ["--import", module(USAGE), ...words], {
    env: { ...process.env, USAGE_FILE: usageFile, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
  const seconds = (performance.now() - begun) / 1000;
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(await readFile(usageFile, "utf8"));
  return { seconds, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMb: maxRSS / 1024 };
}

/** Yields lines of trips: numbers, times, short and long texts. */
function* csvLines(bytes: number): Generator<string> {
  yield "id,started,distance,fare,vendor,note\n";
  const vendors = ["north", "south", "east", "west"];
  for (let id = 0, written = 0; written < bytes; ) {
    let piece = "";
    for (let row = 0; row < ROWS_PER_PIECE; row++, id++) {
      const hash = Math.imul(id, 2654435761) >>> 0;
      const started = new Date(1_700_000_000_000 + id * 977).toISOString().slice(0, 19);
      piece += `${id},${started},${(hash % 30_000) / 1000},${(hash % 9973) / 100},${vendors[hash % 4]},trip ${hash.toString(36)} of the day\n`;
    }
    written += piece.length;
    yield piece;
  }
}

async function main(): Promise<void> {
  const megabytes = Number(process.argv[2] ?? 200);
  const directory = await mkdtemp(join(tmpdir(), "tiltyard-files-"));
  const file = (name: string) => join(directory, name);
  const quoted = (name: string) => `'${file(name)}'`;
  const tiltyard = (...words: string[]) =>
    measured(directory, [SCRIPT, ...words], { TILTYARD_ROOT: file("root") });
  const duckdb = (...statements: string[]) =>
    measured(directory, ["--input-type=module", "-e", DUCKDB], {
      STATEMENTS: JSON.stringify([file("duck.db"), ...statements]),
    });
  try {
    await pipeline(Readable.from(csvLines(megabytes * 2 ** 20)), createWriteStream(file("trips.csv")));
    // DuckDB makes the Parquet file, of about the same size, because it holds the rows several times.
    const copies = Array.from({ length: 3 }, () => `SELECT * FROM ${quoted("trips.csv")}`).join(
      " UNION ALL ",
    );
    await duckdb(`COPY (${copies}) TO ${quoted("trips.parquet")} (FORMAT parquet)`);
    const jobs: [string, () => Promise<Measure>, () => Promise<Measure>][] = [
      [
        "import CSV",
        () => tiltyard("import", "csv", file("trips.csv")),
        () => duckdb(`CREATE TABLE csv AS SELECT * FROM ${quoted("trips.csv")}`),
      ],
      [
        "import Parquet",
        () => tiltyard("import", "parquet", file("trips.parquet")),
        () => duckdb(`CREATE TABLE parquet AS SELECT * FROM ${quoted("trips.parquet")}`),
      ],
      [
        "export CSV",
        () => tiltyard("export", "csv", file("out.csv")),
        () => duckdb(`COPY csv TO ${quoted("duck.csv")} (FORMAT csv)`),
      ],
      [
        "export Parquet",
        () => tiltyard("export", "parquet", file("out.parquet")),
        () => duckdb(`COPY parquet TO ${quoted("duck.parquet")} (FORMAT parquet)`),
      ],
    ];
    for (const name of ["trips.csv", "trips.parquet"]) {
      console.log(`${name}: ${((await stat(file(name))).size / 2 ** 20).toFixed(0)} MB`);
    }
    for (const [name, ours, theirs] of jobs) {
      const [a, b] = [await ours(), await theirs()];
      const text = ({ seconds, cpuSeconds, peakMb }: Measure) =>
        `CPU ${cpuSeconds.toFixed(1)} s, ${seconds.toFixed(1)} s, ${peakMb.toFixed(0)} MB`;
      console.log(`${name.padEnd(16)} tiltyard ${text(a).padEnd(28)} DuckDB ${text(b)}`);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
