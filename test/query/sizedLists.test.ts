/** Takes and short scans of fixed-size lists of structs read the chunks of their rows, not whole pages. */

import { statSync } from "node:fs";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { fieldOf } from "../support/arrowColumns.js";
import { countingDisk } from "../support/countingDisk.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { Random } from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";

const ROWS = 60_000;
const disk = countingDisk(new NodeDisk({ durability: "none" }));

const root = sharedDirectory();
const namespace = sharedNamespace({ root, dataStorageVersion: "2.2", disk });

/** Members in different layouts, some of them null, in structs and lists that are sometimes null. */
function tableOf(dimension: number): arrow.Table {
  const count = ROWS * dimension;
  const random = new Random(dimension);
  const bits = (length: number, share: number) => {
    const bytes = new Uint8Array(Math.ceil(length / 8));
    for (let index = 0; index < length; index++) {
      if (index % share !== share - 1) bytes[index >>> 3]! |= 1 << (index & 7);
    }
    return bytes;
  };
  const noise = new Uint8Array(count * 8);
  random.fill(noise);
  const floats = new Float64Array(noise.buffer);
  for (let index = 0; index < count; index++) if (!(Math.abs(floats[index]!) < 1e300)) floats[index] = index;
  const integers = Int32Array.from({ length: count }, (_, index) => (index * 7919) % 1_000_003);
  const offsets = Int32Array.from({ length: count + 1 }, (_, index) => index * 3);
  const text = Uint8Array.from({ length: count * 3 }, (_, index) => 97 + ((index * 31 + (index >> 7)) % 26));
  const members = [
    arrow.makeData({ type: new arrow.Float64(), data: floats }),
    arrow.makeData({ type: new arrow.Int32(), data: integers, nullBitmap: bits(count, 11), length: count }),
    arrow.makeData({ type: new arrow.Utf8(), data: text, valueOffsets: offsets, length: count }),
  ];
  const names = ["plain", "sparse", "text"];
  const item = new arrow.Struct(names.map((name, index) => fieldOf(name, members[index]!.type)));
  const structs = arrow.makeData({
    type: item,
    length: count,
    nullBitmap: bits(count, 13),
    children: members,
  });
  const type = new arrow.FixedSizeList(dimension, fieldOf("item", item));
  const lists = arrow.makeData({ type, length: ROWS, nullBitmap: bits(ROWS, 17), child: structs });
  const schema = new arrow.Schema([fieldOf("lists", type)]);
  const rows = arrow.makeData({
    type: new arrow.Struct(schema.fields),
    length: ROWS,
    nullCount: 0,
    children: [lists],
  });
  return new arrow.Table([new arrow.RecordBatch(schema, rows)]);
}

const SCATTERED = [59_999, 0, 1, 31_234, 16, 44_444, 31_235, 3];

describe.each([1, 2, 3, 7, 10])("lists of %d structs", (dimension) => {
  it.each(["us", "the reference"])("written by %s", async (writer) => {
    const name = `t${dimension}${writer.length}`;
    const expected = tableOf(dimension);
    if (writer === "us") await namespace.createTable({ id: [name] }, expected);
    else await reference.createTable(root, name, arrow.tableToIPC(expected));
    const table = namespace.table([name]);
    const bytes = await dataBytes(name);

    disk.reset();
    const taken = await table.take(SCATTERED);
    const read = disk.bytesRead;
    const [first, ...others] = SCATTERED.map((row) => expected.slice(row, row + 1));
    compareTables(first!.concat(...others), taken);
    expect(read).toBeLessThan(bytes / Math.min(dimension + 1, 4));

    disk.reset();
    const part = await table.scan({ offset: 30_001, limit: 50 }).toArrow();
    compareTables(expected.slice(30_001, 30_051), part);
    expect(disk.bytesRead).toBeLessThan(bytes / Math.min(dimension + 1, 4));
    compareTables(expected, await table.scan().toArrow());
  });
});

async function dataBytes(name: string): Promise<number> {
  const data = join(root, `${name}.lance`, "data");
  const entries = (await disk.list(data)) ?? [];
  return entries.reduce((sum, entry) => sum + statSync(join(data, entry.name)).size, 0);
}
