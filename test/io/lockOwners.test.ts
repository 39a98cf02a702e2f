/** Takes locks of dead, unknown and missing owners. `staleMs` is so long that no test may wait for it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import fs from "fs-extra";
import { afterEach, describe, expect, vi } from "vitest";
import { ServiceUnavailableError } from "../../src/errors.js";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { withLock } from "../../src/io/lock/lock.js";
import { newOwnerName } from "../../src/io/lock/lockOwner.js";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { it as test } from "../support/fixtures.js";
import {
  deadOwner,
  entriesOfLock,
  fencingNamed,
  foreignOwner,
  NO_PID,
  ownerNamed,
  putInLock,
} from "../support/lockEntries.js";
import { isRoot, NOBODY, readableScript, whyNoOtherUser } from "../support/otherUser.js";
import { makeTempDir } from "../support/tempDir.js";

const TAKER = fileURLToPath(new URL("../support/processes/lockTaker.mjs", import.meta.url));
const NEVER_STALE = { staleMs: 600_000 };
const HOLD = JSON.stringify({ holdMs: 600_000 });

const onLinux = describe.runIf(process.platform === "linux");
const noOtherUser = whyNoOtherUser();

const take = (directory: string, options: object = NEVER_STALE) =>
  withLock(directory, { waitMs: 30_000, ...options }, async () => "mine");
/** Expects that the lock counts as held, even after the wait from which an empty one would be removed. */
const expectHeld = (directory: string, options: object = NEVER_STALE) =>
  expect(take(directory, { ...options, waitMs: 150 })).rejects.toBeInstanceOf(ServiceUnavailableError);

/** Loads a second copy of the package, which shares no state with the first. */
const ofAnotherCopy = async (): Promise<typeof withLock> =>
  (await import("../../dist/io/lock/lock.js" as string)).withLock;

afterEach(() => vi.restoreAllMocks());

describe.concurrent("an owner of this machine", () => {
  onLinux("by its process", () => {
    test("with the number of another process is dead", async ({ root }) => {
      await putInLock(root, ownerNamed({ start: "1" }));
      expect(await take(root)).toBe("mine");
    });

    test("that ended and whose parent has not waited for it is dead", async ({ root }) => {
      // The shell becomes a program that does not wait for the shell's child.
      const parent = spawn("sh", ["-c", '"$0" "$@" & exec sleep 600', process.execPath, TAKER, root, HOLD], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      try {
        expect(await nextMessage(parent)).toBe("holding");
        const [owner] = (await entriesOfLock(root)) ?? [];
        const pid = Number(owner.split("-")[4]);
        await expectHeld(root);
        process.kill(pid, "SIGKILL");
        expect(await take(root)).toBe("mine");
        expect(await readFile(`/proc/${pid}/stat`, "utf8")).toMatch(/\) Z /);
      } finally {
        parent.kill("SIGKILL");
      }
    });

    test("is alive if the process numbers are another container's", async ({ root }) => {
      await putInLock(root, ownerNamed({ pidNamespace: "4026530000", pid: NO_PID }));
      await expectHeld(root);
      expect(await take(root, { staleMs: 2000 })).toBe("mine");
    });

    test.runIf(isRoot)("in a container keeps its lock until it goes stale", async ({ root }) => {
      const holder = spawn(
        "unshare",
        ["--pid", "--fork", "--kill-child", process.execPath, TAKER, root, HOLD],
        { stdio: ["ignore", "inherit", "inherit", "ipc"] },
      );
      expect(await nextMessage(holder)).toBe("holding");
      await expectHeld(root, { staleMs: 2000 });
      holder.kill("SIGKILL");
      expect(await exitOf(holder)).toBe("SIGKILL");
      await expectHeld(root, NEVER_STALE);
      expect(await take(root, { staleMs: 2000 })).toBe("mine");
    });

    test.runIf(isRoot)("is alive if a container cannot tell its identity", async ({ root }) => {
      await putInLock(root, ownerNamed({ boot: "0", pidNamespace: "0", pid: NO_PID, start: "0" }));
      const options = JSON.stringify({ staleMs: 600_000, waitMs: 300 });
      const taker = spawn(
        "unshare",
        [
          "--mount",
          "sh",
          "-c",
          'mount -t tmpfs none /proc && exec "$0" "$@"',
          process.execPath,
          TAKER,
          root,
          options,
        ],
        { stdio: ["ignore", "inherit", "inherit", "ipc"] },
      );
      expect(await nextMessage(taker)).toBe("ServiceUnavailableError");
    });
  });

  test("from before the last boot is dead, from since then it is of another machine", async ({ root }) => {
    const owner = ownerNamed({ boot: "0123456789ab" });
    await putInLock(root, owner);
    const aliveMs = os.uptime() * 1000;
    // The lock would be old by any clock only after more time than since the boot.
    const options = { staleMs: Math.max(600_000, aliveMs) };
    const timeOfAge = (ageMs: number) => new Date(Date.now() - ageMs);
    const entry = path.join(root, LOCK_NAME, owner);
    await utimes(entry, timeOfAge(aliveMs / 2), timeOfAge(aliveMs / 2));
    await expectHeld(root, options);
    await utimes(entry, timeOfAge(aliveMs + 5000), timeOfAge(aliveMs + 5000));
    expect(await take(root, options)).toBe("mine");
  });

  test("in a terminated thread keeps its lock until it goes stale", async ({ root }) => {
    const script = `
      const { parentPort, workerData } = require("node:worker_threads");
      import(workerData.module).then(({ withLock }) =>
        withLock(workerData.directory, { staleMs: 2000 }, () => {
          parentPort.postMessage("holding");
          return new Promise((resolve) => setTimeout(resolve, 600_000));
        }),
      );`;
    const module = new URL("../../dist/io/lock/lock.js", import.meta.url).href;
    const worker = new Worker(script, { eval: true, workerData: { directory: root, module } });
    await once(worker, "message");
    await expect(take(root, { staleMs: 2000, waitMs: 3000 })).rejects.toBeInstanceOf(ServiceUnavailableError);
    await worker.terminate();
    await expectHeld(root);
    expect(await take(root, { staleMs: 2000 })).toBe("mine");
  });
});

