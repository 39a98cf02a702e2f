import { readFileSync } from "node:fs";

/**
 * Returns the most bytes that this process has had in memory. Linux adds the peak of the parent process to
 * `maxRSS`, so there the record of the memory itself is read.
 */
export function peakBytes() {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS * 1024;
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(kilobytes) * 1024;
}
