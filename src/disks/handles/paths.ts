/** Paths of disks without a local file system. */

import { resolve, sep } from "../../platform/native.js";

const SEPARATORS = sep === "\\" ? /[\\/]/ : "/";

/** Returns the names on the way to a path, without steps such as `..`, and without a drive of Windows. */
export const namesOfPath = (path: string): string[] =>
  resolve("/", path)
    .split(SEPARATORS)
    .filter((name) => name !== "" && !/^[A-Za-z]:$/.test(name));
