import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { countingDisk } from "./countingDisk.js";
import { faultyDisk, InjectedFault } from "./faultyDisk.js";
import { it as test } from "./fixtures.js";
import { makeTempDir } from "./tempDir.js";

const nodeDisk = new NodeDisk({ durability: "none" });
const bytes = (text: string) => new TextEncoder().encode(text);

async function setUp() {
  const root = await makeTempDir();
  await writeFile(path.join(root, "old"), "old content");
  const disk = faultyDisk(nodeDisk, { root });
  const pathOf = (name: string) => path.join(root, name);
  const write = async (name: string, text: string, sync: boolean) => {
    const handle = await disk.create(pathOf(name));
    await handle.write([bytes(text)]);
    if (sync) await handle.sync();
    await handle.close();
  };
  const tree = async () => {
    const contents: Record<string, string> = {};
    for (const entry of await readdir(root, { withFileTypes: true, recursive: true })) {
      const full = path.join(entry.parentPath, entry.name);
      contents[path.relative(root, full)] = entry.isFile() ? await readFile(full, "utf8") : "<dir>";
    }
    return contents;
  };
  return { root, disk, pathOf, write, tree };
}

describe("failing calls", () => {
  test("every call has a number, those of handles included", async () => {
    const { disk, pathOf, write } = await setUp();
    await write("a", "x", true);
    const handle = (await disk.open(pathOf("a")))!;
    await handle.read(0, 1);
    await handle.close();
    await disk.list(pathOf("."));
    await disk.stat(pathOf("a"));
    await disk.makeDirectory(pathOf("d"));
    await disk.remove(pathOf("a"));
    await disk.removeTree(pathOf("d"));
    expect(disk.log.map((entry) => entry.split(" ")[0])).toEqual(
      "create write sync close open read close list stat makeDirectory remove removeTree".split(" "),
    );
    expect(disk.calls).toBe(12);
    await disk.dispose();
  });

  test("before: no effect; after: the effect; later calls work", async () => {
    const { disk, pathOf, tree } = await setUp();
    disk.failAt(0);
    await expect(disk.rename(pathOf("old"), pathOf("new"))).rejects.toThrow(InjectedFault);
    expect(await tree()).toEqual({ old: "old content" });
    disk.heal();
    disk.failAt(0, "after");
    await expect(disk.rename(pathOf("old"), pathOf("new"))).rejects.toMatchObject({ code: "EIO" });
    expect(disk.tripped).toBe(true);
    expect(await tree()).toEqual({ new: "old content" });
    expect((await disk.stat(pathOf("new")))!.size).toBe(11);
    await disk.dispose();
  });

  test("short: a write leaves the first half of its bytes", async () => {
    const { disk, pathOf, tree } = await setUp();
    disk.failAt(1, "short");
    const handle = await disk.create(pathOf("a"));
    await expect(handle.write([bytes("01"), bytes("2345"), bytes("6789")])).rejects.toThrow(InjectedFault);
    await handle.close();
    expect((await tree())["a"]).toBe("01234");
    await disk.dispose();
  });

  test("short: what is overwritten has the first half of the new bytes", async () => {
    const { disk, pathOf, tree } = await setUp();
    disk.failAt(0, "short");
    await expect(disk.overwrite(pathOf("old"), bytes("NEW CONTENT"))).rejects.toThrow(InjectedFault);
    expect((await tree())["old"]).toBe("NEW Content");
    await disk.dispose();
  });

  test("dead: every later call fails, until the restart", async () => {
    const { disk, pathOf, write, tree } = await setUp();
    disk.failAt(2, "before", { dead: true });
    await expect(write("a", "content", true)).rejects.toThrow(InjectedFault);
    await expect(disk.remove(pathOf("a"))).rejects.toThrow(InjectedFault);
    await expect(disk.stat(pathOf("a"))).rejects.toThrow(InjectedFault);
    await disk.restart();
    expect(await tree()).toEqual({ old: "old content", a: "content" });
    expect(disk.calls).toBe(0);
    await disk.dispose();
  });
});

