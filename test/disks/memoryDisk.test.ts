/** The disk in memory: its calls compared with the local disk's, and namespaces on it. */

import fs from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { col, DirectoryNamespace, InvalidInputError, ServiceUnavailableError } from "tiltyard";
import { memoryDisk } from "tiltyard/disks";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { describe, expect, it, onTestFinished } from "../support/fixtures.js";
import { makeTempDir } from "../support/tempDir.js";

/** A call of a disk whose paths are relative to a directory. */
interface Call {
  readonly label: string;
  readonly make: (disk: Disk, path: (name: string) => string) => Promise<unknown>;
}

const name = fc.constantFrom("a", "b", "a/b", "a/c", "a/b/c", "b/a", "missing/x");
const names = fc.tuple(name, name);
const bytes = fc.uint8Array({ maxLength: 40 });

async function writeNew(disk: Disk, path: string, content: Uint8Array): Promise<void> {
  const handle = await disk.create(path);
  await handle.write([content.subarray(0, 7), content.subarray(7)]);
  await handle.close();
}

const one = (verb: "remove" | "removeTree" | "removeEmptyDirectory" | "makeDirectory" | "readFile") =>
  name.map((place): Call => ({ label: `${verb} ${place}`, make: (disk, path) => disk[verb](path(place)) }));
const two = (verb: "link" | "rename") =>
  names.map(
    ([from, to]): Call => ({
      label: `${verb} ${from} ${to}`,
      make: (disk, path) => disk[verb](path(from), path(to)),
    }),
  );

const calls: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(name, bytes).map(
    ([place, content]): Call => ({
      label: `create ${place}`,
      make: (disk, path) => writeNew(disk, path(place), content),
    }),
  ),
  fc.tuple(name, bytes).map(
    ([place, content]): Call => ({
      label: `overwrite ${place}`,
      // The local disk may refuse a directory in other words.
      make: async (disk, path) =>
        (await disk.stat(path(place)))?.kind === "file" && disk.overwrite?.(path(place), content),
    }),
  ),
  ...[one("readFile"), one("remove"), one("removeTree"), one("removeEmptyDirectory"), one("makeDirectory")],
  ...[two("link"), two("rename")],
  name.map(
    (place): Call => ({
      label: `list ${place}`,
      make: async (disk, path) =>
        (await disk.list(path(place)))?.map((entry) => JSON.stringify(entry)).sort(),
    }),
  ),
  name.map(
    (place): Call => ({
      label: `stat ${place}`,
      make: async (disk, path) => {
        const stat = await disk.stat(path(place));
        return stat && (stat.kind === "file" ? [stat.kind, stat.size, stat.links] : [stat.kind]);
      },
    }),
  ),
);

/** Codes that file systems use for the same failure. */
const SAME_CODES: Readonly<Record<string, string>> = {
  ENOTDIR: "ENOENT",
  EEXIST: "ENOTEMPTY",
  EPERM: "EISDIR",
};

async function outcomeOf({ make }: Call, disk: Disk, root: string): Promise<unknown> {
  try {
    const value = await make(disk, (place) => join(root, place));
    return value instanceof Uint8Array ? Array.from(value) : (value ?? null);
  } catch (error) {
    const code = String((error as { readonly code?: unknown }).code);
    return `fails: ${SAME_CODES[code] ?? code}`;
  }
}

it("memoryDisk answers each call as the local disk does", { timeout: 120_000 }, async () => {
  const local = new NodeDisk({ durability: "none" });
  await fc.assert(
    fc.asyncProperty(fc.array(calls, { minLength: 1, maxLength: 40 }), async (steps) => {
      const root = await makeTempDir();
      const memory = memoryDisk();
      await memory.makeDirectory(root);
      for (const step of steps) {
        const expected = await outcomeOf(step, local, root);
        expect(await outcomeOf(step, memory, root), step.label).toEqual(expected);
      }
    }),
    { numRuns: 150 },
  );
});

