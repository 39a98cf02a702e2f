/** A full disk: nothing can be written before something is removed. */

import type { Disk } from "../../src/io/disk/disk.js";
import { replacedVerbs } from "./wrappedDisk.js";

const noRoom = (verb: string, path: string): Error =>
  Object.assign(new Error(`ENOSPC: no space left on device, ${verb} '${path}'`), { code: "ENOSPC" });

/** @param makesRoom true if removing the file frees space */
export function fullDisk(inner: Disk, makesRoom: (path: string) => boolean = () => true): Disk {
  let isFull = true;
  const refuse = (verb: string, path: string): void => {
    if (isFull) throw noRoom(verb, path);
  };
  const free = async (path: string, remove: (path: string) => Promise<void>): Promise<void> => {
    const isThere = (await inner.stat(path)) !== null;
    await remove(path);
    if (isThere && makesRoom(path)) isFull = false;
  };
  const members: Partial<Disk> = {
    async create(path) {
      refuse("create", path);
      return inner.create(path);
    },
    async overwrite(path, bytes) {
      refuse("overwrite", path);
      return (await inner.overwrite?.(path, bytes)) ?? false;
    },
    async link(existingPath, newPath) {
      refuse("link", newPath);
      return inner.link(existingPath, newPath);
    },
    async makeDirectory(path) {
      if ((await inner.stat(path)) === null) refuse("makeDirectory", path);
      return inner.makeDirectory(path);
    },
    remove: (path) => free(path, (each) => inner.remove(each)),
    removeTree: (path) => free(path, (each) => inner.removeTree(each)),
  };
  return replacedVerbs(inner, members);
}
