import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { fieldOf } from "../../support/arrowColumns.js";
import { type CountingDisk, countingDisk } from "../../support/countingDisk.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { Random } from "../../support/generators.js";

const ROWS = 1_000_000;
const DIMENSION = 4;
const KIB = 1024;

const root = sharedDirectory();
let disk: CountingDisk;
let namespace: DirectoryNamespace;

beforeAll(async () => {
  await using writer = new DirectoryNamespace({ root, durability: "none" });
  await writer.createTable({ id: ["large"] }, largeTable());
  await writer.createTable({ id: ["ten"] }, tenColumns());
});

function table(columns: Readonly<Record<string, ReturnType<typeof arrow.makeData>>>): arrow.Table {
  const fields = Object.entries(columns).map(([name, { type }]) => fieldOf(name, type));
  const children = Object.values(columns);
  const data = arrow.makeData({
    type: new arrow.Struct(fields),
    length: children[0].length,
    nullCount: 0,
    children,
  });
  return new arrow.Table([new arrow.RecordBatch(new arrow.Schema(fields), data)]);
}

function randomFloats(count: number, seed: number): Float64Array {
  const values = new Float64Array(count);
  new Random(seed).fill(new Uint8Array(values.buffer));
  for (let row = 0; row < count; row++) if (Number.isNaN(values[row])) values[row] = row;
  return values;
}

/** A column for each way a page is sliced. */
function largeTable(): arrow.Table {
  const encoder = new TextEncoder();
  const word = (row: number) => encoder.encode(`word ${(row * 7919) % 50}`);
  const offsets = new Int32Array(ROWS + 1);
  const text = new Uint8Array(ROWS * 7);
  for (let row = 0, end = 0; row < ROWS; row++) {
    const bytes = word(row);
    text.set(bytes, end);
    end += bytes.length;
    offsets[row + 1] = end;
  }
  const item = new arrow.Float32();
  const vectors = Float32Array.from({ length: ROWS * DIMENSION }, (_, index) => Math.sin(index));
  return table({
    packed: arrow.makeData({
      type: new arrow.Int32(),
      data: Int32Array.from({ length: ROWS }, (_, row) => row),
    }),
    plain: arrow.makeData({ type: new arrow.Float64(), data: randomFloats(ROWS, 3) }),
    word: arrow.makeData({ type: new arrow.Utf8(), length: ROWS, valueOffsets: offsets, data: text }),
    vector: arrow.makeData({
      type: new arrow.FixedSizeList(DIMENSION, fieldOf("item", item)),
      length: ROWS,
      nullCount: 0,
      child: arrow.makeData({ type: item, data: vectors }),
    }),
  });
}

function tenColumns(): arrow.Table {
  return table(
    Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [
        `c${index}`,
        arrow.makeData({ type: new arrow.Float64(), data: randomFloats(40_000, index + 1) }),
      ]),
    ),
  );
}

/** Bytes and calls that `use` costs a namespace that has never seen the tables. */
async function cost(use: (namespace: DirectoryNamespace) => Promise<void>): Promise<void> {
  disk = countingDisk(new NodeDisk({ durability: "none" }));
  namespace = new DirectoryNamespace({ root, disk });
  try {
    await use(namespace);
  } finally {
    await namespace.close();
  }
}

