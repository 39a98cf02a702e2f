import { writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { gatherRanges, planReads, readAtOnce, readRanges } from "../../../src/io/disk/ranges.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { countingDisk } from "../../support/countingDisk.js";
import { makeTempDir } from "../../support/tempDir.js";

const FILE_BYTES = 300_000;
const ranges = fc.array(
  fc
    .record({ byteOffset: fc.nat(FILE_BYTES), length: fc.oneof(fc.nat(200), fc.nat(60_000), fc.constant(0)) })
    .map(({ byteOffset, length }) => ({ byteOffset, length: Math.min(length, FILE_BYTES - byteOffset) })),
  { maxLength: 40 },
);
const planOptions = fc.record({ gapBytes: fc.nat(5000), maxReadBytes: fc.integer({ min: 1, max: 50_000 }) });

test("a plan covers every range, aligned, in file order, and within its limits", () => {
  fc.assert(
    fc.property(ranges, planOptions, (asked, options) => {
      const { reads, placements } = planReads(asked, options.gapBytes, options.maxReadBytes);
      expect(placements).toHaveLength(asked.length);
      asked.forEach(({ byteOffset, length }, rangeIndex) => {
        const { readIndex, start } = placements[rangeIndex];
        expect(readIndex < 0).toBe(length === 0);
        if (length === 0) return;
        const read = reads[readIndex];
        expect(read.byteOffset + start).toBe(byteOffset);
        expect(start + length).toBeLessThanOrEqual(read.length);
      });
      reads.forEach((read, readIndex) => {
        expect(read.byteOffset % 64).toBe(0);
        if (readIndex > 0) expect(read.byteOffset).toBeGreaterThanOrEqual(reads[readIndex - 1].byteOffset);
        const rangesOfRead = asked.filter((_, i) => placements[i].readIndex === readIndex);
        const longest = Math.max(...rangesOfRead.map(({ length }) => length));
        expect(read.length).toBeLessThanOrEqual(Math.max(options.maxReadBytes, longest + 63));
        expect(read.byteOffset + read.length).toBe(
          Math.max(...rangesOfRead.map(({ byteOffset, length }) => byteOffset + length)),
        );
      });
    }),
  );
});

describe("readRanges", () => {
  async function openPattern() {
    const file = path.join(await makeTempDir(), "f");
    const bytes = new Uint8Array(FILE_BYTES);
    for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 13 + (i >>> 9)) & 0xff;
    await writeFile(file, bytes);
    const disk = countingDisk(new NodeDisk({ durability: "none" }));
    return { disk, file, bytes, handle: (await disk.open(file))! };
  }

  test("returns the bytes of each range, in order, and keeps alignment", async () => {
    const { bytes, handle } = await openPattern();
    await fc.assert(
      fc.asyncProperty(ranges, async (asked) => {
        const views = await readRanges(handle, asked);
        asked.forEach(({ byteOffset, length }, i) => {
          expect(Buffer.compare(views[i], bytes.subarray(byteOffset, byteOffset + length))).toBe(0);
          if (length > 0 && byteOffset % 8 === 0) expect(views[i].byteOffset % 8).toBe(0);
        });
      }),
      { numRuns: 50 },
    );
    await handle.close();
  });

  test("reads neighbours together and distant ranges apart", async () => {
    const { disk, handle, file } = await openPattern();
    await readRanges(handle, [
      { byteOffset: 200_000, length: 8 },
      { byteOffset: 64, length: 100 },
      { byteOffset: 256, length: 100 },
    ]);
    expect(disk.reads).toEqual([
      { path: file, byteOffset: 64, length: 292 },
      { path: file, byteOffset: 200_000, length: 8 },
    ]);
    await handle.close();
  });

  test("bounds the number of concurrent reads", async () => {
    let underWay = 0;
    let most = 0;
    const handle = {
      path: "/f",
      size: 2_000_000,
      identity: "",
      async read(_byteOffset: number, length: number) {
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay--;
        return new Uint8Array(length);
      },
      close: async () => {},
    };
    const asked = Array.from({ length: 20 }, (_, i) => ({ byteOffset: i * 100_000, length: 10 }));
    await readRanges(handle, asked);
    expect(most).toBe(4);
  });

  test("fails for a range outside the file before it reads", async () => {
    const { disk, handle, file } = await openPattern();
    for (const bad of [
      { byteOffset: FILE_BYTES - 1, length: 2 },
      { byteOffset: FILE_BYTES + 1, length: 0 },
      { byteOffset: -8, length: 8 },
      { byteOffset: 0, length: Number.NaN },
      { byteOffset: Number.MAX_SAFE_INTEGER, length: Number.MAX_SAFE_INTEGER },
    ]) {
      const reading = readRanges(handle, [{ byteOffset: 0, length: 5 }, bad]);
      await expect(reading).rejects.toBeInstanceOf(CorruptFileError);
      await expect(reading).rejects.toMatchObject({ path: file });
    }
    expect(disk.reads).toEqual([]);
    await handle.close();
  });
});

