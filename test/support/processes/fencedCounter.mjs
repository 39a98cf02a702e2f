/**
 * Counts up a number in a file under a directory's lock, again and again, as tags are changed: node fencedCounter.mjs
 * <directory> <staleMs>. Says each number that it has put in place, and when it was overruled before that; it takes its
 * time, mostly right before the step that can't be undone.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeDisk } from "../../../dist/io/disk/nodeDisk.js";
import { withLock } from "../../../dist/io/lock/lock.js";
import { fenceOff, replaceFile } from "../../../dist/io/publish.js";

const [directory, staleMs] = [process.argv[2], Number(process.argv[3])];
const counter = join(directory, "counter");
const disk = new NodeDisk({ durability: "none" });
const rename = disk.rename.bind(disk);
disk.rename = async (from, to) => {
  await sleep(30 * Math.random());
  return rename(from, to);
};
const fence = (locked) => fenceOff(disk, locked);

for (;;) {
  const keep = Math.random() < 0.5;
  await withLock(directory, { staleMs, fence, keep, waitMs: 600_000 }, async (lease) => {
    const next = Number(new TextDecoder().decode(await disk.readFile(counter))) + 1;
    try {
      await replaceFile(disk, counter, new TextEncoder().encode(String(next)), { sync: false, lease });
    } catch (error) {
      if (!["LeaseLostError", "OverruledError"].includes(error.constructor.name)) throw error;
      process.send({ overruled: next });
      return;
    }
    process.send({ counted: next });
  });
  await sleep(5 * Math.random());
}
