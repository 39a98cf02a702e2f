/**
 * The host's timers and clock, which all waits and deadlines go by: fakes that a test runner installs later do not stop the
 * engine. `Date` stays the program's, so that the times which tables record are those that a program means.
 */

import { hostTimers, nextTurn } from "../platform/native.js";

export const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = hostTimers;

/** What the clock said when the host's own count of milliseconds began. */
const countBeganMs = Date.now() - performance.now();

/**
 * The time by which ages of what lies on a disk are told, in milliseconds since the epoch. A clock that is set ahead while
 * the process runs makes nothing old: what others made a moment ago stays theirs. Where it is set back, nothing gets old
 * until it has caught up; whoever must not wait for that counts the time itself.
 */
export const ageClockMs = (): number => Math.min(Date.now(), countBeganMs + performance.now());

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const onNextTurn = (callback: () => void): void => nextTurn(callback);

/** The longest time that a timer takes, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Lets the process end before a timer, where the runtime has timers that keep it. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
