/** Replaces modules that need Node.js in bundles for browsers. */

import { dirname, join, resolve } from "node:path";

const NO_DISK = "io/disk/noLocalDisk";
const LAZY_KERNELS = "file/compression/lazyKernels";

/** Modules by the paths of those that they stand for. */
const REPLACEMENTS = {
  "platform/native": "platform/portable",
  "platform/sha256": "platform/portableSha256",
  "async/workerPool": "async/noWorkerPool",
  "file/compression/bitpackKernel": LAZY_KERNELS,
  "file/compression/fsstDecodeKernel": LAZY_KERNELS,
  "io/disk/nodeDisk": NO_DISK,
  "io/disk/localConfinement": NO_DISK,
  "io/disk/realPath": NO_DISK,
  "io/lock/heldLock": NO_DISK,
  "io/lock/staleLocks": NO_DISK,
  "operations/job/progressBar": "operations/job/noProgressBar",
  "rest/http/nodeListener": "rest/http/noNodeServer",
  "rest/http/nodeProblems": "rest/http/noNodeServer",
};

/**
 * Returns the paths of modules that stand for others, by the paths of those without extension.
 * @param directory holds the modules
 * @param extension of the modules, with its dot
 */
export const browserPaths = (directory, extension) =>
  new Map(
    Object.entries(REPLACEMENTS).map(([path, by]) => [join(directory, path), join(directory, by) + extension]),
  );

/** @param directory, extension as for {@link browserPaths} */
export function browserModules(directory, extension) {
  const replaced = browserPaths(directory, extension);
  return {
    name: "browser-modules",
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith(".")) return null;
      const path = replaced.get(resolve(dirname(importer), source).replace(/\.[jt]s$/, ""));
      // A module may load what it stands for.
      return path === undefined || path === importer ? null : path;
    },
  };
}
