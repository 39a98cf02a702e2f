/** Examines orphans of creations while another process removes them. */

import { mkdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { expect, it } from "vitest";
import { DirectoryNamespace } from "../../../src/index.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { makeTempDir } from "../../support/tempDir.js";

it("an orphan that disappears before its lock is taken does not block the creation", async () => {
  const root = await makeTempDir();
  const orphan = join(root, "t.lance");
  class VanishingDisk extends NodeDisk {
    looks = 0;
    override async list(directory: string) {
      const entries = await super.list(directory);
      if (directory === orphan && entries !== null && this.looks === 0) {
        this.looks++;
        await rm(orphan, { recursive: true });
      }
      return entries;
    }
  }
  const disk = new VanishingDisk({ durability: "none" });
  await using ns = new DirectoryNamespace({ root, disk, durability: "none" });
  await ns.createTable({ id: ["a"] }, new Table({ v: vectorFromArray([1, 2], new Int32()) }));
  await mkdir(join(orphan, "data"), { recursive: true });
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const directory of [join(orphan, "data"), orphan]) await utimes(directory, longAgo, longAgo);
  await ns.renameTable({ id: ["a"], newTableName: "t" });
  expect(disk.looks).toBeGreaterThan(0);
  expect(await ns.countTableRows({ id: ["t"] })).toBe(2);
  expect((await ns.listTables({ id: [] })).tables).toEqual(["t"]);
});
