/** What only Windows does to files. */

import { sleep } from "../../async/sleep.js";
import { codeOf } from "./errno.js";

export const IS_WINDOWS = process.platform === "win32";
/** Attempts at a call on a file that others may have open for a moment. */
const WINDOWS_ATTEMPTS = 6;

/**
 * Repeats a refused call: Windows does not rename or remove a file that a scanner or indexer has open for a
 * moment.
 */
export async function whileHeldByOthers(call: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const code = codeOf(error);
      const held = code === "EBUSY" || code === "EPERM" || code === "EACCES";
      if (!IS_WINDOWS || !held || attempt === WINDOWS_ATTEMPTS) throw error;
      await sleep(10 * attempt);
    }
  }
}
