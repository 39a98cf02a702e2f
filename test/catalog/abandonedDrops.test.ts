/** Kills a process between the two renames of a drop; another process finds the directory much later. */

import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { beforeEach, expect, it } from "vitest";
import type { Disk, FileStat } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { rowsOf } from "../support/intRows.js";
import { makeTempDir } from "../support/tempDir.js";
import { replacedVerbs } from "../support/wrappedDisk.js";

const HOURS_NS = 2n * 3_600_000_000_000n;
const DROPPING = /\.tiltyard-dropping-/;

let root: string;
let rival: DirectoryNamespace;

beforeEach(async () => {
  root = await makeTempDir();
  rival = new DirectoryNamespace({ root, durability: "none" });
  await rival.createTable({ id: ["t"] }, rowsOf(1));
  await rival.createTable({ id: ["other"] }, rowsOf(1));
  return () => rival.close();
});

/** Returns a disk whose process dies after the first rename of the table's directory. */
function dyingDisk(beforeRename: () => Promise<unknown>): Disk {
  const disk = new NodeDisk({ durability: "none" });
  let isDead = false;
  return new Proxy(disk, {
    get(target, verb) {
      const value = Reflect.get(target, verb);
      if (typeof value !== "function") return value;
      return async (...operands: unknown[]) => {
        if (isDead) throw new Error("dead");
        if (verb !== "rename" || !DROPPING.test(String(operands[1]))) return value.apply(target, operands);
        await beforeRename();
        await value.apply(target, operands);
        isDead = true;
        throw new Error("dead");
      };
    },
  });
}

function laterDisk(): Disk {
  const disk = new NodeDisk({ durability: "none" });
  const age = (stat: FileStat | null): FileStat | null =>
    stat && { ...stat, changedNs: stat.changedNs - HOURS_NS };
  return replacedVerbs(disk, {
    stat: async (path) => (DROPPING.test(path) ? age(await disk.stat(path)) : disk.stat(path)),
  });
}

async function dropAndDie(beforeRename: () => Promise<unknown>): Promise<void> {
  const ns = new DirectoryNamespace({ root, disk: dyingDisk(beforeRename), lock: { staleMs: 2000 } });
  await expect(ns.dropTable({ id: ["t"] })).rejects.toThrow();
  await ns.close().catch(() => undefined);
}

async function dropAnotherLater(): Promise<string[]> {
  const ns = new DirectoryNamespace({ root, disk: laterDisk() });
  await ns.dropTable({ id: ["other"] });
  await ns.close();
  return (await readdir(root)).filter((name) => DROPPING.test(name));
}

it("a later drop removes the directory that was meant", async () => {
  await dropAndDie(async () => {});
  expect(await dropAnotherLater()).toEqual([]);
  expect((await rival.listTables()).tables).toEqual([]);
});

it("a later drop keeps a table that had replaced the directory, and it can be renamed back by hand", async () => {
  await dropAndDie(async () => {
    await rename(join(root, "t.lance"), join(root, "gone"));
    const made = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
    await made.createTable({ id: ["t"] }, rowsOf(7, 8, 9));
    await made.close();
    await rename(join(made.root, "t.lance"), join(root, "t.lance"));
  });
  const [left] = await dropAnotherLater();
  await rename(join(root, left), join(root, "t.lance"));
  expect(await rival.countTableRows({ id: ["t"] })).toBe(3);
});
