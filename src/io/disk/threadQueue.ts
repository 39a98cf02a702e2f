/**
 * How long this thread was ready to run and had no processor. Linux tells, in /proc/thread-self/schedstat:
 *
 *     "<ns on a processor> <ns in the queue for one> <times on a processor>\n"
 *
 * A call that took long by the clock was slow by itself only as far as the thread was not in that queue.
 */

import { Buffer } from "node:buffer";
import fs from "node:fs";

const PATH = "/proc/thread-self/schedstat";
/** Three numbers of 20 digits at most. */
const LINE_BYTES = 64;

/**
 * What reads the milliseconds that the calling thread has waited for a processor so far; null where the
 * platform does not tell. The file stays open as long as the thread lives: a reading takes 2 µs.
 */
export function openThreadQueue(): (() => number | null) | null {
  if (process.platform !== "linux") return null;
  const line = Buffer.alloc(LINE_BYTES);
  let fd: number;
  try {
    fd = fs.openSync(PATH, "r");
  } catch {
    // Node runs with permissions taken away, or there is no /proc.
    return null;
  }
  const read = (): number | null => {
    try {
      const length = fs.readSync(fd, line, 0, LINE_BYTES, 0);
      const queuedNs = Number(line.toString("latin1", 0, length).split(" ")[1]);
      return Number.isNaN(queuedNs) ? null : queuedNs / 1e6;
    } catch {
      return null;
    }
  };
  // Kernels that keep no such figures have no file, or zeros: of a thread that has run, the first number is
  // not 0.
  if (read() !== null && Number(line.toString("latin1", 0, LINE_BYTES).split(" ")[0]) > 0) return read;
  fs.closeSync(fd);
  return null;
}
