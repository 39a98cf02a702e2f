/** Translates failures of the disk to the errors that callers see. */

import {
  InternalError,
  InvalidTableStateError,
  messageOf,
  NamespaceError,
  PermissionDeniedError,
  ServiceUnavailableError,
} from "../../errors.js";
import { codeOf, hasTooManyOpen, isDiskFull, isUnwritable } from "./errno.js";

/** Passing failures, besides a full disk and too many open files. */
const PASSING: ReadonlyMap<string, string> = new Map([
  ["EIO", "reading or writing failed"],
  ["ENXIO", "the device is missing"],
  ["ENODEV", "the device is missing"],
  ["ESTALE", "an open file no longer exists"],
  ["ETIMEDOUT", "the file system does not answer"],
  ["EBUSY", "another program uses a file"],
  ["EAGAIN", "the system lacks resources for the call"],
  ["ENOMEM", "the system lacks memory for the call"],
  ["EUNCERTAIN", "a file may have been written"],
]);

/** Failures that last until somebody changes the disk. */
const LASTING: ReadonlyMap<string, string> = new Map([
  ["ENOTDIR", "a file lies where a directory belongs"],
  ["EISDIR", "a directory lies where a file belongs"],
  ["ELOOP", "the path contains a symbolic link"],
  ["ENAMETOOLONG", "a name or path is too long"],
  ["EFBIG", "a file would exceed its maximum size"],
  ["EMLINK", "a file would have too many hard links"],
]);

/**
 * Returns the error to report for a call that the platform refused; null for any other failure. Messages of
 * these classes reach a server's clients, so the message shows only the end of a path. The cause holds the
 * rest.
 */
export function platformError(error: unknown, what = "the disk"): NamespaceError | null {
  if (error instanceof NamespaceError) return null;
  const code = codeOf(error);
  if (code === undefined) return null;
  const { syscall, path } = error as { readonly syscall?: unknown; readonly path?: unknown };
  const name = typeof path === "string" ? path.split(/[/\\]/).at(-1) : undefined;
  const call = typeof syscall === "string" ? `: ${syscall}${name ? ` ${name}` : ""}` : "";
  const told = (reason: string) => `${what}: ${reason} (${code}${call})`;
  const options = { cause: error };
  if (isUnwritable(error)) {
    const reason =
      code === "EROFS" ? "the file system is read-only" : "the file system does not let this process do that";
    return new PermissionDeniedError(told(reason), options);
  }
  if (isDiskFull(error)) return new ServiceUnavailableError(told("there is no room left"), options);
  if (hasTooManyOpen(error)) return new ServiceUnavailableError(told("too many files are open"), options);
  const passing = PASSING.get(code);
  if (passing !== undefined) return new ServiceUnavailableError(told(passing), options);
  const lasting = LASTING.get(code);
  if (lasting !== undefined) return new InvalidTableStateError(told(lasting), options);
  // The platform's messages contain whole paths.
  return typeof syscall === "string" ? new InternalError(told("a call failed"), options) : null;
}

/** Formats an error for the message of another error, without the platform's paths. */
export const tellFailure = (error: unknown): string => platformError(error)?.message ?? messageOf(error);