describe("a lock without an owner", () => {
  test("is removed if its maker died", async ({ root }) => {
    await putInLock(root);
    expect(await take(root)).toBe("mine");
    expect(await entriesOfLock(root)).toBeNull();
  });

  test("is made again after a process removed it during its making", async ({ root }) => {
    const [inline, pooled] = [fs.mkdirSync, fs.mkdir as (...operands: unknown[]) => void];
    let removed = 0;
    // Another process considered its maker dead.
    const removeFromUnder = (made: string) => {
      if (path.basename(made).startsWith("owner-") && removed++ < 3)
        fs.rmdirSync(fs.realpathSync(path.dirname(made)));
    };
    vi.spyOn(fs, "mkdirSync").mockImplementation((made, options) => {
      removeFromUnder(String(made));
      return inline(made, options as { recursive: true });
    });
    vi.spyOn(fs, "mkdir").mockImplementation((...operands: unknown[]) => {
      removeFromUnder(String(operands[0]));
      return Reflect.apply(pooled, fs, operands) as never;
    });
    expect(await take(root)).toBe("mine");
    expect(removed).toBeGreaterThan(3);
  });
});

describe("a maker that is suspended right after it made its entry", () => {
  test.each([
    ["found dead", () => undefined],
    [
      "overruled by another that holds the lock by now",
      // Synchronous, because a pending creation could follow the lock's release.
      (directory: string) =>
        void fs.mkdirSync(path.join(directory, LOCK_NAME, deadOwner()), { recursive: true }),
    ],
  ])("tries again after it was %s", async (_, holdInstead) => {
    const directory = await makeTempDir();
    const [inline, pooled] = [fs.readdirSync, fs.readdir as (...operands: unknown[]) => void];
    let overruled = 0;
    const overrule = (listed: string) => {
      if (path.basename(listed) !== LOCK_NAME || overruled > 0) return;
      overruled++;
      fs.rmSync(listed, { recursive: true });
      holdInstead(directory);
    };
    vi.spyOn(fs, "readdirSync").mockImplementation(((...operands: [string]) => {
      overrule(operands[0]);
      return inline(...operands);
    }) as typeof fs.readdirSync);
    vi.spyOn(fs, "readdir").mockImplementation((...operands: unknown[]) => {
      overrule(String(operands[0]));
      return Reflect.apply(pooled, fs, operands) as never;
    });
    expect(await take(directory)).toBe("mine");
    expect(overruled).toBe(1);
    expect(await entriesOfLock(directory)).toBeNull();
  });
});

describe("an owner that died beside another", () => {
  test("does not cost the other its lock", async ({ root }) => {
    const fenced: string[] = [];
    const fence = async () => void fenced.push("fenced");
    const others = await ofAnotherCopy();
    await withLock(root, NEVER_STALE, async (lease) => {
      // The process found its directory removed and made again, and was killed before it gave way.
      await putInLock(root, deadOwner());
      await expect(
        others(root, { ...NEVER_STALE, fence, waitMs: 300 }, async () => {}),
      ).rejects.toMatchObject({
        name: "ServiceUnavailableError",
      });
      await lease.confirm();
    });
    expect(fenced).toEqual([]);
    await others(root, { ...NEVER_STALE, fence, waitMs: 30_000 }, async () => void fenced.push("held"));
    expect(fenced).toEqual(["fenced", "held"]);
  });
});

