/** Names in the paths of disks that are not the local file system. */

import { resolve, sep } from "../../platform/native.js";

const SEPARATORS = sep === "\\" ? /[\\/]/ : "/";
/** Drive of an absolute path on Windows. */
const DRIVE = /^[A-Za-z]:/;

/** Returns the names on the way to a path, without steps such as `..`, and without a drive of Windows. */
export const namesOfPath = (path: string): string[] =>
  resolve("/", path)
    .replace(DRIVE, "")
    .split(SEPARATORS)
    .filter((name) => name !== "");
