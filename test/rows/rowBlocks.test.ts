/** Blocks of decoded rows near rows that were looked up. */

import * as arrow from "apache-arrow";
import { describe } from "vitest";
import type { FixedColumn, Layout } from "../../src/arrow/columns/column.js";
import type { DataPage } from "../../src/file/container/reader.js";
import { LruCache } from "../../src/io/memory/cache.js";
import { findRows, keepBlock, type RowBlock } from "../../src/rows/rowBlocks.js";
import { bools, float64s, int32s, utf8s } from "../support/arrowColumns.js";
import { expect, it } from "../support/fixtures.js";
import { Random } from "../support/generators.js";

const INT32: Layout = { kind: "fixed", byteWidth: 4 };

/** A page of integers. @param byteLength length of its only buffer */
const pageOf = (rowCount: number, byteLength = 4 * rowCount): DataPage => ({
  rowStart: 0,
  rowCount,
  bufferRanges: [{ byteOffset: 0, length: byteLength }],
  layout: {},
  bufferIndex: 0,
});

const numbersFrom = (start: number, count: number): FixedColumn => {
  const values = Int32Array.from({ length: count }, (_, index) => start + index);
  return {
    kind: "fixed",
    length: count,
    validity: null,
    byteWidth: 4,
    values: new Uint8Array(values.buffer),
  };
};

/** Loads the block of a row, and returns its first row and its number of rows. */
function load(blocks: LruCache<RowBlock>, page: DataPage, row: number): { start: number; count: number } {
  for (let read = 0; read < 10; read++) {
    const found = findRows(blocks, INT32, page, Uint32Array.of(row));
    if (found === null) continue;
    if (!("start" in found)) throw new Error("the block is loaded already");
    keepBlock(blocks, INT32, page, found, numbersFrom(found.start, found.count));
    return found;
  }
  throw new Error("no block is to be loaded");
}

const valuesOf = (found: ReturnType<typeof findRows>): number[][] | null =>
  found === null || "start" in found
    ? null
    : found.map((piece) => [...new Int32Array((piece as FixedColumn).values.buffer)]);

describe("a cache of row blocks", () => {
  it("loads a block with its second read, and answers from it", () => {
    const blocks = new LruCache<RowBlock>(2 ** 20);
    const page = pageOf(5000);
    const row = Uint32Array.of(4500);
    expect(findRows(blocks, INT32, page, row)).toBeNull();
    expect(findRows(blocks, INT32, page, row)).toEqual({ start: 4096, count: 904 });
    keepBlock(blocks, INT32, page, { start: 4096, count: 904 }, numbersFrom(4096, 904));
    expect(valuesOf(findRows(blocks, INT32, page, Uint32Array.of(4096, 4999)))).toEqual([[4096, 4999]]);
    load(blocks, page, 1023);
    expect(valuesOf(findRows(blocks, INT32, page, Uint32Array.of(0, 1023, 4097)))).toEqual([
      [0, 1023],
      [4097],
    ]);
    expect(findRows(blocks, INT32, page, Uint32Array.of(1023, 1024))).toBeNull();
  });

  it("keeps pages apart, and values of other layouts", () => {
    const blocks = new LruCache<RowBlock>(2 ** 20);
    const [page, otherPage] = [pageOf(5000), pageOf(5000)];
    load(blocks, page, 7);
    expect(findRows(blocks, INT32, otherPage, Uint32Array.of(7))).toBeNull();
    expect(findRows(blocks, { kind: "fixed", byteWidth: 8 }, page, Uint32Array.of(7))).toBeNull();
  });

  it("has no blocks of large rows, of many wanted rows, or of nested columns", () => {
    const blocks = new LruCache<RowBlock>(2 ** 20);
    const list: Layout = { kind: "list", offsetBits: 32, item: INT32, itemNullable: true, isMap: false };
    const wanted = Uint32Array.from({ length: 9 }, (_, row) => row);
    for (let read = 0; read < 3; read++) {
      expect(findRows(blocks, INT32, pageOf(100, 200_000), Uint32Array.of(1))).toBeNull();
      expect(findRows(blocks, INT32, pageOf(5000), wanted)).toBeNull();
      expect(findRows(blocks, list, pageOf(5000), Uint32Array.of(1))).toBeNull();
    }
    expect(blocks.counts.entries).toBe(0);
  });

  it("stays within its bytes, and loads fewer blocks once it is full", () => {
    const maxBytes = 64 * 1024;
    const blocks = new LruCache<RowBlock>(maxBytes);
    const page = pageOf(1_000_000);
    const random = new Random(3);
    for (let read = 0; read < 20_000; read++) {
      const found = findRows(blocks, INT32, page, Uint32Array.of(random.below(1_000_000)));
      if (found !== null && "start" in found)
        keepBlock(blocks, INT32, page, found, numbersFrom(found.start, found.count));
      expect(blocks.counts.bytes).toBeLessThanOrEqual(maxBytes);
    }
    blocks.clear();
    expect(blocks.counts).toMatchObject({ entries: 0, bytes: 0 });
  });

  it("does not keep a block that is large once it is decoded, and does not ask for it again", () => {
    const blocks = new LruCache<RowBlock>(2 ** 30);
    const page = pageOf(1024, 100);
    const row = Uint32Array.of(5);
    findRows(blocks, INT32, page, row);
    const found = findRows(blocks, INT32, page, row);
    keepBlock(blocks, INT32, page, found as { start: number; count: number }, numbersFrom(0, 100_000));
    for (let read = 0; read < 20; read++) expect(findRows(blocks, INT32, page, row)).toBeNull();
    expect(blocks.counts.bytes).toBeLessThan(1000);
  });
});

