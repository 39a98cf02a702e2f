import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Int32, makeData, makeVector, RecordBatch, Table, tableToIPC, Uint32 } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { CHECK_BLOCK_BYTES, makeCheckBlock } from "../../../src/bytes/checkBlock.js";
import { concatBytes } from "../../../src/bytes/concat.js";
import { CorruptFileError } from "../../../src/errors.js";
import { DataFragment, DELETION_FILE_TYPE, DeletionFile, Manifest } from "../../../src/format/table.js";
import { LruCache } from "../../../src/io/memory/cache.js";
import {
  decodeDeletions,
  encodeDeletions,
  type KeptDeletions,
  readDeletions,
  readKeptDeletions,
} from "../../../src/table/fragments/deletions.js";
import { deletionFileName } from "../../../src/table/versions/paths.js";
import { countingDisk } from "../../support/countingDisk.js";
import { Random } from "../../support/generators.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { disk, latestFile, makeReferenceTable } from "../support.js";

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Content of an `.arrow` file. */
const ipcOf = (...values: number[]) =>
  tableToIPC(new Table({ row_id: makeVector(Uint32Array.from(values)) }), "file");

/** Content and file of either form. Only older releases wrote sealed `.arrow` files. */
function formOf(fileType: number, offsets: Uint32Array) {
  if (fileType === DELETION_FILE_TYPE.bitmap) {
    const sealed = (name: string) => concatBytes(encodeDeletions(offsets, name));
    return { bytes: sealed("").slice(0, -CHECK_BLOCK_BYTES), sealed };
  }
  const bytes = ipcOf(...offsets);
  const before = bytes.slice(0, -10);
  const after = bytes.slice(-10);
  const view = new DataView(after.buffer);
  view.setInt32(0, view.getInt32(0, true) + CHECK_BLOCK_BYTES, true);
  const sealed = (name: string) =>
    concatBytes([before, makeCheckBlock(before, after, new TextEncoder().encode(name)), after]);
  return { bytes, sealed };
}

describe("deletion files of the reference", () => {
  it.each([
    [100, 3, DELETION_FILE_TYPE.arrowArray],
    [8000, 2, DELETION_FILE_TYPE.arrowArray],
    [30000, 2, DELETION_FILE_TYPE.bitmap],
    [100000, 3, DELETION_FILE_TYPE.bitmap],
  ])("are read: %i rows without every %i. one", async (count, step, fileType) => {
    const table = await makeReferenceTable(range(count));
    await reference.deleteRows(table.uri, "t", `v % ${step} = 1`);
    const { manifest } = await latestFile(table.root);
    const [fragment] = manifest.fragments;
    expect(fragment.deletionFile?.fileType).toBe(fileType);
    const deleted = await readDeletions({ disk, root: table.root }, manifest, fragment);
    expect(Array.from(deleted!)).toEqual(range(count).filter((value) => value % step === 1));
  });

  it("give null if there is none", async () => {
    const table = await makeReferenceTable([1]);
    const { manifest } = await latestFile(table.root);
    expect(await readDeletions({ disk, root: table.root }, manifest, manifest.fragments[0])).toBeNull();
  });

  it("are reported when missing, and their count is checked", async () => {
    const table = await makeReferenceTable([1, 2, 3]);
    await reference.deleteRows(table.uri, "t", "v = 2");
    const { manifest } = await latestFile(table.root);
    const [fragment] = manifest.fragments;
    const file = fragment.deletionFile!;
    const read = (change: Partial<typeof file>, physicalRows = 3) =>
      readDeletions({ disk, root: table.root }, manifest, {
        ...fragment,
        physicalRows,
        deletionFile: { ...file, ...change },
      });
    await expect(read({ id: 5n })).rejects.toThrow(CorruptFileError);
    await expect(read({ numDeletedRows: 2 })).rejects.toThrow(CorruptFileError);
    await expect(read({}, 1)).rejects.toThrow(CorruptFileError);
    expect(Array.from((await read({ numDeletedRows: 0 }))!)).toEqual([1]);
  });
});

