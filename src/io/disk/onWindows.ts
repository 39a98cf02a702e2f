/** Handles files that other programs have open on Windows. */

import { sleep } from "../../async/sleep.js";
import { codeOf } from "./errno.js";

export const IS_WINDOWS = process.platform === "win32";
/** Maximum number of attempts at a call on a file that other programs may have open. */
const WINDOWS_ATTEMPTS = 6;

/**
 * Repeats a refused call: Windows does not rename or remove a file while a scanner or indexer has it open.
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
