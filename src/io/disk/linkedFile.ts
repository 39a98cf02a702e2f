/** Files that are symbolic links. */

import { PermissionDeniedError } from "../../errors.js";

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