describe("an overruled holder", () => {
  test("is fenced off by one process at a time, and nobody holds the lock meanwhile", async ({ root }) => {
    await putInLock(root, deadOwner());
    const events: string[] = [];
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    let begun = () => {};
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    const fence = async () => {
      events.push("first fences");
      begun();
      await opened;
      events.push("first has fenced");
    };
    const first = withLock(root, { ...NEVER_STALE, fence }, async () => void events.push("first holds"));
    await beginning;
    const others = await ofAnotherCopy();
    const options = { ...NEVER_STALE, waitMs: 300, fence: async () => void events.push("second fences") };
    await expect(others(root, options, async () => void events.push("second holds"))).rejects.toMatchObject({
      name: "ServiceUnavailableError",
    });
    open();
    await first;
    expect(events).toEqual(["first fences", "first has fenced", "first holds"]);
  });

  test("is fenced off by another process if the first is dead or blocked", async () => {
    const nobody = fencingNamed(deadOwner());
    const foreign = fencingNamed(foreignOwner());
    for (const [name, options] of [
      [nobody, NEVER_STALE],
      [foreign, { staleMs: 2000 }],
    ] as const) {
      const directory = await makeTempDir();
      await putInLock(directory, name);
      // The entry's time is that of the overruled holder, which had not renewed it for long.
      const past = new Date(Date.now() - 3_600_000);
      await utimes(path.join(directory, LOCK_NAME, name), past, past);
      let fenced = 0;
      const fence = async () => void fenced++;
      if (name === foreign) await expectHeld(directory, { ...options, fence });
      expect(await take(directory, { ...options, fence })).toBe("mine");
      expect(fenced).toBe(1);
    }
  });

  test("is fenced off at the next call after a failure", async ({ root }) => {
    const owner = deadOwner();
    await putInLock(root, owner);
    const failure = new Error("the disk is full of holes");
    const fence = async () => {
      throw failure;
    };
    await expect(take(root, { ...NEVER_STALE, fence })).rejects.toBe(failure);
    expect(await entriesOfLock(root)).toEqual([owner]);
    expect(await take(root)).toBe("mine");
  });
});

describe("a foreign entry", () => {
  const past = new Date(Date.now() - 120_000);
  const hostile = [
    "x".repeat(255),
    `owner-${"0".repeat(249)}`,
    "owner-",
    "fencing-",
    "owner-..-0-0-0-0-0123456789abcdef",
    "owner-\n'\"$(reboot)",
    `owner-0123456789ab-0-0-9999999999-0-${"0".repeat(16)}`,
    `owner-0123456789ab-0-99999999999999999999-0-99999999999999999999-${"f".repeat(16)}`,
    ownerNamed({ pid: "0" }),
    ownerNamed({ pid: "9999999999" }),
    ownerNamed({ host: "0123456789ABCDEF" }),
    "début-\u{1f512}",
  ];

  test.each(hostile)("goes stale like any other: %j", async (name) => {
    const directory = await makeTempDir();
    await putInLock(directory, name);
    await writeFile(path.join(directory, LOCK_NAME, name, "inside"), "");
    await expectHeld(directory);
    for (const entry of [LOCK_NAME, path.join(LOCK_NAME, name)])
      await utimes(path.join(directory, entry), past, past);
    expect(await take(directory, { staleMs: 2000 })).toBe("mine");
    expect(await entriesOfLock(directory)).toBeNull();
  });

  test("in an owner's entry, or a file in its place, is removed with it", async ({ root }) => {
    const [owner, secondOwner] = [deadOwner(), deadOwner()];
    await putInLock(root, owner);
    await writeFile(path.join(root, LOCK_NAME, owner, ".DS_Store"), "");
    await writeFile(path.join(root, LOCK_NAME, secondOwner), "");
    expect(await take(root)).toBe("mine");
    expect(await entriesOfLock(root)).toBeNull();
    await withLock(root, NEVER_STALE, async () => {
      const [ownEntry] = (await entriesOfLock(root)) ?? [];
      await writeFile(path.join(root, LOCK_NAME, ownEntry, ".DS_Store"), "");
    });
    expect(await entriesOfLock(root)).toBeNull();
  });

  test.skipIf(process.platform === "win32")("that is a link is removed without its target", async () => {
    const [directory, elsewhere] = [await makeTempDir(), await makeTempDir()];
    await writeFile(path.join(elsewhere, "precious"), "");
    await putInLock(directory);
    await symlink(elsewhere, path.join(directory, LOCK_NAME, deadOwner()));
    expect(await take(directory)).toBe("mine");
    await symlink(elsewhere, path.join(directory, LOCK_NAME));
    await expectHeld(directory, { staleMs: 2000 });
    expect(await take(directory, { staleMs: 2000 })).toBe("mine");
    expect(await entriesOfLock(directory)).toBeNull();
    expect(await readFile(path.join(elsewhere, "precious"), "utf8")).toBe("");
  });

  test("that is a file in the lock's place goes stale like a lock", async ({ root }) => {
    const lockPath = path.join(root, LOCK_NAME);
    await writeFile(lockPath, "");
    await expectHeld(root);
    await utimes(lockPath, past, past);
    expect(await take(root, { staleMs: 2000 })).toBe("mine");
  });
});

