/** `publishIndex`: what a namespace needs before a host of files may serve it. */

import { lazyModule } from "../../async/lazy.js";
import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import { InvalidInputError } from "../../errors.js";
import { platformError } from "../../io/disk/diskErrors.js";
import { isObject, shortly } from "../../optionMembers.js";
import type { PublishedSummary } from "./writeIndex.js";

const writing = lazyModule(() => import("./writeIndex.js"));

/**
 * Writes `tiltyard-index.json` into the directory of a namespace, for readers with `httpDisk`. It lists the
 * tables, their versions and refs, with sizes and ETags. Beside it, a small file per table holds what readers
 * of the latest version read first. Call it before each upload, and upload the index last.
 *
 *     await publishIndex(ns); // then copy the directory to the host
 *
 * @throws InvalidInputError for anything but a `DirectoryNamespace`; UnsupportedError on a read-only disk
 */
export async function publishIndex(ns: DirectoryNamespace): Promise<PublishedSummary> {
  // A namespace of another build of the package is no instance of this build's class.
  if (!isObject(ns) || typeof ns.rootDisk !== "function") {
    throw new InvalidInputError(`publishIndex: needs a DirectoryNamespace, not ${shortly(ns)}`);
  }
  const { disk, root } = await ns.rootDisk();
  const { writeIndex } = await writing.get();
  try {
    return await writeIndex(disk, root);
  } catch (error) {
    throw platformError(error, root) ?? error;
  }
}
