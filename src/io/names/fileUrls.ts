/** Converts between paths and `file:` URLs. */

import { fileURLToPath, pathToFileURL } from "node:url";

/** @throws TypeError if the URL does not name a path on this machine */
export const pathOfFileUrl = (url: string): string => fileURLToPath(url);

/** @param path absolute */
export const fileUrlOf = (path: string): string => pathToFileURL(path).href;
