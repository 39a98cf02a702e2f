/** A stream in pieces is read like the whole stream, wherever it is cut. */

import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { openInput } from "../../../src/arrow/exchange/input.js";
import { ipcBytes } from "../../../src/arrow/exchange/ipcOutput.js";
import { InvalidInputError } from "../../../src/errors.js";
import { fieldOf } from "../../support/arrowColumns.js";
import { compareTables } from "../../support/compareTables.js";
import { ENCODERS, writeCompressed } from "../../support/compressedIpc.js";
import { runsOf } from "../../support/effort.js";
import { Random } from "../../support/generators.js";
import {
  empty,
  leaf,
  list,
  makeNestedTable,
  map,
  NESTING_NAMES,
  NESTINGS,
  nestedTableSpecs,
  sized,
  struct,
} from "../../support/nestedGenerators.js";

async function readAll(data: unknown): Promise<arrow.Table> {
  const input = await openInput(data);
  const batches: arrow.RecordBatch[] = [];
  for await (const { columns, rowCount } of input.batches)
    batches.push(makeBatch(input.schema, columns, rowCount));
  return toTable(input.schema, batches);
}

async function* cut(bytes: Uint8Array, nextSize: () => number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const size = nextSize();
    yield bytes.slice(start, start + size);
    start += size;
  }
}

/** Nested columns with empty structs, larger than a piece of a request. */
const NESTED = makeNestedTable({
  columns: [
    struct([leaf("int64", "some"), leaf("utf8", "some"), empty("some")], "some"),
    list(struct([leaf("utf8"), list(leaf("bool", "some"))], "some"), "some"),
    empty(),
    map(struct([leaf("decimal128"), leaf("dictionary", "some")]), "some", "mostlyEmpty"),
    sized(struct([leaf("float64", "all"), empty()]), "some"),
    struct([leaf("null"), leaf("int32", "all")], "all"),
  ],
  rowCount: 9000,
  batchRows: 8500,
  seed: 11,
});

describe("a stream in pieces", () => {
  const streams: [string, Uint8Array][] = [
    ["plain", arrow.tableToIPC(NESTED, "stream")],
    ["compressed", writeCompressed(NESTED, ...ENCODERS[0]).corrected],
    [
      "as a file",
      arrow.tableToIPC(
        makeNestedTable({ columns: [struct([leaf("int64")])], rowCount: 30_000, seed: 2 }),
        "file",
      ),
    ],
  ];
  // Around the sizes at which pieces are merged.
  const sizes = [61, 4095, 4096, 4097, 65_535, 65_536, 65_537, 2 ** 20];
  it.each(streams)("is read whole for each size of pieces: %s", async (_, stream) => {
    const whole = await readAll(stream);
    expect(whole.numRows).toBeGreaterThan(0);
    for (const size of sizes) compareTables(whole, await readAll(cut(stream, () => size)));
  });

  it("is read though its writer counts -1 nulls in cut columns of type Null", async () => {
    const columns = [
      list(leaf("null"), "some"),
      struct([leaf("null"), leaf("int64", "some")], "some"),
      leaf("null"),
    ];
    const table = makeNestedTable({ columns, rowCount: 90, batchRows: 40, seed: 6 });
    for (const format of ["stream", "file"] as const)
      compareTables(table, await readAll(arrow.tableToIPC(table, format)));
  });

  it("is refused if a column with a bitmap lacks its number of nulls", async () => {
    const table = makeNestedTable({ columns: [struct([leaf("int64", "some")])], rowCount: 90, seed: 6 });
    const { nullCount } = table.batches[0].data.children[0].children[0];
    const node = Buffer.from(BigInt64Array.of(90n, BigInt(nullCount)).buffer);
    for (const format of ["stream", "file"] as const) {
      const bytes = Buffer.from(arrow.tableToIPC(table, format));
      bytes.writeBigInt64LE(-1n, bytes.indexOf(node) + 8);
      await expect(readAll(bytes)).rejects.toThrow("90 values, -1 of them null");
      await expect(readAll(cut(bytes, () => 1000))).rejects.toThrow(InvalidInputError);
    }
  });

  it("is read as the whole is, whatever its types and its cuts", async () => {
    await fc.assert(
      fc.asyncProperty(nestedTableSpecs(), fc.integer(), async (spec, seed) => {
        const stream = arrow.tableToIPC(makeNestedTable(spec), "stream");
        const outcome = async (data: unknown): Promise<arrow.Table | string> => {
          try {
            return await readAll(data);
          } catch (error) {
            // Types that tables cannot hold are refused in both ways.
            expect(error).not.toBeInstanceOf(InvalidInputError);
            return String(error);
          }
        };
        const random = new Random(seed);
        const pieces = cut(stream, () => [0, 1, 7, 8, 100, 4096, 5000][random.below(7)]);
        const [whole, joined] = [await outcome(stream), await outcome(pieces)];
        if (typeof whole === "string" || typeof joined === "string") expect(joined).toBe(whole);
        else compareTables(whole, joined);
      }),
      { numRuns: runsOf("PIECES_RUNS", 400) },
    );
  });
});

describe("a stream of columns that share memory", () => {
  const sharing = (data: arrow.Vector["data"][number]): arrow.Table => {
    const inStruct = new arrow.Struct([fieldOf("a", data.type), fieldOf("b", data.type)]);
    const parent = arrow.makeData({
      type: inStruct,
      length: data.length,
      nullCount: 0,
      children: [data, data],
    });
    const columns = [data, parent, data];
    const schema = new arrow.Schema(columns.map(({ type }, index) => fieldOf(`c${index}`, type)));
    const rows = {
      type: new arrow.Struct(schema.fields),
      length: data.length,
      nullCount: 0,
      children: columns,
    };
    return new arrow.Table(schema, [new arrow.RecordBatch(schema, arrow.makeData(rows))]);
  };
  const numbers = makeNestedTable({ columns: [leaf("int64")], rowCount: 1000, seed: 3 });

  it("is written whole by the engine", async () => {
    for (const nesting of NESTING_NAMES) {
      const columns = [NESTINGS[nesting](leaf("int64", "some"), "some", "short")];
      const table = sharing(makeNestedTable({ columns, rowCount: 200, seed: 4 }).batches[0].data.children[0]);
      const stream = await ipcBytes(table.schema, from(table.batches));
      compareTables(table, arrow.tableFromIPC(stream));
      compareTables(table, await readAll(cut(stream, () => 1000)));
    }
  });

  it("is refused where apache-arrow's writer left out bytes", async () => {
    const table = sharing(numbers.batches[0].data.children[0]);
    const stream = arrow.tableToIPC(table, "stream");
    expect(stream.length).toBeLessThan((await ipcBytes(table.schema, from(table.batches))).length);
    await expect(readAll(stream)).rejects.toThrow(InvalidInputError);
    // The table itself is complete.
    compareTables(table, await readAll(table));
  });
});

async function* from(batches: readonly arrow.RecordBatch[]): AsyncGenerator<arrow.RecordBatch> {
  yield* batches;
}
