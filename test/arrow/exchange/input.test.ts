import { Readable } from "node:stream";
import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { openInput } from "../../../src/arrow/exchange/input.js";
import { readIpc } from "../../../src/arrow/exchange/ipc.js";
import { InvalidInputError, NamespaceError, UnsupportedError } from "../../../src/errors.js";
import { arrow18 } from "../../support/arrow18.js";
import { fieldOf, float64s, int32s, utf8s } from "../../support/arrowColumns.js";
import { compareTables } from "../../support/compareTables.js";
import { ENCODERS, writeCompressed } from "../../support/compressedIpc.js";
import { allTypesSpec, makeIpc, makeTable } from "../../support/generators.js";

async function readAll(data: unknown, signal?: AbortSignal): Promise<arrow.Table> {
  const input = await openInput(data, signal);
  const batches: arrow.RecordBatch[] = [];
  for await (const { columns, rowCount } of input.batches) {
    expect(rowCount).toBeGreaterThan(0);
    batches.push(makeBatch(input.schema, columns, rowCount));
  }
  return toTable(input.schema, batches);
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

const allTypes = makeTable(allTypesSpec(50, "some", { batchRows: 17 }));
const allTypesStream = arrow.tableToIPC(allTypes, "stream");
const allTypesFile = arrow.tableToIPC(allTypes, "file");

describe("openInput takes", () => {
  const forms: [string, () => unknown][] = [
    ["a table", () => allTypes],
    ["an array of record batches", () => allTypes.batches],
    ["an iterable of record batches", () => new Set(allTypes.batches)],
    ["a record batch reader", () => arrow.RecordBatchReader.from(allTypesStream)],
    ["stream bytes", () => allTypesStream],
    ["file bytes", () => allTypesFile],
    ["a Buffer at an odd address", () => Buffer.concat([Buffer.alloc(3), allTypesStream]).subarray(3)],
    ["a stream with padding", () => Buffer.concat([allTypesStream, Buffer.alloc(13)])],
    ["chunks with padding", () => [allTypesStream, new Uint8Array(100_000)]],
    ["an ArrayBuffer", () => allTypesStream.slice().buffer],
    ["an array of byte chunks", () => [allTypesStream.subarray(0, 700), allTypesStream.subarray(700)]],
    ["an async iterable of single bytes", () => pieces(allTypesStream, 1)],
    ["an async iterable of uneven chunks", () => pieces(allTypesStream, 1237)],
    ["an async iterable of file bytes", () => pieces(allTypesFile, 1000)],
    ["a Node stream", () => Readable.from(pieces(allTypesStream, 999))],
    ["a web stream", () => Readable.toWeb(Readable.from(pieces(allTypesStream, 4096)))],
    [
      "a web stream that cannot be iterated",
      () => {
        const stream = Readable.toWeb(Readable.from(pieces(allTypesStream, 4096)));
        return { getReader: () => stream.getReader() };
      },
    ],
    [
      "an async generator of record batches",
      async function* () {
        for (const batch of allTypes.batches) yield batch;
      },
    ],
  ];
  it.each(forms)("%s", async (_, make) => {
    const data = make();
    const source = typeof data === "function" ? (data as () => unknown)() : data;
    compareTables(allTypes, await readAll(source));
  });

  it("one record batch", async () => {
    compareTables(new arrow.Table([allTypes.batches[1]]), await readAll(allTypes.batches[1]));
  });

  it("sliced tables", async () => {
    compareTables(allTypes.slice(5, 41), await readAll(allTypes.slice(5, 41)));
  });

  it("tables of JavaScript arrays, whose strings are dictionaries", async () => {
    const table = arrow.tableFromArrays({ id: Int32Array.of(1, 2, 3), name: ["a", "b", "a"] });
    const input = await openInput(table);
    expect(String(input.schema.fields[1].type)).toBe("Dictionary<Int32, Utf8>");
    compareTables(table, await readAll(table));
    compareTables(table, await readAll(arrow.tableToIPC(table)));
  });

  it("tables, batches and bytes of apache-arrow 18", async () => {
    const arrays = {
      id: BigInt64Array.of(1n, 2n, 3n),
      name: ["a", null, "b"],
      flag: [true, false, null],
      vector: arrow18.vectorFromArray(
        [[1, 2], null, [3, 4]],
        new arrow18.FixedSizeList(2, new arrow18.Field("item", new arrow18.Float32(), true)),
      ),
      text: arrow18.vectorFromArray(["x", "yy", null], new arrow18.LargeUtf8()),
    };
    const table = arrow18.tableFromArrays(arrays as unknown as Record<string, unknown[]>);
    const stream = arrow18.tableToIPC(table, "stream");
    for (const data of [table, table.batches, stream, arrow18.tableToIPC(table, "file")]) {
      compareTables(stream, await readAll(data));
    }
  });

  it("dictionaries that change and grow from batch to batch", async () => {
    const type = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());
    const schema = new arrow.Schema([fieldOf("d", type)]);
    const first = utf8s(["a", "b"]);
    const grown = first.concat(utf8s(["c"]));
    const second = utf8s(["z"]);
    const batches = [
      [[0, 1], first],
      [[2, 0], grown],
      [[0, 0], second],
    ].map(([indices, dictionary]) => {
      const child = arrow.makeData({
        type,
        data: Int32Array.from(indices as number[]),
        dictionary: dictionary as arrow.Vector,
      });
      return new arrow.RecordBatch(
        schema,
        arrow.makeData({ type: new arrow.Struct(schema.fields), length: 2, children: [child] }),
      );
    });
    const expected = ["a", "b", "c", "a", "z", "z"];
    const stream = arrow.RecordBatchStreamWriter.writeAll(batches).toUint8Array(true);
    for (const data of [batches, stream]) {
      expect([...(await readAll(data))].map((row) => row.d)).toEqual(expected);
    }
    const growing = arrow.RecordBatchFileWriter.writeAll(batches.slice(0, 2)).toUint8Array(true);
    expect([...(await readAll(growing))].map((row) => row.d)).toEqual(expected.slice(0, 4));
  });

  it("members of structs with an empty name", async () => {
    const type = new arrow.Struct([fieldOf("", new arrow.Int32())]);
    const children = [arrow.makeData({ type: new arrow.Int32(), length: 2, data: Int32Array.of(1, 2) })];
    const expected = new arrow.Table({
      s: new arrow.Vector([arrow.makeData({ type, length: 2, nullCount: 0, children })]),
    });
    compareTables(expected, await readAll(expected));
    compareTables(expected, await readAll(arrow.tableToIPC(expected)));
  });

  it("a schema without batches", async () => {
    const schema = new arrow.Schema([fieldOf("a", new arrow.Int32()), fieldOf("b", new arrow.Utf8(), false)]);
    const stream = new arrow.RecordBatchStreamWriter();
    stream.reset(undefined, schema).close();
    for (const data of [
      new arrow.Table(schema),
      await stream.toUint8Array(),
      arrow.tableToIPC(new arrow.Table(schema)),
    ]) {
      const table = await readAll(data);
      expect(table.numRows).toBe(0);
      expect(table.schema.names).toEqual(["a", "b"]);
      expect(table.schema.fields.map((field) => field.nullable)).toEqual([true, false]);
    }
  });

  it("rows without columns", async () => {
    const schema = new arrow.Schema([]);
    const batch = new arrow.RecordBatch(
      schema,
      arrow.makeData({ type: new arrow.Struct([]), length: 7, children: [] }),
    );
    const input = await openInput(batch);
    const counts: number[] = [];
    for await (const { columns, rowCount } of input.batches) {
      expect(columns).toEqual([]);
      counts.push(rowCount);
    }
    expect(counts).toEqual([7]);
  });

  it("metadata of fields and schema", async () => {
    const schema = new arrow.Schema(
      [fieldOf("a", new arrow.Int32(), true, { k: "v" })],
      new Map([["s", "t"]]),
    );
    const table = new arrow.Table(schema, { a: int32s([1]) });
    const input = await openInput(arrow.tableToIPC(table));
    expect([...input.schema.fields[0].metadata]).toEqual([["k", "v"]]);
    expect([...input.schema.metadata]).toEqual([["s", "t"]]);
  });

  it("columns of which nulls are left out", async () => {
    const table = new arrow.Table({
      a: int32s([1, 2, 3]),
      b: utf8s(["x"]),
    });
    for (const data of [table, arrow.tableToIPC(table)]) {
      expect([...(await readAll(data))].map((row) => row.b)).toEqual(["x", null, null]);
    }
  });
});

