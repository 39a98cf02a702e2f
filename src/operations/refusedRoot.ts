/**
 * Explains errors of a namespace directory that can't be created. Lower layers assume that another writer
 * removed a missing directory. If it could never be created, the caller learns the reason.
 */

import {
  InternalError,
  InvalidInputError,
  messageOf,
  NamespaceError,
  NamespaceNotFoundError,
  TableNotFoundError,
} from "../errors.js";
import type { Disk, FileStat } from "../io/disk/disk.js";
import { platformError } from "../io/disk/diskErrors.js";
import { codeOf } from "../io/disk/errno.js";
import { dirname, sep } from "../platform/native.js";

/** Error codes that a path always fails with, and their meaning. */
const NO_PATH: ReadonlyMap<string, string> = new Map([
  ["ENAMETOOLONG", "it is too long"],
  ["ELOOP", "a link on it leads back to itself"],
  ["EEXIST", "a part of it is not a directory"],
]);

/** Members of a platform error. Not every disk sets them. */
type PlatformError = Pick<NodeJS.ErrnoException, "syscall" | "path">;

/**
 * Returns the error to report for a failed operation: another one if the root could not be created. It reads
 * the disk only after failures of the platform.
 * @param root absolute path of the namespace's directory
 */
export async function namingRefusedRoot(disk: Disk, root: string, error: unknown): Promise<unknown> {
  if (error instanceof TableNotFoundError || error instanceof NamespaceNotFoundError) {
    return namingMissingRoot(disk, root, error);
  }
  const failure = platformErrorIn(error);
  if (failure === null) return error;
  try {
    return (await refusedRoot(disk, root, failure)) ?? error;
  } catch {
    // An unreadable disk may fail in other ways; the first failure is more informative.
    return error;
  }
}

/** Returns an error that reports a missing root, because a misspelt root looks like an empty one. */
async function namingMissingRoot(disk: Disk, root: string, error: NamespaceError): Promise<NamespaceError> {
  const stat = await disk.stat(root).catch(() => undefined);
  if (stat === undefined || stat?.kind === "directory") return error;
  const reason = stat === null ? "does not exist" : "is not a directory";
  const message = `${error.message}: the namespace's directory ${root} ${reason}`;
  const { cause } = error;
  return error instanceof TableNotFoundError
    ? new TableNotFoundError(message, { cause })
    : new NamespaceNotFoundError(message, { cause });
}

/** Returns the platform error among the causes. Null without one, or if the caller's rows failed. */
function platformErrorIn(error: unknown): PlatformError | null {
  const failure = error instanceof NamespaceError ? error.cause : error;
  if (error instanceof InvalidInputError || codeOf(failure) === undefined) return null;
  return failure as PlatformError;
}

async function refusedRoot(disk: Disk, root: string, failure: PlatformError): Promise<NamespaceError | null> {
  const nearest = await nearestTo(disk, root);
  // Clients of a server see messages of this class, so it names no path except the root.
  const invalid = (reason: string) =>
    new InvalidInputError(`root: ${root} is not the path of a directory: ${reason}`, { cause: failure });
  if (nearest !== null && nearest.kind !== "directory") return invalid("a part of it is not a directory");
  if (nearest?.path === root) return null;
  const reason = NO_PATH.get(codeOf(failure) ?? "");
  if (reason !== undefined) return invalid(reason);
  const { syscall, path } = failure;
  if (syscall !== "mkdir" || path === undefined || !isOnTheWay(path, root)) return null;
  const what = `the namespace's directory ${root} cannot be made`;
  const options = { cause: failure };
  if (codeOf(failure) === "ENOENT") {
    return new InvalidInputError(`root: ${what}: its parent directory does not exist`, options);
  }
  return platformError(failure, what) ?? new InternalError(`${what}: ${messageOf(failure)}`, options);
}

const isOnTheWay = (path: string, root: string): boolean =>
  path === root || root.startsWith(path.endsWith(sep) ? path : path + sep);

/** Returns the kind of file at a path, or at its nearest existing parent. */
async function nearestTo(disk: Disk, path: string): Promise<{ path: string; kind: FileStat["kind"] } | null> {
  for (let parent = path; ; parent = dirname(parent)) {
    const stat = await disk.stat(parent);
    if (stat !== null) return { path: parent, kind: stat.kind };
    if (dirname(parent) === parent) return null;
  }
}
