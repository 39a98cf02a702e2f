import { LargeUtf8, Utf8 } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
import { encodeValues } from "../../../src/arrow/objects/encodeValues.js";
import { fieldOf } from "../../support/arrowColumns.js";

const origin = { path: "s", rowOf: (index: number) => index };

function encoded(values: readonly unknown[], type: Utf8 | LargeUtf8 = new Utf8()) {
  const column = encodeValues(values, fieldOf("s", type), origin) as VariableColumn;
  const ends = Array.from(column.offsets, Number);
  return {
    ends,
    bytes: Buffer.from(column.bytes).toString("hex"),
    nulls: values.length - (column.validity === null ? values.length : countValid(column, values.length)),
  };
}

function countValid({ validity }: VariableColumn, length: number): number {
  let valid = 0;
  for (let index = 0; index < length; index++) {
    if (validity !== null && (validity.bytes[index >>> 3] >>> (index & 7)) & 1) valid++;
  }
  return valid;
}

function oneByOne(values: readonly (string | null | undefined)[]) {
  const pieces = values.map((value) => Buffer.from(value ?? "", "utf8"));
  const ends = [0];
  for (const piece of pieces) ends.push((ends.at(-1) as number) + piece.length);
  const nulls = values.filter((value) => value === null || value === undefined).length;
  return { ends, bytes: Buffer.concat(pieces).toString("hex"), nulls };
}

describe("texts", () => {
  it("short and long, of any script, with nulls between them", () => {
    const text = fc.oneof(
      { weight: 6, arbitrary: fc.string() },
      { weight: 1, arbitrary: fc.string({ unit: "grapheme" }) },
      { weight: 1, arbitrary: fc.nat({ max: 9000 }).map((count) => "x".repeat(count)) },
      { weight: 1, arbitrary: fc.constantFrom(null, undefined, "") },
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 600, size: "max" }), fc.boolean(), (values, isLarge) => {
        expect(encoded(values, isLarge ? new LargeUtf8() : new Utf8())).toEqual(oneByOne(values));
      }),
      { numRuns: 60 },
    );
  });

  it.each([127, 128, 200])("halves of a surrogate pair in two texts are no character: row %i", (row) => {
    const values: string[] = new Array(300).fill("a");
    values[row] = "\ud83d";
    values[row + 1] = "\ude00";
    expect(() => encoded(values)).toThrow(`row ${row}, column s`);
  });

  it("what is no text is refused by its row, also among texts", () => {
    const values: unknown[] = new Array(300).fill("a");
    values[201] = 7;
    expect(() => encoded(values)).toThrow("row 201, column s: 7 where a value of type Utf8 is wanted");
  });
});
