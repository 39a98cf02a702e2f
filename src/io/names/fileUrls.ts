/** Paths as `file:` URLs and back. */

import { fileURLToPath, pathToFileURL } from "node:url";

/** @throws TypeError for a URL that names nothing on this machine */
export const pathOfFileUrl = (url: string): string => fileURLToPath(url);

/** @param path absolute */
export const fileUrlOf = (path: string): string => pathToFileURL(path).href;