describe("in a table of a million rows", () => {
  it.each([
    ["packed", 160 * KIB],
    ["plain", 80 * KIB],
    ["word", 160 * KIB],
    ["vector", 80 * KIB],
  ])("one row of column %s costs a bounded number of bytes", (column, bound) =>
    cost(async (cold) => {
      const large = cold.table(["large"]);
      expect((await large.take([654_321], [column])).numRows).toBe(1);
      expect(disk.bytesRead).toBeLessThan(bound);
      disk.reset();
      await large.take([123_456], [column]);
      expect(disk.bytesRead).toBeLessThan(80 * KIB);
      disk.reset();
      await large.take([123_457], [column]);
      expect(disk.bytesRead).toBeLessThan(16 * KIB);
    }));

  it("a few adjacent rows cost their bytes", () =>
    cost(async (cold) => {
      const [batch] = (await cold.table(["large"]).scan({ offset: 700_000, limit: 10 }).toArrow()).batches;
      expect([...batch.getChild("packed")!]).toEqual(Array.from({ length: 10 }, (_, row) => 700_000 + row));
      expect(batch.getChild("word")!.get(3)).toBe(`word ${(700_003 * 7919) % 50}`);
      expect(disk.bytesRead).toBeLessThan(400 * KIB);
    }));

  it.each([
    ["packed", 120, 2_500 * KIB],
    // A block of 4 KiB each, which has a checksum.
    ["plain", 520, 2_100 * KIB],
    ["word", 120, 1_500 * KIB],
    ["vector", 520, 2_100 * KIB],
  ])("500 scattered rows of column %s cost a bounded number of reads and bytes", (column, reads, bytes) =>
    cost(async (cold) => {
      const rows = Array.from(
        { length: 500 },
        (_, index) => ((index * 7_919) % 500) * 2_000 + (index % 1_000),
      );
      const large = cold.table(["large"]);
      await large.take(rows.slice(0, 1), [column]);
      disk.reset();
      const taken = await large.take(rows, [column]);
      expect(taken.numRows).toBe(500);
      if (column === "packed") expect([...taken.getChild("packed")!]).toEqual(rows);
      expect(disk.count("read")).toBeLessThan(reads);
      expect(disk.bytesRead).toBeLessThan(bytes);
    }));

  it("rows all over a page cost no more than the page", () =>
    cost(async (cold) => {
      const rows = Array.from({ length: 50_000 }, (_, index) => index * 20);
      const taken = await cold.table(["large"]).take(rows, ["plain"]);
      expect(taken.numRows).toBe(rows.length);
      expect(disk.bytesRead).toBeLessThan(ROWS * 8 + 200 * KIB);
    }));

  it("rows all over a page of chunks cost the page, in one read", () =>
    cost(async (cold) => {
      const rows = Array.from({ length: 5_000 }, (_, index) => index * 200 + (index % 7));
      const large = cold.table(["large"]);
      const words = async () => [...(await large.take(rows, ["word"])).getChild("word")!];
      const first = await words();
      expect(first.slice(0, 9)).toEqual(rows.slice(0, 9).map((row) => `word ${(row * 7919) % 50}`));
      disk.reset();
      expect(await words()).toEqual(first);
      const reads = disk.reads.filter(({ path }) => path.endsWith(".lance"));
      const bytes = reads.reduce((sum, { length }) => sum + length, 0);
      // Six bits for each row; where its chunks lie, and its words, are as little as to be read anew.
      expect(bytes).toBeGreaterThan((ROWS * 6) / 8);
      expect(bytes).toBeLessThan((ROWS * 6) / 8 + 24 * KIB);
      expect(reads).toHaveLength(1);
    }));
});

it("two columns of ten cost only their bytes", () =>
  cost(async (cold) => {
    const { numRows } = await cold
      .table(["ten"])
      .scan({ columns: ["c2", "c7"] })
      .toArrow();
    expect(numRows).toBe(40_000);
    const wanted = 2 * 40_000 * 8;
    expect(disk.bytesRead).toBeGreaterThanOrEqual(wanted);
    expect(disk.bytesRead).toBeLessThan(wanted + 150 * KIB);
  }));

it("a small data file costs one read, and later none", () =>
  cost(async (cold) => {
    const one = () => table({ x: arrow.makeData({ type: new arrow.Int32(), data: Int32Array.of(7) }) });
    await cold.createTable({ id: ["small"] }, one());
    for (let index = 1; index < 8; index++) await cold.insertIntoTable({ id: ["small"] }, one());
    disk.reset();
    const scan = async () => (await cold.table(["small"]).scan().toArrow()).getChild("x")!.toArray();
    expect([...(await scan())]).toEqual(Array.from({ length: 8 }, () => 7));
    const dataReads = () => disk.reads.filter(({ path }) => path.endsWith(".lance"));
    expect(dataReads()).toHaveLength(8);
    disk.reset();
    const again = await scan();
    expect(dataReads()).toHaveLength(0);
    // What callers do to their rows stays with them.
    again.fill(0);
    expect([...(await scan())]).toEqual(Array.from({ length: 8 }, () => 7));
  }));
