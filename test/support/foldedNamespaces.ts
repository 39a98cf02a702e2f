/** Namespaces on disks that fold names and on one that does not, and what refusals of names have in common. */

import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "./directorySnapshot.js";
import { fileSystems, foldingDisk } from "./foldingDisk.js";

/** Names of file systems: one that folds nothing, and those that do. */
export const DISKS: readonly string[] = ["a plain disk", ...fileSystems.map(({ name }) => name)];

export function diskOf(name: string): Disk {
  const plain = new NodeDisk({ durability: "none" });
  const fileSystem = fileSystems.find((each) => each.name === name);
  return fileSystem === undefined ? plain : foldingDisk(plain, fileSystem);
}

export const openOn = (root: string, disk: string): DirectoryNamespace =>
  new DirectoryNamespace({ root, disk: diskOf(disk), durability: "none" });

export const rowsOf = (...values: number[]): Table => new Table({ v: vectorFromArray(values, new Int32()) });

export const valuesOf = async (ns: DirectoryNamespace, id: string[], branch?: string): Promise<number[]> =>
  Array.from((await ns.table(id, { branch }).scan().toArrow()).getChild("v") ?? [], Number).sort();

/** The call is refused with the error of that type and a message of that kind, and nothing on disk changes. */
export async function expectRefusal(
  root: string,
  call: () => Promise<unknown>,
  type: string,
  message = /./,
): Promise<void> {
  const before = await directorySnapshot(root);
  const error = await call().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error, `the call should have been refused with ${type}`).toBeInstanceOf(NamespaceError);
  expect((error as NamespaceError).type, String(error)).toBe(type);
  expect((error as NamespaceError).message).toMatch(message);
  expect(await directorySnapshot(root)).toEqual(before);
}

/** As {@link expectRefusal}, of a name: 400, code 13, and whose name it folds together with. */
export const expectFolding = (root: string, call: () => Promise<unknown>, other: string): Promise<void> =>
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
    new RegExp(`(?<![\\p{L}\\p{N}])${other.replace(/[.\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "u"),
  );
