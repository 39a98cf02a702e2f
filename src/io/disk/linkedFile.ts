/** Files that are symbolic links. */

import { PermissionDeniedError } from "../../errors.js";
import type { Confinement } from "./confinement.js";
import { outside } from "./places.js";
import { realPathOrNull } from "./realPath.js";

/** The file that was to be opened is a symbolic link: its target has to be looked at first. */
export class LinkedFileError extends PermissionDeniedError {
  /** Of the link. */
  readonly path: string;

  constructor(filePath: string, options?: { cause: unknown }) {
    super(`${filePath} is a symbolic link`, options);
    this.name = "LinkedFileError";
    this.path = filePath;
  }
}

/**
 * The path without links of a file that is a link; null if there is nothing.
 * @throws PermissionDeniedError if it lies where the engine may not work
 */
export async function followLink({ places }: Confinement, filePath: string): Promise<string | null> {
  const real = await realPathOrNull(filePath);
  if (real === null || (await places.admits(real))) return real;
  throw outside(filePath);
}
