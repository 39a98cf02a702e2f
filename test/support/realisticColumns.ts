/** Deterministic realistic columns (text, identifiers, times, prices) for file sizes and interop. */

import * as arrow from "apache-arrow";
import { columnsOf, int64s, listOf } from "./arrowColumns.js";
import { Random } from "./generators.js";

const WORDS =
  "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many".split(
    " ",
  );

/** Random numbers of one column. */
class Source {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  below = (count: number): number => this.#random.below(count);
  unit = (): number => this.#random.below(2 ** 30) / 2 ** 30 + this.#random.below(2 ** 20) / 2 ** 50;
  word = (): string => WORDS[this.below(WORDS.length)];
  hex = (length: number): string => Array.from({ length }, () => this.below(16).toString(16)).join("");
  digits = (length: number): string => Array.from({ length }, () => this.below(10)).join("");

  text(shortest: number, longest: number): string {
    const length = shortest + this.below(longest - shortest);
    let text = "";
    while (text.length < length) text += `${WORDS[Math.floor(WORDS.length * this.unit() * this.unit())]} `;
    return text.slice(0, length);
  }

  /** Returns one of `count` numbers below `limit` per call. */
  pool(count: number, limit: number): () => number {
    const values = Array.from({ length: count }, () => Math.floor(this.unit() * limit));
    return () => values[this.below(count)];
  }

  /** Returns values that repeat for `length` rows on average. */
  runs(length: number, next: () => number): () => number {
    let left = 0;
    let current = 0;
    return () => {
      if (left-- === 0) {
        left = this.below(2 * length);
        current = next();
      }
      return current;
    };
  }
}

type Cell = (row: number) => number;

/** About every `nullEvery`th row is null, none for 0. */
function validity(rowCount: number, source: Source, nullEvery: number) {
  if (nullEvery === 0) return { nullCount: 0, nullBitmap: undefined };
  const nullBitmap = new Uint8Array(Math.ceil(rowCount / 8));
  let nullCount = 0;
  for (let row = 0; row < rowCount; row++) {
    if (source.below(nullEvery) === 0) nullCount++;
    else nullBitmap[row >> 3] |= 1 << (row & 7);
  }
  return { nullCount, nullBitmap };
}

function strings(
  rowCount: number,
  source: Source,
  cell: (row: number) => string,
  type: arrow.Utf8 | arrow.Binary,
  nullEvery = 0,
) {
  const encoder = new TextEncoder();
  const parts = Array.from({ length: rowCount }, (_, row) => encoder.encode(cell(row)));
  const valueOffsets = new Int32Array(rowCount + 1);
  parts.forEach((part, row) => {
    valueOffsets[row + 1] = valueOffsets[row] + part.length;
  });
  const data = new Uint8Array(valueOffsets[rowCount]);
  parts.forEach((part, row) => {
    data.set(part, valueOffsets[row]);
  });
  return arrow.makeData({
    type: type as arrow.Utf8,
    length: rowCount,
    ...validity(rowCount, source, nullEvery),
    valueOffsets,
    data,
  });
}

/** Text without nulls, with 64-bit offsets. */
const large = ({ length, valueOffsets, values }: arrow.Data<arrow.Utf8>): arrow.Data<arrow.LargeUtf8> =>
  arrow.makeData({
    type: new arrow.LargeUtf8(),
    length,
    nullCount: 0,
    valueOffsets: BigInt64Array.from(valueOffsets, BigInt),
    data: values,
  });

/** Alternating runs of null and valid rows, about `length` each. */
function nullRuns(rowCount: number, source: Source, length: number) {
  const next = source.runs(length, () => source.below(2));
  const nullBitmap = new Uint8Array(Math.ceil(rowCount / 8));
  let nullCount = 0;
  for (let row = 0; row < rowCount; row++) {
    if (next() === 0) nullCount++;
    else nullBitmap[row >> 3] |= 1 << (row & 7);
  }
  return { nullCount, nullBitmap };
}

/** Lists with `itemCount(row)` items. */
function lists(rowCount: number, itemCount: Cell, items: (count: number) => arrow.Data): arrow.Data {
  const valueOffsets = new Int32Array(rowCount + 1);
  for (let row = 0; row < rowCount; row++) valueOffsets[row + 1] = valueOffsets[row] + itemCount(row);
  const child = items(valueOffsets[rowCount]);
  const type = listOf(child.type);
  return arrow.makeData({ type, length: rowCount, nullCount: 0, valueOffsets, child });
}

