/** Runs of sides, timed in turn. */

import type { Side } from "./case.js";

/** Time that memory takes to be given back after a collection. */
const SETTLE_MS = 100;

/** Runs of each side before any is timed, at least: until caches and pools are filled. */
const WARM_UPS = 3;
/**
 * Milliseconds that each side runs before it is timed, at least: JavaScript is compiled while it runs, for a
 * second or two.
 */
const WARM_UP_MS = 2000;
/**
 * Runs of each side before any is timed, at most: tables that grow by each run shall not be long ones by
 * then.
 */
const MOST_WARM_UPS = 500;

/** Milliseconds of one run, and of each call in it where it is of many at once. */
export interface Timed {
  readonly milliseconds: number;
  /** CPU time in user mode. */
  readonly cpuMilliseconds: number;
  readonly calls: readonly number[];
}

export async function timeRun(side: Side, collectFirst: boolean): Promise<Timed> {
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

export interface Rounds {
  readonly rounds: number;
  /** True if they are warmed up before. */
  readonly warmUp: boolean;
}

/**
 * Each run of each side, the sides in turn (A B B A …, so that neither always runs behind the other).
 * @param runs make one run each
 */
export async function timeInTurn(
  runs: readonly (() => Promise<Timed>)[],
  { rounds, warmUp }: Rounds,
): Promise<Timed[][]> {
  const samples = runs.map((): Timed[] => []);
  let round = 0;
  const runEach = async (take: (side: number, timed: Timed) => void): Promise<void> => {
    const order = runs.map((_, i) => i);
    if ((round++ & 1) !== 0) order.reverse();
    for (const i of order) take(i, await runs[i]());
  };
  if (warmUp) {
    const warmMs = runs.map(() => 0);
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
