/** Watches the turns of the event loop while a program works. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds of processor time of the main thread, or of the process if the host tells no more. */
export function usedMilliseconds(): number {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage };
  if (threadCpuUsage === undefined && process.platform === "linux") {
    return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]) / 1e6;
  }
  const { user, system } = threadCpuUsage?.call(process) ?? process.cpuUsage();
  return (user + system) / 1000;
}

/** Turns of the event loop during some work, in milliseconds. */
export interface Turns {
  /** Delays of a timer of one millisecond beyond that, in order of time. */
  readonly delays: number[];
  /**
   * Processor time of each turn between two timers, or the time that passed, if that is less. On a busy
   * machine a turn may be late without being long.
   */
  readonly holds: number[];
  readonly tookMilliseconds: number;
}

/** @throws what the work throws */
export async function turnsDuring(work: () => Promise<unknown>): Promise<Turns> {
  const delays: number[] = [];
  const holds: number[] = [];
  let isDone = false;
  const watch = async (): Promise<void> => {
    while (!isDone) {
      const [start, usedBefore] = [performance.now(), usedMilliseconds()];
      await sleep(1);
      const passed = performance.now() - start;
      delays.push(Math.max(passed - 1, 0));
      holds.push(Math.min(passed, usedMilliseconds() - usedBefore));
    }
  };
  const start = performance.now();
  const watching = watch();
  try {
    await work();
  } finally {
    isDone = true;
    await watching;
  }
  return { delays, holds, tookMilliseconds: performance.now() - start };
}

/** Value that this part of the values does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
