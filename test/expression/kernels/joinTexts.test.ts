import fc from "fast-check";
import { expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
import { validityFrom } from "../../../src/arrow/columns/validity.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { joinedTexts } from "../../../src/expression/kernels/joinTexts.js";
import { TextLane } from "../../../src/expression/kernels/textRows.js";

/** Texts around the sizes at which the way of copying changes, with characters of one to four bytes. */
const text = fc
  .oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 180, max: 400 }))
  .chain((size) => fc.string({ unit: "grapheme", minLength: size, maxLength: size }));

/** @param before bytes in front of the first text: columns are often parts of others */
function columnOf(texts: readonly (string | null)[], before = 0): VariableColumn {
  const parts = texts.map((each) => Buffer.from(each ?? ""));
  const offsets = new Int32Array(texts.length + 1).fill(before);
  for (const [row, part] of parts.entries()) offsets[row + 1] = offsets[row] + part.length;
  const bits = new Uint8Array((texts.length + 7) >>> 3);
  for (const [row, each] of texts.entries()) if (each !== null) bits[row >>> 3] |= 1 << (row & 7);
  const bytes = new Uint8Array(Buffer.concat([Buffer.alloc(before, "x"), ...parts]));
  return {
    kind: "variable",
    length: texts.length,
    validity: validityFrom(bits, 0, texts.length),
    offsets,
    bytes,
  };
}

const textsOf = ({ offsets, bytes, length }: VariableColumn): string[] =>
  Array.from({ length }, (_, row) =>
    Buffer.from(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]))).toString(),
  );

it("texts of all sizes are joined row by row, and nulls as empty texts", () => {
  const rows = fc.array(fc.tuple(fc.option(text), fc.option(text)), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(
      rows,
      text,
      fc.integer({ min: 0, max: 30 }),
      fc.boolean(),
      (pairs, constant, before, reuses) => {
        const [first, second] = [0, 1].map((side) =>
          columnOf(
            pairs.map((pair) => pair[side]),
            before,
          ),
        );
        const lanes = [
          new TextLane({ column: first, step: 1 }),
          new TextLane({ column: columnOf([constant]), step: 0 }),
          new TextLane({ column: second, step: 1 }),
        ];
        const dirty = reuses ? (byteLength: number) => new Uint8Array(byteLength).fill(0xff) : undefined;
        const joined = runSync(joinedTexts(lanes, pairs.length, dirty)) as VariableColumn;
        expect(textsOf(joined)).toEqual(pairs.map(([a, b]) => (a ?? "") + constant + (b ?? "")));
        expect(joined.bytes.length).toBe(joined.offsets[pairs.length]);
      },
    ),
  );
});

it("many rows are joined in several steps", () => {
  const texts = Array.from({ length: 20_000 }, (_, row) => `row ${row}`);
  const lanes = [
    new TextLane({ column: columnOf(texts), step: 1 }),
    new TextLane({ column: columnOf([" of many"]), step: 0 }),
  ];
  const steps = joinedTexts(lanes, texts.length);
  let count = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  expect(count).toBe(3);
  expect(textsOf(step.value as VariableColumn)).toEqual(texts.map((each) => `${each} of many`));
});
