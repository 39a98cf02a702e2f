/** The platform's names of failures. */

/** E.g. "ENOENT"; undefined for what is no failed system call. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** A name that is too long, and symbolic links that lead back to themselves, lead nowhere either. */
const MISSING_CODES: ReadonlySet<string | undefined> = new Set([
  "ENOENT",
  "ENOTDIR",
  "ENAMETOOLONG",
  "ELOOP",
]);

/** There is nothing under the path: it, or a directory on the way to it, does not exist. */
export const isMissing = (error: unknown): boolean => MISSING_CODES.has(codeOf(error));
