/**
 * Reports a namespace's directory that can't be made. The layers below assume that a missing directory was made a
 * moment ago and dropped by another writer. If it could not be made in the first place, the caller learns that, and
 * why.
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

/** Errors that a path always fails with, and what they mean. */
const NO_PATH: ReadonlyMap<string, string> = new Map([
  ["ENAMETOOLONG", "it is too long"],
  ["ELOOP", "a link on it leads back to itself"],
  ["EEXIST", "something on it is no directory"],
]);

/** What the platform reports about a failed call; not every disk does. */
type PlatformError = Pick<NodeJS.ErrnoException, "syscall" | "path">;

/**
 * The error to report for a failed operation: another one if the root could not be made. Looks at the disk only for
 * failures that involve the platform.
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
    // A disk that can't be read fails in ways of its own; the first failure tells more.
    return error;
  }
}

/** Tells of an object that is not there because nothing is: a misspelt root looks like an empty one. */
async function namingMissingRoot(disk: Disk, root: string, error: NamespaceError): Promise<NamespaceError> {
  const stat = await disk.stat(root).catch(() => undefined);
  if (stat === undefined || stat?.kind === "directory") return error;
  const reason = stat === null ? "does not exist" : "is no directory";
  const message = `${error.message}: the namespace's directory ${root} ${reason}`;
  const { cause } = error;
  return error instanceof TableNotFoundError
    ? new TableNotFoundError(message, { cause })
    : new NamespaceNotFoundError(message, { cause });
}

/** Null if the platform was not involved, or the failure comes from the caller's rows. */
function platformErrorIn(error: unknown): PlatformError | null {
  const failure = error instanceof NamespaceError ? error.cause : error;
  if (error instanceof InvalidInputError || codeOf(failure) === undefined) return null;
  return failure as PlatformError;
}

async function refusedRoot(disk: Disk, root: string, failure: PlatformError): Promise<NamespaceError | null> {
  const nearest = await nearestTo(disk, root);
  // Messages of this class reach a server's clients, which must not learn paths other than the root.
  const invalid = (reason: string) =>
    new InvalidInputError(`root: ${root} is not the path of a directory: ${reason}`, { cause: failure });
  if (nearest !== null && nearest.kind !== "directory") return invalid("something on it is no directory");
  if (nearest?.path === root) return null;
  const reason = NO_PATH.get(codeOf(failure) ?? "");
  if (reason !== undefined) return invalid(reason);
  const { syscall, path } = failure;
  if (syscall !== "mkdir" || path === undefined || !isOnTheWay(path, root)) return null;
  const what = `the namespace's directory ${root} cannot be made`;
  const options = { cause: failure };
  if (codeOf(failure) === "ENOENT") {
    return new InvalidInputError(`root: ${what}: what it would lie in does not exist`, options);
  }
  return platformError(failure, what) ?? new InternalError(`${what}: ${messageOf(failure)}`, options);
}

const isOnTheWay = (path: string, root: string): boolean =>
  path === root || root.startsWith(path.endsWith(sep) ? path : path + sep);

/** The kind of file at a path, or at the nearest existing path above it. */
async function nearestTo(disk: Disk, path: string): Promise<{ path: string; kind: FileStat["kind"] } | null> {
  for (let at = path; ; at = dirname(at)) {
    const stat = await disk.stat(at);
    if (stat !== null) return { path: at, kind: stat.kind };
    if (dirname(at) === at) return null;
  }
}