describe("compressed streams", () => {
  const repetitive = makeTable(allTypesSpec(500, "some", { shape: "constant", batchRows: 200 }));

  it("of LZ4 are read", async () => {
    const { asWritten, corrected } = writeCompressed(repetitive, ...ENCODERS[0]);
    expect(asWritten.length).toBeLessThan(arrow.tableToIPC(repetitive).length / 2);
    for (const stream of [asWritten, corrected]) {
      compareTables(repetitive, await readAll(stream));
      compareTables(repetitive, await readAll(pieces(stream, 777)));
    }
  });

  it("of ZSTD are read", async () => {
    const { asWritten, corrected } = writeCompressed(repetitive, ...ENCODERS[1]);
    for (const stream of [asWritten, corrected]) compareTables(repetitive, await readAll(stream));
  });

  it("that lie about their length are refused", async () => {
    const zeros = new arrow.Table({ a: int32s(new Array(5000).fill(0)) });
    for (const [type, encode] of ENCODERS) {
      const { corrected } = writeCompressed(zeros, type, encode);
      const magic =
        type === arrow.CompressionType.LZ4_FRAME ? [4, 0x22, 0x4d, 0x18] : [0x28, 0xb5, 0x2f, 0xfd];
      const index = corrected.indexOf(Buffer.from(magic));
      expect(index).toBeGreaterThan(0);
      corrected.writeBigInt64LE(1_000_000n, index - 8);
      await expect(readAll(corrected)).rejects.toThrow(InvalidInputError);
    }
  });

  it("that were mutated are refused or read, and end", async () => {
    for (const [type, encode] of ENCODERS) {
      const { corrected } = writeCompressed(repetitive, type, encode);
      await fuzz(corrected, 120);
    }
  });
});

