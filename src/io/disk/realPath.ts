/** Resolves symbolic links in paths. */

import fs from "node:fs";
import { onPool } from "./callRoute.js";
import { isMissing } from "./errno.js";

/** Returns the path without links; null if it does not exist. */
export async function realPathOrNull(entryPath: string): Promise<string | null> {
  try {
    return await onPool<string>((done) => fs.realpath.native(entryPath, done));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Like {@link realPathOrNull}, synchronously. */
export function realPathNow(entryPath: string): string | null {
  try {
    return fs.realpathSync.native(entryPath);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
