/** Columns that are made from the bytes of CSV cells equal those that are made from texts. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeValues } from "../../src/arrow/objects/decodeValues.js";
import { encodeValues } from "../../src/arrow/objects/encodeValues.js";
import { cellTexts, columnOfCells, NullTexts } from "../../src/files/csvColumns.js";
import { CsvRecords } from "../../src/files/csvRecords.js";
import { textParser } from "../../src/files/csvTexts.js";
import { runsOf } from "../support/effort.js";
import { bytesOfText } from "./support.js";

const pad = (value: number, width: number) => String(value).padStart(width, "0");
const day = fc
  .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 32 }))
  .map(([year, month, ofMonth]) => `${pad(year, 4)}-${pad(month, 2)}-${pad(ofMonth, 2)}`);
const soundDay = fc
  .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const time = fc
  .tuple(
    fc.nat(24),
    fc.nat(60),
    fc.option(fc.nat(60)),
    fc.constantFrom("", "", ".5", ".123", ".123456", ".1234567", "."),
    fc.constantFrom("", "", "Z", "z", "+01:00", " "),
  )
  .map(
    ([hour, minute, second, fraction, offset]) =>
      `${pad(hour, 2)}:${pad(minute, 2)}${second === null ? "" : `:${pad(second, 2)}${fraction}`}${offset}`,
  );
const moment = fc
  .tuple(fc.oneof(soundDay, day), fc.constantFrom(" ", "T", "t", "_"), time)
  .map((parts) => parts.join(""));
const whole = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom("0", "-0", "007", "-", "+5", "1.0", "1e3", "256", "-129", "65536"),
);
const decimal = fc.oneof(
  fc.double().map(String),
  fc.tuple(fc.integer(), fc.nat(999_999)).map(([left, right]) => `${left}.${right}`),
  fc.stringMatching(/^-?\d{0,12}\.?\d{0,12}$/),
  fc.constantFrom("1.", ".5", "-.5", "-0.0", "inf", "NaN", "1e400", "3.5e38", "1,5", "0x10"),
);
const boolean = fc.constantFrom("true", "FALSE", "False", "1", "0", "2", "tru", "yes", "truE");
const any = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "é", "😀", "1"), maxLength: 60 });

const TYPES: readonly (readonly [arrow.DataType, fc.Arbitrary<string>])[] = [
  [new arrow.Utf8(), any],
  [new arrow.Bool(), boolean],
  [new arrow.Int8(), whole],
  [new arrow.Int16(), whole],
  [new arrow.Int32(), whole],
  [new arrow.Int64(), whole],
  [new arrow.Uint8(), whole],
  [new arrow.Uint32(), whole],
  [new arrow.Uint64(), whole],
  [new arrow.Float32(), decimal],
  [new arrow.Float64(), decimal],
  [new arrow.DateDay(), fc.oneof(soundDay, day)],
  [new arrow.TimestampSecond(), moment],
  [new arrow.TimestampMillisecond("UTC"), moment],
  [new arrow.TimestampMicrosecond(), moment],
  [new arrow.TimestampNanosecond(), moment],
  [new arrow.TimestampMicrosecond("Europe/Oslo"), moment],
];

const NULLS = new NullTexts(["", "NA"]);

/** Cells of a file with two columns. */
async function cellsOf(texts: readonly string[], quotes: readonly boolean[]) {
  const lines = texts.map((text, index) => {
    const isQuoted = quotes[index % quotes.length] || /[",\n]/.test(text);
    return `${isQuoted ? `"${text.replaceAll('"', '""')}"` : text},x\n`;
  });
  const form = { name: "test", delimiter: ",", quote: '"', maxLength: 1e6 };
  const source = [bytesOfText(lines.join(""))][Symbol.iterator]();
  const records = new CsvRecords({ next: async () => source.next() }, form);
  await records.fill(texts.length);
  return records.take(texts.length);
}

/** Returns the column that texts become, or null if one of them is refused. */
function columnOfTexts(field: arrow.Field, texts: readonly (string | null)[]) {
  const parse = textParser(field.type, NULLS.texts);
  try {
    return encodeValues(texts.map(parse), field, { path: field.name, rowOf: (index) => index });
  } catch {
    return null;
  }
}

const NAMED = TYPES.map(([type, texts]) => ({ name: `${type}`, type, texts }));

describe.each(NAMED)("a column of $name", ({ type, texts }) => {
  it.each([true, false])("has the values of its texts, nullable: %s", async (isNullable) => {
    const field = new arrow.Field("c", type, isNullable);
    const forms = { dates: "iso", bigints: "bigint" } as const;
    const list = fc.array(
      fc.oneof({ weight: 9, arbitrary: texts }, { weight: 1, arbitrary: fc.constantFrom("", "NA") }),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    await fc.assert(
      fc.asyncProperty(list, fc.array(fc.boolean(), { minLength: 1 }), async (values, quotes) => {
        const cells = await cellsOf(values, quotes);
        const plain = columnOfCells(cells, 0, field, '"', NULLS);
        if (plain === null) return;
        const wanted = columnOfTexts(field, cellTexts(cells, 0, '"', NULLS));
        expect(wanted).not.toBeNull();
        if (wanted === null) return;
        expect(decodeValues(plain, type, forms)).toEqual(decodeValues(wanted, type, forms));
      }),
      { numRuns: runsOf("FILE_RUNS", 300) },
    );
  });
});

const COMMON: readonly (readonly [arrow.DataType, readonly string[]])[] = [
  [new arrow.Int64(), ["1", "-9223372036854775808", "", "123456789012345678"]],
  [new arrow.Int16(), ["1", "-32768", ""]],
  [new arrow.Float64(), ["1.25", "-0", "1e-7", "inf"]],
  [new arrow.DateDay(), ["2024-02-29", "0001-01-01", "9999-12-31"]],
  [new arrow.TimestampMicrosecond(), ["2024-02-29T10:11:12.000001", "1969-12-31 23:59Z"]],
  [new arrow.Utf8(), ["a", "", 'x"y']],
  [new arrow.Bool(), ["TRUE", "0", "NA"]],
];

it("common texts need no strings", async () => {
  for (const [type, texts] of COMMON) {
    const cells = await cellsOf(texts, [false]);
    expect({
      type: `${type}`,
      isPlain: columnOfCells(cells, 0, new arrow.Field("c", type, true), '"', NULLS) !== null,
    }).toEqual({
      type: `${type}`,
      isPlain: true,
    });
  }
});
