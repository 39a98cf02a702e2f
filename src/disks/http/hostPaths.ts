/** Paths of files on a web host: names joined by `/`, without a first one. */

import { hasUniqueNames } from "../../table/versions/paths.js";
import { namesOfPath } from "../paths/pathNames.js";

/** Returns the path on the host; "" for the root. */
export const hostPathOf = (path: string): string => namesOfPath(path).join("/");

/** Parts of a path that names a file or directory of a table. */
export interface TablePath {
  /** Directory of the table or branch. */
  readonly table: string;
  /** Part of the table, such as `data`, and the names below it; empty for the table itself. */
  readonly rest: readonly string[];
}

/** Splits a path at the first name that is a part of a table. A branch counts as a table. */
export function tablePathOf(hostPath: string): TablePath {
  const names = hostPath.split("/");
  let part = names.findIndex((name, index) => index > 0 && hasUniqueNames(name) !== undefined);
  if (part >= 0 && names[part] === "tree") {
    // Below lie branches, whose names may have several parts.
    const below = names.findIndex((name, index) => index > part + 1 && hasUniqueNames(name) !== undefined);
    if (below < 0) return { table: hostPath, rest: [] };
    part = below;
  }
  if (part < 0) return { table: hostPath, rest: [] };
  return { table: names.slice(0, part).join("/"), rest: names.slice(part) };
}

/** True if the file's name, or its directory's, contains a random id: its content never changes. */
export function isImmutable(hostPath: string): boolean {
  const { rest } = tablePathOf(hostPath);
  return rest.length > 1 && hasUniqueNames(rest[0]) === true;
}
