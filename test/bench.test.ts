/** Benchmark cases run, on both sides, with small parameters. Says nothing about speed. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { AREAS, type BenchCase } from "../bench/case.js";
import type { Report } from "../bench/report.js";
import { areasOf, computeFigures, formatMarkdown, renderChart } from "../bench/report.js";

const RUNNER = fileURLToPath(new URL("../build/bench/run.js", import.meta.url));
const BUILT_CASES = fileURLToPath(new URL("../build/bench/cases.js", import.meta.url));

/** Cases that differ from others only in a number or a type, and slow cases that start processes. */
const ALIKE = [
  /written by the reference$/,
  /: (float64|utf8, 40 words|lists of utf8|lists of lists of int32)\b/,
  /^scan of (utf8|lists of utf8),/,
  /^(filter|count) of (0\.1|50) %/,
  /\b10,000 (tables|others)/,
  /IVF_.*, 500,000 ×/,
  /^nearest 10 of each of 64 vectors by IVF_(FLAT|HNSW)/,
  /^match of (one|all|frequent)|, top 1,000\b/,
  /^import \+ (range|IN|AND|query|nearest|match|scan|filter|order|delete|update|first|count of)/,
];

it("runs cases small, of those that are alike some", async () => {
  if (!existsSync(RUNNER)) throw new Error("the benchmarks are not built: run npm run build:tools");
  const { CASES } = (await import(pathToFileURL(BUILT_CASES).href)) as { CASES: readonly BenchCase[] };
  const selected = CASES.map(({ name }) => name).filter((name) => !ALIKE.some((text) => text.test(name)));
  const only = selected.flatMap((name) => ["--only", name]);
  const directory = await mkdtemp(join(tmpdir(), "tiltyard-bench-test-"));
  try {
    const file = join(directory, "report.json");
    await promisify(execFile)(process.execPath, [RUNNER, "--small", "--json", file, ...only], {
      env: { ...process.env, TILTYARD_BENCH_DIR: directory },
    });
    const report = JSON.parse(await readFile(file, "utf8")) as Report;
    expect(report.small).toBe(true);
    expect(areasOf(report)).toEqual([...AREAS]);
    const sizes = report.cases.filter(({ name }) => name.startsWith("create + append"));
    expect(sizes.length).toBeGreaterThan(0);
    for (const { name, sides } of sizes) {
      for (const { side, fileBytes } of sides) {
        if (side !== "tiltyard, fsync") expect(fileBytes, `${name}: ${side}`).toBeGreaterThan(0);
      }
    }
    for (const { area, name, sides } of report.cases) {
      // The reference's package has no server; ablations compare the engine with itself.
      const hasReference = area !== "rest";
      // The reference runs no functions of the host, and its threads never hold the host's event loop.
      const isPlain = area === "ablation" || /^(backfill|.* while a BTREE|.* with two threads$)/.test(name);
      const reference = isPlain ? "tiltyard, plain" : "reference";
      expect(
        sides.some(({ side }) => side === reference),
        name,
      ).toBe(hasReference);
      for (const figures of sides) {
        for (const value of [figures.median, figures.p99, figures.min, figures.max, figures.rate]) {
          expect(value, name).toBeGreaterThan(0);
        }
        const isPeer = figures.side === reference || figures.side === "tiltyard, plain";
        if (hasReference && !isPeer) expect(figures.ratio, name).toBeGreaterThan(0);
        if (!hasReference) expect(figures.callP99, name).toBeGreaterThan(0);
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("computes medians and ratios, and draws them", () => {
  const figures = computeFigures({
    area: "read",
    name: "a & b",
    work: { amount: 100, unit: "rows" },
    bytes: 8_000_000,
    samples: [
      {
        side: "reference",
        milliseconds: [30, 10, 20],
        cpuMilliseconds: [8, 6, 7],
        fileBytes: 2_000_000,
      },
      { side: "tiltyard", milliseconds: [4, 6], cpuMilliseconds: [3, 4] },
    ],
  });
  expect(figures.sides.map(({ side, median, ratio }) => [side, median, ratio])).toEqual([
    ["tiltyard", 5, 4],
    ["reference", 20, undefined],
  ]);
  expect(figures.sides[0]).toMatchObject({
    runs: 2,
    min: 4,
    max: 6,
    rate: 20_000,
    megabytesPerSecond: 1_600,
    cpu: 3.5,
    cpuRatio: 2,
  });
  const machine = {
    cpu: "c",
    cores: 1,
    memoryGiB: 1,
    platform: "p",
    node: "n",
    tiltyard: "t",
    reference: "r",
    commit: null,
    date: "2000-01-01T00:00:00Z",
  };
  const report: Report = { machine, small: false, cases: [figures] };
  expect(formatMarkdown(report)).toContain("| a & b | 5.0 ms | 20.0 ms | 4.00× |  | 2.00 MB |");
  const chart = renderChart(report, "read");
  expect(chart).toContain("a &amp; b");
  expect(chart.match(/<rect class="(ours|reference)"/g)).toHaveLength(2);
});
