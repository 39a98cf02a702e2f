/** The conformance suite on our disks, and on disks that break a promise. */

import { type DiskImplementation, memoryDisk } from "tiltyard/disks";
import { diskConformance } from "tiltyard/disks/conformance";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { describe, expect, it } from "../support/fixtures.js";
import { objectStore } from "../support/objectStore.js";
import { makeTempDir } from "../support/tempDir.js";

describe("memoryDisk", () => diskConformance({ describe, it }, () => memoryDisk()));

describe("the local disk", () => {
  diskConformance({ describe, it }, async () => ({
    disk: new NodeDisk({ durability: "none" }),
    root: await makeTempDir(),
  }));
});

describe("a disk like an object store", () => diskConformance({ describe, it }, () => objectStore()));

describe("a read-only disk", () => {
  diskConformance({ describe, it }, async () => {
    const content = new TextEncoder().encode("some content of a file");
    const store = objectStore();
    await store.putIfAbsent?.("/r/d/a.txt", [content]);
    const { open, list, stat } = store;
    const disk: DiskImplementation = { open, list, ...(stat !== undefined && { stat }), isReadOnly: true };
    return { disk, root: "/r", files: { "d/a.txt": content } };
  });
});

describe("the conformance suite", () => {
  /** Runs the suite on a disk; returns the names of the tests that fail. */
  async function failuresOf(makeDisk: () => DiskImplementation): Promise<string[]> {
    const tests: { name: string; body: () => Promise<void> }[] = [];
    const test = (name: string, body: () => Promise<void>) => void tests.push({ name, body });
    diskConformance({ test }, makeDisk);
    const failed: string[] = [];
    for (const { name, body } of tests) await body().catch(() => failed.push(name));
    return failed;
  }

  it("passes disks that lack calls which the engine can do without", async () => {
    const without = (...calls: (keyof DiskImplementation)[]) =>
      failuresOf(() => ({ ...objectStore(), ...Object.fromEntries(calls.map((call) => [call, undefined])) }));
    expect(await without("remove", "removeTree")).toEqual([]);
    expect(await without("remove", "removeTree", "replaceIf", "readFile", "stat", "create")).toEqual([]);
  });

  it("finds a disk that overwrites in putIfAbsent", async () => {
    const failed = await failuresOf(() => {
      const store = objectStore();
      const replace = store.replaceIf;
      return {
        ...store,
        putIfAbsent: async (path, chunks) => (await replace?.(path, chunks, null)) !== null,
      };
    });
    expect(failed).toContain("putIfAbsent creates a whole file, and never replaces one");
    expect(failed).toContain("putIfAbsent has one winner among racing callers");
  });

  it("finds a disk that lists late, cuts files short, or ignores an identity", async () => {
    const late = await failuresOf(() => ({ ...objectStore(), list: async () => [] }));
    expect(late).toContain("lists files and directories at once, one level deep");
    const stale = await failuresOf(() => {
      const store = objectStore();
      const seen = new Map<string, Awaited<ReturnType<DiskImplementation["list"]>>>();
      return {
        ...store,
        async list(path) {
          const entries = seen.get(path) ?? (await store.list(path));
          seen.set(path, entries);
          return entries;
        },
        async remove(path) {
          await store.list("/conformance").then((entries) => seen.set("/conformance", entries));
          await store.remove?.(path);
        },
      };
    });
    expect(stale).toContain("removes files, and minds none that is gone");
    const short = await failuresOf(() => {
      const store = objectStore();
      return {
        ...store,
        putIfAbsent: store.putIfAbsent?.bind(store),
        create: undefined,
        readFile: async () => new Uint8Array(3),
      };
    });
    expect(short.length).toBeGreaterThan(0);
    const blind = await failuresOf(() => {
      const store = objectStore();
      return {
        ...store,
        replaceIf: async (path, chunks) => (await store.replaceIf?.(path, chunks, null)) ?? null,
      };
    });
    expect(blind).toContain("replaceIf replaces a file of that identity, and no other");
  });

  it("refuses a suite without tests", () => {
    expect(() => diskConformance({}, () => memoryDisk())).toThrow(/neither it nor test/);
    expect(() => diskConformance({ it }, undefined as never)).toThrow(/must be a function/);
  });
});
