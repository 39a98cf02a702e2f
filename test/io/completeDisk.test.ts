/** Disks that lack calls: what is made of other calls, and what is refused. */

import type { DiskImplementation } from "tiltyard/disks";
import { completeDisk } from "../../src/io/completeDisk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { describe, expect, it } from "../support/fixtures.js";
import { objectStore } from "../support/objectStore.js";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Returns a store with only the calls of these names. */
function storeWith(...verbs: (keyof DiskImplementation)[]): DiskImplementation {
  const store = objectStore();
  return Object.fromEntries(
    ["open", "list", ...verbs].map((verb) => [verb, store[verb as keyof DiskImplementation]]),
  ) as unknown as DiskImplementation;
}

describe("completeDisk", () => {
  it("returns a disk that has all calls as it is", () => {
    const disk = new NodeDisk({ durability: "none" });
    expect(completeDisk(disk)).toBe(disk);
  });

  it("reads, looks, creates and removes trees by the calls that a disk has", async () => {
    const disk = completeDisk(storeWith("putIfAbsent", "remove"));
    const handle = await disk.create("/d/a");
    await handle.write([bytes("one"), bytes("two")]);
    expect(await disk.stat("/d/a")).toBeNull();
    await handle.close();
    expect(await disk.readFile("/d/a")).toEqual(bytes("onetwo"));
    await expect(disk.readFile("/d/a", 2)).rejects.toMatchObject({ name: "CorruptFileError" });
    expect(await disk.stat("/d/a")).toMatchObject({ kind: "file", size: 6, inode: "" });
    const again = await disk.create("/d/a");
    await expect(again.close()).rejects.toMatchObject({ code: "EEXIST" });
    expect(await disk.realPath("/d")).toBe("/d");
    await disk.removeTree("/d");
    expect(await disk.list("/d")).toBeNull();
  });

  it("never shows two looks at a directory without times as the same", async () => {
    const disk = completeDisk(storeWith("putIfAbsent", "remove"));
    await disk.putIfAbsent?.("/d/a", []);
    const [first, second] = [await disk.stat("/d"), await disk.stat("/d")];
    expect(first).toMatchObject({ kind: "directory" });
    expect(first?.identity).not.toBe(second?.identity);
  });

  it("refuses by name what no other call replaces", async () => {
    const disk = completeDisk(storeWith("putIfAbsent"));
    await expect(disk.rename("/a", "/b")).rejects.toMatchObject({ name: "MissingVerbError", verb: "rename" });
    await expect(disk.link("/a", "/b")).rejects.toMatchObject({ verb: "link", type: "Unsupported" });
    await expect(disk.remove("/a")).rejects.toMatchObject({ verb: "remove", status: 406 });
    const attempt = disk.locks?.tryAcquire("/d", { staleMs: 2000, fence: async () => undefined });
    await expect(attempt).rejects.toMatchObject({ verb: "locks" });
    const reader = completeDisk(storeWith());
    await expect(reader.create("/a")).rejects.toMatchObject({ verb: "create" });
  });

  it("makes no call that writes to a read-only disk", async () => {
    const store = objectStore();
    const disk = completeDisk({ ...store, isReadOnly: true });
    const writes = [
      () => disk.create("/a"),
      () => disk.rename("/a", "/b"),
      () => disk.link("/a", "/b"),
      () => disk.remove("/a"),
      () => disk.removeTree("/a"),
      () => disk.makeDirectory("/a"),
    ];
    for (const write of writes) {
      await expect(write()).rejects.toMatchObject({ name: "ReadOnlyDiskError", type: "Unsupported" });
    }
    expect(disk.putIfAbsent).toBeUndefined();
    expect(disk.replaceIf).toBeUndefined();
    expect(store.calls.size).toBe(0);
  });
});
