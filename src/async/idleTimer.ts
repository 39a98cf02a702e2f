/** Timers that are no reason for a process to go on. */

/** Lets the process end before a timer, where the runtime has timers that keep it. */
export const letProcessEnd = (timer: ReturnType<typeof setTimeout>): void =>
  (timer as { unref?: () => void }).unref?.();