describe("openInput refuses", () => {
  const invalid: [string, () => unknown][] = [
    ["null", () => null],
    ["undefined", () => undefined],
    ["a string", () => "rows"],
    ["a number", () => 5],
    ["a plain object", () => ({ a: [1] })],
    ["a promise", () => Promise.resolve(allTypes)],
    ["no bytes", () => new Uint8Array(0)],
    ["an empty array", () => []],
    ["an empty stream", () => pieces(new Uint8Array(0), 1)],
    ["text", () => new TextEncoder().encode('{"a": 1}')],
    ["zeros", () => new Uint8Array(64)],
    ["a stream that has no schema", () => new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])],
    ["strings in a stream of bytes", () => [allTypesStream.subarray(0, 100), "x"]],
    ["batches among bytes", () => [allTypesStream.subarray(0, 100), allTypes.batches[0]]],
    ["bytes among batches", () => [allTypes.batches[0], allTypesStream]],
    ["a file without its end", () => allTypesFile.subarray(0, allTypesFile.length - 1)],
    ["two streams in one", () => Buffer.concat([dropEnd(allTypesStream), allTypesStream])],
    ["a stream after another's end", () => Buffer.concat([allTypesStream, allTypesStream])],
    ["an array of streams", () => [allTypesStream, allTypesStream]],
    ["a stream and a table", () => [allTypesStream, allTypes]],
  ];
  it.each(invalid)("%s", async (_, make) => {
    await expect(readAll(make())).rejects.toThrow(InvalidInputError);
  });

  it("types that cannot be stored, naming the column", async () => {
    const list = arrow.vectorFromArray(
      [["a"]],
      new arrow.FixedSizeList(1, fieldOf("item", new arrow.Utf8())),
    );
    await expect(openInput(new arrow.Table({ ok: int32s([1]), bad: list }))).rejects.toThrow(
      /column bad: type FixedSizeList\[1\]<Utf8>/,
    );
    await expect(openInput(arrow.tableToIPC(new arrow.Table({ bad: list })))).rejects.toThrow(
      UnsupportedError,
    );
    const zone = arrow.vectorFromArray([1], new arrow.TimestampMicrosecond("+02:00"));
    await expect(openInput(new arrow.Table({ zone }))).rejects.toThrow(InvalidInputError);
  });

  it("batches whose schema differs from the first", async () => {
    const first = new arrow.Table({ a: int32s([1]) }).batches[0];
    const others = [
      new arrow.Table({ a: float64s([1]) }),
      new arrow.Table({ b: int32s([1]) }),
      new arrow.Table({ a: int32s([1]), b: int32s([1]) }),
    ];
    for (const second of others) {
      await expect(readAll([first, second.batches[0]])).rejects.toThrow(InvalidInputError);
      await expect(readAll([first, second])).rejects.toThrow(InvalidInputError);
    }
  });

  it("streams that break off, wherever", async () => {
    // The end mark after the last message is optional.
    const table = makeTable(
      allTypesSpec(9, "some", { types: ["int32", "utf8", "vectorFloat32"], batchRows: 4 }),
    );
    const stream = arrow.tableToIPC(table);
    const complete = new Set<number>();
    for (let length = 0; length < stream.length; length++) {
      try {
        complete.add((await readAll(stream.subarray(0, length))).numRows);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidInputError);
      }
      if (length % 50 === 0) {
        await readAll(pieces(stream.subarray(0, length), 100)).catch((error) => {
          expect(error).toBeInstanceOf(InvalidInputError);
        });
      }
    }
    expect([...complete]).toEqual([0, 4, 8, 9]);
  });

  it("buffers, offsets and indices that cannot be", async () => {
    const batchOf = (child: ReturnType<typeof arrow.makeData>) => {
      const schema = new arrow.Schema([fieldOf("c", child.type)]);
      return new arrow.RecordBatch(
        schema,
        arrow.makeData({ type: new arrow.Struct(schema.fields), length: child.length, children: [child] }),
      );
    };
    const text = (offsets: number[], bytes: number[]) =>
      arrow.makeData({
        type: new arrow.Utf8(),
        length: offsets.length - 1,
        valueOffsets: Int32Array.from(offsets),
        data: Uint8Array.from(bytes),
      });
    const dictionary = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());
    const entries = utf8s(["a", "b"]);
    const bad = [
      text([0, 2, 1, 3], [97, 98, 99]),
      text([0, 1, 4], [97, 98, 99]),
      text([-1, 1], [97, 98, 99]),
      text([0, 0x7fffffff, -0x80000000, 1], [97, 98, 99]),
      text([0, 1], [0xff]),
      text([0, 1, 2], [0xc3, 0xa9]),
      arrow.makeData({ type: new arrow.Int32(), length: 5, data: Int32Array.of(1, 2) }),
      arrow.makeData({ type: dictionary, length: 2, data: Int32Array.of(0, 2), dictionary: entries }),
      arrow.makeData({ type: dictionary, length: 2, data: Int32Array.of(0, -1), dictionary: entries }),
      arrow.makeData({
        type: dictionary,
        length: 1,
        data: Int32Array.of(0),
        dictionary: new arrow.Vector([text([0, 9], [97])]),
      }),
    ];
    for (const data of bad) {
      await expect(readAll(batchOf(data))).rejects.toThrow(InvalidInputError);
      await expect(readAll(batchOf(data))).rejects.toThrow(/column c/);
    }
    const nulls = { nullCount: 1, nullBitmap: Uint8Array.of(1) };
    const good = [
      arrow.makeData({
        type: dictionary,
        length: 2,
        data: Int32Array.of(1, 77),
        dictionary: entries,
        ...nulls,
      }),
      arrow.makeData({
        type: new arrow.Utf8(),
        length: 2,
        valueOffsets: Int32Array.of(0, 1, 2),
        data: Uint8Array.of(97, 0xff),
        ...nulls,
      }),
      text([0, 2], [0xc3, 0xa9]),
    ];
    for (const data of good) expect((await readAll(batchOf(data))).numRows).toBe(data.length);
  });
});

