/** A changed byte of a file with blobs gives the old rows or a typed error; in a value always the error. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Field, LargeBinary, Schema, Table, vectorFromArray } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { BLOB_CHECKSUM_BUFFER_INDEX } from "../../src/file/container/container.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { compareTables } from "../support/compareTables.js";
import { checksumFieldStart, OTHER_FIELD } from "../support/fileDamage.js";
import { afterAll, beforeAll, describe, expect, it, sharedDirectory } from "../support/fixtures.js";

const SCHEMA = new Schema([
  new Field("b", new LargeBinary(), true, new Map([["lance-encoding:blob", "true"]])),
]);
const VALUES = [5, 0, null, 64, 65, null, 1].map((size, row) =>
  size === null ? null : Uint8Array.from({ length: size }, (_, index) => (row * 31 + index * 7 + 1) & 0xff),
);
const ROWS = new Table(SCHEMA, { b: vectorFromArray(VALUES, new LargeBinary()) });

describe.each(["2.0", "2.1"] as const)("a file of version %s with blobs", (version) => {
  const root = sharedDirectory();
  let dataPath: string;
  let bytes: Uint8Array;
  beforeAll(async () => {
    const namespace = open();
    await namespace.createTable({ id: ["t"] }, ROWS);
    await namespace.close();
    const data = join(root, "t.lance", "data");
    dataPath = join(data, readdirSync(data)[0]!);
    bytes = new Uint8Array(readFileSync(dataPath));
  });
  afterAll(() => writeFileSync(dataPath, bytes));

  const open = () => new DirectoryNamespace({ root, durability: "none", dataStorageVersion: version });

  /** Reads the file with a byte changed; returns the rows or the error. */
  async function scanWith(changed: Uint8Array): Promise<Table | Error> {
    writeFileSync(dataPath, changed);
    const namespace = open();
    try {
      return await namespace.table(["t"]).scan().toArrow();
    } catch (error) {
      return error as Error;
    } finally {
      await namespace.close();
    }
  }

  const flipped = (offset: number): Uint8Array => {
    const changed = bytes.slice();
    changed[offset]! ^= 0x10;
    return changed;
  };

  const inMemory = (content: Uint8Array) => ({
    path: "blobs",
    size: content.length,
    identity: "blobs",
    read: async (byteOffset: number, length: number) => content.slice(byteOffset, byteOffset + length),
    close: async () => undefined,
  });

  /** Positions of the values that their bytes identify. */
  const valuePositions = (): number[] =>
    VALUES.flatMap((value) => {
      if (value === null || value.length < 5) return [];
      return [Buffer.from(bytes.buffer).indexOf(value)];
    });

  it("gives its rows or a typed error after a change of any byte", async () => {
    const { globalBuffers } = await openDataFile(inMemory(bytes), "blobs");
    const checksums = globalBuffers[BLOB_CHECKSUM_BUFFER_INDEX]!;
    let refused = 0;
    for (let index = 0; index < bytes.length; index++) {
      const read = await scanWith(flipped(index));
      if (read instanceof Table) {
        compareTables(ROWS, read);
        const isChecksum = index >= checksums.byteOffset && index < checksums.byteOffset + checksums.length;
        expect(isChecksum, `byte ${index}`).toBe(false);
      } else {
        // The changed version in the footer may be an unsupported one.
        if (!(read instanceof UnsupportedError)) expect(read).toBeInstanceOf(CorruptFileError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(bytes.length / 2);
  });

  it("refuses every changed byte of a value, in scans, in takes and in lazy reads", async () => {
    for (const start of valuePositions()) {
      writeFileSync(dataPath, flipped(start));
      await using namespace = open();
      const table = namespace.table(["t"]);
      const all = VALUES.map((_, row) => row);
      await expect(table.scan().toArrow()).rejects.toThrow(/fails its checksum/);
      await expect(table.take(all)).rejects.toThrow(/fails its checksum/);
      const read = async () => {
        for (const blob of await table.takeBlobs("b", all)) await blob?.read();
      };
      await expect(read()).rejects.toThrow(/fails its checksum/);
      for (const blob of await table.takeBlobs("b", all)) await blob?.read(0, Math.max(0, blob.size - 1));
    }
  });

  it("is read unverified if it has no checksums", async () => {
    const changed = flipped(valuePositions()[0]!);
    const { globalBuffers, columns } = await openDataFile(inMemory(bytes), "blobs");
    const buffers = columns.flatMap(({ pages }) => pages.flatMap(({ bufferRanges }) => bufferRanges));
    changed[checksumFieldStart(globalBuffers[0]!, buffers.length)]! ^= OTHER_FIELD;
    const read = await scanWith(changed);
    expect(read).toBeInstanceOf(Table);
    expect((read as Table).getChild("b")?.get(0)).not.toEqual(VALUES[0]);
  });
});
