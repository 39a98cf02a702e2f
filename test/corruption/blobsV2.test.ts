/** Missing, short, exchanged or changed side files of blobs give an error. */

import { readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Field, LargeBinary, Schema, Struct, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const BLOB = new Struct([new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)]);
const METADATA = new Map([
  ["ARROW:extension:name", "lance.blob.v2"],
  ["lance-encoding:blob-inline-size-threshold", "4"],
  ["lance-encoding:blob-dedicated-size-threshold", "8"],
  ["lance-encoding:blob-pack-file-size-threshold", "16"],
]);
/** In the file, two in a side file, one in another, two in their own, of one length. */
const SIZES = [3, 7, 8, null, 6, 20, 20, 0];
const VALUES = SIZES.map((size, row) =>
  size === null
    ? null
    : { data: Uint8Array.from({ length: size }, (_, index) => row * 31 + index * 7 + 1), uri: null },
);
const ROWS = new Table(new Schema([new Field("b", BLOB, true, METADATA)]), {
  b: vectorFromArray(VALUES, BLOB),
});
const ALL = VALUES.map((_, row) => row);

let root: string;
let data: string;
let directory: string;
const open = () => new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" });

async function withTable<Result>(use: (table: ReturnType<DirectoryNamespace["table"]>) => Promise<Result>) {
  await using namespace = open();
  return await use(namespace.table(["t"]));
}

const readLazily = async (table: ReturnType<DirectoryNamespace["table"]>) => {
  for (const blob of await table.takeBlobs("b", ALL)) await blob?.read();
};

/** Every way to read the values throws; other rows can still be read. */
async function expectCorrupt(intactRow: number, what: RegExp = /./): Promise<void> {
  await withTable(async (table) => {
    for (const read of [() => table.scan().toArrow(), () => table.take(ALL), () => readLazily(table)]) {
      const error = await read().catch((thrown) => thrown);
      expect(error).toBeInstanceOf(CorruptFileError);
      expect(error.message).toMatch(what);
    }
    compareTables(ROWS.slice(intactRow, intactRow + 1), await table.take([intactRow]));
  });
}

describe.each(["us", "the reference"])("reads refuse side files of %s", (writer) => {
  beforeEach(async () => {
    root = await makeTempDir();
    const namespace = open();
    if (writer === "us") await namespace.createTable({ id: ["t"] }, ROWS);
    else await reference.createTable(root, "t", tableToIPC(ROWS));
    compareTables(ROWS, await namespace.table(["t"]).scan().toArrow());
    await namespace.close();
    data = join(root, "t.lance", "data");
    const entries = readdirSync(data, { withFileTypes: true });
    directory = join(data, entries.find((entry) => entry.isDirectory())!.name);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const sideFile = (number: number) =>
    join(directory, `${number.toString(2).padStart(32, "0").split("").reverse().join("")}.blob`);

  it("that are missing", async () => {
    const [first, , last] = readdirSync(directory).map((name) => join(directory, name));
    expect(readdirSync(directory)).toHaveLength(4);
    rmSync(first!);
    rmSync(last!);
    await expectCorrupt(0);
    rmSync(directory, { recursive: true });
    await expectCorrupt(0);
  });

  it("that are too short", async () => {
    truncateSync(sideFile(1), 14);
    await expectCorrupt(1);
    truncateSync(sideFile(1), 0);
    await expectCorrupt(0);
  });

  it("under another number", async () => {
    renameSync(sideFile(3), sideFile(9));
    await expectCorrupt(6);
  });

  if (writer === "us") {
    it("that are exchanged with others of one length", async () => {
      const [three, four] = [readFileSync(sideFile(3)), readFileSync(sideFile(4))];
      expect(three.length).toBe(four.length);
      writeFileSync(sideFile(3), four);
      writeFileSync(sideFile(4), three);
      await expectCorrupt(0, /fails its checksum/);
    });

    it("with any byte changed; partial reads are not checked", async () => {
      for (const name of readdirSync(directory)) {
        const path = join(directory, name);
        const bytes = readFileSync(path);
        for (let offset = 0; offset < bytes.length; offset++) {
          const changed = Uint8Array.from(bytes);
          changed[offset]! ^= 0x10;
          writeFileSync(path, changed);
          await expectCorrupt(0, /fails its checksum/);
        }
        writeFileSync(path, bytes);
      }
      const path = sideFile(4);
      const changed = new Uint8Array(readFileSync(path));
      changed[0]! ^= 0x10;
      writeFileSync(path, changed);
      await withTable(async (table) => {
        const [blob] = await table.takeBlobs("b", [6]);
        expect(await blob!.read(1)).toEqual(VALUES[6]!.data.subarray(1));
        await expect(blob!.read()).rejects.toThrow(/fails its checksum/);
      });
    });

    it("of a data file with any byte changed", async () => {
      const name = readdirSync(data).find((entry) => entry.endsWith(".lance"))!;
      const path = join(data, name);
      const bytes = readFileSync(path);
      let refused = 0;
      for (let offset = 0; offset < bytes.length; offset++) {
        const changed = Uint8Array.from(bytes);
        changed[offset]! ^= 0x10;
        writeFileSync(path, changed);
        const read = await withTable((table) => table.scan().toArrow()).catch((error: Error) => error);
        if (read instanceof Table) {
          compareTables(ROWS, read);
        } else {
          // The changed version in the footer may be an unsupported one.
          if (!(read instanceof UnsupportedError))
            expect(read, `byte ${offset}`).toBeInstanceOf(CorruptFileError);
          refused++;
        }
      }
      expect(refused).toBeGreaterThan(bytes.length / 2);
    });
  }
});
