/** Namespaces on disks that fold names and on one that does not, and checks of refused names. */

import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "./directorySnapshot.js";
import { fileSystems, foldingDisk } from "./foldingDisk.js";
import { errorOf } from "./outcomes.js";

/** Names of file systems: one that folds nothing, and those that do. */
export const DISKS: readonly string[] = ["a plain disk", ...fileSystems.map(({ name }) => name)];

export function diskOf(name: string): Disk {
  const plain = new NodeDisk({ durability: "none" });
  const fileSystem = fileSystems.find((each) => each.name === name);
  return fileSystem === undefined ? plain : foldingDisk(plain, fileSystem);
}

export const openOn = (root: string, disk: string): DirectoryNamespace =>
  new DirectoryNamespace({ root, disk: diskOf(disk), durability: "none" });

export { rowsOf } from "./intRows.js";

export const valuesOf = async (ns: DirectoryNamespace, id: string[], branch?: string): Promise<number[]> =>
  Array.from((await ns.table(id, { branch }).scan().toArrow()).getChild("v") ?? [], Number).sort();

/** Checks that a call is refused with a type and a message, and changes nothing on disk. */
export async function expectRefusal(
  root: string,
  call: () => Promise<unknown>,
  type: string,
  message = /./,
): Promise<void> {
  const before = await directorySnapshot(root);
  const error = await errorOf(call());
  expect(error, `the call should have been refused with ${type}`).toBeInstanceOf(NamespaceError);
  expect((error as NamespaceError).type, String(error)).toBe(type);
  expect((error as NamespaceError).message).toMatch(message);
  expect(await directorySnapshot(root)).toEqual(before);
}

/** Checks that a name is refused with status 400 and code 13, naming the entry that it collides with. */
export const expectFolding = (root: string, call: () => Promise<unknown>, entry: string): Promise<void> =>
  expectRefusal(
    root,
    async () => {
      try {
        await call();
      } catch (error) {
        expect(error).toMatchObject({ code: 13, status: 400 });
        throw error;
      }
    },
    "InvalidInput",
    new RegExp(`(?<![\\p{L}\\p{N}])${entry.replace(/[.\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "u"),
  );