type NumberType =
  | arrow.Int8
  | arrow.Int16
  | arrow.Int32
  | arrow.Int64
  | arrow.Float32
  | arrow.Float64
  | arrow.TimestampMillisecond
  | arrow.DateDay;

/** @param nulls average distance of nulls, or a predicate */
function numbers(
  rowCount: number,
  source: Source,
  type: NumberType,
  cell: Cell,
  nulls: number | ReturnType<typeof nullRuns> = 0,
): arrow.Data {
  const data = new (type.ArrayType as Float64ArrayConstructor)(rowCount);
  const wide = (data as unknown) instanceof BigInt64Array;
  for (let row = 0; row < rowCount; row++) {
    data[row] = wide ? (BigInt(Math.trunc(cell(row))) as unknown as number) : cell(row);
  }
  return arrow.makeData({
    type: type as arrow.Float64,
    length: rowCount,
    ...(typeof nulls === "number" ? validity(rowCount, source, nulls) : nulls),
    data,
  });
}

/** Values of 16 bytes whose first four are the cell's. */
function wideNumbers(rowCount: number, type: arrow.Decimal | arrow.FixedSizeBinary, cell: Cell): arrow.Data {
  const words = new Uint32Array(4 * rowCount);
  for (let row = 0; row < rowCount; row++) words[4 * row] = cell(row);
  const data = type instanceof arrow.Decimal ? words : new Uint8Array(words.buffer);
  return arrow.makeData({
    type: type as arrow.Decimal,
    length: rowCount,
    nullCount: 0,
    data: data as Uint32Array,
  });
}

export interface RealisticColumn {
  readonly name: string;
  /** Pattern of its page in 2.2, as `encodingsOf` prints it. */
  readonly encoding: RegExp;
  make(rowCount: number, source: Source): arrow.Data;
}

