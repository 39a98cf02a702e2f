/** `publishIndex`: what a namespace needs before a host of files may serve it. */

import { lazyModule } from "../../async/lazy.js";
import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import { InvalidInputError } from "../../errors.js";
import { platformError } from "../../io/disk/diskErrors.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";
import type { PublishedSummary } from "./writeIndex.js";

const writing = lazyModule(() => import("./writeIndex.js"));

/** Options of {@link publishIndex}. */
export interface PublishIndexOptions {
  /**
   * Text of a page to write as `inspector.html` beside the index, such as that of `tiltyard/inspector.html`,
   * which shows the tables to visitors. Default: none is written.
   */
  readonly page?: string | undefined;
}

/**
 * Writes `tiltyard-index.json` into the directory of a namespace, for readers with `httpDisk`. It lists the
 * tables, their versions and refs, with sizes and ETags. Beside it, a small file per table holds what readers
 * of the latest version read first. Call it before each upload, and upload the index last.
 *
 *     await publishIndex(ns); // then copy the directory to the host
 *
 * @throws InvalidInputError for anything but a `DirectoryNamespace`; UnsupportedError on a read-only disk
 */
export async function publishIndex(
  ns: DirectoryNamespace,
  options: PublishIndexOptions = {},
): Promise<PublishedSummary> {
  // A namespace of another build of the package is no instance of this build's class.
  if (!isObject(ns) || typeof ns.rootDisk !== "function") {
    throw new InvalidInputError(`publishIndex: needs a DirectoryNamespace, not ${shortly(ns)}`);
  }
  checkOptionMembers("publishIndex", options, ["page"]);
  const { page } = options;
  if (page !== undefined && typeof page !== "string") {
    throw new InvalidInputError(`page: must be a text, not ${shortly(page)}`);
  }
  const { disk, root } = await ns.rootDisk();
  const { writeIndex } = await writing.get();
  try {
    return await writeIndex(disk, root, page);
  } catch (error) {
    throw platformError(error, root) ?? error;
  }
}
