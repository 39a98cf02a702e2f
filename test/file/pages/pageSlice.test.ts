/** Slices of pages decode to the rows that the whole page has there, whoever wrote it and however. */

import { rm } from "node:fs/promises";
import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Schema,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { CorruptFileError } from "../../../src/errors.js";
import { type DataFileMetadata, type DataPage, openDataFile } from "../../../src/file/container/reader.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import {
  countRows,
  indexEntryRanges,
  mapChunks,
  type PageSlice,
  positionsIn,
  type RowRuns,
  runsOf,
  sliceable,
  sliceChunks,
  sliceConstant,
  sliceFixedRows,
  sliceVariableRows,
} from "../../../src/file/pages/pageSlice.js";
import { pickable, pickRows } from "../../../src/file/pages/pickRows.js";
import type { ByteRange, RangeList } from "../../../src/io/disk/ranges.js";
import { listOf } from "../../support/arrowColumns.js";
import { allTypesSpec, makeTable, Random } from "../../support/generators.js";
import { leaf, list, makeNestedTable, struct } from "../../support/nestedGenerators.js";
import { compareTables, reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { tableToFile } from "../dataFiles.js";
import { dataFilePaths, memoryHandle, openFromMemory } from "../structural/referencePages.js";

await loadAllDecoders();

type Read = (range: ByteRange) => Uint8Array;

/** Returns the bytes of all ranges, concatenated. */
function gather({ byteOffsets, lengths }: RangeList, read: Read): Uint8Array {
  const parts = Array.from(byteOffsets, (byteOffset, index) => read({ byteOffset, length: lengths[index] }));
  return new Uint8Array(Buffer.concat(parts));
}

/** Returns null if the page must be read whole. */
function cutSlice(page: DataPage, rows: RowRuns, read: Read): PageSlice | null {
  const origin = { path: "t.lance", byteOffset: 0 };
  const way = sliceable(page);
  switch (way?.kind) {
    case "constant":
      return sliceConstant(page, rows);
    case "fixedRows":
      return sliceFixedRows(page, way.layout, way.rowBytes, rows);
    case "variableRows": {
      const entries = gather(indexEntryRanges(page, way.entryBytes, rows), read);
      return sliceVariableRows(page, way.layout, way.entryBytes, rows, entries, origin);
    }
    case "miniBlock": {
      const located = way.buffers.map((buffer) => read(page.bufferRanges[buffer]));
      const map = mapChunks(page, way.layout, located, origin);
      return sliceChunks(page, way.layout, map, rows);
    }
    default:
      return null;
  }
}

/** Single rows, rows that repeat, runs, and both ends of the page. */
function chooseRows(rowCount: number, random: Random): Uint32Array[] {
  const some = Uint32Array.from({ length: 40 }, () => random.below(rowCount)).sort();
  const start = random.below(rowCount);
  const run = Uint32Array.from({ length: Math.min(300, rowCount - start) }, (_, index) => start + index);
  return [some, run, Uint32Array.of(0, rowCount - 1), Uint32Array.of(random.below(rowCount))];
}

function single(field: Field, column: Column) {
  const schema = new Schema([field]);
  return toTable(schema, [makeBatch(schema, [column], column.length)]);
}

/** Compares slices of every page of a file with the whole page; counts the pages by kind of slice. */
function checkFile(fields: readonly Field[], file: DataFileMetadata, read: Read, random: Random) {
  const kinds: Record<string, number> = {};
  for (const [columnIndex, field] of fields.entries()) {
    const layout = layoutOf(field.type, field.name);
    for (const page of file.columns[columnIndex].pages) {
      const kind = sliceable(page)?.kind ?? "whole";
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      if (kind === "whole") continue;
      const origin = { path: "t.lance", byteOffset: 0 };
      const whole = decodePage(layout, page.layout, page.rowCount, page.bufferRanges.map(read), origin);
      for (const wanted of chooseRows(page.rowCount, random)) {
        const slice = cutSlice(page, runsOf(wanted), read) as PageSlice;
        expect(countRows(slice.rows)).toBe(slice.rowCount);
        const buffers = slice.assemble(gather(slice.ranges, read));
        const sliceLayout = slice.layoutOf?.(buffers[0]) ?? slice.layout;
        const decoded = decodePage(layout, sliceLayout, slice.rowCount, buffers, origin);
        const positions = positionsIn(slice.rows, wanted);
        const expected = single(field, takeColumn(whole, wanted));
        compareTables(expected, single(field, takeColumn(decoded, positions)), { metadata: false });
        // Rows are picked from whole pages and from slices alike; ascending positions, each once.
        const distinct = [...new Set(wanted)];
        const picks = Uint32Array.from(distinct);
        if (!pickable(layout, page.layout, page.rowCount, page.bufferRanges.length)) continue;
        const picked = pickRows(
          layout,
          page.layout,
          page.rowCount,
          page.bufferRanges.map(read),
          picks,
          origin,
        );
        kinds.picked = (kinds.picked ?? 0) + 1;
        compareTables(single(field, takeColumn(whole, picks)), single(field, picked), { metadata: false });
        const places = positionsIn(slice.rows, picks);
        expect(pickable(layout, slice.layout, slice.rowCount, buffers.length)).toBe(true);
        const fromSlice = pickRows(layout, slice.layout, slice.rowCount, buffers, places, origin);
        compareTables(single(field, picked), single(field, fromSlice), { metadata: false });
      }
    }
  }
  return kinds;
}

const CASES = [
  { shape: "random", nulls: "none" },
  { shape: "random", nulls: "some" },
  { shape: "runs", nulls: "some" },
  { shape: "long", nulls: "some" },
  { shape: "constant", nulls: "none" },
] as const;

describe.each(["2.1", "2.2"] as const)("file version %s", (version) => {
  it.each(CASES)("slices of our pages hold the page's rows: $shape, $nulls nulls", async ({
    shape,
    nulls,
  }) => {
    const table = makeTable(allTypesSpec(1_500, nulls, { shape, seed: 7 }));
    const bytes = await tableToFile(table, version);
    const file = await openDataFile(memoryHandle("t.lance", bytes), "t.lance");
    const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
    const kinds = checkFile(table.schema.fields, file, read, new Random(1));
    expect(shape === "constant" && version === "2.2" ? kinds.constant : kinds.picked).toBeGreaterThan(0);
  });

  it.each(CASES)("slices of the reference's pages hold the page's rows: $shape, $nulls nulls", async ({
    shape,
    nulls,
  }) => {
    const directory = await makeTempDir();
    try {
      const table = makeTable(allTypesSpec(1_500, nulls, { shape, seed: 9 }));
      await reference.createTable(directory, "t", tableToIPC(table), { dataStorageVersion: version });
      const [path] = dataFilePaths(directory, "t");
      const { handle, file } = await openFromMemory(path);
      const bytes = await handle.read(0, handle.size);
      const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
      const kinds = checkFile(table.schema.fields, file, read, new Random(2));
      expect(shape === "constant" && version === "2.2" ? kinds.constant : kinds.picked).toBeGreaterThan(0);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

/** Columns of one leaf in lists: short, long, empty, null, and longer than a chunk. */
function listTable(): Table {
  const leaves = [
    leaf("int32"),
    leaf("utf8", "some"),
    leaf("utf8", "none", "runs"),
    leaf("bool", "some"),
    leaf("int64"),
  ];
  const columns = leaves.flatMap((item) =>
    (["short", "mostlyEmpty", "long"] as const).flatMap((lengths) => [
      list(item, "none", lengths),
      list(item, "some", lengths),
      list(list(item, "some"), "some", lengths),
      struct([list(item, "none", lengths)], "some"),
    ]),
  );
  return makeNestedTable({ columns, rowCount: 2_000, seed: 11 });
}

function giantListTable(): Table {
  const lengths = [3, 40_000, 1, 0, 9_000, 9_000, 2, 2, 1, 70_000];
  const rows = Array.from({ length: 200 }, (_, row) => {
    const first = row * 1_000;
    return Array.from({ length: row % 7 === 3 ? lengths[row % 10] : row % 4 }, (_, item) => first + item);
  });
  const type = listOf(new Int32());
  return new Table({ c: vectorFromArray(rows, type) });
}

describe.each(["2.1", "2.2"] as const)("lists, file version %s", (version) => {
  it("slices of our pages hold the page's lists", async () => {
    for (const table of [listTable(), giantListTable()]) {
      const bytes = await tableToFile(table, version);
      const file = await openDataFile(memoryHandle("t.lance", bytes), "t.lance");
      const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
      const kinds = checkFile(table.schema.fields, file, read, new Random(3));
      expect(kinds.miniBlock).toBeGreaterThan(table.numCols / 2);
      expect(kinds.picked).toBeGreaterThan(kinds.miniBlock);
    }
  });

  it("slices of the reference's pages hold the page's lists", async () => {
    for (const table of [listTable(), giantListTable()]) {
      const directory = await makeTempDir();
      try {
        await reference.createTable(directory, "t", tableToIPC(table), { dataStorageVersion: version });
        const [path] = dataFilePaths(directory, "t");
        const { handle, file } = await openFromMemory(path);
        const bytes = await handle.read(0, handle.size);
        const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
        const kinds = checkFile(table.schema.fields, file, read, new Random(4));
        expect(kinds.miniBlock).toBeGreaterThan(table.numCols / 2);
        expect(kinds.picked).toBeGreaterThan(kinds.miniBlock);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }
  });
});

/** Lists whose items are too large for mini-blocks. */
function largeItemTable(): Table {
  const random = new Random(17);
  const rows = <Item>(make: (index: number) => Item): Item[][] =>
    Array.from({ length: 150 }, () => Array.from({ length: random.below(4) }, (_, index) => make(index)));
  const vector = new FixedSizeList(96, new Field("item", new Float32(), true));
  const text = (index: number) =>
    Array.from({ length: 250 + 40 * index }, () => (10 + random.below(90)).toString(36)).join("");
  return new Table({
    texts: vectorFromArray(rows(text), listOf(new Utf8())),
    someTexts: vectorFromArray(
      rows((index) => (random.below(3) === 0 ? null : text(index))),
      listOf(new Utf8()),
    ),
    vectors: vectorFromArray(
      rows(() => Float32Array.from({ length: 96 }, () => random.below(1000))),
      listOf(vector),
    ),
    lists: vectorFromArray(
      rows(() => rows(text)[0]),
      listOf(listOf(new Utf8())),
    ),
  });
}

describe.each(["2.1", "2.2"] as const)("full-zip pages of lists, file version %s", (version) => {
  it("slices of our pages hold the page's lists", async () => {
    const table = largeItemTable();
    const bytes = await tableToFile(table, version);
    const file = await openDataFile(memoryHandle("t.lance", bytes), "t.lance");
    const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
    expect(checkFile(table.schema.fields, file, read, new Random(5)).variableRows).toBeGreaterThanOrEqual(3);
  });

  it("slices of the reference's pages hold the page's lists", async () => {
    const directory = await makeTempDir();
    try {
      const table = largeItemTable();
      await reference.createTable(directory, "t", tableToIPC(table), { dataStorageVersion: version });
      const [path] = dataFilePaths(directory, "t");
      const { handle, file } = await openFromMemory(path);
      const bytes = await handle.read(0, handle.size);
      const read: Read = ({ byteOffset, length }) => bytes.slice(byteOffset, byteOffset + length);
      const kinds = checkFile(table.schema.fields, file, read, new Random(6));
      expect(kinds.variableRows).toBeGreaterThanOrEqual(3);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

it("runsOf merges neighbouring rows, and positionsIn finds them again", () => {
  const rows = Uint32Array.of(3, 3, 4, 7, 8, 8, 9, 20);
  const runs = runsOf(rows);
  expect([...runs.starts]).toEqual([3, 7, 20]);
  expect([...runs.counts]).toEqual([2, 3, 1]);
  expect([...positionsIn(runs, rows)]).toEqual([0, 0, 1, 2, 3, 3, 4, 5]);
});

describe("damaged pages", () => {
  const origin = { path: "t.lance", byteOffset: 0 };
  const page = { rowCount: 10, bufferRanges: [0, 1].map(() => ({ byteOffset: 0, length: 64 })), layout: {} };

  it("with chunk words that leave the page are refused", () => {
    const layout = { hasLargeChunk: false } as Parameters<typeof mapChunks>[1];
    const words = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);
    expect(mapChunks(page, layout, [words(3 << 4)], origin).valueStarts).toEqual(Uint32Array.of(0, 10));
    for (const bad of [words(8 << 4), words(4, 0), new Uint8Array(3), new Uint8Array(0)]) {
      expect(() => mapChunks(page, layout, [bad], origin)).toThrow(CorruptFileError);
    }
  });

  it("with a repetition index that counts other rows are refused", () => {
    const layout = { hasLargeChunk: false, repCompression: {}, itemCount: 30 } as Parameters<
      typeof mapChunks
    >[1];
    const words = new Uint8Array(Uint16Array.of((1 << 4) | 4, 1 << 4).buffer);
    const index = (...entries: bigint[]) => new Uint8Array(BigUint64Array.from(entries).buffer);
    const map = mapChunks(page, layout, [words, index(4n, 2n, 6n, 0n)], origin);
    expect(map.valueStarts).toEqual(Uint32Array.of(0, 16, 30));
    expect(map.rowEnds).toEqual({ before: Uint32Array.of(0, 4, 10), isWithin: Uint8Array.of(0, 1, 0) });
    for (const bad of [
      index(4n, 2n, 5n, 0n),
      index(4n, 2n, 7n, 0n),
      index(4n, 2n, 6n, 1n),
      index(4n, 2n),
      index(4n, 2n, 6n, 0n, 0n, 0n),
      index(2n ** 40n, 0n, 10n - 2n ** 40n, 0n),
    ]) {
      expect(() => mapChunks(page, layout, [words, bad], origin)).toThrow(CorruptFileError);
    }
  });

  it("with a repetition index that leaves the page are refused", () => {
    const layout = {} as Parameters<typeof sliceVariableRows>[1];
    const rows = runsOf(Uint32Array.of(2));
    for (const entries of [
      [9, 5],
      [60, 65],
    ]) {
      expect(() => sliceVariableRows(page, layout, 1, rows, Uint8Array.from(entries), origin)).toThrow(
        CorruptFileError,
      );
    }
  });
});
