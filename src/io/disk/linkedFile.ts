/** Handles files that are symbolic links. */

import { PermissionDeniedError } from "../../errors.js";
import { outside } from "./admittedDirectories.js";
import type { Confinement } from "./confinement.js";
import { realPathOrNull } from "./realPath.js";

/** Thrown when the file to open is a symbolic link, whose target must be checked first. */
export class LinkedFileError extends PermissionDeniedError {
  readonly path: string;

  constructor(filePath: string, options?: { cause: unknown }) {
    super(`${filePath} is a symbolic link`, options);
    this.name = "LinkedFileError";
    this.path = filePath;
  }
}

/**
 * Returns the path without links of a file that is a link; null if it leads nowhere.
 * @throws PermissionDeniedError if the target lies where the engine may not work
 */
export async function followLink({ admitted }: Confinement, filePath: string): Promise<string | null> {
  const real = await realPathOrNull(filePath);
  if (real === null || (await admitted.admits(real))) return real;
  throw outside(filePath);
}
