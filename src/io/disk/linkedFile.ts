/** Files that are symbolic links. */

import { PermissionDeniedError } from "../../errors.js";

/** A link stands where a file was to be opened: where it leads to has to be looked at first. */
export class LinkedFileError extends PermissionDeniedError {
  /** Of the link. */
  readonly path: string;

  constructor(filePath: string, options?: { cause: unknown }) {
    super(`${filePath} is a symbolic link`, options);
    this.name = "LinkedFileError";
    this.path = filePath;
  }
}
