/** Timers: how long they can take, and those that are no reason for a process to go on. */

/** The longest time that a timer takes, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Lets the process end before a timer, where the runtime has timers that keep it. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
