/** Arrow types that Lance lacks, in bytes of polars and pyarrow (foreign/write.py). */

import { readdirSync, readFileSync } from "node:fs";
import { type RecordBatch, type Table, tableFromIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { type InputBounds, openInput } from "../../../src/arrow/exchange/input.js";
import { InvalidInputError, NamespaceError, UnsupportedError } from "../../../src/errors.js";
import { errorOf } from "../../support/outcomes.js";

const DIRECTORY = new URL("foreign/", import.meta.url);
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(name, DIRECTORY)));
const files = readdirSync(DIRECTORY).filter((name) => /\.arrows?$/.test(name));
const withRows = files.filter((name) => !/runs|union|interval|tensor/.test(name));

const rowsOf = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`${name.replace(/(_lz4|_zstd)?\.arrows?$/, "")}.rows`, DIRECTORY), "utf8"));

async function readAll(data: unknown, bounds?: InputBounds): Promise<Table> {
  const input = await openInput(data, undefined, bounds);
  const batches: RecordBatch[] = [];
  for await (const { columns, rowCount } of input.batches) {
    batches.push(makeBatch(input.schema, columns, rowCount));
  }
  return toTable(input.schema, batches);
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Symbol.iterator in value && !("toJSON" in value && !("length" in value))) {
    return Array.from(value as Iterable<unknown>, plain);
  }
  const record = (value as { toJSON?: () => object }).toJSON?.() ?? value;
  return Object.fromEntries(Object.entries(record).map(([name, member]) => [name, plain(member)]));
}

const plainRows = (table: Table): unknown[] => table.toArray().map(plain);

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

const failure = async (data: unknown, bounds?: InputBounds): Promise<unknown> =>
  errorOf(readAll(data, bounds));

/** A stream of equal views of one slice with its buffer; `change` alters the first view. */
function viewsOfOneSlice(rows: number, byteLength: number, change?: (view: DataView) => void): Table {
  const schema = { fields: [{ name: "text", type: { typeId: UTF8_VIEW }, nullable: true }] };
  const views = new DataView(new ArrayBuffer(rows * 16));
  for (let row = 0; row < rows; row++) {
    views.setInt32(row * 16, byteLength, true);
    views.setUint32(row * 16 + 4, 0x61616161, true);
  }
  change?.(views);
  const data = {
    type: { typeId: UTF8_VIEW },
    length: rows,
    offset: 0,
    nullCount: 0,
    values: new Uint8Array(views.buffer),
    variadicBuffers: [new Uint8Array(byteLength).fill(0x61)],
    children: [],
  };
  return { schema, batches: [{ schema, data: { length: rows, children: [data] } }] } as unknown as Table;
}

const UTF8_VIEW = 24;

describe("bytes of polars and pyarrow", () => {
  it.each(withRows)("are read with the rows that were written: %s", async (name) => {
    const bytes = read(name);
    for (const data of [bytes, pieces(bytes, 1000), pieces(bytes, 7)]) {
      const table = await readAll(data);
      expect(plainRows(table)).toEqual(rowsOf(name));
      expect(table.schema.toString()).not.toMatch(/View/);
    }
  });

  it.each(
    withRows.filter((name) => !name.endsWith("nested_lz4.arrows")),
  )("fail with a type where they are cut or changed: %s", async (name) => {
    const bytes = read(name);
    for (let end = 0; end < bytes.length; end += 97) {
      const error = await failure(bytes.subarray(0, end));
      if (error !== null) expect(error).toBeInstanceOf(InvalidInputError);
    }
    for (let position = 0; position < bytes.length; position += 53) {
      const changed = bytes.slice();
      changed[position] ^= 1 << (position % 8);
      const error = await failure(changed, { maxBatchBytes: 2 ** 24 });
      if (error !== null) expect(error, `byte ${position}`).toBeInstanceOf(NamespaceError);
    }
  });

  it.each([
    ["runs", "column outer.runs: type RunEndEncoded"],
    ["union", "column outer.union: type "],
    ["interval", "column outer.interval: type "],
  ])("are refused as not supported, with column and type: %s", async (name, message) => {
    for (const file of [`pyarrow_${name}.arrows`, `pyarrow_${name}.arrow`]) {
      for (const data of [read(file), pieces(read(file), 50)]) {
        const error = await failure(data);
        expect(error).toBeInstanceOf(UnsupportedError);
        expect((error as Error).message).toContain(message);
      }
    }
  });

  it("are refused as not supported where they hold a tensor", async () => {
    expect(await failure(read("pyarrow_tensor.arrows"))).toBeInstanceOf(UnsupportedError);
  });
});

