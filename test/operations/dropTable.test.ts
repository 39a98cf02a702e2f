/** A drop removes all of a table or nothing. */

import { readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { lacks } from "../support/suite/diskLimits.js";
import { makeTempDir } from "../support/tempDir.js";

/** A disk on which the caller may change the content of tables, but not the namespace's directory. */
class ForeignRootDisk extends NodeDisk {
  override async rename(from: string): Promise<void> {
    throw Object.assign(new Error(`EACCES: permission denied, rename '${from}'`), { code: "EACCES" });
  }
}

it.skipIf(process.platform === "win32" || lacks("localFiles"))(
  "a table that may not be removed keeps its files",
  async () => {
    const root = await makeTempDir();
    await using owner = new DirectoryNamespace({ root, durability: "none" });
    await owner.createTable({ id: ["t"] }, new Table({ v: makeVector(Int32Array.of(1, 2)) }));
    const before = await directorySnapshot(root);
    await using unauthenticated = new DirectoryNamespace({
      root,
      disk: new ForeignRootDisk({ durability: "none" }),
    });
    await expect(unauthenticated.dropTable({ id: ["t"] })).rejects.toMatchObject({
      type: "PermissionDenied",
    });
    expect(await directorySnapshot(root)).toEqual(before);
  },
);

it.skipIf(process.platform === "win32" || lacks("localFiles"))(
  "a table that is a link goes without what it leads to",
  async () => {
    const outside = await makeTempDir();
    await using elsewhere = new DirectoryNamespace({ root: outside, durability: "none" });
    await elsewhere.createTable({ id: ["t"] }, new Table({ v: makeVector(Int32Array.of(1, 2)) }));
    const before = await directorySnapshot(outside);
    const root = await makeTempDir();
    await symlink(join(outside, "t.lance"), join(root, "t.lance"));
    await using ns = new DirectoryNamespace({ root, durability: "none", allowedBases: [outside] });
    expect(await ns.countTableRows({ id: ["t"] })).toBe(2);
    await ns.dropTable({ id: ["t"] });
    expect(await readdir(root)).toEqual([]);
    expect(await directorySnapshot(outside)).toEqual(before);
  },
);
