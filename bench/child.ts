/**
 * The process of a case (or of several, where speed is of no interest): prepares it, warms every side up, times the
 * sides in turn (A B A B …, the order turned round every other time, so that neither side always runs behind the
 * other), and sends the samples home.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchCase, CaseSamples, Side, Size } from "./case.js";
import { CASES } from "./cases.js";

/** Time that memory takes to be given back after a collection. */
const SETTLE_MS = 100;

/** Runs of each side before any is timed, at least: until caches and pools are filled. */
const WARM_UPS = 3;
/** Milliseconds that each side runs before it is timed, at least: JavaScript is compiled while it runs, for a second or two. */
const WARM_UP_MS = 2000;
/** Runs of each side before any is timed, at most: tables that grow by each run shall not be long ones by then. */
const MOST_WARM_UPS = 500;

/** Milliseconds of one run, and of each call in it where it is of many at once. */
interface Timed {
  readonly milliseconds: number;
  /** Of the processor, in user mode. */
  readonly cpuMilliseconds: number;
  readonly calls: readonly number[];
}

async function timeRun(side: Side, collectFirst: boolean): Promise<Timed> {
  await side.reset?.();
  if (collectFirst) {
    globalThis.gc?.();
    // What the side before left is given back to the system by other threads; not on this side's time.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
  const cpuStart = process.cpuUsage();
  const start = performance.now();
  const calls = await side.run();
  const milliseconds = performance.now() - start;
  return { milliseconds, cpuMilliseconds: process.cpuUsage(cpuStart).user / 1000, calls: calls ?? [] };
}

interface Rounds {
  readonly rounds: number;
  /** Whether they are warmed up before. */
  readonly warmUp: boolean;
  readonly collectFirst: boolean;
}

/** Each run of each side, the sides in turn. */
async function timeInTurn(
  sides: readonly Side[],
  { rounds, warmUp, collectFirst }: Rounds,
): Promise<Timed[][]> {
  const samples = sides.map((): Timed[] => []);
  let round = 0;
  const runEach = async (take: (side: number, timed: Timed) => void): Promise<void> => {
    const order = sides.map((_, i) => i);
    if ((round++ & 1) !== 0) order.reverse();
    for (const i of order) take(i, await timeRun(sides[i], collectFirst));
  };
  if (warmUp) {
    const warmMs = sides.map(() => 0);
    const leastUps = Math.max(WARM_UPS, Math.ceil(rounds / 10));
    const isWarm = () => round >= leastUps && warmMs.every((ms) => ms >= WARM_UP_MS);
    while (!isWarm() && round < MOST_WARM_UPS) {
      await runEach((side, { milliseconds }) => {
        warmMs[side] += milliseconds;
      });
    }
  }
  for (let timed = 0; timed < rounds; timed++) await runEach((side, each) => samples[side].push(each));
  return samples;
}

async function measure(benchCase: BenchCase, size: Size): Promise<CaseSamples> {
  const directory = await mkdtemp(join(process.env["TILTYARD_BENCH_DIR"] ?? tmpdir(), "tiltyard-bench-"));
  try {
    const prepared = await benchCase.prepare(directory, size);
    const rounds = benchCase.rounds[size];
    const collectFirst = size === "large" && benchCase.collectFirst === true;
    const warmUp = size === "large";
    // Syncing would make one side pay for bytes that another left to the system, so those runs come last.
    const syncs = (side: Side) => side.name === "tiltyard, fsync";
    const groups = [prepared.sides.filter((side) => !syncs(side)), prepared.sides.filter(syncs)];
    const samples: CaseSamples["samples"][number][] = [];
    for (const sides of groups) {
      const times = await timeInTurn(sides, { rounds, warmUp, collectFirst });
      for (const [i, { name }] of sides.entries()) {
        const calls = times[i].flatMap((timed) => timed.calls);
        const callMilliseconds = calls.length === 0 ? undefined : calls;
        const milliseconds = times[i].map((timed) => timed.milliseconds);
        const cpuMilliseconds = times[i].map((timed) => timed.cpuMilliseconds);
        samples.push({ side: name, milliseconds, cpuMilliseconds, callMilliseconds });
      }
    }
    const sizes = await prepared.fileBytes?.();
    await prepared.close();
    const { area, name } = benchCase;
    const withSizes = samples.map((sample) => ({ ...sample, fileBytes: sizes?.[sample.side] }));
    return { area, name, work: prepared.work, bytes: prepared.bytes, samples: withSizes };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const [size, ...names] = process.argv.slice(2);
for (const name of names) {
  const benchCase = CASES.find((candidate) => candidate.name === name);
  if (benchCase === undefined) throw new Error(`there is no case ${JSON.stringify(name)}`);
  const samples = await measure(benchCase, size as Size);
  await new Promise((resolve) => process.send?.(samples, undefined, undefined, resolve));
}
process.disconnect();
