/** Keys of a bucket's objects by the paths of a disk. */

import { InvalidInputError } from "../../errors.js";
import { diskError } from "../../io/disk/errno.js";
import { namesOfPath } from "../paths/pathNames.js";
import { isKeyName } from "./options.js";

export class ObjectKeys {
  readonly #prefix: string;

  /** @param prefix of all keys, without a slash at its end; empty for the whole bucket */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * Returns the key of a path; the prefix, or an empty text, for the root.
   * @throws InvalidInputError for a path with a name that keys cannot have
   */
  keyOf(path: string): string {
    const names = namesOfPath(path);
    const wrong = names.find((name) => !isKeyName(name));
    if (wrong !== undefined) {
      throw new InvalidInputError(`${path}: ${JSON.stringify(wrong)} cannot be part of a key`);
    }
    return (this.#prefix === "" ? names : [this.#prefix, ...names]).join("/");
  }

  /**
   * Returns the key of a file.
   * @throws an error of code EISDIR for the root; otherwise like {@link keyOf}
   */
  fileKeyOf(path: string): string {
    if (!isRoot(path)) return this.keyOf(path);
    throw diskError("EISDIR", "open", path);
  }

  /** Returns the text with which the keys below a directory begin. */
  directoryKeyOf(path: string): string {
    const key = this.keyOf(path);
    return key === "" ? "" : `${key}/`;
  }
}

export const isRoot = (path: string): boolean => namesOfPath(path).length === 0;
