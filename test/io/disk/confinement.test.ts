/**
 * Replaces directories by links out of the root, before a step and between the engine's look and its step.
 */

import fs from "node:fs";
import { link, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PermissionDeniedError } from "../../../src/errors.js";
import { HostDirectories } from "../../../src/io/disk/admittedDirectories.js";
import { lockCalls, shortCalls } from "../../../src/io/disk/callRoute.js";
import { type Confinement, confirmDirectory } from "../../../src/io/disk/confinement.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { confinedTo } from "../../../src/io/disk/localConfinement.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { releaseKeptLocks } from "../../../src/io/lock/keptLocks.js";
import { withLock } from "../../../src/io/lock/lock.js";
import { directorySnapshot } from "../../support/directorySnapshot.js";
import { hookedConfinement } from "../../support/hookedConfinement.js";
import { deadOwner, putInLock } from "../../support/lockEntries.js";
import { makeTempDir } from "../../support/tempDir.js";

const bytes = (text: string) => new TextEncoder().encode(text);

let root: string;
let outside: string;
let directory: string;
let before: unknown;

beforeEach(async () => {
  const base = await makeTempDir();
  [root, outside] = [path.join(base, "root"), path.join(base, "outside")];
  directory = path.join(root, "t.lance", "data");
  for (const each of [directory, outside]) {
    await mkdir(path.join(each, "tree", "deep"), { recursive: true });
    await mkdir(path.join(each, "empty"));
    for (const name of ["a", "b", "tree/c", "tree/deep/d"])
      await writeFile(path.join(each, name), `in ${each}`);
  }
  before = await directorySnapshot(outside);
});

const pool = (isPooled: boolean) => {
  for (const route of [shortCalls, lockCalls]) route.pooledUntilMs = isPooled ? Number.POSITIVE_INFINITY : 0;
};
afterEach(() => pool(false));

/** Replaces a directory by a link out of the root, as another program might. */
function swap(swapped = directory): void {
  if (fs.lstatSync(swapped).isSymbolicLink()) return;
  fs.renameSync(swapped, `${swapped}.moved`);
  fs.symlinkSync(outside, swapped);
}

const expectUntouched = async () => expect(await directorySnapshot(outside)).toEqual(before);

const diskOf = (confinement: Confinement) => new NodeDisk({ durability: "fsync", confinement });
const entry = (name: string) => path.join(directory, name);

const STEPS: [name: string, step: (disk: Disk) => Promise<unknown>][] = [
  [
    "create",
    async (disk) => {
      const handle = await disk.create(entry("new"));
      await handle.write([bytes("new")]).finally(() => handle.close());
    },
  ],
  [
    "overwrite",
    (disk) => disk.overwrite?.(entry("a"), bytes(".".repeat(`in ${outside}`.length))) as Promise<boolean>,
  ],
  ["link", (disk) => disk.link(entry("a"), entry("linked"))],
  ["link from elsewhere", (disk) => disk.link(path.join(root, "t.lance", "side"), entry("linked"))],
  ["link to elsewhere", (disk) => disk.link(entry("a"), path.join(root, "t.lance", "linked"))],
  ["rename", (disk) => disk.rename(entry("a"), entry("b"))],
  ["rename from elsewhere", (disk) => disk.rename(path.join(root, "t.lance", "side"), entry("b"))],
  ["rename to elsewhere", (disk) => disk.rename(entry("a"), path.join(root, "t.lance", "moved"))],
  ["remove", (disk) => disk.remove(entry("a"))],
  ["remove of a large file", (disk) => disk.remove(entry("a"), 2 ** 30)],
  ["removeTree", (disk) => disk.removeTree(entry("tree"))],
  ["removeTree of a file", (disk) => disk.removeTree(entry("a"))],
  ["removeEmptyDirectory", (disk) => disk.removeEmptyDirectory(entry("empty"))],
  ["makeDirectory", (disk) => disk.makeDirectory(entry("made/deep"))],
  ["makeDirectory in one that is there", (disk) => disk.makeDirectory(entry("made"), directory)],
  [
    "list",
    async (disk) => expect((await disk.list(directory))?.map(({ name }) => name)).not.toContain("outside"),
  ],
  ["open", (disk) => expectNothingOf(disk.readFile(entry("a")))],
  ["open of a file deep below", (disk) => expectNothingOf(disk.readFile(entry("tree/deep/d")))],
  ["syncFile", (disk) => disk.syncFile(entry("a"))],
  ["syncDirectory", (disk) => disk.syncDirectory(directory)],
];

async function expectNothingOf(reading: Promise<Uint8Array | null>): Promise<void> {
  const read = await reading;
  expect(read === null ? null : Buffer.from(read).toString()).not.toBe(`in ${outside}`);
}

beforeEach(() => writeFile(path.join(root, "t.lance", "side"), "side"));

