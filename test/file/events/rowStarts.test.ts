import fc from "fast-check";
import { expect, it } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import { RowStarts } from "../../../src/file/events/rowStarts.js";

const ORIGIN = { path: "t.lance", byteOffset: 0 };

/** Starts of rows whose levels come in parts of `part` events. */
function startsOf(levels: readonly number[], rowCount: number, part: number): number[] {
  const starts = new RowStarts(rowCount);
  const memory = new Uint16Array(part).fill(7);
  for (let event = 0; event < levels.length; event += part) {
    const some = levels.slice(event, event + part);
    memory.set(some);
    starts.add(memory, some.length);
  }
  return Array.from(starts.finish(ORIGIN));
}

it("rows begin with their lists, for any number of items", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 50 }), (rows, part) => {
      const levels = rows.flatMap((length) => [1, ...new Array<number>(length - 1).fill(0)]);
      const expected = [0];
      for (const length of rows) expected.push((expected.at(-1) ?? 0) + length);
      expect(startsOf(levels, rows.length, part)).toEqual(expected);
    }),
  );
});

it.each([
  ["an item before all lists", [0, 1], 1],
  ["more lists than rows", [1, 1, 0, 1], 2],
  ["fewer lists than rows", [1, 0], 2],
  ["no lists", [], 1],
  ["levels that are too large", [1, 2, 0], 3],
  ["one that is far too large", [1, 65_535, 1], 2],
])("%s are refused", (_, levels, rowCount) => {
  expect(() => startsOf(levels as number[], rowCount as number, 2)).toThrow(CorruptFileError);
});