describe("losing what was not synced", () => {
  test("a name without a directory sync goes, bytes without a file sync go", async () => {
    const { root, disk, write, tree } = await setUp();
    await write("named", "not synced", false);
    await disk.syncDirectory(root);
    await write("unnamed", "synced", true);
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "old content", named: "" });
    await disk.dispose();
  });

  test("bytes written after the last sync of a file go", async () => {
    const { root, disk, pathOf, tree } = await setUp();
    const handle = await disk.create(pathOf("a"));
    await handle.write([bytes("kept")]);
    await handle.sync();
    await disk.syncDirectory(root);
    await handle.write([bytes(" lost")]);
    expect((await tree())["a"]).toBe("kept lost");
    await disk.loseUnsynced();
    expect((await tree())["a"]).toBe("kept");
    await disk.dispose();
  });

  test("a file that was overwritten since its last sync is empty", async () => {
    const { disk, pathOf, tree } = await setUp();
    expect(await disk.overwrite(pathOf("old"), bytes("new content"))).toBe(true);
    expect((await tree())["old"]).toBe("new content");
    await disk.loseUnsynced();
    expect((await tree())["old"]).toBe("");
    await disk.dispose();
  });

  test("links, renames and removals without a directory sync are undone", async () => {
    const { root, disk, pathOf, write, tree } = await setUp();
    await write("b", "b content", true);
    await disk.syncDirectory(root);
    await disk.link(pathOf("b"), pathOf("c"));
    await disk.rename(pathOf("b"), pathOf("old"));
    await disk.remove(pathOf("old"));
    expect(await tree()).toEqual({ c: "b content" });
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "old content", b: "b content" });
    await disk.dispose();
  });

  test("after a directory sync they stay", async () => {
    const { root, disk, pathOf, write, tree } = await setUp();
    await write("b", "b content", true);
    await disk.link(pathOf("b"), pathOf("c"));
    await disk.rename(pathOf("b"), pathOf("old"));
    await disk.syncDirectory(root);
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "b content", c: "b content" });
    await disk.dispose();
  });

  test("a file synced through one name is synced through all", async () => {
    const { root, disk, pathOf, write, tree } = await setUp();
    await write("a", "content", false);
    await disk.link(pathOf("a"), pathOf("b"));
    await disk.syncFile(pathOf("a"));
    await disk.syncDirectory(root);
    await disk.loseUnsynced();
    expect((await tree())["b"]).toBe("content");
    await disk.dispose();
  });

  test("a tree removed without a sync comes back, a remade one does not mix with it", async () => {
    const { root, disk, pathOf, write, tree } = await setUp();
    await disk.makeDirectory(pathOf("t/data"));
    await write("t/data/f", "first", true);
    await disk.syncDirectory(pathOf("t/data"));
    await disk.removeTree(pathOf("t"));
    await disk.loseUnsynced();
    expect((await tree())["t/data/f"]).toBe("first");
    await disk.removeTree(pathOf("t"));
    await disk.syncDirectory(root);
    await disk.makeDirectory(pathOf("t/data"));
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "old content", t: "<dir>", "t/data": "<dir>" });
    await disk.dispose();
  });

  test("a directory whose making was reported as failed may go", async () => {
    const { disk, pathOf, tree } = await setUp();
    disk.failAt(0, "after");
    await expect(disk.makeDirectory(pathOf("d"))).rejects.toThrow(InjectedFault);
    expect(await tree()).toEqual({ old: "old content", d: "<dir>" });
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "old content" });
    await disk.dispose();
  });

  test("changes may survive one by one, and the next loss starts from there", async () => {
    const { disk, pathOf, write, tree } = await setUp();
    await write("a", "a", true);
    await write("b", "b", true);
    await disk.loseUnsynced((each) => each === pathOf("a"));
    expect(await tree()).toEqual({ old: "old content", a: "a" });
    await disk.loseUnsynced();
    expect(await tree()).toEqual({ old: "old content", a: "a" });
    await disk.dispose();
  });
});

test("a counting disk counts calls, bytes and reads", async ({ root }) => {
  const disk = countingDisk(nodeDisk);
  const file = path.join(root, "f");
  const handle = await disk.create(file);
  await handle.write([bytes("abc"), bytes("de")]);
  await handle.close();
  await disk.readFile(file);
  const reader = (await disk.open(file))!;
  await reader.read(1, 3);
  await reader.close();
  expect([disk.count("create"), disk.count("read"), disk.count("close"), disk.total]).toEqual([1, 1, 2, 7]);
  expect([disk.bytesWritten, disk.bytesRead]).toEqual([5, 8]);
  expect(disk.reads).toEqual([
    { path: file, byteOffset: 0, length: 5 },
    { path: file, byteOffset: 1, length: 3 },
  ]);
  disk.reset();
  expect([disk.total, disk.bytesRead, disk.reads.length]).toEqual([0, 0, 0]);
});