describe("an Arrow schema", () => {
  it("is refused as not supported where its values are in big-endian order", async () => {
    const metadata = Buffer.alloc(48);
    metadata.writeUInt32LE(24, 0);
    for (const [index, slot] of [12, 16, 0, 4, 8, 0].entries()) metadata.writeUInt16LE(slot, 4 + 2 * index);
    for (const [index, slot] of [6, 6, 4].entries()) metadata.writeUInt16LE(slot, 16 + 2 * index);
    metadata.writeInt32LE(20, 24);
    metadata.writeUInt8(1, 28);
    metadata.writeUInt32LE(8, 32);
    metadata.writeInt32LE(24, 40);
    metadata.writeInt16LE(1, 44);
    const stream = (content: Buffer) =>
      Buffer.concat([Buffer.from([255, 255, 255, 255, 48, 0, 0, 0]), content]);
    expect(await failure(stream(metadata))).toBeInstanceOf(UnsupportedError);
    metadata.writeInt16LE(2, 44);
    expect(await failure(stream(metadata))).toBeInstanceOf(InvalidInputError);
  });

  it.each([
    [22, "RunEndEncoded"],
    [27, "number 27"],
  ])("of another release is refused with column and type: %s", async (typeId, name) => {
    const inner = { name: "inner", type: { typeId }, nullable: true };
    const schema = { fields: [{ name: "outer", type: { typeId: 13, children: [inner] }, nullable: true }] };
    const error = await failure({ schema, batches: [] });
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as Error).message).toContain(`column outer.inner: type ${name}`);
  });
});

describe("views", () => {
  it("are read from tables of apache-arrow, sliced as well", async () => {
    const table = tableFromIPC(read("pyarrow_views.arrow"));
    const rows = rowsOf("pyarrow_views.arrow") as unknown[];
    expect(plainRows(await readAll(table))).toEqual(rows);
    for (const [start, end] of [
      [0, 1],
      [3, 9],
      [5, 6],
      [9, 10],
    ]) {
      expect(plainRows(await readAll(table.slice(start, end)))).toEqual(rows.slice(start, end));
    }
  });

  it("of one slice are read as often as they occur, up to the bound on a batch", async () => {
    const views = () => viewsOfOneSlice(1000, 1000);
    const table = await readAll(views(), { maxBatchBytes: 2 ** 20 });
    expect(new Set(table.toArray().map(({ text }) => text))).toEqual(new Set(["a".repeat(1000)]));
    const error = await failure(views(), { maxBatchBytes: 1_000_000 });
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toContain("at most 1000000 are taken at once");
  });

  it("of more bytes than offsets of 32 bits reach are refused before memory is taken for them", async () => {
    expect(await failure(viewsOfOneSlice(2 ** 12, 2 ** 20))).toBeInstanceOf(InvalidInputError);
  });

  it("count as memory of the input until the next batch is asked for", async () => {
    const held: number[] = [];
    const memory = {
      spareBytes: () => 2 ** 20,
      hold: (use: string, byteLength: number) => {
        if (use === "views") held.push(byteLength);
        return Promise.resolve();
      },
      note: (use: string, byteLength: number) => {
        if (use === "views") held.push(byteLength);
      },
    };
    await readAll(viewsOfOneSlice(10, 100), { memory });
    expect(held).toEqual([1000 + 11 * 4, 0]);
  });

  it.each([
    ["a negative length", (view: DataView) => view.setInt32(0, -1, true)],
    ["a buffer that is not there", (view: DataView) => view.setInt32(8, 1, true)],
    ["a negative buffer", (view: DataView) => view.setInt32(8, -1, true)],
    ["a negative offset", (view: DataView) => view.setInt32(12, -1, true)],
    ["an offset past the end", (view: DataView) => view.setInt32(12, 1, true)],
    ["the largest offset", (view: DataView) => view.setInt32(12, 2 ** 31 - 1, true)],
    ["the largest length", (view: DataView) => view.setInt32(0, 2 ** 31 - 1, true)],
    ["the wrong first bytes", (view: DataView) => view.setInt32(4, 0x61616162, true)],
  ])("are refused with %s", async (_, change) => {
    expect(await failure(viewsOfOneSlice(3, 20))).toBeNull();
    const error = await failure(viewsOfOneSlice(3, 20, change));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toMatch(/^column text: row 0: .*a view /);
  });
});
