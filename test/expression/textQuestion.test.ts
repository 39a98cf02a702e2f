/** Texts answer the same as codes, as bytes, and one by one; in kernels, and where there are none. */

import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { codedColumn } from "../../src/arrow/columns/codedColumn.js";
import type { Validity, VariableColumn } from "../../src/arrow/columns/column.js";
import { CorruptFileError } from "../../src/errors.js";
import { comparison } from "../../src/expression/kernels/compare.js";
import { likeKernel } from "../../src/expression/kernels/like.js";
import { textKernelUse } from "../../src/expression/kernels/textKernel.js";
import type { ValueKernel } from "../../src/expression/values/operands.js";
import { columnOfScalars } from "../../src/expression/values/scalars.js";
import { STRING } from "../../src/expression/values/types.js";
import { decodeFsst, decodeFsstSymbols, encodeFsst } from "../../src/file/compression/fsst.js";

afterEach(() => {
  textKernelUse.isOn = true;
});

const ORIGIN = { path: "t.lance", byteOffset: 0 };
const encoder = new TextEncoder();
/** As many as go to a kernel, and some that are no whole byte of bits. */
const ROWS = 1029;

function columnOf(texts: readonly string[], validity: Validity | null = null): VariableColumn {
  const parts = texts.map((text) => encoder.encode(text));
  const offsets = new Int32Array(parts.length + 1);
  for (const [row, part] of parts.entries()) offsets[row + 1] = offsets[row] + part.length;
  const bytes = new Uint8Array(offsets[parts.length]);
  for (const [row, part] of parts.entries()) bytes.set(part, offsets[row]);
  return { kind: "variable", length: texts.length, validity, offsets, bytes };
}

/** The same texts as codes; null where no codes save anything. */
function codesOf({ offsets, bytes, validity }: VariableColumn): VariableColumn | null {
  const encoded = encodeFsst(offsets as Int32Array, bytes, true);
  if (encoded === null) return null;
  const symbols = decodeFsstSymbols(encoded.symbolTable, ORIGIN);
  if (symbols === null) throw new Error("stored as they are");
  const decode = (own: Int32Array, codes: Uint8Array) => {
    const decoded = decodeFsst(symbols, own, codes, ORIGIN);
    return { offsets: own, bytes: decoded };
  };
  return codedColumn({ symbols, offsets: encoded.offsets, codes: encoded.bytes, decode }, validity);
}

/** What a test of texts answers for each row. */
function answers(kernel: ValueKernel, constants: readonly string[], column: VariableColumn): boolean[] {
  const given = constants.map((text) => ({ column: columnOfScalars(STRING, [text]), step: 0 as const }));
  const found = kernel([{ column, step: 1 }, ...given], column.length, column.validity);
  if (found.kind !== "bits") throw new Error(found.kind);
  return Array.from({ length: column.length }, (_, row) => ((found.bits[row >>> 3] >>> (row & 7)) & 1) === 1);
}

/** Compares the answers of all forms of a column with those that are right. */
function expectAnswers(
  kernel: () => ValueKernel,
  constants: readonly string[],
  texts: readonly string[],
  wanted: (text: string) => boolean,
): void {
  const right = texts.map(wanted);
  const column = columnOf(texts);
  for (const form of [column, codesOf(column)]) {
    if (form === null) continue;
    for (const isOn of [true, false]) {
      textKernelUse.isOn = isOn;
      expect(answers(kernel(), constants, form)).toEqual(right);
    }
  }
}

const word = fc
  .array(fc.constantFrom("a", "b", "ab", "aba", "é", "\u{1f600}", "zz", "b%", " of row", "\0"), {
    maxLength: 8,
  })
  .map((parts) => parts.join(""));
const texts = fc
  .array(word, { minLength: 1, maxLength: 30 })
  .map((words) => Array.from({ length: ROWS }, (_, row) => words[(row * 7 + (row >>> 5)) % words.length]));

const OPERATORS = {
  "=": (order: number) => order === 0,
  "!=": (order: number) => order !== 0,
  "<": (order: number) => order < 0,
  "<=": (order: number) => order <= 0,
  ">": (order: number) => order > 0,
  ">=": (order: number) => order >= 0,
};
const orderOf = (one: string, other: string): number =>
  Buffer.compare(encoder.encode(one), encoder.encode(other));

