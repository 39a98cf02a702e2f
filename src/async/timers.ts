/**
 * The host's timers and clock for all waits and deadlines. Fakes that a test runner installs later do not
 * stop the engine. `Date` stays the program's, so tables record the times that the program means.
 */

import { hostTimers, nextTurn, uptimeMs } from "../platform/native.js";

export const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = hostTimers;

/** Readings of the clock, the host's count and the machine's uptime, from the load of this file. */
const loaded = { clockMs: Date.now(), countMs: performance.now(), uptimeMs: uptimeMs() };
/** Maximum lead of the clock over the host's counts that counts as rounding or a correction of the clock. */
const CORRECTION_MS = 2000;

/**
 * Returns the time from which ages of files are counted, in milliseconds since the epoch. It is the clock's
 * time, unless the clock was set ahead while the process runs: files made a moment ago stay young. If the
 * clock is set back, files stop ageing until it has caught up. Callers that must not wait for that count the
 * time themselves.
 */
export function ageClockMs(): number {
  const clockMs = Date.now();
  const latestMs = loaded.clockMs + CORRECTION_MS;
  if (clockMs <= latestMs + performance.now() - loaded.countMs) return clockMs;
  // The count stands still while the machine sleeps. The uptime goes on.
  return Math.min(clockMs, latestMs + uptimeMs() - loaded.uptimeMs);
}

/**
 * Returns how many milliseconds ago a file was changed; negative if that time is after {@link ageClockMs}.
 * @param timeNs of the change, in nanoseconds since the epoch
 */
export const ageOfChangeMs = (timeNs: bigint): number => ageClockMs() - Number(timeNs / 1_000_000n);

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const onNextTurn = (callback: () => void): void => nextTurn(callback);

export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Lets the process end before a timer fires. Does nothing in runtimes whose timers do not keep it alive. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
