/** A disk that reports every call, those of open handles included, before and after it is made. */

import type { Disk } from "../../src/io/disk/disk.js";
import { type DiskCall, wrapDisk } from "./wrappedDisk.js";

/** A call; it is made when the hook before it has resolved, and answered when the one after it has. */
export interface WatchedCall extends Pick<DiskCall, "verb" | "path"> {
  /** Number of the call, from 0. */
  readonly index: number;
}

export interface DiskWatch {
  before?(call: WatchedCall): Promise<unknown> | unknown;
  after?(call: WatchedCall): Promise<unknown> | unknown;
}

export function watchedDisk(inner: Disk, watch: DiskWatch): Disk {
  let calls = 0;
  return wrapDisk(inner, async ({ verb, path, operands, make }) => {
    // The first path of `link` and `rename`, too.
    const call = { index: calls++, verb, path: typeof operands[0] === "string" ? operands[0] : path };
    await watch.before?.(call);
    const answer = await make();
    await watch.after?.(call);
    return answer;
  });
}