describe("cached deletion files", () => {
  it("are read once, and again if another file replaces them or the manifest disagrees", async () => {
    const table = await makeReferenceTable(range(10));
    await reference.deleteRows(table.uri, "t", "v in (2, 5)");
    const { manifest } = await latestFile(table.root);
    const [fragment] = manifest.fragments;
    const counting = countingDisk(disk);
    const location = { disk: counting, root: table.root };
    const kept = new LruCache<KeptDeletions>(10_000);
    const read = (changed: typeof fragment = fragment) =>
      readKeptDeletions(location, manifest, changed, kept);
    for (let call = 0; call < 3; call++) expect(Array.from((await read())!)).toEqual([2, 5]);
    expect(counting.count("readFile")).toBe(1);
    await expect(read({ ...fragment, physicalRows: 5 })).rejects.toThrow(CorruptFileError);
    const file = fragment.deletionFile!;
    const miscounted = { ...fragment, deletionFile: { ...file, numDeletedRows: 3 } };
    await expect(read(miscounted)).rejects.toThrow(CorruptFileError);
    const [name] = await readdir(join(table.root, "_deletions"));
    const path = join(table.root, "_deletions", name);
    await rm(path);
    await writeFile(path, ipcOf(1, 3));
    expect(Array.from((await read())!)).toEqual([1, 3]);
    await rm(path);
    await expect(read()).rejects.toThrow(CorruptFileError);
  });
});

describe("sealed deletion files", () => {
  it.each([
    ["few rows", DELETION_FILE_TYPE.arrowArray, 40, 3],
    ["few rows, as a bitmap", DELETION_FILE_TYPE.bitmap, 40, 3],
    ["many rows", DELETION_FILE_TYPE.bitmap, 12_000, 2],
  ])("of %s are refused or whole with any bit flipped, and under another name", async (_, type, count, step) => {
    const root = await makeTempDir();
    const offsets = Uint32Array.from(range(count).filter((row) => row % step === 1));
    const file = DeletionFile.create({
      fileType: type,
      readVersion: 3,
      id: 77n,
      numDeletedRows: offsets.length,
    });
    const fragment = DataFragment.create({ id: 5, physicalRows: count, deletionFile: file });
    const { bytes, sealed: sealedAs } = formOf(type, offsets);
    const name = deletionFileName(5, file);
    const sealed = sealedAs(name);
    await mkdir(join(root, "_deletions"));
    const path = join(root, "_deletions", name);
    const read = async (content: Uint8Array) => {
      await writeFile(path, content);
      return readDeletions({ disk, root }, Manifest.create({}), fragment);
    };
    expect(await read(sealed)).toEqual(offsets);
    // A file without a checksum comes from another writer.
    expect(await read(bytes)).toEqual(offsets);
    const random = new Random(5);
    for (let flip = 0; flip < 400; flip++) {
      const bit =
        type === DELETION_FILE_TYPE.arrowArray
          ? Math.floor((flip * sealed.length) / 50)
          : random.below(sealed.length * 8);
      const flipped = sealed.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const outcome = await read(flipped).catch((error: unknown) => error);
      if (outcome instanceof CorruptFileError) continue;
      expect(outcome, `bit ${bit}`).toEqual(offsets);
    }
    const moved = sealedAs(deletionFileName(6, file));
    await expect(read(moved)).rejects.toThrow("fails its checksum");
  });
});

describe("damaged deletion files", () => {
  const arrow = (bytes: Uint8Array) => decodeDeletions(bytes, DELETION_FILE_TYPE.arrowArray, 10, "d");

  it("may be in any order, but not with a row twice or a row too many", async () => {
    expect(Array.from(await arrow(ipcOf(7, 2, 9)))).toEqual([2, 7, 9]);
    await expect(arrow(ipcOf(7, 2, 7))).rejects.toThrow(CorruptFileError);
    await expect(arrow(ipcOf(10))).rejects.toThrow(CorruptFileError);
  });

  it("of another type are refused", async () => {
    const int32 = new RecordBatch({
      row_id: makeData({ type: new Int32(), data: Int32Array.of(1), length: 1 }),
    });
    await expect(arrow(tableToIPC(new Table(int32), "file"))).rejects.toThrow(CorruptFileError);
    const nulls = makeData({
      type: new Uint32(),
      data: Uint32Array.of(1, 2),
      length: 2,
      nullCount: 1,
      nullBitmap: Uint8Array.of(1),
    });
    const nullable = tableToIPC(new Table(new RecordBatch({ row_id: nulls })), "file");
    await expect(arrow(nullable)).rejects.toThrow(CorruptFileError);
    await expect(decodeDeletions(ipcOf(1), 2, 10, "d")).rejects.toThrow(CorruptFileError);
  });

  it("are refused or in range with any byte changed or cut", async () => {
    const bytes = ipcOf(7, 2, 9);
    for (let index = 0; index < bytes.length; index++) {
      for (const damaged of [
        bytes.slice(0, index),
        bytes.map((byte, slot) => (slot === index ? byte ^ 0x41 : byte)),
      ]) {
        try {
          for (const offset of await arrow(damaged)) expect(offset).toBeLessThan(10);
        } catch (error) {
          expect(error).toBeInstanceOf(CorruptFileError);
        }
      }
    }
  });
});