const FSST = /^miniBlock\(.*fsst\(/;
const PACKED_DICTIONARY = /inlineBitpacking.*dictionary\(/;
const utf8 = new arrow.Utf8();
const seconds = 1_700_000_000_000;

export const REALISTIC_COLUMNS: readonly RealisticColumn[] = [
  { name: "text", encoding: FSST, make: (n, s) => strings(n, s, () => s.text(20, 200), utf8) },
  {
    name: "longText",
    encoding: /^fullZip\(.*fsst\(/,
    make: (n, s) => strings(n / 10, s, () => s.text(300, 3000), utf8),
  },
  {
    name: "hugeText",
    encoding: /^fullZip\(.*fsst\(/,
    make: (_, s) => strings(24, s, () => s.text(30_000, 60_000), utf8),
  },
  {
    name: "hugeBinary",
    encoding: /^fullZip\(.*fsst\(/,
    make: (_, s) => strings(24, s, () => s.text(30_000, 60_000), new arrow.Binary()),
  },
  {
    name: "hugeMarkup",
    encoding: /^fullZip\(.*general\(/,
    make: (_, s) =>
      strings(
        24,
        s,
        () =>
          Array.from(
            { length: 900 },
            (_, row) => `<tr class="row"><td>${row}</td><td>${s.word()}</td><td>${s.below(1e6)}</td></tr>\n`,
          ).join(""),
        utf8,
      ),
  },
  {
    name: "url",
    encoding: FSST,
    make: (n, s) =>
      strings(n, s, () => `https://www.example.com/${s.word()}/${s.word()}?id=${s.below(1e6)}`, utf8),
  },
  {
    name: "urlWithNulls",
    encoding: FSST,
    make: (n, s) => strings(n, s, () => `https://www.example.com/${s.word()}?id=${s.below(1e6)}`, utf8, 5),
  },
  {
    name: "uuid",
    encoding: FSST,
    make: (n, s) =>
      strings(n, s, () => `${s.hex(8)}-${s.hex(4)}-4${s.hex(3)}-a${s.hex(3)}-${s.hex(12)}`, utf8),
  },
  {
    name: "json",
    encoding: FSST,
    make: (n, s) =>
      strings(n, s, () => `{"id":${s.below(1e6)},"name":"${s.word()}","score":${s.unit().toFixed(3)}}`, utf8),
  },
  {
    name: "sortedKeys",
    encoding: FSST,
    make: (n, s) => strings(n, s, (row) => `row-${String(row).padStart(10, "0")}`, utf8),
  },
  {
    name: "largeText",
    encoding: FSST,
    make: (n, s) => large(strings(n, s, () => s.text(20, 60), utf8)),
  },
  {
    name: "oneHugeLargeText",
    encoding: /^fullZip\(/,
    make: (_, s) => large(strings(3, s, (row) => s.digits(row === 1 ? 33_000 : 20), utf8)),
  },
  {
    name: "oneHugeHexText",
    encoding: /^fullZip\(/,
    make: (_, s) => large(strings(30, s, (row) => s.hex(row === 15 ? 33_000 : 20), utf8)),
  },
  {
    name: "oneHugeAmongMany",
    encoding: /^fullZip\(/,
    make: (n, s) => strings(n, s, (row) => (row === 77 ? s.text(40_000, 60_000) : s.text(20, 60)), utf8),
  },
  {
    name: "phrases",
    encoding: /inlineBitpacking.*dictionary\(general\(/,
    make(n, s) {
      const phrases = Array.from({ length: 2000 }, () => s.text(50, 150));
      return strings(n, s, () => phrases[s.below(phrases.length)], utf8);
    },
  },
  {
    name: "binaryPhrases",
    encoding: /inlineBitpacking.*dictionary\(general\(/,
    make(n, s) {
      const phrases = Array.from({ length: 2000 }, () => s.text(50, 150));
      return strings(n, s, () => phrases[s.below(phrases.length)], new arrow.Binary());
    },
  },
  {
    name: "category",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => strings(n, s, () => WORDS[s.below(10)], utf8),
  },
  {
    name: "categoryWithNulls",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => strings(n, s, () => WORDS[s.below(10)], utf8, 10),
  },
  {
    name: "manyCategories",
    encoding: /inlineBitpacking.*dictionary\(general\(/,
    make: (n, s) => strings(n, s, () => `category-${s.below(1000)}`, utf8),
  },
  {
    name: "categoryRuns",
    encoding: /rle.*dictionary\(/,
    make(n, s) {
      const next = s.runs(100, () => s.below(10));
      return strings(n, s, () => WORDS[next()], utf8);
    },
  },
  {
    name: "binary",
    encoding: /variable/,
    make: (n, s) => strings(n, s, () => s.hex(20), new arrow.Binary()),
  },
  {
    name: "dictionaryTyped",
    encoding: PACKED_DICTIONARY,
    make: (n, s) =>
      columnsOf(new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()))(
        Array.from({ length: n }, () => WORDS[s.below(50)]),
      ).data[0],
  },
  {
    name: "times",
    encoding: /inlineBitpacking/,
    make: (n, s) =>
      numbers(n, s, new arrow.TimestampMillisecond(), (row) => seconds + row * 3000 + s.below(3000)),
  },
  {
    name: "ids",
    encoding: /inlineBitpacking/,
    make: (n, s) => numbers(n, s, new arrow.Int64(), (row) => 1_000_000 + row),
  },
  {
    name: "idsWithNulls",
    encoding: /inlineBitpacking/,
    make: (n, s) => numbers(n, s, new arrow.Int64(), (row) => 1_000_000 + row, 1000),
  },
  {
    name: "days",
    encoding: /inlineBitpacking/,
    make: (n, s) => numbers(n, s, new arrow.DateDay(), () => 18_000 + s.below(2000)),
  },
  {
    name: "smallInt8",
    encoding: /inlineBitpacking/,
    make: (n, s) => numbers(n, s, new arrow.Int8(), s.pool(50, 128)),
  },
  {
    name: "fewInt64",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => numbers(n, s, new arrow.Int64(), s.pool(50, 2 ** 53)),
  },
  {
    name: "negativeInt64",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => numbers(n, s, new arrow.Int64(), () => s.below(5) - 3, 5),
  },
  {
    name: "fewFloat64",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => numbers(n, s, new arrow.Float64(), s.pool(100, 2 ** 40)),
  },
  {
    name: "runsInt8",
    encoding: /rle/,
    make: (n, s) => numbers(n, s, new arrow.Int8(), s.runs(100, s.pool(50, 128))),
  },
  {
    name: "runsInt16",
    encoding: /rle/,
    make: (n, s) => numbers(n, s, new arrow.Int16(), s.runs(100, s.pool(50, 2 ** 15))),
  },
  {
    name: "runsInt32",
    encoding: /rle/,
    make: (n, s) => numbers(n, s, new arrow.Int32(), s.runs(100, s.pool(50, 2 ** 31))),
  },
  {
    name: "runsInt64",
    encoding: /rle.*dictionary\(/,
    make: (n, s) => numbers(n, s, new arrow.Int64(), s.runs(30, s.pool(50, 2 ** 53))),
  },
  {
    name: "runsWithNulls",
    encoding: /rle/,
    make: (n, s) => numbers(n, s, new arrow.Int32(), s.runs(100, s.pool(50, 2 ** 31)), 20),
  },
  {
    name: "runsWithNullRuns",
    encoding: /defCompression\(rle.*valueCompression\(rle/,
    make: (n, s) => numbers(n, s, new arrow.Int32(), s.runs(300, s.pool(50, 2 ** 31)), nullRuns(n, s, 300)),
  },
  {
    name: "bitsWithNullRuns",
    encoding: /defCompression\(rle/,
    make: (n, s) => numbers(n, s, new arrow.Int8(), () => s.below(4), nullRuns(n, s, 300)),
  },
  {
    name: "listsOfOne",
    encoding: /repCompression\(rle/,
    make: (n, s) =>
      lists(
        n,
        () => 1,
        (count) => numbers(count, s, new arrow.Int32(), s.runs(50, s.pool(50, 2 ** 31))),
      ),
  },
  {
    name: "fewLists",
    encoding: /repCompression\(rle.*defCompression\(rle/,
    make: (n, s) =>
      lists(
        n,
        (row) => (row % 500 === 3 ? 2 : 0),
        (count) => numbers(count, s, new arrow.Int32(), () => s.below(2 ** 31)),
      ),
  },
  {
    name: "emptyLists",
    encoding: /^constant\(repCompression\(rle.*defCompression\(rle/,
    make: (n, s) =>
      lists(
        n,
        () => 0,
        (count) => numbers(count, s, new arrow.Int32(), () => 0),
      ),
  },
  {
    name: "dictionaryOfNumbers",
    encoding: /dictionary\(inlineBitpacking/,
    make: (n, s) =>
      arrow.makeData({
        type: new arrow.Dictionary(new arrow.Int64(), new arrow.Int32()),
        length: n,
        nullCount: 0,
        data: Int32Array.from({ length: n }, () => s.below(1000)),
        dictionary: int64s(Array.from({ length: 1000 }, () => BigInt(s.below(2 ** 20)))),
      }),
  },
  {
    name: "oneNumber",
    encoding: /constant/,
    make: (n, s) => numbers(n, s, new arrow.Int32(), () => 5),
  },
  {
    name: "unitFloat64",
    encoding: /^fullZip\(.*flat/,
    make: (n, s) => numbers(n, s, new arrow.Float64(), s.unit),
  },
  { name: "unitFloat32", encoding: /flat/, make: (n, s) => numbers(n, s, new arrow.Float32(), s.unit) },
  {
    name: "cents",
    encoding: /flat/,
    make: (n, s) => numbers(n, s, new arrow.Float64(), () => s.below(1e7) / 100),
  },
  {
    name: "boolWithNulls",
    encoding: /flat/,
    make(n, s) {
      const data = Uint8Array.from({ length: Math.ceil(n / 8) }, () => s.below(256));
      return arrow.makeData({ type: new arrow.Bool(), length: n, ...validity(n, s, 10), data });
    },
  },
  {
    name: "prices",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => wideNumbers(n, new arrow.Decimal(2, 18, 128), s.pool(20, 100_000)),
  },
  {
    name: "decimals",
    encoding: /flat/,
    make: (n, s) => wideNumbers(n, new arrow.Decimal(2, 18, 128), () => s.below(1e9)),
  },
  {
    name: "fewBinary16",
    encoding: PACKED_DICTIONARY,
    make: (n, s) => wideNumbers(n, new arrow.FixedSizeBinary(16), s.pool(40, 2 ** 32)),
  },
  {
    name: "oneBinary200",
    encoding: /constant/,
    make: (n) =>
      arrow.makeData({
        type: new arrow.FixedSizeBinary(200),
        length: n,
        nullCount: 0,
        data: new Uint8Array(200 * n).fill(7),
      }),
  },
];

/** A table of one column, `c`. */
export function realisticTable(
  column: RealisticColumn,
  rowCount: number,
  metadata?: Map<string, string>,
): arrow.Table {
  return oneColumn(column.make(rowCount, new Source(7)), metadata);
}

function oneColumn(data: arrow.Data<arrow.DataType>, metadata?: Map<string, string>): arrow.Table {
  const field = new arrow.Field("c", data.type, true, metadata);
  const struct = arrow.makeData({
    type: new arrow.Struct([field]),
    length: data.length,
    nullCount: 0,
    children: [data],
  });
  return new arrow.Table(new arrow.Schema([field]), [
    new arrow.RecordBatch(new arrow.Schema([field]), struct),
  ]);
}
