import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import { HandlePool } from "../../../src/io/disk/handles.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { countingDisk } from "../../support/countingDisk.js";
import { makeTempDir } from "../../support/tempDir.js";

async function setUp(fileCount: number, maxOpen: number) {
  const root = await makeTempDir();
  const paths = Array.from({ length: fileCount }, (_, i) => path.join(root, `f${i}`));
  for (const [i, each] of paths.entries()) await writeFile(each, `content ${i}`);
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  return { root, paths, disk, pool: new HandlePool(disk, maxOpen) };
}

const readAll = (pool: HandlePool, file: string) =>
  pool.withHandle(file, async (handle) => Buffer.from(await handle.read(0, handle.size)).toString());

test("a pool opens each file once and keeps at most the bound", async () => {
  const { paths, disk, pool } = await setUp(5, 3);
  for (let round = 0; round < 2; round++) await Promise.all([0, 1, 2].map((i) => readAll(pool, paths[i])));
  expect(disk.count("open")).toBe(3);
  expect(await readAll(pool, paths[3])).toBe("content 3");
  expect([pool.size, disk.count("close")]).toEqual([3, 1]);
  await readAll(pool, paths[0]);
  expect(disk.count("open")).toBe(5);
  await pool.close();
  expect(disk.count("close")).toBe(5);
});

test("a handle in use outlives eviction and close", async () => {
  const { root, paths, disk, pool } = await setUp(3, 1);
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const slow = pool.withHandle(paths[0], async (handle) => {
    await gate;
    return Buffer.from(await handle.read(0, handle.size)).toString();
  });
  await readAll(pool, paths[1]);
  await readAll(pool, paths[2]);
  pool.evict(root);
  await pool.close();
  expect(disk.count("close")).toBe(2);
  goOn();
  expect(await slow).toBe("content 0");
  expect([disk.count("close"), pool.size]).toEqual([3, 0]);
});

test("an evicted path is opened again", async () => {
  const { root, paths, pool } = await setUp(1, 4);
  expect(await readAll(pool, paths[0])).toBe("content 0");
  pool.evict(`${root}${path.sep}`);
  await writeFile(paths[0], "another");
  expect(await readAll(pool, paths[0])).toBe("another");
  await pool.close();
});

test("a missing file fails and is not remembered", async () => {
  const { root, pool } = await setUp(0, 4);
  const file = path.join(root, "late");
  await expect(readAll(pool, file)).rejects.toBeInstanceOf(CorruptFileError);
  await writeFile(file, "here");
  expect(await readAll(pool, file)).toBe("here");
  await pool.close();
});

test("reads that continue after close keep no file open", async () => {
  const { paths, disk, pool } = await setUp(2, 4);
  await readAll(pool, paths[0]);
  await pool.close();
  expect(await Promise.all([0, 1, 0].map((i) => readAll(pool, paths[i])))).toEqual([
    "content 0",
    "content 1",
    "content 0",
  ]);
  expect(pool.size).toBe(0);
  expect(disk.count("close")).toBe(disk.count("open"));
});

test("random use from many callers never reads through a closed handle", async () => {
  const { paths, disk, pool } = await setUp(12, 3);
  await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      const fileIndex = (i * 7) % 12;
      if (i % 50 === 0) pool.evict(paths[fileIndex]);
      expect(await readAll(pool, paths[fileIndex])).toBe(`content ${fileIndex}`);
    }),
  );
  await pool.close();
  expect(disk.count("close")).toBe(disk.count("open"));
});