/** Opens a file whose bytes differ, with a disk that has `readInto` or lacks it. */
async function openFilled(way: string) {
  const file = path.join(await makeTempDir(), "f");
  const bytes = Uint8Array.from({ length: FILE_BYTES }, (_, index) => (index * 13 + (index >>> 9)) & 0xff);
  await writeFile(file, bytes);
  const disk = new NodeDisk({ durability: "none" });
  const handle = (await (way === "with readInto" ? disk : countingDisk(disk)).open(file))!;
  return { bytes, handle };
}

const readWays = ["with readInto", "by single reads"];
test.each(readWays)("readAtOnce returns the same as readRanges, %s", async (way) => {
  const { bytes, handle } = await openFilled(way);
  const scratch = new ScratchMemory(1 << 20);
  await fc.assert(
    fc.asyncProperty(ranges, async (asked) => {
      const views = await readAtOnce(handle, asked, (byteLength) => scratch.lend(byteLength));
      asked.forEach(({ byteOffset, length }, index) => {
        expect(Buffer.compare(views[index], bytes.subarray(byteOffset, byteOffset + length))).toBe(0);
        if (length > 0) expect(views[index].byteOffset % 8).toBe(byteOffset % 8);
      });
    }),
    { numRuns: 60 },
  );
  const beyond = readAtOnce(handle, [{ byteOffset: FILE_BYTES - 5, length: 6 }], (size) =>
    scratch.lend(size),
  );
  await expect(beyond).rejects.toBeInstanceOf(CorruptFileError);
  await handle.close();
});

describe("gatherRanges", () => {
  const list = (asked: readonly { byteOffset: number; length: number }[]) => ({
    byteOffsets: Float64Array.from(asked, ({ byteOffset }) => byteOffset),
    lengths: Float64Array.from(asked, ({ length }) => length),
  });

  test.each([
    "with readInto",
    "by single reads",
  ])("returns all ranges one after the other, %s", async (way) => {
    const { bytes, handle } = await openFilled(way);
    const scratch = new ScratchMemory(1 << 20);
    await fc.assert(
      fc.asyncProperty(ranges, fc.boolean(), async (asked, ascending) => {
        if (ascending) asked.sort((a, b) => a.byteOffset - b.byteOffset);
        const gathered = await gatherRanges(handle, list(asked), scratch);
        const parts = asked.map(({ byteOffset, length }) => bytes.subarray(byteOffset, byteOffset + length));
        expect(Buffer.compare(gathered, Buffer.concat(parts))).toBe(0);
      }),
      { numRuns: 60 },
    );
    for (const [byteOffset, length] of [
      [FILE_BYTES - 5, 6],
      [-1, 1],
      [0.5, 1],
      [Number.NaN, 1],
      [0, 2 ** 53],
    ]) {
      const outside = async () => gatherRanges(handle, list([{ byteOffset, length }]), scratch);
      await expect(outside()).rejects.toBeInstanceOf(CorruptFileError);
    }
    await handle.close();
  });

  test("reads near ranges in one call, far ones in one each", async () => {
    const file = path.join(await makeTempDir(), "f");
    await writeFile(file, new Uint8Array(FILE_BYTES));
    const disk = countingDisk(new NodeDisk({ durability: "none" }));
    const handle = (await disk.open(file))!;
    const asked = [0, 100, 4_000, 50_000, 50_008, 90_000].map((byteOffset) => ({ byteOffset, length: 8 }));
    expect(await gatherRanges(handle, list(asked), new ScratchMemory(0))).toHaveLength(48);
    expect(disk.reads.map(({ byteOffset, length }) => [byteOffset, length])).toEqual([
      [0, 4_008],
      [50_000, 16],
      [90_000, 8],
    ]);
    await handle.close();
  });
});
