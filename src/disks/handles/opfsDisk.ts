/**
 * A disk in the browser's private file system (OPFS), which only pages of one origin can see:
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: opfsDisk() });
 *
 * All tabs and workers of the origin may read and write at the same time. They take turns by Web Locks, which
 * the browser frees when a tab ends. One worker of each page writes the files, because only workers may write
 * in place. It writes a file that decides something under a temporary name, flushes it, and moves it to its
 * name. So the file is complete under its name, even if the tab is killed. Where no worker can start, streams
 * write the files, which takes a few milliseconds more for each.
 */

import { lazy, lazyModule } from "../../async/lazy.js";
import { InvalidInputError } from "../../errors.js";
import { checkOptionMembers, shortly } from "../../optionMembers.js";
import { namesOfPath } from "../paths/pathNames.js";
import { HandleDisk } from "./directoryHandleDisk.js";
import { directoryOf } from "./handleEntries.js";

const writing = lazyModule(() => import("./ownedWriter.js"));

/** Options of {@link opfsDisk}. */
export interface OpfsDiskOptions {
  /** Directory of the private file system that is `/` of the disk. Default: `tiltyard`. */
  readonly directory?: string | undefined;
}

/** A disk in the browser's private file system. */
export interface OpfsDisk extends HandleDisk {
  /** Ends the worker that writes. The next write starts another. */
  close(): void;
}

/**
 * Returns a disk in the browser's private file system.
 * @throws InvalidInputError for an unknown option, or in a runtime without that file system
 */
export function opfsDisk(options: OpfsDiskOptions = {}): OpfsDisk {
  checkOptionMembers("opfsDisk", options, ["directory"]);
  const { directory = "tiltyard" } = options;
  if (typeof directory !== "string") {
    throw new InvalidInputError(`directory: must be a path, not ${shortly(directory)}`);
  }
  const storage = (globalThis.navigator as Partial<Navigator> | undefined)?.storage;
  if (typeof storage?.getDirectory !== "function") {
    throw new InvalidInputError("opfsDisk: this runtime has no private file system");
  }
  const base = namesOfPath(directory);
  const top = lazy(async () => directoryOf(await storage.getDirectory(), base, true));
  const writer = lazy(async () => new (await writing.get()).OwnedWriter(base));
  const disk = new HandleDisk(() => top.get(), {
    scope: `tiltyard:opfs:${base.join("/")}:`,
    openWriter: () => writer.get(),
    isPrivate: true,
  });
  // A writer that is being loaded has no worker yet.
  const close = (): void => writer.current?.close();
  return Object.assign(disk, { close });
}
