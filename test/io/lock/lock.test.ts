import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import fsExtra from "fs-extra";
import { expect, vi } from "vitest";
import { ServiceUnavailableError } from "../../../src/errors.js";
import { LeaseLostError, LOCK_NAME } from "../../../src/io/lock/lease.js";
import type * as lockModule from "../../../src/io/lock/lock.js";
import { withLock } from "../../../src/io/lock/lock.js";
import { exitOf, nextMessage, startProcess } from "../../support/childProcess.js";
import { it as test } from "../../support/fixtures.js";
import {
  deadOwner,
  entriesOfLock,
  fencingNamed,
  foreignOwner,
  putInLock,
} from "../../support/lockEntries.js";
import { succeeds } from "../../support/outcomes.js";
import { makeTempDir } from "../../support/tempDir.js";

const turn = () => new Promise((resolve) => setTimeout(resolve, 2));

async function exists(file: string): Promise<boolean> {
  return succeeds(stat(file));
}

test("callers of one process run one at a time, in their order", async ({ root }) => {
  const order: number[] = [];
  let inside = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      withLock(root, {}, async () => {
        expect(++inside).toBe(1);
        expect(await exists(path.join(root, LOCK_NAME))).toBe(true);
        await turn();
        order.push(i);
        inside--;
      }),
    ),
  );
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(await exists(path.join(root, LOCK_NAME))).toBe(false);
});

test("tables do not wait for each other; aliases of a table do", async () => {
  const [one, second] = [await makeTempDir(), await makeTempDir()];
  const events: string[] = [];
  await withLock(one, {}, async () => {
    await withLock(second, {}, async () => {
      events.push("other");
    });
    const alias = withLock(`${one}/../${path.basename(one)}/`, {}, async () => {
      events.push("alias");
    });
    await turn();
    events.push("one");
    void alias;
  });
  await withLock(one, {}, async () => {});
  expect(events).toEqual(["other", "one", "alias"]);
});

test("a lock passes on the work's result or error, and is free after both", async ({ root }) => {
  expect(await withLock(root, {}, async (lease) => lease.compromised)).toBe(false);
  const failure = new Error("work failed");
  await expect(
    withLock(root, {}, async () => {
      throw failure;
    }),
  ).rejects.toBe(failure);
  expect(await withLock(root, { retries: 0 }, async () => 7)).toBe(7);
});

test("a lock that stays held gives ServiceUnavailable, by retries or by time", async ({ root }) => {
  await putInLock(root, foreignOwner());
  for (const options of [{ retries: 3 }, { waitMs: 30 }]) {
    await expect(withLock(root, options, async () => {})).rejects.toBeInstanceOf(ServiceUnavailableError);
  }
  await rm(path.join(root, LOCK_NAME), { recursive: true });
  await withLock(root, {}, async () => {
    await expect(withLock(root, { waitMs: 20 }, async () => {})).rejects.toBeInstanceOf(
      ServiceUnavailableError,
    );
  });
  await withLock(root, { retries: 0 }, async () => {});
});

test("a missing table directory gives the platform's error", async () => {
  const directory = path.join(await makeTempDir(), "none");
  await expect(withLock(directory, {}, async () => {})).rejects.toMatchObject({ code: "ENOENT" });
});