it("rows that are taken again and again equal those of a namespace without caches", async ({
  ns,
  root,
  open,
}) => {
  const count = 6000;
  const random = new Random(11);
  const some = <Value>(value: Value): Value | null => (random.below(5) === 0 ? null : value);
  const numbers = Array.from({ length: count }, (_, row) => row);
  const rows = new arrow.Table({
    n: int32s(numbers),
    x: float64s(numbers.map((n) => some(n / 3))),
    flag: bools(numbers.map((n) => some(n % 3 === 0))),
    text: utf8s(numbers.map((n) => some(`text ${n % 1000} ${"x".repeat(n % 40)}`))),
    word: utf8s(numbers.map((n) => some(`word ${n % 5}`))),
    empty: utf8s(numbers.map(() => null)),
  });
  await ns.createTable({ id: "t" }, rows.slice(0, 4000));
  await ns.insertIntoTable({ id: "t" }, rows.slice(4000));
  await ns.deleteFromTable({ id: "t", predicate: "n % 7 = 0" });
  const plain = await open({ root, metadataCacheBytes: 0 });
  for (let read = 0; read < 60; read++) {
    const offsets = Array.from({ length: 1 + (read % 10) }, () => random.below(5000));
    const [taken, expected] = [
      await (await ns.takeTableRows({ id: "t", offsets })).toArray(),
      await (await plain.takeTableRows({ id: "t", offsets })).toArray(),
    ];
    expect(taken.length).toBe(offsets.length);
    expect(taken).toEqual(expected);
  }
  expect((await ns.cacheStatistics()).rowBlocks.hits).toBeGreaterThan(0);
});

it("a program that overwrites rows that it got changes no later answer", async ({ ns }) => {
  await ns.createTable(
    { id: "t" },
    Array.from({ length: 100 }, (_, n) => ({ n, text: `text ${n}` })),
  );
  for (let read = 0; read < 4; read++) {
    const taken = await (await ns.takeTableRows({ id: "t", offsets: [5] })).toArrow();
    expect(taken.toArray().map(String)).toEqual(['{"n": 5, "text": "text 5"}']);
    for (const column of [taken.getChild("n"), taken.getChild("text")]) column?.data[0].values.fill(0);
  }
});
