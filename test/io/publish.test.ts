import fs from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, vi } from "vitest";
import { UnsupportedError } from "../../src/errors.js";
import type { Disk } from "../../src/io/disk/disk.js";
import type { LockLease } from "../../src/io/disk/locks.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { releaseKeptLocks } from "../../src/io/lock/keptLocks.js";
import { LOCK_NAME, UNSHARED_LEASE } from "../../src/io/lock/lease.js";
import { withLock } from "../../src/io/lock/lock.js";
import { temporaryName } from "../../src/io/names/temporaryNames.js";
import {
  createExclusive,
  OverruledError,
  PublishUncertainError,
  Removal,
  replaceFile,
} from "../../src/io/publish.js";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { countingDisk } from "../support/countingDisk.js";
import { type FaultMode, faultyDisk, InjectedFault } from "../support/faultyDisk.js";
import { it as test } from "../support/fixtures.js";
import { deadOwner, putInLock } from "../support/lockEntries.js";
import { makeTempDir } from "../support/tempDir.js";
import { replacedVerbs } from "../support/wrappedDisk.js";

const nodeDisk = new NodeDisk({ durability: "fsync" });
const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | null) => bytes && new TextDecoder().decode(bytes);

/** Returns a disk with another `link`. */
const withLink = (inner: Disk, link: Disk["link"]): Disk => replacedVerbs(inner, { link });

const failingWith = (code: string) => async () => {
  throw Object.assign(new Error(code), { code });
};

test("temporary names are fresh and never taken for manifests", () => {
  expect(temporaryName()).toMatch(/^\.tmp-[0-9a-f-]{36}$/);
  expect(temporaryName()).not.toBe(temporaryName());
});