describe("the caller's source", () => {
  it("that throws is the cause of the error", async () => {
    const failure = new Error("disk on fire");
    async function* failing() {
      yield allTypesStream.subarray(0, 2000);
      throw failure;
    }
    await expect(readAll(failing())).rejects.toMatchObject({ code: 13, cause: failure });
    async function* failingBatches() {
      yield allTypes.batches[0];
      throw failure;
    }
    await expect(readAll(failingBatches())).rejects.toMatchObject({ code: 13, cause: failure });
  });

  it("that somebody else reads is refused", async () => {
    const stream = new Blob([allTypesStream.slice()]).stream();
    stream.getReader();
    await expect(readAll(stream)).rejects.toMatchObject({ code: 13, cause: expect.any(TypeError) });
  });

  it("is returned when reading ends early, fails, or never began", async () => {
    const source = () => {
      const state = { returned: 0 };
      const iterable = {
        async *[Symbol.asyncIterator]() {
          try {
            for (;;) yield allTypes.batches[0];
          } finally {
            state.returned++;
          }
        },
      };
      return { state, iterable };
    };
    const early = source();
    const input = await openInput(early.iterable);
    for await (const _ of input.batches) break;
    expect(early.state.returned).toBe(1);
    await input.close();
    expect(early.state.returned).toBe(1);

    const never = source();
    await (await openInput(never.iterable)).close();
    expect(never.state.returned).toBe(1);

    const state = { returned: 0 };
    async function* bad() {
      try {
        yield new Uint8Array(64).fill(9);
        yield new Uint8Array(64).fill(9);
      } finally {
        state.returned++;
      }
    }
    await expect(readAll(bad())).rejects.toThrow(InvalidInputError);
    expect(state.returned).toBe(1);
  });

  it("is read no further than the batch that was asked for", async () => {
    let taken = 0;
    async function* counted() {
      for (const batch of allTypes.batches) {
        taken++;
        yield batch;
      }
    }
    const input = await openInput(counted());
    const iterator = input.batches[Symbol.asyncIterator]();
    expect(taken).toBe(1);
    await iterator.next();
    expect(taken).toBe(1);
    await iterator.next();
    expect(taken).toBe(2);
    await iterator.return?.();
  });

  it("can be read once", async () => {
    const input = await openInput(allTypes);
    for await (const _ of input.batches);
    await expect(input.batches[Symbol.asyncIterator]().next()).rejects.toThrow(InvalidInputError);
  });

  it("is abandoned when the signal says so, with the signal's reason", async () => {
    const reason = new Error("enough");
    await expect(openInput(allTypes, AbortSignal.abort(reason))).rejects.toBe(reason);

    const controller = new AbortController();
    async function* stuck() {
      yield allTypes.batches[0];
      await new Promise(() => {});
    }
    const input = await openInput(stuck(), controller.signal);
    const reading = (async () => {
      for await (const _ of input.batches) controller.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
  });
});

/** Damages a stream in many ways; each result is refused or keeps its shape. */
async function fuzz(original: Uint8Array, runs: number): Promise<void> {
  const word = fc.constantFrom(0, 1, 0x7fffffff, 0xffffffff, 0x80000000, 0x10000, 255);
  const edit = fc.record({ at: fc.nat(original.length - 1), kind: fc.nat(3), value: fc.nat(255), word });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
      let bytes = Buffer.from(original);
      for (const { at: offset, kind, value, word } of edits) {
        if (offset >= bytes.length) continue;
        if (kind === 0) bytes[offset] = value;
        else if (kind === 1) bytes[offset] ^= 1 << (value & 7);
        else if (kind === 2 && offset + 4 <= bytes.length) bytes.writeUInt32LE(word, offset & ~3);
        else if (value < 32) bytes = Buffer.from(bytes.subarray(0, offset));
      }
      try {
        const input = await openInput(bytes);
        for await (const { columns, rowCount } of input.batches) {
          expect(columns.length).toBe(input.schema.fields.length);
          for (const column of columns) {
            expect(column.length).toBe(rowCount);
            expectPossible(column);
          }
        }
      } catch (error) {
        if (!(error instanceof NamespaceError)) throw error;
        expect([0, 13]).toContain(error.code);
      }
    }),
    { numRuns: runs },
  );
}

