/**
 * `npm run bench:growth`: how the processor time of operations grows with rows, fragments, versions, tables,
 * columns, branches and processes. It prints the exponent of each curve, and draws the curves of each axis as
 * bench/results/growth-<axis>.svg.
 *
 *   -- --small            small sizes: shows that it runs; nothing is drawn
 *   -- --only <text>      only operations whose axis or name contains the text
 *
 * TILTYARD_BENCH_DIR: where tables are made (default: the system's temporary directory).
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Curve, renderCurves, sizeAxis } from "./curveChart.js";
import { AXES, GROWTH_GROUPS, type GrowthGroup, OtherProcesses } from "./growthCases.js";
import { openTiltyard } from "./sides.js";

const SMALL = process.argv.includes("--small");
const ONLY = process.argv.indexOf("--only");
const FILTER = ONLY < 0 ? "" : process.argv[ONLY + 1];
/** Milliseconds of processor time that one sample takes at least, as the clock is coarse. */
const SAMPLE_MS = 20;
const SAMPLES = SMALL ? 1 : 5;
/** Runs before the first sample of the least size: code is compiled by then. */
const WARM_UPS = SMALL ? 1 : 15;
/** Exponent by which measured times of n log n may exceed the computed one: noise of the machine. */
const TOLERANCE = 0.1;

interface Grown {
  readonly size: number;
  /** Processor time of one run, in user and system mode. */
  readonly milliseconds: number;
}

/** Points of the curve of each operation. */
type Curves = Map<string, Grown[]>;

/** Adds the least processor time of each operation at this size. */
async function measure(group: GrowthGroup, size: number, warmUps: number, curves: Curves): Promise<void> {
  const directory = mkdtempSync(join(process.env.TILTYARD_BENCH_DIR ?? tmpdir(), "tiltyard-growth-"));
  const ns = openTiltyard(join(directory, "tables"));
  const table = ns.table("t");
  await group.make(table, size, ns);
  const version = await table.version();
  for (const [name, operation] of Object.entries(group.operations)) {
    if (!`${group.axis} ${name}`.includes(FILTER)) continue;
    const change = typeof operation === "function" ? operation : operation.change;
    const undo =
      typeof operation === "function" ? undefined : (operation.undo ?? (() => table.restore(version)));
    const run = async (): Promise<number> => {
      await undo?.(table, ns, size);
      const start = process.cpuUsage();
      const result = await change(table, ns, size);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000 + (result instanceof OtherProcesses ? result.cpuMilliseconds : 0);
    };
    for (let warmUp = 0; warmUp < warmUps; warmUp++) await run();
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < SAMPLES; round++) {
      let milliseconds = 0;
      let runs = 0;
      do {
        milliseconds += await run();
        runs++;
      } while (milliseconds < SAMPLE_MS && !SMALL);
      least = Math.min(least, milliseconds / runs);
    }
    await undo?.(table, ns, size);
    curves.set(name, [...(curves.get(name) ?? []), { size, milliseconds: least }]);
  }
  await ns.close();
  rmSync(directory, { recursive: true });
}

/** Slope of the line through the points on logarithmic scales, by least squares. */
function exponentOf(points: readonly Grown[]): number {
  const [xs, ys] = [points.map(({ size }) => Math.log(size)), points.map((p) => Math.log(p.milliseconds))];
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, x, index) => sum + (x - meanX) * (ys[index] - meanY), 0);
  return covariance / xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
}

/** Exponent of n log n between the ends. */
function exponentOfSorting(points: readonly Grown[]): number {
  const [first, last] = [points[0].size, points[points.length - 1].size];
  return 1 + Math.log(Math.log(last) / Math.log(Math.max(2, first))) / Math.log(last / first);
}

const worse: string[] = [];

/** Prints the exponent of the curve, and notes it where it is worse than n log n. */
function report(axis: string, name: string, points: readonly Grown[]): void {
  const [exponent, last] = [exponentOf(points), exponentOf(points.slice(-2))];
  if (last > exponentOfSorting(points) + TOLERANCE) worse.push(`${name} (${axis}): ${last.toFixed(2)}`);
  const told = points.map(
    ({ size, milliseconds }) => `${size.toLocaleString("en")}: ${format(milliseconds)}`,
  );
  console.log(`| ${axis} | ${name} | ${exponent.toFixed(2)} | ${last.toFixed(2)} | ${told.join(", ")} |`);
}

const curveOf = (axis: string, name: string, points: readonly Grown[]): Curve => ({
  name,
  side: "tiltyard",
  points: points.map(({ size, milliseconds }) => ({
    x: size,
    milliseconds,
    label: `${size.toLocaleString("en")} ${axis}: ${format(milliseconds)}`,
  })),
});

for (const axis of AXES) {
  const drawn: Curve[] = [];
  for (const group of GROWTH_GROUPS.filter((each) => each.axis === axis)) {
    const curves: Curves = new Map();
    for (const [index, size] of (SMALL ? [2, 4] : group.sizes).entries()) {
      await measure(group, size, index === 0 ? WARM_UPS : 2, curves);
    }
    for (const [name, points] of curves) {
      report(axis, name, points);
      drawn.push(curveOf(axis, name, points));
    }
  }
  if (SMALL || FILTER !== "") continue;
  const note = "Processor time of one run, least of five. Both scales are logarithmic.";
  const chart = renderCurves(`Time by the number of ${axis}`, note, sizeAxis(drawn), drawn);
  writeFileSync(fileURLToPath(new URL(`../../bench/results/growth-${axis}.svg`, import.meta.url)), chart);
}
if (!SMALL)
  console.log(worse.length === 0 ? "No curve is worse than n log n." : `Worse: ${worse.join("; ")}`);

function format(milliseconds: number): string {
  return `${Number(milliseconds.toPrecision(3))} ms`;
}