test("an abort ends the wait, in the queue and at the lock, and the queue continues", async ({ root }) => {
  const reason = new Error("enough");
  await expect(withLock(root, { signal: AbortSignal.abort(reason) }, async () => {})).rejects.toBe(reason);

  const inQueue = new AbortController();
  await withLock(root, {}, async () => {
    const waiting = withLock(root, { signal: inQueue.signal }, async () => {});
    inQueue.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  await putInLock(root, foreignOwner());
  const atLock = new AbortController();
  const waiting = withLock(root, { signal: atLock.signal }, async () => {});
  await turn();
  atLock.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await rm(path.join(root, LOCK_NAME), { recursive: true });
  expect(await withLock(root, { retries: 0 }, async () => "free")).toBe("free");
});

test("a stale lock is taken over, a fresh one is not", async ({ root }) => {
  const owner = foreignOwner();
  await putInLock(root, owner);
  await expect(withLock(root, { staleMs: 2000, retries: 2 }, async () => {})).rejects.toBeInstanceOf(
    ServiceUnavailableError,
  );
  const past = new Date(Date.now() - 120_000);
  await utimes(path.join(root, LOCK_NAME, owner), past, past);
  expect(await withLock(root, { staleMs: 2000 }, async () => "mine")).toBe("mine");
});

test("a lock with a time in the future goes stale like any other", async ({ root }) => {
  const lockPath = path.join(root, LOCK_NAME);
  const owner = foreignOwner();
  await putInLock(root, owner);
  const future = new Date(Date.now() + 3_600_000);
  for (const entry of [lockPath, path.join(lockPath, owner)]) await utimes(entry, future, future);
  await expect(withLock(root, { staleMs: 2000, waitMs: 500 }, async () => {})).rejects.toBeInstanceOf(
    ServiceUnavailableError,
  );
  expect(await withLock(root, { staleMs: 2000, waitMs: 20_000 }, async () => "mine")).toBe("mine");
  expect(await exists(lockPath)).toBe(false);
});

test("files in a stale lock do not prevent its takeover", async ({ root }) => {
  const lockPath = path.join(root, LOCK_NAME);
  const owner = foreignOwner();
  await putInLock(root, owner);
  await writeFile(path.join(lockPath, ".DS_Store"), "");
  const past = new Date(Date.now() - 120_000);
  await utimes(path.join(lockPath, owner), past, past);
  expect(await withLock(root, { staleMs: 2000 }, async () => "mine")).toBe("mine");
  expect(await exists(lockPath)).toBe(false);
});

test("a takeover fences the old holder off first, also after another process died while fencing", async () => {
  for (const name of [deadOwner(), fencingNamed(deadOwner())]) {
    const directory = await makeTempDir();
    await putInLock(directory, name);
    const events: string[] = [];
    const fence = async (fenced: string) => {
      expect(fenced).toBe(directory);
      expect(await entriesOfLock(directory)).toEqual([expect.stringMatching(`^fencing-.*-${process.pid}-`)]);
      events.push("fenced");
    };
    await withLock(directory, { staleMs: 600_000, fence }, async () => void events.push("held"));
    expect(events).toEqual(["fenced", "held"]);
  }
});

test("the lock of a killed process is taken over at once", async ({ root }) => {
  const victim = startProcess("lockCounter.mjs", [root, "0", "600000"]);
  expect(await nextMessage(victim)).toBe("holding");
  await expect(withLock(root, { staleMs: 600_000, waitMs: 300 }, async () => {})).rejects.toBeInstanceOf(
    ServiceUnavailableError,
  );
  victim.kill("SIGKILL");
  expect(await exitOf(victim)).toBe("SIGKILL");
  expect(await withLock(root, { staleMs: 600_000, waitMs: 30_000 }, async () => "mine")).toBe("mine");
});

test.skipIf(process.platform === "win32")(
  "a suspended and overruled holder learns it when it wakes, and leaves its successor's lock alone",
  async ({ root }) => {
    const holder = startProcess("leaseKeeper.mjs", [root, "2000"]);
    expect(await nextMessage(holder)).toBe("holding");
    holder.kill("SIGSTOP");
    await withLock(root, { staleMs: 2000 }, async (lease) => {
      holder.kill("SIGCONT");
      expect(await nextMessage(holder)).toBe("LeaseLostError");
      expect(await exitOf(holder)).toBe(0);
      await lease.confirm();
      await expect(
        // `as string`, because the type check also runs before the build.
        import("../../../dist/io/lock/lock.js" as string).then(
          ({ withLock: ofAnotherCopy }: typeof lockModule) =>
            ofAnotherCopy(root, { waitMs: 200 }, async () => {}),
        ),
      ).rejects.toMatchObject({ name: "ServiceUnavailableError" });
    });
    expect(await exists(path.join(root, LOCK_NAME))).toBe(false);
  },
);

test("a stalled holder that nobody overruled continues", async ({ root }) => {
  await withLock(root, { staleMs: 2000 }, async (lease) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100);
    expect(lease.compromised).toBe(true);
    await lease.confirm();
    expect(lease.compromised).toBe(false);
  });
});

