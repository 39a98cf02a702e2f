/** The reference reads each encoding that we write, and our files stay near the size of its own. */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Table, tableToIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { InvalidInputError } from "../../src/errors.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { tableToFile } from "../file/dataFiles.js";
import {
  dataFilePaths,
  encodingsOf,
  memoryHandle,
  openFromMemory,
} from "../file/structural/referencePages.js";
import { swapDataFile } from "../file/swapDataFile.js";
import { makeTable, SHAPES, TYPE_NAMES } from "../support/generators.js";
import { REALISTIC_COLUMNS, realisticTable } from "../support/realisticColumns.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const ROWS = 6000;
/** Allowed size of our files as a multiple of the reference's. */
const LARGEST_RATIO = 1.1;
/** Allowed extra bytes for columns of a few bytes: two file offsets. */
const EXTRA_BYTES = 128;

const openBytes = async (bytes: Uint8Array) => openDataFile(memoryHandle("/t.lance", bytes), "/t.lance");

describe.each(["2.1", "2.2"] as const)("files of version %s", (version) => {
  let uri = "";
  const disk = new NodeDisk({ durability: "none" });
  beforeAll(async () => {
    uri = await makeTempDir();
  });

  /** Replaces the reference's file by ours with the same rows; returns descriptions of both. */
  async function exchange(name: string, table: Table) {
    await reference.createTable(uri, name, tableToIPC(table, "stream"), { dataStorageVersion: version });
    const [path] = dataFilePaths(uri, name);
    const theirBytes = (await stat(path)).size;
    await swapDataFile(disk, join(uri, `${name}.lance`), table, version);
    compareTables(table, await reference.readTable(uri, name), { metadata: false });
    const offsets = [0, Math.floor(table.numRows / 2), table.numRows - 1];
    const taken = await reference.takeRows(uri, name, offsets);
    const [batch] = table.batches;
    const expected = offsets.map((offset) => batch.slice(offset, offset + 1));
    compareTables(new Table(table.schema, expected), taken, { metadata: false });
    const { file } = await openFromMemory(path);
    return { ourBytes: (await readFile(path)).length, theirBytes, encoding: encodingsOf(file)[0] };
  }

  it.each(
    REALISTIC_COLUMNS.map((column) => [column.name, column] as const),
  )("with %s are read by the reference and no larger than its own", async (name, column) => {
    const { ourBytes, theirBytes, encoding } = await exchange(name, realisticTable(column, ROWS));
    if (version === "2.2") expect(encoding).toMatch(column.encoding);
    expect(ourBytes).toBeLessThanOrEqual(theirBytes * LARGEST_RATIO);
  });

  it.each([
    ["text", { compression: "none" }, /^miniBlock\(valueCompression\(variable/],
    ["text", { compression: "lz4" }, /^miniBlock\(valueCompression\(general\(.*variable/],
    [
      "text",
      { compression: "zstd", "compression-level": "3" },
      /^miniBlock\(valueCompression\(general\(.*variable/,
    ],
    ["text", { "structural-encoding": "fullzip" }, /^fullZip\(.*fsst\(/],
    ["text", { "structural-encoding": "fullzip", compression: "lz4" }, /^fullZip\(.*general\(/],
    ["longText", { "structural-encoding": "miniblock" }, /^miniBlock\(.*fsst\(/],
    ["binary", { compression: "fsst" }, /fsst\(/],
    ["category", { "dict-size-ratio": "0.0001" }, /^miniBlock\(valueCompression\((variable|fsst)/],
    ["category", { compression: "none" }, /^miniBlock\(valueCompression\(flat.*dictionary\(/],
    ["ids", { compression: "none" }, /^fullZip\(valueCompression\(flat/],
    ["ids", { compression: "zstd" }, /^miniBlock\(valueCompression\(general\(.*byteStreamSplit\(/],
    [
      "ids",
      { compression: "lz4", bss: "off" },
      /^miniBlock\(valueCompression\(general\(compression, values\(flat/,
    ],
    ["ids", { "structural-encoding": "fullzip" }, /^fullZip\(valueCompression\(flat/],
    ["unitFloat64", { "structural-encoding": "miniblock" }, /^miniBlock\(valueCompression\(flat/],
    ["runsInt32", { "rle-threshold": "0" }, /^(miniBlock\(valueCompression\(inlineBitpacking|fullZip)/],
    ["runsWithNulls", { "structural-encoding": "fullzip" }, /^fullZip\(valueCompression\(flat/],
  ] as const)("with %s, asked for %o, have what is asked for", async (name, request, expected) => {
    const column = REALISTIC_COLUMNS.find((candidate) => candidate.name === name);
    if (column === undefined) throw new Error(`no column ${name}`);
    const metadata = new Map(Object.entries(request).map(([key, value]) => [`lance-encoding:${key}`, value]));
    const label = `${name}_${Object.values(request).join("_")}`.replaceAll(".", "");
    const { encoding } = await exchange(label, realisticTable(column, ROWS, metadata));
    expect(encoding).toMatch(expected);
  });

  it("that are asked for what doesn't exist are not begun", async () => {
    const metadata = new Map([["lance-encoding:compression", "snappy"]]);
    const table = realisticTable(REALISTIC_COLUMNS[0], 10, metadata);
    await expect(tableToFile(table, version)).rejects.toThrow(InvalidInputError);
  });

  it.each(
    SHAPES,
  )("with %s values of every type are no larger than the reference's, column by column", async (shape) => {
    for (const nulls of ["none", "some"] as const) {
      const columns = TYPE_NAMES.map((type) => ({ name: type, type, shape, nulls }));
      // Some kilobytes for every column, but not gigabytes of long strings.
      const table = makeTable({
        columns,
        rowCount: shape === "long" || shape === "extreme" ? 1000 : 4000,
        seed: 11,
      });
      await reference.createTable(uri, `shape_${shape}_${nulls}`, tableToIPC(table, "stream"), {
        dataStorageVersion: version,
      });
      const theirs = await openFromMemory(dataFilePaths(uri, `shape_${shape}_${nulls}`)[0]);
      const ours = await openBytes(await tableToFile(table, version));
      const larger = TYPE_NAMES.map((type, index) => ({
        type,
        ours: columnBytes(ours, index),
        theirs: columnBytes(theirs.file, index),
      })).filter((column) => column.ours > column.theirs * LARGEST_RATIO + EXTRA_BYTES);
      expect(larger).toEqual([]);
    }
  });
});

function columnBytes(file: Awaited<ReturnType<typeof openDataFile>>, columnIndex: number): number {
  let bytes = 0;
  for (const page of file.columns[columnIndex].pages) {
    for (const range of page.bufferRanges) bytes += range.length;
  }
  return bytes;
}
