/** Texts give the same answers as codes, as bytes, and one by one, with kernels and without. */

import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import type { Validity, VariableColumn } from "../../../src/arrow/columns/column.js";
import { lazyTextColumn } from "../../../src/arrow/columns/lazyColumn.js";
import type { ChunkedTexts } from "../../../src/arrow/columns/lazyValues.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { CorruptFileError } from "../../../src/errors.js";
import { comparison } from "../../../src/expression/kernels/compare.js";
import { likeKernel } from "../../../src/expression/kernels/like.js";
import { textKernelUse } from "../../../src/expression/kernels/textKernel.js";
import type { ValueKernel } from "../../../src/expression/values/operands.js";
import { madeBy } from "../../../src/expression/values/operands.js";
import { columnOfScalars } from "../../../src/expression/values/scalars.js";
import { STRING } from "../../../src/expression/values/types.js";
import { decodeFsst, decodeFsstSymbols } from "../../../src/file/compression/fsst.js";
import { encodeFsst } from "../../../src/file/compression/fsstEncoder.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";
import { loadAllEncoders } from "../../../src/file/pages/encoders.js";

await Promise.all([loadAllDecoders(), loadAllEncoders()]);

afterEach(() => {
  textKernelUse.isOn = true;
});

const ORIGIN = { path: "t.lance", byteOffset: 0 };
const encoder = new TextEncoder();
/** Enough rows for a kernel, and not a multiple of 8. */
const ROWS = 1029;

function columnOf(texts: readonly string[], validity: Validity | null = null): VariableColumn {
  const parts = texts.map((text) => encoder.encode(text));
  const offsets = new Int32Array(parts.length + 1);
  for (const [row, part] of parts.entries()) offsets[row + 1] = offsets[row] + part.length;
  const bytes = new Uint8Array(offsets[parts.length]);
  for (const [row, part] of parts.entries()) bytes.set(part, offsets[row]);
  return { kind: "variable", length: texts.length, validity, offsets, bytes };
}

/** Encodes the texts as codes; null if codes save nothing. */
function codesOf({ offsets, bytes, validity }: VariableColumn): VariableColumn | null {
  const encoded = encodeFsst(offsets as Int32Array, bytes, true);
  if (encoded === null) return null;
  const symbols = decodeFsstSymbols(encoded.symbolTable, ORIGIN);
  if (symbols === null) throw new Error("stored as they are");
  const decode = (positions: Int32Array, codes: Uint8Array) => {
    const decoded = decodeFsst(symbols, positions, codes, ORIGIN);
    return { offsets: positions, bytes: decoded };
  };
  return lazyTextColumn(
    { kind: "codes", symbols, offsets: encoded.offsets, codes: encoded.bytes, decode },
    validity,
  );
}

const LAYOUT = { kind: "variable", offsetBits: 32, text: true } as const;

function chunksOf(column: VariableColumn, compression: "none" | "fsst"): VariableColumn {
  const metadata = new Map([
    ["lance-encoding:structural-encoding", "miniblock"],
    ["lance-encoding:compression", compression],
    ["lance-encoding:dict-size-ratio", "0.001"],
  ]);
  const options = { version: "2.1", nullable: column.validity !== null, path: "c", metadata } as const;
  const [page] = runSync(encodePages(LAYOUT, [column], column.length, options));
  const buffers = page.buffers.map((parts) => Uint8Array.from(Buffer.concat(parts)));
  const allocate = (byteLength: number) => new Uint8Array(byteLength);
  const read = decodePage(LAYOUT, page.encoding, column.length, buffers, ORIGIN, { allocate });
  if (read.kind !== "variable") throw new Error(read.kind);
  return read;
}

function answers(kernel: ValueKernel, constants: readonly string[], column: VariableColumn): boolean[] {
  const operands = constants.map((text) => ({ column: columnOfScalars(STRING, [text]), step: 0 as const }));
  const result = runSync(madeBy(kernel([{ column, step: 1 }, ...operands], column.length, column.validity)));
  if (result.kind !== "bits") throw new Error(result.kind);
  return Array.from(
    { length: column.length },
    (_, row) => ((result.bits[row >>> 3] >>> (row & 7)) & 1) === 1,
  );
}