describe("files in memory", () => {
  it("can be read while they grow, after their removal, and in pieces", async () => {
    const disk = memoryDisk();
    await disk.makeDirectory("/d");
    const writer = await disk.create("/d/f");
    const content = Uint8Array.from({ length: 100_000 }, (_, index) => index * 7);
    for (let start = 0; start < content.length; start += 777) {
      await writer.write([content.subarray(start, start + 777)]);
    }
    const reader = await disk.open("/d/f");
    await writer.close();
    await disk.removeTree("/d");
    expect(await disk.stat("/d")).toBeNull();
    expect(reader?.size).toBe(content.length);
    expect(await reader?.read(5, 90_000)).toEqual(content.subarray(5, 90_005));
    const target = new Uint8Array(20);
    const pieces = [
      [3, 50_000],
      [10, 4],
      [0, 16],
    ].map((list) => Float64Array.from(list));
    await reader?.readInto?.(target, { byteOffsets: pieces[0], lengths: pieces[1], positions: pieces[2] });
    expect(target.subarray(0, 10)).toEqual(content.subarray(3, 13));
    expect(target.subarray(16)).toEqual(content.subarray(50_000, 50_004));
    await expect(reader?.read(99_999, 2)).rejects.toThrow(/ends at 100000/);
    expect(disk.usedBytes).toBe(0);
  });

  it("have another identity after each change, and the same one through all names", async () => {
    const disk = memoryDisk();
    await disk.makeDirectory("/d");
    await writeNew(disk, "/d/f", new Uint8Array([1, 2]));
    const before = await disk.stat("/d/f");
    await disk.overwrite?.("/d/f", new Uint8Array([3, 4]));
    await disk.link("/d/f", "/d/g");
    const [after, linked] = [await disk.stat("/d/f"), await disk.stat("/d/g")];
    expect(after?.identity).not.toBe(before?.identity);
    expect(linked).toEqual(after);
    expect(disk.usedBytes).toBe(2);
  });

  it("are refused beyond the limit, and nothing is left of what was refused", async () => {
    const disk = memoryDisk({ maxBytes: 100_000 });
    await using ns = new DirectoryNamespace({ root: "/", disk });
    const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n, s: `${n * 7919}` }));
    await ns.createTable({ id: "t" }, rows(100));
    const used = disk.usedBytes;
    await expect(ns.insertIntoTable({ id: "t" }, rows(30_000))).rejects.toThrow(ServiceUnavailableError);
    expect(await ns.countTableRows({ id: "t" })).toBe(100);
    expect(disk.usedBytes).toBeLessThan(used + 2000);
    expect(() => memoryDisk({ maxBytes: -1 })).toThrow(InvalidInputError);
    expect(() => memoryDisk({ maxbytes: 1 } as never)).toThrow(/maxBytes/);
  });

  it("that are made together share the limit, and free what gets no name", async () => {
    const disk = memoryDisk({ maxBytes: 10_000_000 });
    const bytes = new Uint8Array(6_000_000);
    const made = await Promise.allSettled([1, 2, 3].map((each) => disk.putIfAbsent?.(`/f${each}`, [bytes])));
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(disk.usedBytes).toBe(bytes.length);
    const small = new Uint8Array(1000);
    const racing = await Promise.all([1, 2, 3].map(() => disk.putIfAbsent?.("/g", [small])));
    expect(racing.filter((each) => each)).toHaveLength(1);
    expect(await disk.replaceIf?.("/g", [small], "another identity")).toBeNull();
    await expect(disk.putIfAbsent?.("/missing/g", [small])).rejects.toThrow(/ENOENT/);
    expect(disk.usedBytes).toBe(bytes.length + small.length);
  });
});