describe("an impossible step", () => {
  const startAsNobody = async (directory: string) =>
    startProcess(await readableScript("lockTaker.mjs"), [
      directory,
      JSON.stringify(NEVER_STALE),
      String(NOBODY),
    ]);

  test.runIf(isRoot)(
    "on a lock that may not be read or taken over is reported, and the lock stays",
    async ({ skip, root }) => {
      skip(noOtherUser !== null, String(noOtherUser));
      await chmod(root, 0o777);
      const owner = deadOwner();
      await putInLock(root, owner);
      for (const mode of [0o700, 0o755]) {
        await chmod(path.join(root, LOCK_NAME), mode);
        const taker = await startAsNobody(root);
        expect(await nextMessage(taker)).toBe("EACCES");
        expect(await entriesOfLock(root)).toEqual([owner]);
      }
    },
  );

  test.runIf(isRoot)(
    "on another user's lock is avoided: in a directory of both users it is taken over",
    async ({ skip, root }) => {
      skip(noOtherUser !== null, String(noOtherUser));
      await chmod(root, 0o777);
      await putInLock(root, deadOwner());
      await chmod(path.join(root, LOCK_NAME), 0o777);
      const taker = await startAsNobody(root);
      expect(await nextMessage(taker)).toBe("held");
    },
  );

  /** Makes a call on directories fail a number of times, on both routes. */
  function obstruct(call: "rename" | "mkdir" | "readdir", code: string, times: number): () => number {
    let failures = 0;
    const failure = () => Object.assign(new Error(`${code}: injected, ${call}`), { code });
    const inline = fs[`${call}Sync`] as (...operands: unknown[]) => unknown;
    const pooled = fs[call] as (...operands: unknown[]) => unknown;
    vi.spyOn(fs, `${call}Sync`).mockImplementation((...operands: unknown[]) => {
      if (failures++ < times) throw failure();
      return Reflect.apply(inline, fs, operands) as never;
    });
    vi.spyOn(fs, call).mockImplementation((...operands: unknown[]) => {
      if (failures++ < times) return (operands[operands.length - 1] as (error: Error) => void)(failure());
      return Reflect.apply(pooled, fs, operands) as never;
    });
    return () => failures;
  }

  const onPlatform = (platform: NodeJS.Platform) =>
    vi.spyOn(process, "platform", "get").mockReturnValue(platform);

  test.each([
    ["win32", "rename", "EPERM"],
    ["win32", "rename", "EACCES"],
    ["win32", "mkdir", "EPERM"],
    ["win32", "readdir", "EPERM"],
    ["linux", "rename", "EBUSY"],
  ] as const)("on %s, a %s that fails with %s for a moment, is tried again", async (platform, call, code) => {
    const directory = await makeTempDir();
    await putInLock(directory, deadOwner());
    onPlatform(platform);
    const failures = obstruct(call, code, 3);
    expect(await take(directory)).toBe("mine");
    expect(failures()).toBeGreaterThan(3);
  });

  test.each([
    ["win32", "rename", "EPERM"],
    ["linux", "rename", "EACCES"],
    ["linux", "mkdir", "EROFS"],
  ] as const)("on %s, a %s that keeps failing with %s, is reported", async (platform, call, code) => {
    const directory = await makeTempDir();
    await putInLock(directory, deadOwner());
    onPlatform(platform);
    obstruct(call, code, Number.POSITIVE_INFINITY);
    await expect(take(directory)).rejects.toMatchObject({ code });
  });
});

test("a lock that was taken over in the middle of its release is left to its new holder", async () => {
  const directory = await makeTempDir();
  const mine = newOwnerName();
  await withLock(directory, NEVER_STALE, async () => {
    await rm(path.join(directory, LOCK_NAME), { recursive: true });
    await putInLock(directory, mine);
  });
  expect(await entriesOfLock(directory)).toEqual([mine]);
});