describe("createExclusive", () => {
  test("publishes once; the second call finds the name and changes nothing", async ({ root }) => {
    expect(await createExclusive(nodeDisk, root, "n", [bytesOf("fir"), bytesOf("st")])).toBe(true);
    expect(await createExclusive(nodeDisk, root, "n", [bytesOf("second")])).toBe(false);
    expect(await readdir(root)).toEqual(["n"]);
    expect(await readFile(path.join(root, "n"), "utf8")).toBe("first");
  });

  test("syncs the file before the name and the directory after it", async ({ root }) => {
    const disk = faultyDisk(nodeDisk);
    await createExclusive(disk, root, "n", [bytesOf("x")]);
    expect(disk.log.map((entry) => entry.split(" ")[0])).toEqual([
      "create",
      "write",
      "sync",
      "close",
      "link",
      "remove",
      "syncDirectory",
    ]);
  });

  const codes = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EISDIR", "EACCES", "EINVAL"];
  test.each(codes)("without hard links (%s) renames only under the caller's lock", async (code) => {
    const directory = await makeTempDir();
    const disk = withLink(nodeDisk, failingWith(code));
    await expect(createExclusive(disk, directory, "n", [bytesOf("a")])).rejects.toBeInstanceOf(
      UnsupportedError,
    );
    expect(await readdir(directory)).toEqual([]);
    expect(await createExclusive(disk, directory, "n", [bytesOf("a")], { lease: UNSHARED_LEASE })).toBe(true);
    expect(await createExclusive(disk, directory, "n", [bytesOf("b")], { lease: UNSHARED_LEASE })).toBe(
      false,
    );
    expect(await readdir(directory)).toEqual(["n"]);
    expect(await readFile(path.join(directory, "n"), "utf8")).toBe("a");
  });

  test.each([
    "EACCES",
    "EPERM",
  ])("on a file system that refuses changes (%s) fails with the rename's error, and leaves nothing", async (code) => {
    const directory = await makeTempDir();
    const disk = replacedVerbs(nodeDisk, { link: failingWith(code), rename: failingWith(code) });
    const attempt = createExclusive(disk, directory, "n", [bytesOf("a")], { lease: UNSHARED_LEASE });
    await expect(attempt).rejects.toMatchObject({ code, name: "Error" });
    expect(await readdir(directory)).toEqual([]);
  });

  test("does not count a successor's file with the same inode as its own", async ({ root }) => {
    const disk = replacedVerbs(nodeDisk, {
      link: failingWith("ENOTSUP"),
      rename: async (from, to) => {
        // The temporary file was removed, and a file of the same size got its inode.
        await nodeDisk.rename(from, to);
        await writeFile(to, "b");
        throw Object.assign(new Error("gone"), { code: "ENOENT" });
      },
    });
    const attempt = createExclusive(disk, root, "n", [bytesOf("a")], { lease: UNSHARED_LEASE });
    await expect(attempt).rejects.toBeInstanceOf(OverruledError);
    expect(await readFile(path.join(root, "n"), "utf8")).toBe("b");
  });

  test("succeeds if the link was made although EEXIST was reported", async ({ root }) => {
    const disk = withLink(nodeDisk, async (from, to) => {
      await nodeDisk.link(from, to);
      await nodeDisk.link(from, to);
    });
    expect(await createExclusive(disk, root, "n", [bytesOf("a")])).toBe(true);
    expect(await readdir(root)).toEqual(["n"]);
  });

  describe.each(["hard links", "locked rename"])("with any one call failing, by %s", (way) => {
    const inner = way === "hard links" ? nodeDisk : withLink(nodeDisk, failingWith("ENOTSUP"));
    const options = way === "locked rename" ? { lease: UNSHARED_LEASE } : {};
    const variants = (["before", "after", "short"] as FaultMode[]).flatMap((mode) => [
      [mode, false] as const,
      [mode, true] as const,
    ]);

    test.each(variants)("(%s the effect, process dead after: %s) reports the truth", async (mode, dead) => {
      for (let callIndex = 0; ; callIndex++) {
        const directory = await makeTempDir();
        const disk = faultyDisk(inner, { root: directory });
        disk.failAt(callIndex, mode, { dead });
        let outcome: boolean | unknown;
        try {
          outcome = await createExclusive(disk, directory, "n", [bytesOf("con"), bytesOf("tent")], options);
        } catch (error) {
          outcome = error;
        }
        const tripped = disk.tripped;
        const label = `call ${callIndex}: ${disk.log.join(", ")}`;
        await disk.restart();

        const seen = textOf(await nodeDisk.readFile(path.join(directory, "n")));
        expect(seen === null || seen === "content", label).toBe(true);
        if (outcome === true) expect(seen, label).toBe("content");
        else if (outcome instanceof PublishUncertainError) {
          if (outcome.published === "yes") expect(seen, label).toBe("content");
        } else {
          expect(outcome, label).toBeInstanceOf(InjectedFault);
          expect(seen, label).toBeNull();
          // Only the removal itself may fail twice.
          if (!dead) expect(await readdir(directory), label).toEqual([]);
        }

        await disk.loseUnsynced();
        const kept = textOf(await nodeDisk.readFile(path.join(directory, "n")));
        if (outcome === true) expect(kept, label).toBe("content");
        else expect(kept === null || kept === "content", label).toBe(true);

        const retried = await createExclusive(disk, directory, "n", [bytesOf("content")], options);
        expect(retried, label).toBe(kept === null);
        await disk.dispose();
        if (!tripped) {
          expect(outcome).toBe(true);
          expect(callIndex).toBeGreaterThanOrEqual(7);
          return;
        }
      }
    });
  });

  test("reports an unsynced directory as uncertain, not failed", async ({ root }) => {
    const disk = faultyDisk(nodeDisk);
    disk.failAt(6);
    await expect(createExclusive(disk, root, "n", [bytesOf("a")])).rejects.toMatchObject({
      name: "PublishUncertainError",
      published: "yes",
      path: path.join(root, "n"),
    });
    expect(await readdir(root)).toEqual(["n"]);
  });

  test("has one winner for each of 100 names among 8 processes", async ({ root }) => {
    const racers = Array.from({ length: 8 }, (_, i) =>
      startProcess("publishRace.mjs", [root, "100", `${i}`]),
    );
    for (const ready of await Promise.all(racers.map(nextMessage))) expect(ready).toBe("ready");
    const results = racers.map(nextMessage);
    for (const racer of racers) racer.send("go");
    const won = (await Promise.all(results)) as number[][];
    expect(await Promise.all(racers.map(exitOf))).toEqual(Array(8).fill(0));
    expect(won.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect((await readdir(root)).length).toBe(100);
    for (const [racer, names] of won.entries()) {
      for (const name of names) {
        const text = await readFile(path.join(root, String(name)), "utf8");
        expect(text).toBe(`${racer}:${name}:`.padEnd(5000, String(racer)));
      }
    }
  });
});

describe("replaceFile", () => {
  test.each([true, false])("replaces the old bytes by the new (sync %s)", async (sync) => {
    const directory = await makeTempDir();
    const file = path.join(directory, "hint");
    const disk = countingDisk(nodeDisk);
    await replaceFile(disk, file, bytesOf("one"), { sync });
    await replaceFile(disk, file, bytesOf("two"), { sync });
    expect(await readFile(file, "utf8")).toBe("two");
    expect(await readdir(directory)).toEqual(["hint"]);
    expect([disk.count("sync"), disk.count("syncDirectory")]).toEqual(sync ? [2, 2] : [0, 0]);
  });

  test("leaves the old bytes or the new with any one call failing and then the power", async () => {
    for (const mode of ["before", "after", "short"] as FaultMode[]) {
      for (let callIndex = 0; ; callIndex++) {
        const directory = await makeTempDir();
        const file = path.join(directory, "hint");
        await writeFile(file, "old");
        const disk = faultyDisk(nodeDisk, { root: directory });
        disk.failAt(callIndex, mode, { dead: callIndex % 2 === 0 });
        const failed = await replaceFile(disk, file, bytesOf("new!"), { sync: true }).catch(() => "failed");
        const tripped = disk.tripped;
        await disk.loseUnsynced((each) => mode === "after" && each === file);
        const text = await readFile(file, "utf8");
        expect(failed === undefined ? ["new!"] : ["old", "new!"]).toContain(text);
        await disk.dispose();
        if (!tripped) break;
      }
    }
  });
});

describe.skipIf(process.platform === "win32")("Removal", () => {
  /** Calls `work` under the lock of a directory with a file and a directory that contains one. */
  async function underLock(
    work: (removal: Removal, directory: string, lease: LockLease) => Promise<void>,
  ): Promise<string[]> {
    const directory = await makeTempDir();
    await writeFile(path.join(directory, "file"), "a");
    await mkdir(path.join(directory, "tree", "deep"), { recursive: true });
    await writeFile(path.join(directory, "tree", "deep", "file"), "b");
    await withLock(directory, {}, async (lease) => {
      const removal = new Removal(nodeDisk, path.join(directory, "side"), directory, lease);
      await work(removal, directory, lease);
      await removal.finish();
    });
    return (await readdir(directory)).sort();
  }

  test("moves files and directories into the lock's own entry, and removes them", async () => {
    const left = await underLock(async (removal, directory, { hold }) => {
      expect(await removal.takeOut(path.join(directory, "file"))).toBe(true);
      expect(await removal.takeOut(path.join(directory, "file"))).toBe(false);
      expect(await removal.move(path.join(directory, "tree"))).toBe(true);
      expect((await readdir(directory)).sort()).toEqual([LOCK_NAME]);
      expect(await readdir(hold as string)).toHaveLength(2);
      await removal.finish();
      expect(await readdir(hold as string)).toEqual([]);
    });
    expect(left).toEqual([]);
  });

  test("removes a moved entry with the lock at the latest", async () => {
    const left = await underLock(async (removal, directory) => {
      await removal.takeOut(path.join(directory, "tree"));
      removal.finish = async () => undefined;
    });
    expect(left).toEqual(["file"]);
  });

  test("moves nothing once another process has taken the lock over", async () => {
    const left = await underLock(async (removal, directory, { hold }) => {
      // Another process does this at the last moment.
      await rename(hold as string, path.join(directory, "fencing"));
      await rm(path.join(directory, "fencing"), { recursive: true });
      for (const name of ["file", "tree"]) {
        await expect(removal.takeOut(path.join(directory, name))).rejects.toBeInstanceOf(OverruledError);
      }
    });
    expect(left.filter((name) => name !== LOCK_NAME)).toEqual(["file", "tree"]);
  });

  test("uses a separate directory if the lock's entry is a file, as on a full disk", async () => {
    const left = await underLock(async (removal, directory, { hold }) => {
      await rm(hold as string, { recursive: true });
      await writeFile(hold as string, "");
      expect(await removal.takeOut(path.join(directory, "file"))).toBe(true);
      expect(await removal.takeOut(path.join(directory, "tree"))).toBe(true);
      expect(await readdir(path.join(directory, "side"))).toHaveLength(1);
    });
    expect(left).toEqual([]);
  });

  /** Makes the removal of a lock's content fail: it is another user's, or open on a network file system. */
  function withStubborn(work: (disk: Disk) => Promise<void>): Promise<void> {
    const failure = (entry: string) =>
      /^\d+$/.test(path.basename(entry)) && Object.assign(new Error(`EACCES: ${entry}`), { code: "EACCES" });
    const { rmdirSync, rmdir } = fs;
    const spies = [
      vi.spyOn(fs, "rmdirSync").mockImplementation((entry) => {
        const error = failure(String(entry));
        if (error) throw error;
        rmdirSync(entry);
      }),
      vi.spyOn(fs, "rmdir").mockImplementation(((entry: string, done: (error: Error | null) => void) => {
        const error = failure(entry);
        if (error) done(error);
        else rmdir(entry, done);
      }) as never),
    ];
    return work(new NodeDisk({ durability: "none" })).finally(() => {
      for (const spy of spies) spy.mockRestore();
    });
  }

  test.each([
    ["at its release", {}],
    ["once it is kept no longer", { keep: true }],
  ])("does not block the lock %s by an entry that cannot be removed, and leaves it beside the lock", async (_, options) => {
    const directory = await makeTempDir();
    await mkdir(path.join(directory, "tree"));
    await withStubborn(async (disk) => {
      await withLock(directory, options, async (lease) => {
        const removal = new Removal(disk, path.join(directory, "side"), directory, lease);
        await removal.takeOut(path.join(directory, "tree"));
        await removal.finish();
      });
      await releaseKeptLocks(directory);
      expect(await withLock(directory, { waitMs: 1000 }, async () => "mine")).toBe("mine");
    });
    expect(await readdir(directory)).toEqual([expect.stringMatching(/^\.tmp-[0-9a-f-]{36}$/)]);
    expect(await readdir(path.join(directory, (await readdir(directory))[0]))).toHaveLength(1);
  });

  test("does not block others by such an entry of a dead process", async ({ root }) => {
    await putInLock(root, path.join(deadOwner(), "0"));
    await withStubborn(async () => {
      expect(await withLock(root, { waitMs: 1000 }, async () => "mine")).toBe("mine");
    });
    expect(await readdir(root)).toEqual([expect.stringMatching(/^\.tmp-/)]);
  });

  test("does not take a returned lock for a missing entry", async () => {
    const left = await underLock(async (_, directory, { hold = "", confirm, ...lease }) => {
      const disk = new NodeDisk({ durability: "none" });
      const aside = path.join(directory, "fencing");
      // Another process begins to fence this one off, and fails.
      const renamed = disk.rename.bind(disk);
      disk.rename = async (from, to) => {
        await rename(hold, aside);
        try {
          await renamed(from, to);
        } finally {
          await rename(aside, hold);
        }
      };
      const holdLease = { ...lease, hold, confirm: async () => undefined };
      const removal = new Removal(disk, path.join(directory, "side"), directory, holdLease);
      await expect(removal.takeOut(path.join(directory, "file"))).rejects.toBeInstanceOf(OverruledError);
    });
    expect(left).toEqual(["file", "tree"]);
  });
});

test("moves nothing into a lock on Windows, where an open file in it would block it", async ({ root }) => {
  await writeFile(path.join(root, "file"), "a");
  const platform = vi.spyOn(process, "platform", "get").mockReturnValue("win32");
  try {
    await withLock(root, {}, async (lease) => {
      const removal = new Removal(nodeDisk, path.join(root, "side"), root, lease);
      expect(await removal.takeOut(path.join(root, "file"))).toBe(true);
      expect(await readdir(path.join(root, "side"))).toHaveLength(1);
      await removal.finish();
    });
  } finally {
    platform.mockRestore();
  }
  expect(await readdir(root)).toEqual([]);
});
