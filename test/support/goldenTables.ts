/**
 * The tables under test/golden: which encodings they are to show, and the rows that make the reference choose
 * these. Written by writeGoldenTables.mjs, read by test/goldenFiles.test.ts; a golden is
 *
 *     <name>.lance/   the table as the reference left it
 *     <name>.json     Golden: its encodings as found in the file, and the rows that went in
 */

import * as arrow from "apache-arrow";
import { bools, fieldOf } from "./arrowColumns.js";
import type { ExactColumn } from "./exactJson.js";
import { makeColumn, Random, type TypeName } from "./generators.js";

export interface Golden {
  /** Version of the files: 0.1, 2.0 … 2.3. */
  version: string;
  /** Names of {@link ENCODINGS}. */
  shows: string[];
  /** Encodings of the pages per physical column (pageOutline.ts); empty if we do not open the file. */
  outlines: string[][];
  columns: ExactColumn[];
}

export interface GoldenTable extends Pick<Golden, "version" | "shows"> {
  name: string;
  rows(): arrow.Table;
}

interface Encoding {
  /** Pattern of the page's outline. */
  outline: RegExp;
  /** Versions that need a golden. */
  versions: readonly string[];
}

const BOTH = ["2.1", "2.2"];

/** Every encoding that the reference was seen to write. */
export const ENCODINGS: Record<string, Encoding> = {
  "2.0 flat": { outline: /^noNulls\(flat/, versions: ["2.0"] },
  "2.0 flat with nulls": { outline: /^someNulls\(flat1, flat/, versions: ["2.0"] },
  "2.0 all null": { outline: /^allNulls/, versions: ["2.0"] },
  "2.0 binary": { outline: /^binary\(noNulls\(flat64\), flat8\)/, versions: ["2.0"] },
  "2.0 dictionary": { outline: /^dictionary\(.*binary/, versions: ["2.0"] },
  "2.0 list": { outline: /^list\(noNulls\(flat64\)\)/, versions: ["2.0"] },
  "2.0 struct": { outline: /^struct/, versions: ["2.0"] },
  "2.0 packed struct": { outline: /^packedStruct\(/, versions: ["2.0"] },
  "2.0 fixed-size list": { outline: /fixedSizeList\d+\(noNulls/, versions: ["2.0"] },
  "2.0 fixed-size list with null items": { outline: /fixedSizeList\d+\(someNulls/, versions: ["2.0"] },
  "2.0 fsst": { outline: /^fsst\(binary/, versions: ["2.0"] },
  "2.0 zstd": { outline: /zstd\(flat8\)/, versions: ["2.0"] },
  "2.0 lz4": { outline: /lz4\(flat8\)/, versions: ["2.0"] },

  "mini-block, plain chunks": { outline: /^miniBlock\(((?!large).)*$/, versions: ["2.1"] },
  "mini-block, large chunks": { outline: /^miniBlock\(.* large$/, versions: ["2.2"] },
  "mini-block, repetition index": { outline: /^miniBlock\(.*repetitionIndex=1/, versions: BOTH },
  "full-zip, fixed width": { outline: /^fullZipFixed\(/, versions: BOTH },
  "full-zip, fixed width in lists": { outline: /^fullZipFixed\(.*rep=/, versions: BOTH },
  "full-zip, variable width": { outline: /^fullZipVariable32\(variable/, versions: BOTH },
  "full-zip, variable width of 64 bits": { outline: /^fullZipVariable64\(variable/, versions: BOTH },
  "full-zip, variable width in lists": { outline: /^fullZipVariable32\(.*rep=/, versions: BOTH },
  "constant, inline": { outline: /^constant\(inline\d+\)/, versions: ["2.2"] },
  "constant, scalar buffer": { outline: /^constant layers=(ALL_VALID|.*LIST)/, versions: ["2.2"] },
  "all null, simple": { outline: /^constant layers=NULLABLE_ITEM$/, versions: BOTH },
  "all null, raw levels": { outline: /^constant layers=.*LIST/, versions: ["2.1"] },
  "all null, compressed levels": { outline: /^constant .*def=\w+.* layers=.*LIST/, versions: ["2.2"] },
  blob: { outline: /^blob\(miniBlock\(packedStruct/, versions: ["2.1"] },
  "blob v2": {
    outline: /^fullZipVariable32\(variablePackedStruct\(flat8, flat64, flat64, flat32/,
    versions: ["2.2"],
  },

  flat: { outline: /^miniBlock\(flat/, versions: BOTH },
  "flat bits": { outline: /^miniBlock\(flat1\)/, versions: BOTH },
  variable: { outline: /^miniBlock\(variable\(flat32\)/, versions: BOTH },
  "variable of 64 bits": { outline: /^miniBlock\(variable\(flat64\)/, versions: BOTH },
  "inline bit-packing of 8 bits": { outline: /^miniBlock\(inlineBitpacking8\)/, versions: BOTH },
  "inline bit-packing of 16 bits": { outline: /^miniBlock\(inlineBitpacking16\)/, versions: BOTH },
  "inline bit-packing of 32 bits": { outline: /^miniBlock\(inlineBitpacking32\)/, versions: BOTH },
  "inline bit-packing of 64 bits": { outline: /^miniBlock\(inlineBitpacking64\)/, versions: BOTH },
  "flat levels": { outline: /(rep|def)=flat16/, versions: BOTH },
  "inline bit-packed levels": { outline: /(rep|def)=inlineBitpacking16/, versions: BOTH },
  "out-of-line bit-packed levels": { outline: /(rep|def)=outOfLineBitpacking16/, versions: BOTH },
  "run-length levels": { outline: /(rep|def)=rle\(flat16, flat8\)/, versions: ["2.2"] },
  "run lengths": { outline: /^miniBlock\(rle\(flat/, versions: BOTH },
  fsst: { outline: /^miniBlock\(fsst\(variable/, versions: BOTH },
  "fsst, full-zip": { outline: /^fullZipVariable32\(fsst\(variable/, versions: BOTH },
  "dictionary of texts": { outline: /^miniBlock\(.*dictionary=variable/, versions: ["2.1"] },
  "dictionary of texts, compressed": { outline: /^miniBlock\(.*dictionary=lz4\(variable/, versions: ["2.2"] },
  "dictionary of numbers": {
    outline: /^miniBlock\(.*dictionary=(lz4\()?(flat|inlineBitpacking)/,
    versions: BOTH,
  },
  "byte-stream split": { outline: /byteStreamSplit\(flat/, versions: BOTH },
  lz4: { outline: /^miniBlock\(lz4/, versions: BOTH },
  zstd: { outline: /^miniBlock\(zstd/, versions: BOTH },
  "zstd, full-zip": { outline: /^fullZipVariable32\(zstd/, versions: BOTH },
  "packed struct, fixed width": { outline: /^miniBlock\(packedStruct\(/, versions: BOTH },
  "packed struct, variable width": {
    outline: /^fullZipVariable32\(variablePackedStruct\(/,
    versions: ["2.2"],
  },
  "fixed-size list": { outline: /^miniBlock\(fixedSizeList\d+\((flat|fixed)/, versions: BOTH },
  "fixed-size list with null items": { outline: /^miniBlock\(fixedSizeList\d+\(validity/, versions: BOTH },
  "fixed-size list with null items, full-zip": {
    outline: /^fullZipFixed\(fixedSizeList\d+\(validity/,
    versions: BOTH,
  },
  "fixed-size list of fixed-size lists": { outline: /fixedSizeList\d+\(.*fixedSizeList/, versions: BOTH },
  "null structs": { outline: /layers=NULLABLE_ITEM,NULLABLE_ITEM/, versions: BOTH },
};

interface GoldenColumn {
  data: arrow.Data;
  nullable?: boolean;
  metadata?: Record<string, string>;
}

const item = (type: arrow.DataType) => fieldOf("item", type);
const member = (name: string, type: arrow.DataType, nullable = false) => fieldOf(name, type, nullable);
const asked = (settings: Record<string, string>) =>
  Object.fromEntries(Object.entries(settings).map(([key, value]) => [`lance-encoding:${key}`, value]));

const column =
  (type: arrow.DataType, settings: Record<string, string> = {}) =>
  (values: readonly unknown[]): GoldenColumn => ({
    data: arrow.vectorFromArray(values as never, type).data[0] as arrow.Data,
    metadata: asked(settings),
  });

function generated(
  type: TypeName,
  rowCount: number,
  shape: "extreme" | "random",
  nulls: "some" | "none" = "some",
) {
  return { data: makeColumn({ type, shape, nulls }, rowCount, 77) };
}

const numbers =
  (type: arrow.DataType) =>
  (values: ArrayLike<number | bigint>): GoldenColumn => {
    const Lane = type.ArrayType as new (values: ArrayLike<number | bigint>) => Int32Array;
    const data = new Lane(values);
    return {
      data: arrow.makeData({ type: type as arrow.Int32, length: data.length, nullCount: 0, data }),
      nullable: false,
    };
  };

const rows = <T>(count: number, valueAt: (row: number) => T): T[] =>
  Array.from({ length: count }, (_, row) => valueAt(row));
/** Null in every `every`th row. */
const holes =
  (every: number) =>
  <T>(values: T[]): (T | null)[] =>
    values.map((value, row) => (row % every === every - 2 ? null : value));

const WORDS = ["oak", "birch", "rowan", "hornbeam", "", "wild service tree"];

function text(random: Random, length: number): string {
  let words = "";
  while (words.length < length) words += `${WORDS[random.below(WORDS.length)]} ${random.below(50)}, `;
  return words.slice(0, length);
}

function noise(random: Random, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  random.fill(bytes);
  return bytes;
}

function tableOf(columns: Record<string, GoldenColumn>): arrow.Table {
  const fields = Object.entries(columns).map(
    ([name, { data, nullable, metadata }]) =>
      new arrow.Field(name, data.type, nullable ?? true, new Map(Object.entries(metadata ?? {}))),
  );
  const children = Object.values(columns).map(({ data }) => data);
  const { length } = children[0];
  const schema = new arrow.Schema(fields);
  const data = arrow.makeData({ type: new arrow.Struct(fields), length, nullCount: 0, children });
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);
}

type Column = () => Record<string, GoldenColumn>;

/** A golden: its name without the version, its encodings (in versions that have them), its columns. */
type Case = readonly [name: string, shows: readonly string[], columns: Column];

const PAIR = new arrow.Struct([member("x", new arrow.Int32()), member("y", new arrow.Float64())]);
const PAIR_OF_TEXT = new arrow.Struct([member("x", new arrow.Int32()), member("t", new arrow.Utf8())]);
const pairs = () => rows(12, (row) => ({ x: row * 7, y: row / 4 }));

const allScalars: Column = () => ({
  bool: generated("bool", 12, "random", "none"),
  int8: generated("int8", 12, "extreme"),
  int16: generated("int16", 12, "extreme"),
  int32: generated("int32", 12, "extreme"),
  int64: generated("int64", 12, "extreme"),
  uint8: generated("uint8", 12, "extreme"),
  uint64: generated("uint64", 12, "extreme"),
  float16: generated("float16", 12, "extreme", "none"),
  float32: generated("float32", 12, "extreme", "none"),
  float64: generated("float64", 12, "extreme", "none"),
  decimal128: generated("decimal128", 12, "extreme"),
  decimal256: generated("decimal256", 12, "extreme"),
  fixedSizeBinary16: generated("fixedSizeBinary16", 12, "random"),
  date32: generated("date32", 12, "random"),
  date64: generated("date64", 12, "random"),
  time32: generated("time32Millisecond", 12, "random"),
  time64: generated("time64Nanosecond", 12, "random"),
  timestamp: generated("timestampMillisecond", 12, "random"),
  timestampZone: generated("timestampZone", 12, "random"),
  duration: generated("durationNanosecond", 12, "random"),
});

const shortTexts: Column = () => ({
  text: column(new arrow.Utf8())(holes(5)(["", "a", "München", "日本語", "\u0000", "🦊", "the end", "z"])),
  binary: column(new arrow.Binary())(holes(5)(rows(8, (row) => Uint8Array.from(rows(row, (i) => 255 - i))))),
});
const largeTexts: Column = () => ({
  text: column(new arrow.LargeUtf8())(
    holes(5)(["", "a", "München", "日本語", "\u0000", "🦊", "the end", "z"]),
  ),
  binary: column(new arrow.LargeBinary())(
    holes(5)(rows(8, (row) => Uint8Array.from(rows(row, (i) => 255 - i)))),
  ),
});
const lists: Column = () => ({
  numbers: column(new arrow.List(item(new arrow.Int32())))([
    [1, 2],
    null,
    [],
    [3, null, 5],
    [6],
    [],
    null,
    [7, 8, 9, 10],
  ]),
  lists: column(new arrow.List(item(new arrow.List(item(new arrow.Int16())))))([
    [[1, 2], [], null, [3]],
    null,
    [[]],
    [],
    [null],
    [[4, null], [5]],
    [],
    [[6]],
  ]),
  texts: column(new arrow.List(item(new arrow.Utf8())))([
    ["a"],
    [],
    null,
    ["b", null, ""],
    [],
    ["c", "d"],
    ["e"],
    [],
  ]),
});
const arrowDictionary: Column = () => {
  const values = holes(7)(rows(40, (row) => WORDS[(row * row) % 6]));
  return {
    int8: column(new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()))(values),
    int32: column(new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()))(values),
  };
};
const fewTexts: Column = () => ({
  text: column(new arrow.Utf8())(holes(9)(rows(150, (row) => WORDS[(row * row) % 6]))),
});
const emptyStruct = (length: number): arrow.Data =>
  arrow.makeData({ type: new arrow.Struct([]), length, nullCount: 0, children: [] });
/** In 2.1 and 2.2 the reference reads each of these columns alone, but not all together. */
const emptyStructs: Column = () => {
  const number = numbers(new arrow.Int32())([7, 8, 9, 10, 11]);
  const members = [member("nothing", new arrow.Struct([])), member("number", new arrow.Int32())];
  return {
    first: { data: emptyStruct(5), nullable: false },
    number,
    struct: {
      data: arrow.makeData({
        type: new arrow.Struct(members),
        length: 5,
        nullCount: 0,
        children: [emptyStruct(5), number.data],
      }),
    },
    last: { data: emptyStruct(5) },
  };
};
const emptyStructLists: Column = () => ({
  ...emptyStructs(),
  list: {
    data: arrow.makeData({
      type: new arrow.List(member("item", new arrow.Struct([]))),
      length: 5,
      nullCount: 1,
      nullBitmap: Uint8Array.of(0b11011),
      valueOffsets: Int32Array.of(0, 2, 2, 2, 3, 6),
      child: emptyStruct(6),
    }),
  },
});
const nothing: Column = () => ({
  null: { data: arrow.makeData({ type: new arrow.Null(), length: 20 }) },
  int64: column(new arrow.Int64())(rows(20, () => null)),
  text: column(new arrow.Utf8())(rows(20, () => null)),
});
const vectors = (dimension: number, count: number, itemNulls: boolean): GoldenColumn =>
  column(new arrow.FixedSizeList(dimension, item(new arrow.Float32())))(
    holes(4)(
      rows(count, (row) => rows(dimension, (i) => (itemNulls && (row + i) % 5 === 0 ? null : row + i / 8))),
    ),
  );
/** Lists of three bits, some null; all items are valid. */
function bitTriples(count: number): GoldenColumn {
  const items = bools(rows(count * 3, (index) => index % 5 < 2)).data[0];
  const type = new arrow.FixedSizeList(3, item(new arrow.Bool()));
  const nullBitmap = Uint8Array.of(0b11011011, 0b11111101);
  return { data: arrow.makeData({ type, length: count, nullCount: -1, nullBitmap, child: items }) };
}
const smallVectors: Column = () => ({
  vector: generated("vectorFloat64", 10, "extreme"),
  bits: bitTriples(10),
});
const smallVectorsNullItems: Column = () => ({ vector: vectors(4, 10, true) });
const packedFixed: Column = () => ({
  pair: { ...column(PAIR, { packed: "true" })(pairs()), nullable: false },
});
const askedTexts =
  (settings: Record<string, string>, length: number, count: number): Column =>
  () => {
    const random = new Random(5);
    return {
      text: column(
        new arrow.Utf8(),
        settings,
      )(holes(11)(rows(count, () => text(random, random.below(length))))),
    };
  };
const blobs: Column = () => ({
  blob: column(new arrow.LargeBinary(), { blob: "true" })([
    new Uint8Array(0),
    Uint8Array.of(1, 2, 3),
    null,
    noise(new Random(3), 300),
    Uint8Array.of(9),
  ]),
});

const CASES_2_0: readonly Case[] = [
  ["flat", ["2.0 flat", "2.0 flat with nulls"], allScalars],
  ["all_null", ["2.0 all null"], nothing],
  ["binary", ["2.0 binary"], shortTexts],
  ["large_binary", ["2.0 binary"], largeTexts],
  ["dictionary", ["2.0 dictionary"], fewTexts],
  ["arrow_dictionary", ["2.0 dictionary"], arrowDictionary],
  ["list", ["2.0 list"], lists],
  [
    "struct",
    ["2.0 struct"],
    () => ({
      pair: {
        ...column(PAIR_OF_TEXT)(rows(9, (row) => ({ x: row, t: `t${row}` }))),
        nullable: false,
      },
    }),
  ],
  ["empty_struct", ["2.0 struct"], emptyStructLists],
  ["packed_struct", ["2.0 packed struct"], packedFixed],
  ["fixed_size_list", ["2.0 fixed-size list"], smallVectors],
  ["fixed_size_list_null_items", ["2.0 fixed-size list with null items"], smallVectorsNullItems],
  ["fsst", ["2.0 fsst"], askedTexts({ compression: "fsst" }, 40, 60)],
  ["zstd", ["2.0 zstd"], askedTexts({ compression: "zstd" }, 40, 60)],
  ["lz4", ["2.0 lz4"], askedTexts({ compression: "lz4" }, 40, 60)],
  ["blob", ["2.0 packed struct"], blobs],
];

const CASES_2_1: readonly Case[] = [
  ["flat", ["flat", "flat bits", "mini-block, plain chunks", "mini-block, large chunks"], allScalars],
  ["variable", ["variable", "flat levels"], shortTexts],
  ["large_variable", ["variable of 64 bits"], largeTexts],
  ["list", ["mini-block, repetition index"], lists],
  [
    "many_lists",
    ["out-of-line bit-packed levels", "mini-block, repetition index"],
    () => ({
      numbers: column(new arrow.List(item(new arrow.Uint8())))(
        rows(1200, (row) => (row % 3 === 0 ? [] : row % 7 === 0 ? null : rows(row % 4, (i) => row + i))),
      ),
    }),
  ],
  [
    "inline_bitpacking",
    [8, 16, 32, 64].map((bits) => `inline bit-packing of ${bits} bits`),
    () => ({
      int8: numbers(new arrow.Int8())(rows(1500, (row) => (row * 7) % 8)),
      int16: numbers(new arrow.Int16())(rows(1500, (row) => (row * 7) % 1000)),
      int32: numbers(new arrow.Int32())(rows(1500, (row) => row * 7)),
      int64: numbers(new arrow.Int64())(rows(1500, (row) => BigInt(row) * 70_000n)),
      timestamp: numbers(new arrow.TimestampMicrosecond())(rows(1500, (row) => BigInt((row * 31) % 900))),
    }),
  ],
  [
    "nulls",
    ["inline bit-packed levels"],
    () => ({
      int32: column(new arrow.Int32())(holes(7)(rows(400, (row) => row * 2_654_435 - 400_000_000))),
    }),
  ],
  [
    "many_nulls",
    ["out-of-line bit-packed levels"],
    () => ({
      int8: column(new arrow.Int8())(holes(7)(rows(1100, (row) => row % 100))),
    }),
  ],
  [
    "runs",
    ["run lengths"],
    () => ({
      int32: numbers(new arrow.Int32())(rows(900, (row) => Math.floor(row / 300) * 1_000_003 - 7)),
      int8: numbers(new arrow.Int8())(rows(900, (row) => -Math.floor(row / 290))),
      float64: numbers(new arrow.Float64())(rows(900, (row) => Math.floor(row / 310) / 7)),
    }),
  ],
  ["dictionary", ["dictionary of texts", "dictionary of texts, compressed"], fewTexts],
  ["arrow_dictionary", ["dictionary of texts", "dictionary of texts, compressed"], arrowDictionary],
  [
    "dictionary_of_numbers",
    ["dictionary of numbers"],
    () => ({
      decimal: column(new arrow.Decimal(4, 30, 128))(
        rows(400, (row) => Uint32Array.of((row * row) % 9, 1, 2, 0)),
      ),
      fixedSizeBinary: column(new arrow.FixedSizeBinary(16))(
        rows(400, (row) => noise(new Random((row * row) % 7), 16)),
      ),
    }),
  ],
  ["fsst", ["fsst"], askedTexts({ compression: "fsst" }, 120, 700)],
  [
    "fsst_full_zip",
    ["fsst, full-zip"],
    askedTexts({ compression: "fsst", "structural-encoding": "fullzip" }, 120, 60),
  ],
  ["lz4", ["lz4"], askedTexts({ compression: "lz4" }, 120, 200)],
  ["zstd", ["zstd"], askedTexts({ compression: "zstd" }, 120, 200)],
  [
    "zstd_full_zip",
    ["zstd, full-zip"],
    () => ({
      text: column(new arrow.Utf8())(["short", null, "a long text of no interest ".repeat(1300), ""]),
    }),
  ],
  [
    "byte_stream_split",
    ["byte-stream split"],
    () => ({
      float64: column(new arrow.Float64(), { compression: "zstd", bss: "on" })(
        rows(1100, (row) => row / 8 - 30),
      ),
      float32: column(new arrow.Float32(), { compression: "lz4", bss: "on" })(rows(1100, (row) => row / 4)),
    }),
  ],
  [
    "full_zip_fixed",
    ["full-zip, fixed width"],
    () => ({
      vector: vectors(70, 6, false),
      binary: column(new arrow.FixedSizeBinary(300))(holes(5)(rows(6, (row) => noise(new Random(row), 300)))),
      asked: column(new arrow.Int32(), { "structural-encoding": "fullzip" })(
        holes(5)(rows(6, (row) => row - 3)),
      ),
    }),
  ],
  [
    "full_zip_fixed_lists",
    ["full-zip, fixed width in lists"],
    () => ({
      vectors: column(new arrow.List(item(new arrow.FixedSizeList(70, item(new arrow.Float32())))))([
        [rows(70, (i) => i), rows(70, (i) => -i)],
        null,
        [],
        [rows(70, (i) => i / 3)],
        [],
      ]),
    }),
  ],
  [
    "full_zip_lists_in_null_structs",
    ["full-zip, fixed width in lists"],
    () => {
      const vector = (from: number) => rows(70, (i) => from + i);
      const type = new arrow.Struct([
        member("l", new arrow.List(item(new arrow.FixedSizeList(70, item(new arrow.Float32())))), true),
      ]);
      const values = [{ l: [vector(1), vector(2)] }, null, { l: [] }, { l: null }, null, { l: [vector(3)] }];
      return { s: column(type)(values) };
    },
  ],
  [
    "full_zip_variable",
    ["full-zip, variable width", "full-zip, variable width of 64 bits", "full-zip, variable width in lists"],
    () => {
      const random = new Random(8);
      const long = () => text(random, 260 + random.below(60));
      return {
        text: column(new arrow.Utf8())(holes(5)(rows(6, long))),
        large: column(new arrow.LargeBinary())(holes(5)(rows(6, () => noise(random, 280)))),
        list: column(new arrow.List(item(new arrow.Utf8())))([
          [long(), null, ""],
          null,
          [],
          [long()],
          ["x", "y"],
          [],
        ]),
      };
    },
  ],
  ["all_null", ["all null, simple"], nothing],
  [
    "no_items",
    ["all null, raw levels", "all null, compressed levels"],
    () => ({
      lists: column(new arrow.List(item(new arrow.Int32())))([[], null, [], [], null, []]),
      nullItems: column(new arrow.List(item(new arrow.Utf8())))([[], null, [null], [null, null], null, []]),
    }),
  ],
  ["fixed_size_list", ["fixed-size list"], smallVectors],
  ["fixed_size_list_null_items", ["fixed-size list with null items"], smallVectorsNullItems],
  [
    "fixed_size_list_null_items_full_zip",
    ["fixed-size list with null items, full-zip"],
    () => ({ vector: vectors(70, 6, true) }),
  ],
  [
    "fixed_size_list_nested",
    ["fixed-size list of fixed-size lists"],
    () => ({
      pairs: column(new arrow.FixedSizeList(2, item(new arrow.FixedSizeList(3, item(new arrow.Int16())))))(
        holes(5)(rows(9, (row) => [[row, null, 2], row % 3 === 0 ? null : [3, 4, row]])),
      ),
    }),
  ],
  ["empty_struct", [], emptyStructs],
  [
    "struct",
    ["null structs"],
    () => ({
      pair: column(
        new arrow.Struct([member("x", new arrow.Int32(), true), member("t", new arrow.Utf8(), true)]),
      )(holes(4)(rows(9, (row) => ({ x: row % 3 === 0 ? null : row, t: row % 5 === 0 ? null : `t${row}` })))),
      list: column(
        new arrow.List(
          item(
            new arrow.Struct([
              member("x", new arrow.Int32(), true),
              member("l", new arrow.List(item(new arrow.Utf8())), true),
            ]),
          ),
        ),
      )([
        [{ x: 1, l: ["a"] }, null, { x: null, l: [] }],
        [],
        null,
        [{ x: 4, l: null }],
        [null],
        [],
        [],
        null,
        [],
      ]),
    }),
  ],
  ["packed_struct", ["packed struct, fixed width"], packedFixed],
];

const ONLY_2_1: readonly Case[] = [["blob", ["blob"], blobs]];

const ONLY_2_2: readonly Case[] = [
  [
    "map",
    ["mini-block, repetition index"],
    () => ({
      map: column(
        new arrow.Map_(
          fieldOf(
            "entries",
            new arrow.Struct([member("key", new arrow.Utf8()), member("value", new arrow.Int64(), true)]),
            false,
          ) as ConstructorParameters<typeof arrow.Map_>[0],
        ),
      )([
        new Map([["a", 1n]]),
        null,
        new Map([["b", null]]),
        new Map(),
        new Map([
          ["c", 3n],
          ["d", -4n],
        ]),
      ]),
    }),
  ],
  [
    "constant_inline",
    ["constant, inline"],
    () => ({
      int32: numbers(new arrow.Int32())(rows(20, () => -5)),
      bool: column(new arrow.Bool())(rows(20, () => true)),
      decimal: column(new arrow.Decimal(2, 60, 256))(rows(20, () => Uint32Array.of(7, 0, 0, 0, 0, 0, 0, 0))),
      nulls: column(new arrow.Float64())(holes(3)(rows(20, () => -0))),
      list: column(new arrow.List(item(new arrow.Int16())))(
        holes(4)(rows(20, (row) => rows(row % 3, () => 9))),
      ),
    }),
  ],
  [
    "constant_scalar_buffer",
    ["constant, scalar buffer"],
    () => ({
      text: column(new arrow.Utf8())(rows(20, () => "hello")),
      large: column(new arrow.LargeBinary())(holes(3)(rows(20, () => Uint8Array.of(1, 2)))),
      wide: column(new arrow.FixedSizeBinary(40))(rows(20, () => noise(new Random(1), 40))),
      list: column(new arrow.List(item(new arrow.Utf8())))(
        holes(4)(rows(20, (row) => rows(row % 3, () => "again"))),
      ),
    }),
  ],
  [
    "run_length_levels",
    ["run-length levels"],
    () => ({
      int32: column(new arrow.Int32())(rows(200, (row) => (row % 100 < 30 ? null : row * row * 7919))),
    }),
  ],
  [
    "packed_struct_variable",
    ["packed struct, variable width"],
    () => ({
      pair: {
        ...column(PAIR_OF_TEXT, { packed: "true" })(rows(12, (row) => ({ x: row * 7, t: `text ${row}` }))),
        nullable: false,
      },
    }),
  ],
  [
    "fixed_size_list_of_struct",
    [],
    () => ({
      pairs: column(
        new arrow.FixedSizeList(2, item(new arrow.Struct([member("x", new arrow.Int32(), true)]))),
      )([[{ x: 1 }, { x: 2 }], null, [null, { x: null }], [{ x: 7 }, { x: 8 }]]),
    }),
  ],
  [
    "blob",
    ["blob v2"],
    () => {
      const random = new Random(4);
      const type = new arrow.Struct([
        member("data", new arrow.LargeBinary(), true),
        member("uri", new arrow.Utf8(), true),
      ]);
      const values = [noise(random, 5), null, noise(random, 300), new Uint8Array(0)];
      return {
        blob: {
          ...column(type)(values.map((data) => data && { data, uri: null })),
          metadata: { "ARROW:extension:name": "lance.blob.v2" },
        },
      };
    },
  ],
  [
    "blob_side_files",
    ["blob v2"],
    () => {
      const random = new Random(5);
      const type = new arrow.Struct([
        member("data", new arrow.LargeBinary(), true),
        member("uri", new arrow.Utf8(), true),
      ]);
      // In the data file, two side files of several values, two of one.
      const values = [5, 11, 20, null, 12, 21, 0, 40, 10].map((size) =>
        size === null ? null : noise(random, size),
      );
      return {
        blob: {
          ...column(type)(values.map((data) => data && { data, uri: null })),
          metadata: {
            "ARROW:extension:name": "lance.blob.v2",
            "lance-encoding:blob-inline-size-threshold": "10",
            "lance-encoding:blob-dedicated-size-threshold": "20",
            "lance-encoding:blob-pack-file-size-threshold": "31",
          },
        },
      };
    },
  ],
  [
    "json",
    [],
    () => ({
      json: {
        ...column(new arrow.Utf8())(['{"a":[1,2.5,"x"]}', null, "[]", "null", '"text"', '{"b":{"c":true}}']),
        metadata: { "ARROW:extension:name": "arrow.json" },
      },
    }),
  ],
];

const OTHER: readonly Case[] = [
  [
    "flat",
    [],
    () => ({
      int64: column(new arrow.Int64())([1n, null, -1n]),
      text: column(new arrow.Utf8())(["a", null, ""]),
    }),
  ],
];

const table =
  (version: string) =>
  ([name, shows, columns]: Case): GoldenTable => ({
    name: `v${version.replace(".", "_")}_${name}`,
    version,
    shows: shows.filter((encoding) => ENCODINGS[encoding].versions.includes(version)),
    rows: () => tableOf(columns()),
  });

export function goldenTables(): GoldenTable[] {
  return [
    ...OTHER.map(table("0.1")),
    ...CASES_2_0.map(table("2.0")),
    ...[...CASES_2_1, ...ONLY_2_1].map(table("2.1")),
    ...[...CASES_2_1, ...ONLY_2_2].map(table("2.2")),
    ...OTHER.map(table("2.3")),
  ];
}
