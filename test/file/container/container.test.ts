import { describe, expect, it } from "vitest";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { compareTables } from "../../support/compareTables.js";
import { checksumFieldStart, OTHER_FIELD } from "../../support/fileDamage.js";
import { type ColumnSpec, makeTable } from "../../support/generators.js";
import { REALISTIC_COLUMNS, realisticTable } from "../../support/realisticColumns.js";
import { fileToTable, tableToFile } from "../dataFiles.js";
import { MemoryDisk } from "../memoryDisk.js";

const COLUMNS: ColumnSpec[] = [
  { name: "a", type: "int64", shape: "random", nulls: "none" },
  { name: "b", type: "utf8", shape: "random", nulls: "some" },
  { name: "c", type: "int32", shape: "sorted", nulls: "some" },
  { name: "d", type: "vectorFloat32", shape: "random", nulls: "none" },
];

const open = (bytes: Uint8Array) => openDataFile(new MemoryDisk().handle("/t.lance", bytes), "/t.lance");

describe.each(["2.1", "2.2"] as const)("a damaged data file of version %s", (version) => {
  const table = makeTable({ columns: COLUMNS, rowCount: 40, seed: 11 });

  /** Expects the old rows, or an error that calls the file corrupt. */
  async function expectIntactOrCorrupt(bytes: Uint8Array, what: string): Promise<"intact" | "corrupt"> {
    try {
      compareTables(table, await fileToTable(bytes, table.schema));
      return "intact";
    } catch (error) {
      if (error instanceof CorruptFileError || error instanceof UnsupportedError) return "corrupt";
      throw new Error(`${what}: ${String(error)}`, { cause: error });
    }
  }

  it("is noticed after a change of any byte", async () => {
    const bytes = await tableToFile(table, version);
    let noticed = 0;
    for (let offset = 0; offset < bytes.length; offset++) {
      for (const flip of [1 << (offset % 8), 0xff]) {
        const damaged = bytes.slice();
        damaged[offset] ^= flip;
        if ((await expectIntactOrCorrupt(damaged, `byte ${offset} ^ ${flip}`)) === "corrupt") noticed++;
      }
    }
    // Only changes of padding between buffers go unnoticed.
    expect(noticed).toBeGreaterThan(bytes.length * 2 * 0.9);
  });

  it("is noticed after any cut, and when bytes are added", async () => {
    const bytes = await tableToFile(table, version);
    for (let length = 0; length < bytes.length; length++) {
      expect(await expectIntactOrCorrupt(bytes.slice(0, length), `cut at ${length}`)).toBe("corrupt");
    }
    const longer = new Uint8Array(bytes.length + 7);
    longer.set(bytes);
    expect(await expectIntactOrCorrupt(longer, "longer")).toBe("corrupt");
  });

  it("is noticed when its bytes are exchanged", async () => {
    const bytes = await tableToFile(table, version);
    const damaged = bytes.slice();
    damaged.copyWithin(64, 0, 64);
    await expect(fileToTable(damaged, table.schema)).rejects.toThrow(CorruptFileError);
  });
});

describe("opening a data file", () => {
  const table = makeTable({ columns: COLUMNS, rowCount: 40, seed: 11 });

  it("returns the content of the file", async () => {
    const bytes = await tableToFile(table, "2.1");
    const file = await open(bytes);
    expect(file.version).toBe("2.1");
    expect(file.rowCount).toBe(40);
    expect(file.columns).toHaveLength(4);
    expect(file.descriptor.schema?.fields.map((field) => field.name)).toEqual(["a", "b", "c", "d"]);
    expect(file.memoryWeight).toBeGreaterThan(1000);
    for (const { pages } of file.columns) {
      expect(pages).toHaveLength(1);
      expect(pages[0]).toMatchObject({ rowStart: 0, rowCount: 40 });
      for (const range of pages[0].bufferRanges) expect(range.byteOffset % 64).toBe(0);
    }
    expect(file.globalBuffers[0].byteOffset % 64).toBe(0);
  });

  it.each([
    ["zstd", true],
    ["lz4", undefined],
  ])("tells if pages that are compressed by %s need a decoder of Zstandard", async (compression, usesZstd) => {
    const metadata = new Map([["lance-encoding:compression", compression]]);
    const [column] = REALISTIC_COLUMNS.filter(({ name }) => name === "text");
    const bytes = await tableToFile(realisticTable(column, 2000, metadata), "2.2");
    const [{ layout }] = (await open(bytes)).columns[0].pages;
    expect(layout.miniBlock?.valueCompression?.general).toBeDefined();
    expect(layout.usesZstd).toBe(usesZstd);
  });

  it("takes one read", async () => {
    const handle = new MemoryDisk().handle("/t.lance", await tableToFile(table, "2.2"));
    let reads = 0;
    const read: typeof handle.read = (byteOffset, length) => {
      reads++;
      return handle.read(byteOffset, length);
    };
    const file = await openDataFile({ ...handle, read }, "/t.lance");
    expect(file.columns.map((column) => column.pages.length)).toEqual([1, 1, 1, 1]);
    expect(reads).toBe(1);
  });

  it("refuses a file with zeros across the end of its pages and the start of its checksums", async () => {
    const bytes = await tableToFile(table, "2.2");
    const [{ byteOffset }] = (await open(bytes)).globalBuffers;
    for (const [before, behind] of [
      [200, 1],
      [64, 64],
      [64, 600],
    ]) {
      for (const value of [0, 0xff]) {
        const damaged = bytes.slice();
        damaged.fill(value, byteOffset - before, Math.min(byteOffset + behind, bytes.length - 40));
        await expect(fileToTable(damaged, table.schema)).rejects.toThrow(CorruptFileError);
      }
    }
  });

  it("reads metadata longer than its first read", async () => {
    const columns = Array.from({ length: 700 }, (_, index) => ({ ...COLUMNS[index % 4], name: `c${index}` }));
    const wide = makeTable({ columns, rowCount: 5, seed: 1 });
    const bytes = await tableToFile(wide, "2.2");
    compareTables(wide, await fileToTable(bytes, wide.schema));
    const damaged = bytes.slice();
    damaged[bytes.length - 70_000] ^= 1;
    await expect(open(damaged)).rejects.toThrow(CorruptFileError);
  });

  it("refuses other versions by name", async () => {
    // A file of another writer, without checksums that tell damage from a version.
    const bytes = await tableToFile(table, "2.2");
    const { globalBuffers, columns } = await open(bytes);
    const buffers = columns.flatMap(({ pages }) => pages.flatMap(({ bufferRanges }) => bufferRanges));
    for (const [major, minor, name] of [
      [2, 4, "2.4"],
      [3, 0, "3.0"],
    ] as const) {
      const changed = bytes.slice();
      changed[bytes.length - 8] = major;
      changed[bytes.length - 6] = minor;
      await expect(open(changed)).rejects.toThrow(CorruptFileError);
      changed[checksumFieldStart(globalBuffers[0]!, buffers.length)]! ^= OTHER_FIELD;
      await expect(open(changed)).rejects.toThrow(UnsupportedError);
      await expect(open(changed)).rejects.toThrow(name);
    }
  });

  it("refuses bytes that are not a data file", async () => {
    for (const bytes of [new Uint8Array(0), new Uint8Array(39), new Uint8Array(5000)]) {
      await expect(open(bytes)).rejects.toThrow(CorruptFileError);
    }
  });
});
