/** Checks that a cached finding always matches the directory. */

import { mkdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { UnchangedDirectories } from "../../../src/io/disk/unchangedDirectories.js";
import { namesIn } from "../../../src/io/names/spelling.js";
import { countingDisk } from "../../support/countingDisk.js";
import { expect, it } from "../../support/fixtures.js";

const recover = () => new Promise((resolve) => setTimeout(resolve, 120));

it("a directory is examined again when an entry comes or goes, and not otherwise", async ({ root }) => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  let looks = 0;
  const directories = new UnchangedDirectories(disk, (path) => {
    looks++;
    return namesIn(disk, path);
  });
  const names = async (path: string) => [...((await directories.find(path)) ?? ["none"])].sort();
  await recover();
  expect(await names(root)).toEqual([]);
  await writeFile(join(root, "a"), "");
  // The change is too recent for the finding to be kept.
  expect(await names(root)).toEqual(["a"]);
  await writeFile(join(root, "b"), "");
  expect(await names(root)).toEqual(["a", "b"]);
  await recover();
  expect(await names(root)).toEqual(["a", "b"]);
  const before = looks;
  expect(await names(root)).toEqual(["a", "b"]);
  expect(looks).toBe(before);
  await rm(join(root, "a"));
  expect(await names(root)).toEqual(["b"]);
  // Another directory of the same name and time.
  await recover();
  const time = new Date(1_000_000_000_000);
  await utimes(root, time, time);
  await recover();
  expect(await names(root)).toEqual(["b"]);
  await rm(root, { recursive: true });
  expect(await names(root)).toEqual(["none"]);
  await mkdir(root);
  await utimes(root, time, time);
  expect(await names(root)).toEqual([]);
});
