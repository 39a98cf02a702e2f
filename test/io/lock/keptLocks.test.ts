/** A released lock is kept: it is free for everybody, and is taken again without a new directory. */

import { spawnSync } from "node:child_process";
import { mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import fsExtra from "fs-extra";
import { expect, vi } from "vitest";
import { releaseKeptLocks } from "../../../src/io/lock/keptLocks.js";
import { LOCK_NAME } from "../../../src/io/lock/lease.js";
import { withLock } from "../../../src/io/lock/lock.js";
import { newKeptName } from "../../../src/io/lock/lockOwner.js";
import { lookAtLock } from "../../../src/io/lock/staleLocks.js";
import { exitOf, nextMessage, startProcess } from "../../support/childProcess.js";
import { it as test } from "../../support/fixtures.js";
import { entriesOfLock, foreignOwner, isKeptLock, ownerNamed, putInLock } from "../../support/lockEntries.js";
import { makeTempDir } from "../../support/tempDir.js";

const KEEP = { keep: true, staleMs: 600_000, waitMs: 5000 };
const LOCK_COUNTER = fileURLToPath(new URL("../../support/processes/lockCounter.mjs", import.meta.url));

const lockOf = (directory: string): string => path.join(directory, LOCK_NAME);

/** Milliseconds since a file or directory changed. */
const ageOf = async (filePath: string): Promise<number> => Date.now() - (await stat(filePath)).mtimeMs;

async function keepLockOf(directory: string): Promise<void> {
  await withLock(directory, KEEP, async () => {});
  expect(await isKeptLock(lockOf(directory))).toBe(true);
}

test("a kept lock is free, and its directory serves for the next change of the same thread", async () => {
  const directory = await makeTempDir();
  await keepLockOf(directory);
  const { ino, birthtimeMs } = await stat(lockOf(directory));
  expect(await lookAtLock(directory, 2000)).toBe("free");
  for (let change = 0; change < 3; change++) {
    await withLock(directory, KEEP, async (lease) => {
      await lease.confirm();
      expect(await lookAtLock(directory, 2000)).toBe("held");
      expect(await entriesOfLock(directory)).toEqual([expect.stringContaining(`-${process.pid}-`)]);
      expect(await stat(lockOf(directory))).toMatchObject({ ino, birthtimeMs });
    });
  }
  expect(await isKeptLock(lockOf(directory))).toBe(true);
  await withLock(directory, {}, async () => {});
  expect(await entriesOfLock(directory)).toBeNull();
});

test("a kept lock is removed after a moment, and when the namespace closes", async ({ root, ns }) => {
  await keepLockOf(root);
  await vi.waitFor(async () => expect(await entriesOfLock(root)).toBeNull(), 10_000);

  const [inside, beside] = [path.join(root, "a"), path.join(root, "ab")];
  for (const each of [inside, beside]) await mkdir(each);
  for (const each of [beside, inside]) await keepLockOf(each);
  await releaseKeptLocks(inside);
  expect(await entriesOfLock(inside)).toBeNull();

  const rows = new Table({ v: vectorFromArray([1], new Int32()) });
  await ns.createTable({ id: ["t"] }, rows);
  for (let change = 0; change < 3; change++) await ns.insertIntoTable({ id: ["t"] }, rows);
  await ns.close();
  for (const each of [beside, path.join(root, "t.lance")]) expect(await entriesOfLock(each)).toBeNull();
});

test("another process takes a kept lock at once, even if its last holder is blocked", async ({ root }) => {
  const counter = path.join(root, "counter");
  await writeFile(counter, "0");
  await keepLockOf(root);
  // This thread is blocked while the other process runs.
  const { status } = spawnSync(process.execPath, [LOCK_COUNTER, root, "5", "600000"], {
    timeout: 30_000,
  });
  expect(status).toBe(0);
  expect(await readFile(counter, "utf8")).toBe("5");
  expect(await withLock(root, KEEP, async () => "mine")).toBe("mine");
});

test("the kept lock of a killed process is taken at once, and nobody is fenced off", async ({ root }) => {
  const keeper = startProcess("lockKeeper.mjs", [root, "stand"]);
  expect(await nextMessage(keeper)).toBe("kept");
  keeper.kill("SIGKILL");
  await exitOf(keeper);
  expect(await isKeptLock(lockOf(root))).toBe(true);
  const fence = vi.fn(async () => undefined);
  expect(await withLock(root, { ...KEEP, fence }, async () => "mine")).toBe("mine");
  // The owner is on another machine, so its process is unknown.
  await rm(lockOf(root), { recursive: true, force: true });
  await putInLock(root, newKeptName().replace(/^owner-[0-9a-f]+/, "owner-0123456789ab"));
  expect(await withLock(root, { ...KEEP, fence }, async () => "mine")).toBe("mine");
  expect(fence).not.toHaveBeenCalled();
});

test("a kept lock that only its user may remove makes others wait until it is gone", async ({ root }) => {
  await putInLock(root, newKeptName());
  const forbidden = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
  const refuse = vi.fn(() => {
    throw forbidden;
  });
  const spies = [
    vi.spyOn(fsExtra, "renameSync").mockImplementation(refuse),
    vi.spyOn(fsExtra, "rename").mockImplementation(((_: string, __: string, done: (error: Error) => void) => {
      refuse.mock.calls.push([]);
      done(forbidden);
    }) as never),
  ];
  try {
    const waiting = withLock(root, KEEP, async () => "mine");
    await vi.waitFor(() => expect(refuse.mock.calls.length).toBeGreaterThan(1));
    await rm(lockOf(root), { recursive: true });
    expect(await waiting).toBe("mine");
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});

test("a process removes its kept lock when it ends", async ({ root }) => {
  expect(await exitOf(startProcess("lockKeeper.mjs", [root, "end"]))).toBe(0);
  expect(await entriesOfLock(root)).toBeNull();
});

test("an engine without kept locks finds a dead owner", () => {
  const [, host, boot, pidNamespace, pid] = newKeptName().split("-");
  expect([host, boot, pidNamespace]).toEqual(ownerNamed({}).split("-").slice(1, 4));
  expect(() => process.kill(Number(pid), 0)).toThrow(expect.objectContaining({ code: "ESRCH" }));
});

test("a kept lock that another process has taken is waited for", async () => {
  const directory = await makeTempDir();
  await keepLockOf(directory);
  await rm(lockOf(directory), { recursive: true });
  const foreign = foreignOwner();
  await putInLock(directory, foreign);
  const order: string[] = [];
  const waiting = withLock(directory, KEEP, async () => void order.push("mine"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  order.push("released");
  await rm(path.join(lockOf(directory), foreign), { recursive: true });
  await waiting;
  expect(order).toEqual(["released", "mine"]);
});

test("a waiter takes the directory of a lock that its holder keeps", async () => {
  const directory = await makeTempDir();
  const foreign = foreignOwner();
  await putInLock(directory, foreign);
  const { ino } = await stat(lockOf(directory));
  const waiting = withLock(directory, KEEP, async () => stat(lockOf(directory)));
  await new Promise((resolve) => setTimeout(resolve, 50));
  await rename(path.join(lockOf(directory), foreign), path.join(lockOf(directory), newKeptName()));
  expect((await waiting).ino).toBe(ino);
});

test("a lock that has passed through many hands is renewed by the process that takes it", async () => {
  const directory = await makeTempDir();
  const kept = newKeptName();
  await putInLock(directory, kept);
  const { ino } = await stat(lockOf(directory));
  await utimes(path.join(lockOf(directory), kept), 1000, 1000);
  await withLock(directory, KEEP, async (lease) => {
    await lease.confirm();
    expect((await stat(lockOf(directory))).ino).toBe(ino);
    const [owner] = (await entriesOfLock(directory)) ?? [];
    expect(await ageOf(path.join(lockOf(directory), owner))).toBeLessThan(60_000);
    expect(await lookAtLock(directory, 2000)).toBe("held");
  });
});

test("one of several waiters takes a kept lock, and the others wait for it", async () => {
  const directory = await makeTempDir();
  await putInLock(directory, newKeptName());
  let [holders, most] = [0, 0];
  // Aliases of a directory have separate queues, as processes have.
  const aliases = await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const alias = `${directory}-${index}`;
      await symlink(directory, alias);
      return alias;
    }),
  );
  const takes = aliases.map((alias) =>
    withLock(alias, KEEP, async () => {
      most = Math.max(most, ++holders);
      await new Promise((resolve) => setTimeout(resolve, 5));
      holders--;
    }),
  );
  await Promise.all(takes);
  expect(most).toBe(1);
});

test("an owner that was about to enter a directory of that name and one that retakes it both give way", async () => {
  const directory = await makeTempDir();
  await keepLockOf(directory);
  const late = foreignOwner();
  await putInLock(directory, late);
  await expect(withLock(directory, { ...KEEP, retries: 0 }, async () => {})).rejects.toThrow(
    "locked by another",
  );
  expect(await entriesOfLock(directory)).toEqual([late]);
});

test("the lock of failed work, or of a moved directory, is not kept", async ({ root }) => {
  const failing = withLock(root, KEEP, async () => {
    throw new Error("work failed");
  });
  await expect(failing).rejects.toThrow("work failed");
  expect(await entriesOfLock(root)).toBeNull();

  const [from, to] = [path.join(root, "from"), path.join(root, "to")];
  await mkdir(from);
  await withLock(from, KEEP, async (lease) => {
    await rename(from, to);
    lease.movedTo(to);
  });
  expect(await entriesOfLock(to)).toBeNull();
});

test("a directory that is removed with its kept lock and recreated gets a new lock", async () => {
  const directory = path.join(await makeTempDir(), "t");
  await mkdir(directory);
  await keepLockOf(directory);
  await rm(directory, { recursive: true });
  await mkdir(directory);
  await keepLockOf(directory);
  await rm(directory, { recursive: true });
  await expect(withLock(directory, KEEP, async () => {})).rejects.toMatchObject({ code: "ENOENT" });
});
