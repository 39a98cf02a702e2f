/**
 * A namespace's directory that can't be made. To the layers below, a directory that is not there although it was made a
 * moment ago was dropped by another writer. Where it could not be made in the first place, the caller is told that, and
 * why.
 */

import { InternalError, InvalidInputError, messageOf, NamespaceError } from "../errors.js";
import type { Disk, FileStat } from "../io/disk/disk.js";
import { codeOf } from "../io/disk/errno.js";
import { dirname, sep } from "../platform/native.js";

/** Failures that a path always has, and what they say of it. */
const NO_PATH: ReadonlyMap<string, string> = new Map([
  ["ENAMETOOLONG", "it is too long"],
  ["ELOOP", "a link on it leads back to itself"],
  ["EEXIST", "something on it is no directory"],
]);

/** What the platform tells of a failed call; not every disk does. */
type PlatformError = Pick<NodeJS.ErrnoException, "syscall" | "path">;

/**
 * The error to report for what an operation failed with: another one where the root could not be made. Looks at the disk
 * only for failures that the platform had a part in.
 * @param root absolute path of the namespace's directory
 */
export async function namingRefusedRoot(disk: Disk, root: string, error: unknown): Promise<unknown> {
  const failure = platformErrorIn(error);
  if (failure === null) return error;
  try {
    return (await refusedRoot(disk, root, failure)) ?? error;
  } catch {
    // A disk that can't be looked at fails in ways of its own; the first failure tells more.
    return error;
  }
}

/** Null where the platform had no part in it, or the failure is that of the caller's rows. */
function platformErrorIn(error: unknown): PlatformError | null {
  const failure = error instanceof NamespaceError ? error.cause : error;
  if (error instanceof InvalidInputError || codeOf(failure) === undefined) return null;
  return failure as PlatformError;
}

async function refusedRoot(disk: Disk, root: string, failure: PlatformError): Promise<NamespaceError | null> {
  const nearest = await nearestTo(disk, root);
  // Paths other than the root are the server's to know: messages of this class reach its clients.
  const invalid = (reason: string) =>
    new InvalidInputError(`root: ${root} is not the path of a directory: ${reason}`, { cause: failure });
  if (nearest !== null && nearest.kind !== "directory") return invalid("something on it is no directory");
  if (nearest?.path === root) return null;
  const reason = NO_PATH.get(codeOf(failure) ?? "");
  if (reason !== undefined) return invalid(reason);
  const { syscall, path } = failure;
  if (syscall !== "mkdir" || path === undefined || !isOnTheWay(path, root)) return null;
  return new InternalError(`the namespace's directory ${root} cannot be made: ${messageOf(failure)}`, {
    cause: failure,
  });
}

const isOnTheWay = (path: string, root: string): boolean =>
  path === root || root.startsWith(path.endsWith(sep) ? path : path + sep);

/** What is at a path, or at the nearest one above it where something is. */
async function nearestTo(disk: Disk, path: string): Promise<{ path: string; kind: FileStat["kind"] } | null> {
  for (let at = path; ; at = dirname(at)) {
    const stat = await disk.stat(at);
    if (stat !== null) return { path: at, kind: stat.kind };
    if (dirname(at) === at) return null;
  }
}
