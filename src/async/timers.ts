/**
 * The host's timers and clock, which all waits and deadlines go by: fakes that a test runner installs later do not stop the
 * engine. `Date` stays the program's, so that the times which tables record are those that a program means.
 */

import { hostTimers, nextTurn } from "../platform/native.js";

export const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = hostTimers;

/** Calls back at the next turn of the event loop, after timers and sockets. */
export const onNextTurn = (callback: () => void): void => nextTurn(callback);

/** The longest time that a timer takes, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Lets the process end before a timer, where the runtime has timers that keep it. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
