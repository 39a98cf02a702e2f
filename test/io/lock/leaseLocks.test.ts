/** Locks as lease files on a disk with `putIfAbsent` and `replaceIf`. */

import { completeDisk } from "../../../src/io/completeDisk.js";
import { leaseLocks } from "../../../src/io/lock/leaseLocks.js";
import { describe, expect, it } from "../../support/fixtures.js";
import { objectStore } from "../../support/objectStore.js";

const STALE_MS = 400;
const attempt = { staleMs: STALE_MS, fence: async () => undefined };
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns a store, and locks of several processes on it. */
function open() {
  const store = objectStore();
  const process = () => leaseLocks(completeDisk(store));
  return { store, process };
}

describe("a lease lock", () => {
  it("has one holder among racing callers, and leaves nothing when it is free", async () => {
    const { store, process } = open();
    const processes = Array.from({ length: 8 }, process);
    const locks = await Promise.all(processes.map((each) => each.tryAcquire("/t", attempt)));
    const held = locks.filter((lock) => lock !== null);
    expect(held).toHaveLength(1);
    expect(await processes[0].stateOf("/t", STALE_MS)).toBe("held");
    await held[0].release();
    expect(store.objects.size).toBe(0);
    expect(await processes[0].stateOf("/t", STALE_MS)).toBe("free");
  });

  it("stays with a holder that renews it, however long the work takes", async () => {
    const { process } = open();
    const [first, second] = [process(), process()];
    const lock = await first.tryAcquire("/t", attempt);
    for (let waited = 0; waited < 3 * STALE_MS; waited += 100) {
      await sleep(100);
      expect(await second.tryAcquire("/t", attempt)).toBeNull();
    }
    await lock?.confirm();
    expect(lock?.compromised).toBe(false);
    await lock?.release();
  });

  it("passes to another after its holder died, once fenced off", async () => {
    const { store, process } = open();
    await store.putIfAbsent?.("/t/.tiltyard.lock", [new TextEncoder().encode("{}")]);
    const fenced: string[] = [];
    const second = process();
    const fencing = { staleMs: STALE_MS, fence: async (directory: string) => void fenced.push(directory) };
    expect(await second.tryAcquire("/t", fencing)).toBeNull();
    await sleep(STALE_MS + 100);
    expect(await second.stateOf("/t", STALE_MS)).toBe("dead");
    const lock = await second.tryAcquire("/t", fencing);
    expect(fenced).toEqual(["/t"]);
    await lock?.confirm();
    await lock?.release();
    expect(store.objects.size).toBe(0);
  });

  it("is lost for a holder that another overruled, and its release removes nothing", async () => {
    const { store, process } = open();
    const lock = await process().tryAcquire("/t", attempt);
    await store.replaceIf?.("/t/.tiltyard.lock", [new TextEncoder().encode("another")], null);
    await sleep(STALE_MS);
    await expect(lock?.confirm()).rejects.toMatchObject({ type: "ConcurrentModification" });
    await lock?.release();
    expect(store.objects.has("/t/.tiltyard.lock")).toBe(true);
  });
});