describe.each([
  ["in line", false],
  ["on the pool", true],
])("%s", (_, isPooled) => {
  describe.each(["descriptors", "looks"] as const)("by %s", (means) => {
    const confinement = () => confinedTo(new HostDirectories(root), means === "looks" ? "looks" : undefined);

    test.each(STEPS)("%s in a directory that is a link out of the root is denied", async (_name, step) => {
      const disk = diskOf(confinement());
      swap();
      pool(isPooled);
      await expect(step(disk)).rejects.toBeInstanceOf(PermissionDeniedError);
      await expectUntouched();
    });

    test.each(STEPS)("%s in a directory below such a link is denied", async (_name, step) => {
      const disk = diskOf(confinement());
      await mkdir(path.join(outside, "data"));
      before = await directorySnapshot(outside);
      swap(path.join(root, "t.lance"));
      pool(isPooled);
      await expect(step(disk)).rejects.toBeInstanceOf(PermissionDeniedError);
      await expectUntouched();
    });

    test.each(STEPS)("%s works in a directory that is a link within the root", async (_name, step) => {
      await rename(directory, path.join(root, "elsewhere"));
      await symlink(path.join(root, "elsewhere"), directory);
      pool(isPooled);
      await step(diskOf(confinement()));
    });

    test("an error for a missing file reveals nothing about a directory outside", async () => {
      const disk = diskOf(confinement());
      swap();
      pool(isPooled);
      for (const name of ["none", "none/deep", "tree/deep/none/none"]) {
        await expect(disk.readFile(entry(name))).rejects.toBeInstanceOf(PermissionDeniedError);
        await expect(disk.list(entry(name))).rejects.toBeInstanceOf(PermissionDeniedError);
      }
      for (const each of [outside, path.join(outside, "none")]) {
        await expect(disk.readFile(path.join(each, "a"))).rejects.toBeInstanceOf(PermissionDeniedError);
        await expect(disk.stat(path.join(each, "a"))).rejects.toBeInstanceOf(PermissionDeniedError);
      }
    });

    test("a missing file in the root gives the platform's error", async () => {
      const disk = diskOf(confinement());
      pool(isPooled);
      for (const name of ["none", "none/deep", "a/b", "n".repeat(300)]) {
        expect(await disk.readFile(entry(name))).toBeNull();
        expect(await disk.list(entry(name))).toBeNull();
        await disk.remove(entry(name));
        await disk.removeTree(entry(name));
        await confirmDirectory(confinement(), entry(name));
      }
      const missing = entry("none/deep");
      await expect(disk.create(missing)).rejects.toMatchObject({ code: "ENOENT" });
      const taken = await disk.create(entry("a")).catch((error) => error);
      expect(taken).toMatchObject({ code: "EEXIST", path: entry("a") });
      expect(taken.message).toBe(`EEXIST: file already exists, open '${entry("a")}'`);
      const unmoved = await disk.rename(entry("none"), entry("a")).catch((error) => error);
      expect(unmoved).toMatchObject({ code: "ENOENT", path: entry("none"), dest: entry("a") });
    });

    test("a file that is a link is read if its target is admitted", async () => {
      const disk = diskOf(confinement());
      await symlink(path.join(root, "t.lance", "side"), entry("within"));
      await symlink(path.join(outside, "a"), entry("without"));
      await symlink(path.join(outside, "none"), entry("dangling"));
      pool(isPooled);
      expect(Buffer.from((await disk.readFile(entry("within"))) ?? []).toString()).toBe("side");
      await disk.syncFile(entry("within"));
      await expect(disk.readFile(entry("without"))).rejects.toBeInstanceOf(PermissionDeniedError);
      await expect(disk.syncFile(entry("without"))).rejects.toBeInstanceOf(PermissionDeniedError);
      expect(await disk.readFile(entry("dangling"))).toBeNull();
    });

    test("steps work in a root that is a link, and in a base", async () => {
      const alias = `${root}-alias`;
      await symlink(root, alias);
      pool(isPooled);
      const disk = diskOf(
        confinedTo(
          new HostDirectories(path.join(alias, "new", "root"), [outside]),
          means === "looks" ? "looks" : undefined,
        ),
      );
      expect(await disk.makeDirectory(path.join(alias, "new", "root", "t"))).toBe(true);
      await (await disk.create(path.join(alias, "new", "root", "t", "f"))).close();
      expect(await readdir(path.join(root, "new", "root", "t"))).toEqual(["f"]);
      expect(await disk.readFile(path.join(outside, "a"))).not.toBeNull();
      await expect(disk.readFile(path.join(root, "t.lance", "side"))).rejects.toBeInstanceOf(
        PermissionDeniedError,
      );
    });

    test("a file with two names is not overwritten in place", async () => {
      await link(path.join(outside, "a"), entry("two"));
      pool(isPooled);
      const disk = diskOf(confinement());
      expect(await disk.overwrite?.(entry("two"), bytes(".".repeat(`in ${outside}`.length)))).toBe(false);
      await expectUntouched();
    });

    test("removing a tree removes its links, and never their targets", async () => {
      await symlink(outside, entry("tree/deep/out"));
      await symlink(path.join(root, "t.lance", "side"), entry("tree/in"));
      await mkdir(path.join(root, "other"));
      await writeFile(path.join(root, "other", "kept"), "");
      await symlink(path.join(root, "other"), entry("tree/other"));
      pool(isPooled);
      await diskOf(confinement()).removeTree(entry("tree"));
      expect(await readdir(directory)).toEqual(["a", "b", "empty"]);
      expect(await readdir(path.join(root, "other"))).toEqual(["kept"]);
      await expectUntouched();
    });

    /** Replaces one more directory at each look or step of the removal. */
    test.each([
      ["out of the root", () => outside],
      ["within the root", () => path.join(root, "other")],
    ])("removing a tree whose directories become links %s meanwhile spares their targets", async (_to, target) => {
      const victims = path.join(root, "other");
      for (const swapped of ["tree/deep", "tree"]) {
        for (let turn = 1; ; turn++) {
          fs.cpSync(outside, victims, { recursive: true });
          fs.rmSync(entry("tree"), { recursive: true, force: true });
          fs.cpSync(path.join(outside, "tree"), entry("tree"), { recursive: true });
          const seen = [await directorySnapshot(outside), await directorySnapshot(victims)];
          let calls = 0;
          const hooked = hookedConfinement(confinement(), {
            [means === "looks" ? "before" : "between"]: () => {
              if (++calls !== turn || !fs.existsSync(entry(swapped))) return;
              fs.rmSync(entry(swapped), { recursive: true });
              fs.symlinkSync(target(), entry(swapped));
            },
          });
          pool(isPooled);
          await diskOf(hooked)
            .removeTree(entry("tree"))
            .catch((error) => expect(error).toBeInstanceOf(PermissionDeniedError));
          pool(false);
          expect([await directorySnapshot(outside), await directorySnapshot(victims)]).toEqual(seen);
          if (calls < turn) break;
        }
      }
    });

    test("a lock in a directory that becomes a link is taken and released nowhere else", async () => {
      const table = path.join(root, "t.lance");
      await putInLock(outside, deadOwner(), "owner-of-nobody");
      const seen = await readdir(path.join(outside, ".tiltyard.lock"));
      for (let turn = 1; ; turn++) {
        fs.rmSync(table, { recursive: true, force: true });
        fs.rmSync(`${table}.moved`, { recursive: true, force: true });
        fs.mkdirSync(table);
        // Every second turn, a lock is taken over.
        if (turn % 2 === 0) await putInLock(table, deadOwner());
        let calls = 0;
        const hooked = hookedConfinement(confinement(), {
          [means === "looks" ? "before" : "between"]: () => {
            if (++calls === Math.ceil(turn / 2)) swap(table);
          },
        });
        pool(isPooled);
        const options = { confinement: hooked, retries: 0, keep: turn % 4 < 2 };
        await withLock(table, options, (lease) => lease.confirm()).catch(() => undefined);
        await releaseKeptLocks(table);
        pool(false);
        expect((await readdir(outside)).sort()).toEqual([".tiltyard.lock", "a", "b", "empty", "tree"]);
        expect(await readdir(path.join(outside, ".tiltyard.lock"))).toEqual(seen);
        await expectUntouched();
        if (calls < Math.ceil(turn / 2)) break;
      }
    });
  });

  test.each(STEPS)("%s happens in the checked directory, by descriptors", async (_name, step) => {
    const hooked = hookedConfinement(confinedTo(new HostDirectories(root)), { between: () => swap() });
    pool(isPooled);
    // Steps after the first find the link.
    await step(diskOf(hooked)).catch((error) => expect(error).toBeInstanceOf(PermissionDeniedError));
    await expectUntouched();
  });

  test("a file opened elsewhere is not read, and one made elsewhere is not written, by looks", async () => {
    const swapping = () => {
      let isDue = true;
      return hookedConfinement(confinedTo(new HostDirectories(root), "looks"), {
        between: () => {
          if (isDue) swap();
          isDue = false;
        },
      });
    };
    pool(isPooled);
    await expect(diskOf(swapping()).readFile(entry("a"))).rejects.toBeInstanceOf(PermissionDeniedError);
    fs.unlinkSync(directory);
    await rename(`${directory}.moved`, directory);
    await expect(diskOf(swapping()).create(entry("new"))).rejects.toBeInstanceOf(PermissionDeniedError);
    expect(await readFile(path.join(outside, "new"), "utf8")).toBe("");
  });
});
