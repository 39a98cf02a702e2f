import { readFileSync } from "node:fs";

/** Field of the first line of Linux's /proc/stat. Ticks are 10 ms on all platforms of Node.js. */
const STEAL_FIELD = 8;
const TICK_MS = 10;

/** Milliseconds of processor time that other machines on the host took since the boot; 0 if unknown. */
export function stolenMs(): number {
  if (process.platform !== "linux") return 0;
  const [all] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  return Number(all.split(/\s+/)[STEAL_FIELD]) * TICK_MS;
}
