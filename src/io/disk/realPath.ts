/** Resolves symbolic links in paths. */

import fs from "node:fs";
import { onPool } from "./callRoute.js";
import { nowOrNull, nullIfMissing } from "./errno.js";

/** Returns the path without links; null if it does not exist. */
export const realPathOrNull = (entryPath: string): Promise<string | null> =>
  onPool<string>((done) => fs.realpath.native(entryPath, done)).catch(nullIfMissing);

/** Like {@link realPathOrNull}, synchronously. */
export const realPathNow = (entryPath: string): string | null =>
  nowOrNull(() => fs.realpathSync.native(entryPath));
