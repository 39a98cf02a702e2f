/** A drop takes all of a table or nothing. */

import { makeVector, Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { makeTempDir } from "../support/tempDir.js";

/** A disk whose namespace directory is not the caller's to change, while what is in its tables is. */
class ForeignRootDisk extends NodeDisk {
  override async rename(from: string): Promise<void> {
    throw Object.assign(new Error(`EACCES: permission denied, rename '${from}'`), { code: "EACCES" });
  }
}

it.skipIf(process.platform === "win32")("a table that may not be removed keeps its files", async () => {
  const root = await makeTempDir();
  const owner = new DirectoryNamespace({ root, durability: "none" });
  await owner.createTable({ id: ["t"] }, new Table({ v: makeVector(Int32Array.of(1, 2)) }));
  const before = await directorySnapshot(root);
  const stranger = new DirectoryNamespace({ root, disk: new ForeignRootDisk({ durability: "none" }) });
  await expect(stranger.dropTable({ id: ["t"] })).rejects.toMatchObject({ type: "Internal" });
  expect(await directorySnapshot(root)).toEqual(before);
  await owner.close();
  await stranger.close();
});
