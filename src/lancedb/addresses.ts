/** Addresses of databases and tables: paths, `file://` URLs, and others that are taken as they are. */

import { pathOfFileUrl } from "../io/names/fileUrls.js";
import { homeDirectory, resolve } from "../platform/native.js";

/** Returns the scheme of an address in lower case; undefined for a path. */
export const schemeOf = (uri: string): string | undefined =>
  /^([a-z][a-z0-9+.-]+):\/\//i.exec(uri)?.[1]?.toLowerCase();

/** Returns a path with the home directory in place of a leading `~`. */
export function expandedPath(path: string): string {
  const home = /^~([\\/]|$)/.test(path) ? homeDirectory() : null;
  return home === null ? path : home + path.slice(1);
}

/** Returns the same text for all addresses of a directory. */
export function locationOf(uri: string): string {
  const scheme = schemeOf(uri);
  if (scheme === undefined) return resolve(expandedPath(uri));
  if (scheme !== "file") return uri.replace(/\/+$/, "");
  return resolve(pathOfFileUrl(uri));
}