test("the lease of a removed lock shows the loss, and releasing it does not fail the work", async () => {
  const directory = await makeTempDir();
  const outcome = await withLock(directory, { staleMs: 2000 }, async (lease) => {
    await rm(path.join(directory, LOCK_NAME), { recursive: true });
    await expect(lease.confirm()).rejects.toBeInstanceOf(LeaseLostError);
    for (let i = 0; i < 1000 && !lease.compromised; i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    return lease.compromised ? "told" : "not told";
  });
  expect(outcome).toBe("told");
  expect(await withLock(directory, { retries: 0 }, async () => "next")).toBe("next");
});

test("a holder that stalled beyond the threshold knows it without a timer", async ({ root }) => {
  await withLock(root, { staleMs: 2000 }, async (lease) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100);
    expect(lease.compromised).toBe(true);
  });
});

test("a held lock is renewed", async ({ root }) => {
  await withLock(root, { staleMs: 2000 }, async (lease) => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(lease.compromised).toBe(false);
  });
});

test("8 processes lose no increment, though one dies holding the lock", async ({ root }) => {
  const counter = path.join(root, "counter");
  await writeFile(counter, "0");
  const victim = startProcess("lockCounter.mjs", [root, "0", "2000"]);
  expect(await nextMessage(victim)).toBe("holding");
  const counting = Array.from({ length: 8 }, () => startProcess("lockCounter.mjs", [root, "40", "2000"]));
  victim.kill("SIGKILL");
  expect(await exitOf(victim)).toBe("SIGKILL");
  expect(await Promise.all(counting.map(exitOf))).toEqual(Array(8).fill(0));
  expect(await readFile(counter, "utf8")).toBe("320");
});

/** Makes the creation of an owner's directory fail, as on a full disk; `before` gets the path of each. */
async function onFullDisk(work: () => Promise<void>, before: (entry: string) => void = () => {}) {
  const full = () => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  const isOwner = (entry: string) => path.basename(entry).startsWith("owner-");
  const { mkdir: make, mkdirSync: makeSync } = fsExtra;
  const spies = [
    vi.spyOn(fsExtra, "mkdir").mockImplementation(((entry: string, done: (error: Error | null) => void) => {
      if (!isOwner(entry)) return make(entry, done);
      before(entry);
      done(full());
    }) as never),
    vi.spyOn(fsExtra, "mkdirSync").mockImplementation(((entry: string) => {
      if (!isOwner(entry)) return makeSync(entry);
      before(entry);
      throw full();
    }) as never),
  ];
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test("on a full disk, an empty file names the holder", async ({ root }) => {
  await onFullDisk(() =>
    withLock(root, {}, async (lease) => {
      const [owner] = await fsExtra.readdir(path.join(root, LOCK_NAME));
      expect((await stat(path.join(root, LOCK_NAME, owner))).isFile()).toBe(true);
      await lease.confirm();
      await expect(withLock(root, { waitMs: 50 }, async () => {})).rejects.toThrow(ServiceUnavailableError);
    }),
  );
  expect(await exists(path.join(root, LOCK_NAME))).toBe(false);
});

test("on a full disk, two owners in one lock directory both give way", async ({ root }) => {
  const foreign = foreignOwner();
  const join = (entry: string) => fsExtra.writeFileSync(path.join(path.dirname(entry), foreign), "");
  await onFullDisk(async () => {
    await expect(withLock(root, { retries: 0 }, async () => {})).rejects.toThrow(ServiceUnavailableError);
  }, join);
  expect(await fsExtra.readdir(path.join(root, LOCK_NAME))).toEqual([foreign]);
});
