/**
 * The host's timers and clock, which all waits and deadlines go by: fakes that a test runner installs later do not stop the
 * engine. `Date` stays the program's, so that the times which tables record are those that a program means.
 */

import { hostTimers, nextTurn, uptimeMs } from "../platform/native.js";

export const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = hostTimers;

/** Readings of the clock, the host's count of milliseconds and the machine's uptime, taken when this file is loaded. */
const loaded = { clockMs: Date.now(), countMs: performance.now(), uptimeMs: uptimeMs() };
/** Maximum lead of the clock over the host's counts that rounding and corrections of the clock explain. */
const CORRECTION_MS = 2000;

/**
 * Returns the time by which ages of what lies on a disk are told, in milliseconds since the epoch. It is the clock's, unless
 * that was set ahead while the process runs: what others made a moment ago stays young. Where the clock is set back, nothing
 * gets old until it has caught up; whoever must not wait for that counts the time itself.
 */
export function ageClockMs(): number {
  const clockMs = Date.now();
  const latestMs = loaded.clockMs + CORRECTION_MS;
  if (clockMs <= latestMs + performance.now() - loaded.countMs) return clockMs;
  // The count stands still while the machine sleeps. The uptime goes on.
  return Math.min(clockMs, latestMs + uptimeMs() - loaded.uptimeMs);
}

/**
 * Returns how many milliseconds ago something on a disk was changed; negative if its time lies ahead of {@link ageClockMs}.
 * @param timeNs of the change, in nanoseconds since the epoch
 */
export const ageOfChangeMs = (timeNs: bigint): number => ageClockMs() - Number(timeNs / 1_000_000n);

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const onNextTurn = (callback: () => void): void => nextTurn(callback);

/** The longest time that a timer takes, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Lets the process end before a timer, where the runtime has timers that keep it. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
