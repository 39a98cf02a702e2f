/** Classifies the platform's error codes. */

/**
 * Returns the code of an error, e.g. "ENOENT"; undefined if the error comes from no system call. Does not use
 * `instanceof`: in a realm of its own (a test runner, `node:vm`), the engine sees file-system errors of
 * another class.
 */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** Returns an error as the platform throws it. */
export const diskError = (code: string, syscall: string, path: string, cause?: unknown): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`, cause ? { cause } : {}), { code, syscall, path });

/**
 * Returns the error of a write that may or may not have been carried out.
 * @param key of the object
 */
export const uncertainWrite = (key: string, cause: unknown): Error =>
  Object.assign(new Error(`it is unknown whether ${key} was stored`, { cause }), {
    code: "EUNCERTAIN",
    syscall: "write",
    path: key,
  });

/** Codes that mean that a path leads nowhere, such as a name that is too long or a link to itself. */
const MISSING_CODES: ReadonlySet<string | undefined> = new Set([
  "ENOENT",
  "ENOTDIR",
  "ENAMETOOLONG",
  "ELOOP",
]);

/** Returns true if the path does not exist, or a directory on the way does not. */
export const isMissing = (error: unknown): boolean => MISSING_CODES.has(codeOf(error));

/** Returns null for a path that does not exist; throws any other error. */
export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** Makes synchronous calls; null if the path does not exist. */
export function nowOrNull<T>(calls: () => T): T | null {
  try {
    return calls();
  } catch (error) {
    return nullIfMissing(error);
  }
}

const UNWRITABLE_CODES: ReadonlySet<string | undefined> = new Set(["EROFS", "EACCES", "EPERM"]);

/** Returns true if the file system is read-only, or its owner denies this user to write. */
export const isUnwritable = (error: unknown): boolean => UNWRITABLE_CODES.has(codeOf(error));

/** Returns true if there is no room for more bytes. Removing and renaming may still work. */
export const isDiskFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "");

/** Returns true if the process, or the system, has its maximum number of files open. */
export const hasTooManyOpen = (error: unknown): boolean => ["EMFILE", "ENFILE"].includes(codeOf(error) ?? "");