function expectPossible(column: Column): void {
  if (column.kind === "fixed") expect(column.values.length).toBe(column.length * column.byteWidth);
  if (column.kind === "variable") {
    expect(column.offsets.length).toBe(column.length + 1);
    expect(Number(column.offsets[column.length])).toBeLessThanOrEqual(column.bytes.length);
  }
  if (column.kind === "fixedSizeList") {
    expect(column.items.length).toBe(column.length * column.dimension);
    expectPossible(column.items);
  }
  if (column.validity !== null) {
    expect(column.validity.bytes.length * 8).toBeGreaterThanOrEqual(
      column.validity.bitOffset + column.length,
    );
  }
}

describe("mutated bytes", () => {
  it("of a stream are refused or read, and end", async () => {
    await fuzz(makeIpc(allTypesSpec(20, "some", { batchRows: 11 })), 500);
  });

  it("of dictionaries are refused or read, and end", async () => {
    const table = arrow.tableFromArrays({ a: ["x", "y", "x", null], b: Int32Array.of(1, 2, 3, 4) });
    await fuzz(arrow.tableToIPC(table, "stream"), 700);
    await fuzz(arrow.tableToIPC(table, "file"), 700);
  });

  it("of the metadata never make a schema of billions of fields", async () => {
    // Each vector's count in turn: a reader must not trust it.
    const stream = Buffer.from(arrow.tableToIPC(arrow.tableFromArrays({ a: ["x"], b: Int32Array.of(1) })));
    for (let index = 8; index + 4 <= stream.length; index += 4) {
      const bytes = Buffer.from(stream);
      bytes.writeUInt32LE(0x7ffffff0, index);
      await readAll(bytes).catch((error) => {
        if (!(error instanceof NamespaceError)) throw error;
      });
    }
  });
});

it("readIpc reads streams and files whole", () => {
  for (const bytes of [allTypesStream, allTypesFile]) {
    const { schema, batches } = readIpc(bytes);
    compareTables(allTypes, toTable(schema, batches));
  }
  expect(() => readIpc(allTypesStream.subarray(0, 3000))).toThrow(InvalidInputError);
});

function dropEnd(stream: Uint8Array): Uint8Array {
  return stream.subarray(0, stream.length - 8);
}