it.each(Object.entries(OPERATORS))("texts that are %s a constant", (operator, fits) => {
  const kernel = () => comparison(operator as keyof typeof OPERATORS, STRING);
  fc.assert(
    fc.property(texts, word, fc.nat(), fc.boolean(), (all, other, at, isOwn) => {
      const constant = isOwn ? all[at % all.length] : other;
      expectAnswers(kernel, [constant], all, (text) => fits(orderOf(text, constant)));
    }),
    { numRuns: 30 },
  );
});

it("a constant that is less than texts", () => {
  const all = Array.from({ length: ROWS }, (_, row) => `name ${row}`);
  const column = columnOf(all);
  const [constant] = [columnOfScalars(STRING, ["name 5"])];
  for (const operator of ["<", "<=", "=", ">"] as const) {
    const found = comparison(operator, STRING)(
      [
        { column: constant, step: 0 },
        { column: codesOf(column) ?? column, step: 1 },
      ],
      ROWS,
      null,
    );
    if (found.kind !== "bits") throw new Error(found.kind);
    for (const [row, text] of all.entries()) {
      const bit = (found.bits[row >>> 3] >>> (row & 7)) & 1;
      expect(bit).toBe(Number(OPERATORS[operator](orderOf("name 5", text))));
    }
  }
});

const pattern = fc
  .array(fc.oneof(word, fc.constantFrom("%", "%", "_")), { maxLength: 5 })
  .map((parts) => parts.join(""));

function matcherOf(like: string): RegExp {
  const source = Array.from(like, (character) =>
    character === "%" ? ".*" : character === "_" ? "." : character.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
  );
  return new RegExp(`^${source.join("")}$`, "su");
}

it.each([false, true])("texts that are like a pattern (negated: %s)", (isNegated) => {
  fc.assert(
    fc.property(texts, pattern, fc.nat(), fc.nat({ max: 4 }), (all, own, at, form) => {
      const text = all[at % all.length].slice(0, 20);
      // Parts of what is there are found more often.
      const like = [own, `%${text}%`, `${text}%`, `%${text}`, `${text.slice(0, 4)}%${text.slice(-5)}`][form];
      const matcher = matcherOf(like);
      expectAnswers(
        () => likeKernel(like, "", false, isNegated),
        [],
        all,
        (each) => matcher.test(each) !== isNegated,
      );
    }),
    { numRuns: 60 },
  );
});

it("texts longer than the memory of a kernel", () => {
  const all = Array.from({ length: ROWS }, (_, row) =>
    row % 100 === 3 ? `${"ab".repeat(30_000)}needle` : "ab",
  );
  expectAnswers(
    () => likeKernel("%needle", "", false, false),
    [],
    all,
    (text) => text.endsWith("needle"),
  );
  expectAnswers(
    () => comparison("<", STRING),
    ["abab"],
    all,
    (text) => text < "abab",
  );
});

it("nulls are not looked at where the text itself has to be", () => {
  const all = Array.from({ length: ROWS }, (_, row) => `a common beginning ${row % 3}`);
  const bytes = new Uint8Array((ROWS + 7) >>> 3).fill(0x55);
  const column = columnOf(all, { bytes, bitOffset: 0, nullCount: ROWS >>> 1 });
  const found = answers(comparison("=", STRING), ["a common beginning 2"], codesOf(column) ?? column);
  for (let row = 0; row < ROWS; row += 2) expect(found[row]).toBe(row % 3 === 2);
});

it.each([true, false])("codes that mean nothing are refused (kernel: %s)", (isOn) => {
  textKernelUse.isOn = isOn;
  const column = codesOf(columnOf(Array.from({ length: ROWS }, (_, row) => `name ${row % 50} of row`)));
  if (column?.coded === undefined) throw new Error("no codes");
  const { symbols, offsets } = column.coded;
  const codes = column.coded.codes.slice();
  codes[offsets[700]] = symbols.count;
  const damaged = codedColumn({ ...column.coded, codes }, null);
  expect(() => answers(likeKernel("%of r%", "", false, false), [], damaged)).toThrow(CorruptFileError);
  const cut = column.coded.codes.slice();
  cut[offsets[700] - 1] = 255;
  const split = codedColumn({ ...column.coded, codes: cut }, null);
  expect(() => answers(likeKernel("%of row there%", "", false, false), [], split)).toThrow(CorruptFileError);
});
