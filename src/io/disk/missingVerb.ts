/** Errors of operations that need a call that the disk does not have. */

import { UnsupportedError } from "../../errors.js";

/** Name of a call of a disk, as in `DiskImplementation`. */
export type DiskVerb = "create" | "link" | "locks" | "putIfAbsent" | "remove" | "rename" | "replaceIf";

const NEEDS: Readonly<Record<DiskVerb, string>> = {
  create: "create new files",
  link: "give a file a second name",
  locks: "lock a directory",
  putIfAbsent: "create a file only if its name is free",
  remove: "remove files",
  rename: "rename files and directories",
  replaceIf: "replace a file atomically",
};

/** Thrown when an operation needs a call that the disk does not have. Nothing has changed. */
export class MissingVerbError extends UnsupportedError {
  /** Name of the missing call. */
  readonly verb: DiskVerb;
  readonly path: string;

  constructor(verb: DiskVerb, path: string) {
    super(`the disk of ${path} cannot ${NEEDS[verb]} (${verb}), which this operation needs`);
    this.name = "MissingVerbError";
    this.verb = verb;
    this.path = path;
  }
}

/** Thrown when an operation would write to a disk that only reads. Nothing has changed. */
export class ReadOnlyDiskError extends UnsupportedError {
  readonly path: string;

  constructor(path: string) {
    super(`${path} cannot be changed: its disk is read-only`);
    this.name = "ReadOnlyDiskError";
    this.path = path;
  }
}