describe("a namespace in memory", () => {
  it("keeps tables as long as the disk, for all namespaces that share it", async () => {
    const disk = memoryDisk();
    await using first = new DirectoryNamespace({ root: "/here", disk });
    await first.createNamespace({ id: "n" });
    await first.createTable({ id: ["n", "t"] }, [{ x: 1 }]);
    await using second = new DirectoryNamespace({ root: "/here", disk });
    await second.insertIntoTable({ id: ["n", "t"] }, [{ x: 2 }]);
    await first.close();
    await using third = new DirectoryNamespace({ root: "/here", disk });
    expect(await third.table(["n", "t"]).scan().toArray()).toEqual([{ x: 1 }, { x: 2 }]);
    await using elsewhere = new DirectoryNamespace({ root: "/there", disk });
    expect((await elsewhere.listAllTables()).tables).toEqual([]);
  });

  it("takes a relative root from the top of the disk, wherever the process runs", async () => {
    const disk = memoryDisk();
    await using first = new DirectoryNamespace({ root: "data/./here", disk });
    expect(first.root).toBe(resolve("/data/here"));
    await first.createTable({ id: ["t"] }, [{ x: 1 }]);
    expect(await disk.list("/")).toEqual([{ name: "data", kind: "directory" }]);
  });

  it("admits racing writers one at a time, and loses no row", async () => {
    const disk = memoryDisk();
    const writers = Array.from({ length: 4 }, () => new DirectoryNamespace({ root: "/", disk }));
    await writers[0].createTable({ id: "t" }, [{ n: -1 }]);
    const inserts = Array.from({ length: 20 }, (_, n) =>
      writers[n % 4].insertIntoTable({ id: "t" }, [{ n }]),
    );
    await Promise.all(inserts);
    const rows = await writers[1].table("t").scan({ orderBy: "n" }).toArray();
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 21 }, (_, n) => n - 1));
    for (const writer of writers) await writer.close();
  });

  it("makes, opens and removes no file", async () => {
    const touched: string[] = [];
    const root = "/tiltyard-memory-only";
    for (const verb of [
      "open",
      "openSync",
      "mkdir",
      "mkdirSync",
      "readdir",
      "readdirSync",
      "stat",
      "statSync",
      "lstat",
      "lstatSync",
      "rename",
      "link",
    ] as const) {
      const real = fs[verb] as (...operands: unknown[]) => unknown;
      const watched = (...operands: unknown[]) => {
        if (String(operands[0]).includes(root)) touched.push(`${verb} ${operands[0]}`);
        return real(...operands);
      };
      Object.assign(fs, { [verb]: watched });
      onTestFinished(() => void Object.assign(fs, { [verb]: real }));
    }
    await using ns = new DirectoryNamespace({ root, disk: memoryDisk(), workers: 0 });
    const rows = Array.from({ length: 600 }, (_, n) => ({
      ...{ n, city: ["Oslo", "Rom", "Bern"][n % 3], text: `word${n % 50} and more` },
      vector: Float32Array.from({ length: 8 }, (_, index) => Math.sin(n * 8 + index)),
    }));
    await ns.createTable({ id: "t", stableRowIds: true }, rows);
    const table = ns.table("t");
    for (const [column, options] of [
      ["n", { indexType: "BTREE" }],
      ["city", { indexType: "BITMAP" }],
      ["text", { indexType: "FTS" }],
      ["vector", { indexType: "IVF_FLAT", numPartitions: 4 }],
    ] as const) {
      const { jobId } = await table.createIndex(column, options);
      await ns.waitForJob({ jobId: jobId as string });
    }
    expect(await table.countRows("n < 10 AND city = 'Oslo'")).toBe(4);
    const near = await table.search({ vector: rows[17].vector, limit: 1, columns: ["n"] }).toArray();
    expect(near[0].n).toBe(17);
    expect((await table.search({ text: "word7", limit: 20 }).toArray()).length).toBe(12);
    await table.delete("n >= 500");
    await table.update({ where: "n = 1", values: { city: "Kiel" } });
    await table.mergeInsert("n", [{ ...rows[2], city: "Linz" }], { whenMatchedUpdateAll: true });
    await table.createTag("before", 5);
    const branch = await table.createBranch("b");
    await branch.insert(rows.slice(550));
    await table.mergeBranch("b");
    await table.deleteBranch("b");
    await table.optimize();
    expect((await table.aggregate({ groupBy: ["city"], values: { n: "count(*)" } }).toArray()).length).toBe(
      5,
    );
    await table.restore(1);
    await ns.renameTable({ id: "t", newTableName: "u" });
    await ns.createNamespace({ id: "space" });
    await ns.renameTable({ id: "u", newTableName: "v", newNamespaceId: ["space"] });
    expect(await ns.table(["space", "v"]).countRows(col("n").gte(0))).toBe(600);
    await ns.cleanupTable({ id: ["space", "v"], olderThanMs: 0 });
    await ns.dropNamespace({ id: "space", behavior: "Cascade" });
    expect((await ns.listAllTables()).tables).toEqual([]);
    expect(touched).toEqual([]);
    expect(fs.existsSync(root)).toBe(false);
  });
});
