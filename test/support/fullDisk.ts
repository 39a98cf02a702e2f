/** A disk without room: nothing can be written to it until something was removed. */

import type { Disk } from "../../src/io/disk/disk.js";

const noRoom = (verb: string, path: string): Error =>
  Object.assign(new Error(`ENOSPC: no space left on device, ${verb} '${path}'`), { code: "ENOSPC" });

/**
 * @param makesRoom whether removing a file frees what others need
 */
export function fullDisk(inner: Disk, makesRoom: (path: string) => boolean = () => true): Disk {
  let isFull = true;
  const refuse = (verb: string, path: string): void => {
    if (isFull) throw noRoom(verb, path);
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
    async remove(path) {
      const isThere = (await inner.stat(path)) !== null;
      await inner.remove(path);
      if (isThere && makesRoom(path)) isFull = false;
    },
    async removeTree(path) {
      const isThere = (await inner.stat(path)) !== null;
      await inner.removeTree(path);
      if (isThere && makesRoom(path)) isFull = false;
    },
  };
  return new Proxy(inner, {
    get(target, member) {
      const own: unknown = Reflect.get(members, member);
      const value: unknown = own ?? Reflect.get(target, member);
      return typeof value === "function" && own === undefined ? value.bind(target) : value;
    },
  });
}
