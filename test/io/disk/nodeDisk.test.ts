import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { CorruptFileError, InternalError } from "../../../src/errors.js";
import { LinkedFileError } from "../../../src/io/disk/linkedFile.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { describe, expect, onTestFinished, it as test } from "../../support/fixtures.js";
import { makeTempDir } from "../../support/tempDir.js";

function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >>> 8) * 7) & 0xff;
  return bytes;
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe.each(["fsync", "none"] as const)("NodeDisk with durability %s", (durability) => {
  const disk = new NodeDisk({ durability });

  test("writes chunks in order, empty ones included, and reads them back", async () => {
    const file = path.join(await makeTempDir(), "f");
    const bytes = pattern(3_000_000);
    const handle = await disk.create(file);
    const chunks: Uint8Array[] = [];
    for (let i = 0; i < 1500; i++) chunks.push(bytes.subarray(i * 7, i * 7 + 7), new Uint8Array(0));
    await handle.write(chunks);
    await handle.write([]);
    await handle.write([bytes.subarray(10_500)]);
    await handle.sync();
    await handle.close();
    expect(Buffer.compare(await readFile(file), bytes)).toBe(0);
    expect(Buffer.compare((await disk.readFile(file))!, bytes)).toBe(0);
  });

  test.each([
    1,
    100,
    128 * 1024,
    128 * 1024 + 1,
    8 * 1024 * 1024 + 3,
    20_000_001,
  ])("reads exactly %i bytes into separate memory", async (length) => {
    const file = path.join(await makeTempDir(), "f");
    const bytes = pattern(length + 50);
    await writeFile(file, bytes);
    const handle = (await disk.open(file))!;
    expect(handle.size).toBe(bytes.length);
    const read = await handle.read(17, length);
    expect(read.byteOffset).toBe(0);
    expect(read.buffer.byteLength).toBe(length);
    expect(read.constructor).toBe(Uint8Array);
    expect(Buffer.compare(read, bytes.subarray(17, 17 + length))).toBe(0);
    await handle.close();
  });

  test("names the file and the offset of a read past the end", async () => {
    const file = path.join(await makeTempDir(), "f");
    await writeFile(file, pattern(100));
    const handle = (await disk.open(file))!;
    await expect(handle.read(90, 11)).rejects.toMatchObject({ path: file, byteOffset: 90 });
    await expect(handle.read(0, Number.MAX_SAFE_INTEGER)).rejects.toBeInstanceOf(CorruptFileError);
    await expect(handle.read(-1, 5)).rejects.toBeInstanceOf(CorruptFileError);
    expect(await handle.read(100, 0)).toEqual(new Uint8Array(0));
    await truncate(file, 50);
    await expect(handle.read(0, 100)).rejects.toBeInstanceOf(CorruptFileError);
    await handle.close();
  });

  test("refuses a closed handle, and close waits for running reads", async () => {
    const file = path.join(await makeTempDir(), "f");
    const bytes = pattern(16_000_000);
    await writeFile(file, bytes);
    const handle = (await disk.open(file))!;
    const reading = handle.read(0, bytes.length);
    await handle.close();
    await handle.close();
    expect(Buffer.compare(await reading, bytes)).toBe(0);
    await expect(handle.read(0, 1)).rejects.toBeInstanceOf(InternalError);
  });

  test("gives null for a missing path, also below a file", async ({ root }) => {
    const file = path.join(root, "f");
    await writeFile(file, "x");
    for (const missing of [path.join(root, "no"), path.join(file, "below")]) {
      expect(await disk.readFile(missing)).toBeNull();
      expect(await disk.open(missing)).toBeNull();
      expect(await disk.stat(missing)).toBeNull();
      expect(await disk.list(missing)).toBeNull();
      await disk.remove(missing);
      await disk.removeTree(missing);
    }
  });

  test("refuses to read a file longer than the limit", async () => {
    const file = path.join(await makeTempDir(), "f");
    await writeFile(file, "12345");
    expect((await disk.readFile(file, 5))!.length).toBe(5);
    await expect(disk.readFile(file, 4)).rejects.toBeInstanceOf(CorruptFileError);
  });

  test("refuses to create or link an existing name", async ({ root }) => {
    const [a, b] = [path.join(root, "a"), path.join(root, "b")];
    await (await disk.create(a)).close();
    await expect(disk.create(a)).rejects.toMatchObject({ code: "EEXIST" });
    await disk.link(a, b);
    await expect(disk.link(a, b)).rejects.toMatchObject({ code: "EEXIST" });
    expect((await disk.stat(a))!.identity).toBe((await disk.stat(b))!.identity);
  });

  test("replaces a file by rename, and its identity changes", async ({ root }) => {
    const [a, b] = [path.join(root, "a"), path.join(root, "b")];
    await writeFile(a, "new");
    await writeFile(b, "old");
    const before = (await disk.stat(b))!;
    await disk.rename(a, b);
    const after = (await disk.stat(b))!;
    expect(after.identity).not.toBe(before.identity);
    expect(after).toMatchObject({ kind: "file", size: 3 });
    const handle = (await disk.open(b))!;
    expect(handle.identity).toBe(after.identity);
    await handle.close();
    expect(await disk.stat(a)).toBeNull();
  });

  test("overwrites as many bytes in place, and leaves everything else", async ({ root }) => {
    const file = path.join(root, "f");
    expect(await disk.overwrite(file, bytes("new"))).toBe(false);
    expect(await disk.stat(file)).toBeNull();
    await writeFile(file, "old");
    const inode = (await stat(file)).ino;
    expect(await disk.overwrite(file, bytes("new"))).toBe(true);
    expect(await readFile(file, "utf8")).toBe("new");
    expect((await stat(file)).ino).toBe(inode);
    for (const content of ["", "ne", "newer"]) {
      expect(await disk.overwrite(file, bytes(content))).toBe(false);
      expect(await readFile(file, "utf8")).toBe("new");
    }
    await mkdir(path.join(root, "d"));
    await expect(disk.overwrite(path.join(root, "d"), bytes("new"))).rejects.toThrow("EISDIR");
  });

  test("makes parents, and reports if it made the directory", async ({ root }) => {
    const deep = path.join(root, "a", "b", "c");
    const answers = await Promise.all(Array.from({ length: 8 }, () => disk.makeDirectory(deep)));
    expect(answers.filter((made) => made)).toHaveLength(1);
    expect(await disk.makeDirectory(deep)).toBe(false);
    expect((await disk.stat(deep))!.kind).toBe("directory");
    await writeFile(path.join(root, "file"), "");
    await expect(disk.makeDirectory(path.join(root, "file"))).rejects.toMatchObject({ code: "EEXIST" });
    await expect(disk.makeDirectory(path.join(root, "file", "x"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await disk.removeTree(path.join(root, "a"));
    expect(await disk.makeDirectory(deep)).toBe(true);
  });

  test("lists kinds and follows links", async ({ root }) => {
    await mkdir(path.join(root, "dir"));
    await writeFile(path.join(root, "file"), "");
    await symlink(path.join(root, "dir"), path.join(root, "toDir"));
    await symlink(path.join(root, "nowhere"), path.join(root, "dangling"));
    const entries = (await disk.list(root))!.sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(entries).toEqual([
      { name: "dangling", kind: "other" },
      { name: "dir", kind: "directory" },
      { name: "file", kind: "file" },
      { name: "toDir", kind: "directory" },
    ]);
  });

  test("removes a tree", async ({ root }) => {
    const tree = path.join(root, "t");
    await disk.makeDirectory(path.join(tree, "x", "y"));
    await writeFile(path.join(tree, "x", "f"), "1");
    await disk.removeTree(tree);
    expect(await disk.stat(tree)).toBeNull();
  });

  test("removes links but not their targets, and any number of files", async ({ root }) => {
    const kept = path.join(root, "kept");
    const tree = path.join(root, "tree");
    await disk.makeDirectory(path.join(kept, "inside"));
    await disk.makeDirectory(path.join(tree, "a", "b"));
    await symlink(kept, path.join(tree, "a", "link"));
    await symlink(path.join(tree, "nowhere"), path.join(tree, "dangling"));
    for (let i = 0; i < 150; i++) await writeFile(path.join(tree, "a", "b", String(i)), "");
    await disk.removeTree(tree);
    expect(await disk.stat(tree)).toBeNull();
    expect(await disk.stat(path.join(kept, "inside"))).not.toBeNull();
    for (const target of [kept, path.join(root, "nowhere")]) {
      await symlink(target, tree);
      await disk.removeTree(tree);
      expect((await disk.list(root))?.map(({ name }) => name)).toEqual(["kept"]);
    }
    expect(await disk.stat(path.join(kept, "inside"))).not.toBeNull();
  });

  test("finds nothing under a circular link or a name that is too long", async ({ root }) => {
    await symlink(path.join(root, "loop"), path.join(root, "loop"));
    for (const name of ["loop", path.join("loop", "x"), "n".repeat(300)]) {
      const missing = path.join(root, name);
      expect(await disk.stat(missing)).toBeNull();
      expect(await disk.list(missing)).toBeNull();
      expect(await disk.realPath(missing)).toBeNull();
      expect(await disk.readFile(missing)).toBeNull();
    }
    expect(await disk.list(root)).toEqual([{ name: "loop", kind: "other" }]);
  });

  test("removes a tree several times at once, and a file", async ({ root }) => {
    const tree = path.join(root, "tree");
    await disk.makeDirectory(path.join(tree, "a", "b"));
    for (let i = 0; i < 200; i++) await writeFile(path.join(tree, i % 2 === 0 ? "a" : "a/b", String(i)), "");
    await Promise.all([disk.removeTree(tree), disk.removeTree(tree), disk.removeTree(tree)]);
    expect(await disk.stat(tree)).toBeNull();
    await writeFile(tree, "");
    await disk.removeTree(tree);
    expect(await disk.stat(tree)).toBeNull();
  });

  test("syncs files and directories", async ({ root }) => {
    await writeFile(path.join(root, "f"), "1");
    await disk.syncFile(path.join(root, "f"));
    await disk.syncDirectory(root);
    if (durability === "fsync") {
      await expect(disk.syncFile(path.join(root, "none"))).rejects.toMatchObject({ code: "ENOENT" });
      await expect(disk.syncDirectory(path.join(root, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    }
  });
});

test("open also reads the end of the file, in line and on the pool", async () => {
  const disk = new NodeDisk({ durability: "none" });
  const file = path.join(await makeTempDir(), "f");
  const bytes = pattern(1000);
  await writeFile(file, bytes);
  // The number exceeds the calls that run in line before one goes to the pool.
  for (let round = 0; round < 150; round++) {
    const tailBytes = [0, 1, 999, 1000, 1001, 1_000_000][round % 6];
    const handle = await disk.open(file, tailBytes);
    const tail = handle?.takeTail?.() ?? null;
    if (tailBytes === 0) expect(tail).toBeNull();
    else expect(Buffer.compare(tail ?? new Uint8Array(0), bytes.subarray(-tailBytes))).toBe(0);
    expect(handle?.takeTail?.()).toBeNull();
    expect(await handle?.read(998, 2)).toEqual(bytes.subarray(998));
    await handle?.close();
  }
  await truncate(file, 0);
  const empty = await disk.open(file, 10);
  expect([empty?.size, empty?.takeTail?.()]).toEqual([0, null]);
  await empty?.close();
  expect(await disk.open(`${file}-missing`, 10)).toBeNull();
});

describe.skipIf(process.platform === "win32")("a path that is not a regular file", () => {
  const fifo = async () => {
    const file = path.join(await makeTempDir(), "fifo");
    execFileSync("mkfifo", [file]);
    return file;
  };

  test.each([
    ["a FIFO", fifo],
    ["a directory", makeTempDir],
    ["a device", async () => "/dev/zero"],
    [
      "a socket",
      async () => {
        const file = path.join(await makeTempDir(), "socket");
        const server = createServer().listen(file);
        await once(server, "listening");
        onTestFinished(() => void server.close());
        return file;
      },
    ],
  ])("%s is refused at once, in line and on the pool", async (_name, make) => {
    const file = await make();
    const disk = new NodeDisk({ durability: "fsync" });
    for (let round = 0; round < 150; round++) {
      await expect(disk.open(file, 10)).rejects.toBeInstanceOf(CorruptFileError);
    }
    await expect(disk.readFile(file)).rejects.toThrow("it is not a regular file");
  });

  test("does not block if it is a FIFO without a writer", async () => {
    const file = await fifo();
    const disk = new NodeDisk({ durability: "fsync" });
    expect(await disk.overwrite(file, bytes("x"))).toBe(false);
    // Syncing this is impossible: the platform either reports that or succeeds.
    await disk.syncFile(file).catch((error) => expect(error).toMatchObject({ syscall: "fdatasync" }));
    await disk.syncDirectory(file).catch((error) => expect(["open", "fsync"]).toContain(error.syscall));
  });

  test("is not followed if it is a link, and gives null if the link dangles", async ({ root }) => {
    const disk = new NodeDisk({ durability: "none" });
    const [file, link, dangling] = ["file", "link", "dangling"].map((name) => path.join(root, name));
    await writeFile(file, "content");
    await symlink(file, link);
    await symlink(path.join(root, "nowhere"), dangling);
    await expect(disk.open(link)).rejects.toBeInstanceOf(LinkedFileError);
    await expect(disk.readFile(link)).rejects.toBeInstanceOf(LinkedFileError);
    expect(await disk.overwrite(link, bytes("another"))).toBe(false);
    expect(await disk.open(dangling)).toBeNull();
    expect(await Promise.all([file, link, dangling, `${file}x`].map((each) => disk.isLink(each)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(await readFile(file, "utf8")).toBe("content");
  });
});

test("a caller who awaits nothing but short calls does not starve the event loop", async ({ root }) => {
  const disk = new NodeDisk({ durability: "none" });
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  for (let i = 0; i < 1000 && !turned; i++) await disk.stat(root);
  expect(turned).toBe(true);
});
