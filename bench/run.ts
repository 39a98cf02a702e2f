/**
 * `npm run bench` runs every case in its own process and prints the figures.
 *
 *   -- --only <text>      only cases whose name or area contains the text; repeatable.
 *   -- --small            small parameters: shows that the cases run, not their speed.
 *   -- --json [file]      writes figures as JSON to the file, or prints them instead of the table.
 *   -- --svg              draws a chart per area under bench/results/.
 *   -- --docs             writes the table into docs/benchmarks.md, between its markers.
 *
 * TILTYARD_BENCH_DIR: directory of the tables. Default: the system's temporary directory.
 * TILTYARD_BENCH_PEERS: directory of the packages that a few rows need; see peers.ts.
 */

import { execFileSync, fork } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, platform, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import type { BenchCase, CaseSamples, Size } from "./case.js";
import { CASES } from "./cases.js";
import {
  areasOf,
  type CaseFigures,
  computeFigures,
  formatCase,
  formatHeader,
  formatMachine,
  formatMarkdown,
  type Machine,
  type Report,
  renderChart,
} from "./report.js";

const CHILD = fileURLToPath(new URL("./child.js", import.meta.url));
/** The checkout; this file runs as build/bench/run.js. */
const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const DOCS_MARKERS = /(<!-- bench:start -->\n)[\s\S]*?(<!-- bench:end -->)/;

interface Options {
  only: string[];
  size: Size;
  /** A file, or "-" for the terminal. */
  json: string | null;
  svg: boolean;
  docs: boolean;
}

function parseOptions(args: readonly string[]): Options {
  const options: Options = { only: [], size: "large", json: null, svg: false, docs: false };
  const rest = args.flatMap((arg) => {
    const [, flag, value] = /^(--[a-z]+)=(.*)$/s.exec(arg) ?? [];
    return flag === undefined ? [arg] : [flag, value];
  });
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const value = rest[0]?.startsWith("--") ? undefined : rest[0];
    if (arg === "--small") options.size = "small";
    else if (arg === "--svg") options.svg = true;
    else if (arg === "--docs") options.docs = true;
    else if (arg === "--json") options.json = value === undefined ? "-" : (rest.shift() as string);
    else if (arg === "--only" && value !== undefined) options.only.push(rest.shift() as string);
    else throw new Error(`bench: don't know what to do with ${JSON.stringify(arg)}`);
  }
  if (options.size === "small" && (options.svg || options.docs)) {
    throw new Error("bench: figures of small parameters are not for publishing");
  }
  return options;
}

function describeMachine(): Machine {
  const versionOf = (path: string) => JSON.parse(readFileSync(path, "utf8")).version as string;
  // The native package keeps its package.json to itself; it lies two levels above its entry.
  const referenceEntry = createRequire(
    createRequire(import.meta.url).resolve("tiltyard-reference/session.js"),
  ).resolve("@lancedb/lancedb");
  const [{ model }] = cpus();
  return {
    cpu: model.trim(),
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${platform()} ${release()}`,
    node: process.versions.node,
    tiltyard: versionOf(`${CHECKOUT}package.json`),
    reference: versionOf(fileURLToPath(new URL("../package.json", `file://${referenceEntry}`))),
    commit: currentCommit(),
    date: new Date().toISOString(),
  };
}

function currentCommit(): string | null {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: CHECKOUT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no") !== "";
    return git("rev-parse", "--short", "HEAD") + (changed ? "+" : "");
  } catch {
    // No git, or no repository: a release archive can be measured too.
    return null;
  }
}

/** Runs the cases one after the other in one new process; `onResult` is called as each ends. */
function runInProcess(
  cases: readonly BenchCase[],
  size: Size,
  onResult: (samples: CaseSamples) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [size, ...cases.map(({ name }) => name)], {
      execArgv: ["--expose-gc"],
      serialization: "advanced",
    });
    let results = 0;
    child.on("message", (samples) => {
      results++;
      onResult(samples as CaseSamples);
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (results === cases.length) resolve();
      else reject(new Error(`bench: ${JSON.stringify(cases[results].name)} ended with code ${code}`));
    });
  });
}

function selectCases(only: readonly string[]): BenchCase[] {
  const selected = CASES.filter(
    ({ area, name }) => only.length === 0 || only.some((text) => `${area} ${name}`.includes(text)),
  );
  if (selected.length === 0) throw new Error(`bench: no case matches ${only.join(", ")}`);
  return selected;
}

const options = parseOptions(process.argv.slice(2));
const machine = describeMachine();
const print = options.json === "-" ? () => {} : (text: string) => console.log(text);
print(`${formatMachine(machine)}\n`);
if (options.size === "small") print("Small parameters: these figures mean nothing.\n");
print(formatHeader());
const cases: CaseFigures[] = [];
const selected = selectCases(options.only);
// Small cases share a process, which saves most of their time.
const groups = options.size === "small" ? [selected] : selected.map((benchCase) => [benchCase]);
for (const group of groups) {
  await runInProcess(group, options.size, (samples) => {
    const figures = computeFigures(samples);
    cases.push(figures);
    print(`${formatCase(figures)}\n`);
  });
}
const report: Report = { machine, small: options.size === "small", cases };
if (options.json === "-") console.log(JSON.stringify(report, null, 2));
else if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
if (options.svg) {
  const directory = `${CHECKOUT}bench/results`;
  mkdirSync(directory, { recursive: true });
  for (const area of areasOf(report)) {
    writeFileSync(`${directory}/${area}.svg`, renderChart(report, area));
    print(`bench/results/${area}.svg`);
  }
}
if (options.docs) {
  const path = `${CHECKOUT}docs/benchmarks.md`;
  const page = readFileSync(path, "utf8");
  if (!DOCS_MARKERS.test(page)) throw new Error("bench: docs/benchmarks.md has lost its markers");
  writeFileSync(
    path,
    page.replace(DOCS_MARKERS, (_, start, end) => `${start}\n${formatMarkdown(report)}\n\n${end}`),
  );
  print("docs/benchmarks.md: table written");
}
