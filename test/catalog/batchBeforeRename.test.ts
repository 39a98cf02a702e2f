/** Leaves a batch half done while a rename of one of its tables is about to begin. */

import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { rowsOf } from "../support/intRows.js";
import { refusingDisk } from "../support/leftBatches.js";
import { makeTempDir } from "../support/tempDir.js";

it("a rename succeeds after the batch has deleted all that it was to delete of the table", async () => {
  const root = await makeTempDir();
  const open = (otherDisk?: Disk) =>
    new DirectoryNamespace({ root, durability: "none", ...(otherDisk && { disk: otherDisk }) });
  const disk = new NodeDisk({ durability: "none" });
  const setUp = open();
  await setUp.createTable({ id: ["t"] }, rowsOf(1));
  for (const value of [2, 3]) await setUp.insertIntoTable({ id: ["t"] }, rowsOf(value));
  await setUp.createTable({ id: ["far"] }, rowsOf(9));
  await setUp.close();
  let isDead = false;
  const dying = refusingDisk(disk, (verb, paths) => {
    if (isDead) return "EIO";
    isDead = verb === "rename" && paths[1].endsWith(".retired");
    return undefined;
  });
  const paused = interruptedDisk(
    disk,
    (verb, path) => verb === "list" && path === join(root, "t.lance", "_refs", "branches"),
    async () => {
      const left = open(dying);
      const ranges = [{ startVersion: 1, endVersion: 3 }];
      await expect(left.batchDeleteTableVersions({ id: ["t"], ranges })).rejects.toThrow(
        /the next operation on one of its tables finishes it/,
      );
      await left.close();
    },
  );
  await using ns = open(paused);
  await ns.renameTable({ id: ["t"], newTableName: "u" });
  expect([paused.interrupted, isDead]).toEqual([true, true]);
  expect((await ns.listTableVersions({ id: ["u"] })).versions.map(({ version }) => version)).toEqual([3]);
  expect(await ns.countTableRows({ id: ["u"] })).toBe(3);
});