/** Compares the answers of all forms of a column with the expected ones. */
function expectAnswers(
  kernel: () => ValueKernel,
  constants: readonly string[],
  texts: readonly string[],
  wanted: (text: string) => boolean,
): void {
  const right = texts.map(wanted);
  const column = columnOf(texts);
  const forms = [
    () => column,
    () => codesOf(column),
    () => chunksOf(column, "none"),
    () => chunksOf(column, "fsst"),
  ];
  for (const make of forms) {
    for (const isOn of [true, false]) {
      textKernelUse.isOn = isOn;
      const form = make();
      if (form !== null) expect(answers(kernel(), constants, form)).toEqual(right);
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
const orderOf = (left: string, right: string): number =>
  Buffer.compare(encoder.encode(left), encoder.encode(right));

it.each(Object.entries(OPERATORS))("a comparison finds texts that are %s a constant", (operator, fits) => {
  const kernel = () => comparison(operator as keyof typeof OPERATORS, STRING);
  fc.assert(
    fc.property(texts, word, fc.nat(), fc.boolean(), (all, extra, index, isOwn) => {
      const constant = isOwn ? all[index % all.length] : extra;
      expectAnswers(kernel, [constant], all, (text) => fits(orderOf(text, constant)));
    }),
    { numRuns: 20 },
  );
});

it("a comparison finds texts that a constant is less than", () => {
  const all = Array.from({ length: ROWS }, (_, row) => `name ${row}`);
  const column = columnOf(all);
  const [constant] = [columnOfScalars(STRING, ["name 5"])];
  for (const operator of ["<", "<=", "=", ">"] as const) {
    const result = runSync(
      madeBy(
        comparison(operator, STRING)(
          [
            { column: constant, step: 0 },
            { column: codesOf(column) ?? column, step: 1 },
          ],
          ROWS,
          null,
        ),
      ),
    );
    if (result.kind !== "bits") throw new Error(result.kind);
    for (const [row, text] of all.entries()) {
      const bit = (result.bits[row >>> 3] >>> (row & 7)) & 1;
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

it.each([false, true])("LIKE finds texts that match a pattern (negated: %s)", (isNegated) => {
  fc.assert(
    fc.property(texts, pattern, fc.nat(), fc.nat({ max: 4 }), (all, word, index, form) => {
      const text = all[index % all.length].slice(0, 20);
      // Parts of existing texts match more often.
      const like = [word, `%${text}%`, `${text}%`, `%${text}`, `${text.slice(0, 4)}%${text.slice(-5)}`][form];
      const matcher = matcherOf(like);
      expectAnswers(
        () => runSync(likeKernel(like, "", false, isNegated)),
        [],
        all,
        (each) => matcher.test(each) !== isNegated,
      );
    }),
    { numRuns: 35 },
  );
});

it("LIKE finds a rare word among texts of all lengths", () => {
  const all = Array.from({ length: ROWS }, (_, row) => {
    const filler = "abcdefghijklmnop".repeat(1 + (row % 9)).slice(row % 16);
    return row % 37 === 5
      ? `${filler}QX${filler.slice(0, row % 5)}`
      : `${filler}${row % 11 === 3 ? "Q" : ""}`;
  });
  for (const pattern of ["%QX%", "abc%QX%", "%n%QX%", "%QXY%"]) {
    const matcher = matcherOf(pattern);
    expectAnswers(
      () => runSync(likeKernel(pattern, "", false, false)),
      [],
      all,
      (text) => matcher.test(text),
    );
  }
});

it("LIKE tests texts that are longer than the kernel's memory", () => {
  const all = Array.from({ length: ROWS }, (_, row) =>
    row % 100 === 3 ? `${"ab".repeat(30_000)}needle` : "ab",
  );
  expectAnswers(
    () => runSync(likeKernel("%needle", "", false, false)),
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

it("open texts are tested one by one, without nulls", () => {
  const all = Array.from({ length: ROWS }, (_, row) => `a common beginning ${row % 3}`);
  const bytes = new Uint8Array((ROWS + 7) >>> 3).fill(0x55);
  const column = columnOf(all, { bytes, bitOffset: 0, nullCount: ROWS >>> 1 });
  const result = answers(comparison("=", STRING), ["a common beginning 2"], codesOf(column) ?? column);
  for (let row = 0; row < ROWS; row += 2) expect(result[row]).toBe(row % 3 === 2);
});

it("texts of many chunks are asked in their chunks", () => {
  const all = Array.from({ length: 5003 }, (_, row) => `name ${(row * 7919) % 5003} of row`);
  for (const compression of ["none", "fsst"] as const) {
    const column = chunksOf(columnOf(all), compression);
    const texts = chunkedTexts(column);
    expect(texts.counts.length).toBeGreaterThan(1);
    expect(texts.symbols === null).toBe(compression === "none");
    const left = lazyTextColumn({ ...texts, gather: () => expect.unreachable("gathered") }, null);
    const result = answers(runSync(likeKernel("%77%", "", false, false)), [], left);
    expect(result).toEqual(all.map((text) => text.includes("77")));
    // The questions must not change the texts.
    expect(textsOf(column)).toEqual(all);
  }
});

function chunkedTexts({ lazy }: VariableColumn): ChunkedTexts {
  if (lazy?.kind !== "chunks") throw new Error("no chunks");
  return lazy;
}

const textsOf = ({ offsets, bytes, length }: VariableColumn): string[] =>
  Array.from({ length }, (_, row) =>
    new TextDecoder().decode(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]))),
  );

it.each([
  true,
  false,
])("texts with positions outside their chunk, or descending ones, are refused (kernel: %s)", (isOn) => {
  textKernelUse.isOn = isOn;
  const all = Array.from({ length: 2047 }, (_, row) => `name ${row % 50} of row`);
  fc.assert(
    fc.property(fc.nat({ max: 2047 }), fc.boolean(), (index, isFar) => {
      const column = chunksOf(columnOf(all), "none");
      const texts = chunkedTexts(column);
      let chunk = 0;
      let position = index;
      while (position > texts.counts[chunk]) position -= texts.counts[chunk++] + 1;
      const bytes = texts.chunks[chunk];
      const positions = new Uint32Array(bytes.buffer, bytes.byteOffset, texts.counts[chunk] + 1);
      // The first position of a chunk is wrong only if it lies before the texts.
      if (isFar) positions[position] = position === 0 ? 4 : 0x7fff_ffff;
      else positions[position] = position === 0 ? 0 : positions[position - 1] - 1;
      expect(() => answers(runSync(likeKernel("%of r%", "", false, false)), [], column)).toThrow(
        CorruptFileError,
      );
    }),
    { numRuns: 60 },
  );
});

it.each([true, false])("codes without a symbol are refused (kernel: %s)", (isOn) => {
  textKernelUse.isOn = isOn;
  const column = codesOf(columnOf(Array.from({ length: ROWS }, (_, row) => `name ${row % 50} of row`)));
  const coded = column?.lazy;
  if (coded?.kind !== "codes") throw new Error("no codes");
  const { symbols, offsets } = coded;
  const codes = coded.codes.slice();
  codes[offsets[700]] = symbols.count;
  const damaged = lazyTextColumn({ ...coded, codes }, null);
  expect(() => answers(runSync(likeKernel("%of r%", "", false, false)), [], damaged)).toThrow(
    CorruptFileError,
  );
  const cut = coded.codes.slice();
  cut[offsets[700] - 1] = 255;
  const split = lazyTextColumn({ ...coded, codes: cut }, null);
  expect(() => answers(runSync(likeKernel("%of row there%", "", false, false)), [], split)).toThrow(
    CorruptFileError,
  );
});
