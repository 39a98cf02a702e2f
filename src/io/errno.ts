/** The platform's names of failures. */

/** E.g. "ENOENT"; undefined for what is no failed system call. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** There is nothing under the path: it, or a directory on the way to it, does not exist, or is too long to exist. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG";
}
