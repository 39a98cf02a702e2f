/**
 * Replacements for modules, for `vi.mock`: all disks and locks of a test file fold names like a file system.
 */

import type * as NodeDiskModule from "../../src/io/disk/nodeDisk.js";
import type * as LockModule from "../../src/io/lock/lock.js";
import { type FileSystem, fileSystems, foldingDisk, resolveOn } from "./foldingDisk.js";

function fileSystemOf(name: string): FileSystem {
  const fileSystem = fileSystems.find((each) => each.name === name);
  if (fileSystem === undefined) throw new Error(`no file system ${name}`);
  return fileSystem;
}

export function foldedNodeDisk<Module extends typeof NodeDiskModule>(original: Module, name: string): Module {
  const fileSystem = fileSystemOf(name);
  const NodeDisk = new Proxy(original.NodeDisk, {
    construct: (target, operands, newTarget) =>
      foldingDisk(Reflect.construct(target, operands, newTarget), fileSystem),
  });
  return { ...original, NodeDisk };
}

/** Locks bypass the disk. */
export function foldedLock<Module extends typeof LockModule>(original: Module, name: string): Module {
  const fileSystem = fileSystemOf(name);
  const withLock: Module["withLock"] = async (directory, options, fn) =>
    original.withLock(resolveOn(fileSystem, directory), options, fn);
  const hasLock: Module["hasLock"] = (directory) => original.hasLock(resolveOn(fileSystem, directory));
  return { ...original, withLock, hasLock };
}
