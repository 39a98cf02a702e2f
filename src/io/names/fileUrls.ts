/** Converts between paths and `file:` URLs. */

import { fileUrlToPath, pathToFileUrl } from "../../platform/native.js";

/** @throws TypeError if the URL does not name a path on this machine */
export const pathOfFileUrl = (url: string): string => fileUrlToPath(url);

/** @param path absolute */
export const fileUrlOf = (path: string): string => pathToFileUrl(path);
