/** Pages of the reference, in encodings of its choice, decode to the rows that it reads itself. */

import * as arrow from "apache-arrow";
import { describe, it } from "vitest";
import { fieldOf } from "../../support/arrowColumns.js";
import { someOf } from "../../support/effort.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { allTypesSpec, makeIpc, NULL_PATTERNS, SHAPES } from "../../support/generators.js";
import { compareTables, reference } from "../../support/reference.js";
import { dataFilePaths, readDataFile, schemaOfIpc } from "./referencePages.js";

const directory = sharedDirectory();

/** Has the reference write `ipc` as one data file, and compares our reading of it with the reference's. */
async function expectSameRows(name: string, ipc: Uint8Array, dataStorageVersion: string): Promise<void> {
  await reference.createTable(directory, name, ipc, { dataStorageVersion });
  const expected = await reference.readTable(directory, name);
  const [path, ...more] = dataFilePaths(directory, name);
  if (path === undefined || more.length > 0) throw new Error("the table is not one data file");
  const actual = await readDataFile(path, schemaOfIpc(expected));
  compareTables(expected, actual);
}

interface SpecialColumn {
  readonly type: arrow.DataType;
  readonly data: arrow.Data;
  /** Field metadata that steers the reference's choice of encodings. */
  readonly metadata?: Record<string, string>;
}

/** Rare types, and encodings that the reference uses only on request. */
function specialColumns(rowCount: number): Record<string, SpecialColumn> {
  const rows = Array.from({ length: rowCount }, (_, index) => index);
  const item = (type: arrow.DataType) => fieldOf("item", type);
  const column = (
    type: arrow.DataType,
    valueAt: (row: number) => unknown,
    metadata?: Record<string, string>,
  ): SpecialColumn => {
    const values = rows.map((row) => (row % 7 === 3 ? null : valueAt(row)));
    return { type, data: arrow.vectorFromArray(values as never, type).data[0] as arrow.Data, metadata };
  };
  const words = ["red", "blue", "green", "a value somewhat longer than the others", ""];
  const dictionary = (
    index: arrow.Int8 | arrow.Uint16 | arrow.Int32 | arrow.Int64,
    value: arrow.Utf8 | arrow.LargeUtf8,
  ): SpecialColumn => {
    const type = new arrow.Dictionary<arrow.DataType, arrow.Int32>(value, index as arrow.Int32);
    const numbers = rows.map((row) => row % words.length);
    const data =
      index instanceof arrow.Int64 ? BigInt64Array.from(numbers, BigInt) : index.ArrayType.from(numbers);
    const values = arrow.vectorFromArray(words, value);
    return {
      type,
      data: arrow.makeData({
        type,
        length: rowCount,
        nullCount: 0,
        data,
        dictionary: values,
      } as never) as arrow.Data,
    };
  };
  const sentence = (row: number) => `${"lorem ipsum dolor sit amet ".repeat(1 + (row % 30))}${row}`;
  const compression = (scheme: string) => ({ "lance-encoding:compression": scheme });
  const fullZip = { "lance-encoding:structural-encoding": "fullzip" };
  const nested = new arrow.FixedSizeList(2, item(new arrow.FixedSizeList(3, item(new arrow.Float32()))));
  return {
    dictionaryInt8: dictionary(new arrow.Int8(), new arrow.Utf8()),
    dictionaryUint16: dictionary(new arrow.Uint16(), new arrow.LargeUtf8()),
    dictionaryInt32: dictionary(new arrow.Int32(), new arrow.Utf8()),
    dictionaryInt64: dictionary(new arrow.Int64(), new arrow.Utf8()),
    nulls: { type: new arrow.Null(), data: arrow.makeData({ type: new arrow.Null(), length: rowCount }) },
    booleanTriples: column(new arrow.FixedSizeList(3, item(new arrow.Bool())), (row) => [
      true,
      row % 5 === 0 ? null : false,
      true,
    ]),
    nestedLists: column(nested, (row) => [[row, null, 2], row % 3 === 0 ? null : [3, 4, row]]),
    wideLists: column(new arrow.FixedSizeList(130, item(new arrow.Float32())), (row) =>
      Array.from({ length: 130 }, (_, index) => ((row + index) % 5 === 0 ? null : index)),
    ),
    zippedBooleans: column(new arrow.Bool(), (row) => row % 3 === 0, fullZip),
    zippedIntegers: column(new arrow.Int32(), (row) => row, fullZip),
    wideBinary: column(new arrow.FixedSizeBinary(300), (row) => new Uint8Array(300).fill(row)),
    longText: column(new arrow.Utf8(), (row) =>
      row % 500 === 0 ? "a long text ".repeat(4000) : sentence(row),
    ),
    zstdFloats: column(new arrow.Float64(), (row) => Math.sin(row), compression("zstd")),
    zstdSplit: column(new arrow.Int64(), (row) => BigInt(row * 37), {
      ...compression("zstd"),
      "lance-encoding:bss": "on",
    }),
    lz4Integers: column(new arrow.Int32(), (row) => row % 900, compression("lz4")),
    zstdText: column(new arrow.Utf8(), sentence, compression("zstd")),
    lz4Binary: column(
      new arrow.Binary(),
      (row) => new TextEncoder().encode(sentence(row)),
      compression("lz4"),
    ),
    fsstText: column(new arrow.Utf8(), (row) => `value ${row % 1000} of many`, compression("fsst")),
    fsstZipped: column(new arrow.LargeUtf8(), sentence, { ...compression("fsst"), ...fullZip }),
    chunkedText: column(new arrow.Utf8(), (row) => `user-${row}-of-${rowCount * 31 - row}`),
  };
}

function tableOf(columns: Record<string, SpecialColumn>, rowCount: number): arrow.Table {
  const fields = Object.entries(columns).map(
    ([name, { type, metadata }]) =>
      new arrow.Field(name, type, true, new Map(Object.entries(metadata ?? {}))),
  );
  const children = Object.values(columns).map(({ data }) => data);
  const data = arrow.makeData({ type: new arrow.Struct(fields), length: rowCount, nullCount: 0, children });
  const schema = new arrow.Schema(fields);
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);
}

describe.each(["2.1", "2.2"])("the reference's pages of version %s are read", (version) => {
  for (const shape of someOf(SHAPES)) {
    for (const nulls of NULL_PATTERNS) {
      it(`with ${shape} values, ${nulls} null`, async () => {
        const name = `t${version.replace(".", "_")}_${shape}_${nulls}`;
        const ipc = makeIpc(allTypesSpec(1300, nulls, { shape }));
        await expectSameRows(name, ipc, version);
      });
    }
  }

  for (const rowCount of [1, 10, 2600]) {
    it(`with rare types and encodings on request, ${rowCount} rows`, async () => {
      const table = tableOf(specialColumns(rowCount), rowCount);
      const name = `special${version.replace(".", "_")}_${rowCount}`;
      await expectSameRows(name, arrow.tableToIPC(table, "stream"), version);
    });
  }
});
