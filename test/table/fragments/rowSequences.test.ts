import fc from "fast-check";
import { CorruptFileError } from "tiltyard";
import { describe, expect, it } from "vitest";
import {
  EncodedU64Array,
  RowDatasetVersionSequence,
  RowIdSequence,
  U16Array,
  U64Array,
  U64Range,
  U64RangeWithBitmap,
  U64RangeWithHoles,
  U64Segment,
} from "../../../src/format/table.js";
import {
  concatRuns,
  decodeRowIds,
  decodeRowVersions,
  encodeRowIds,
  encodeRowVersions,
  splitRuns,
  uniformRuns,
  type ValueRuns,
  withoutRows,
} from "../../../src/table/fragments/rowSequences.js";

const listOf = ({ step, values, counts }: ValueRuns): number[] =>
  values.flatMap((value, run) => Array.from({ length: counts[run] }, (_, row) => value + step * row));
const runsOf = (step: 0 | 1, list: readonly number[]): ValueRuns =>
  concatRuns(
    step,
    list.map((value) => ({ step, values: [value], counts: [1] })),
  );
const decode = (bytes: Uint8Array, rowCount: number) => listOf(decodeRowIds(bytes, rowCount, "p"));
const segmentsOf = (bytes: Uint8Array) => RowIdSequence.decode(bytes, { path: "p", byteOffset: 0 }).segments;
const sequence = (...segments: U64Segment[]) => RowIdSequence.encode(RowIdSequence.create({ segments }));
const shorts = (base: number, ...offsets: number[]) =>
  EncodedU64Array.create({
    u16Array: U16Array.create({ base, offsets: new Uint8Array(Uint16Array.from(offsets).buffer) }),
  });

/** Realistic ids: ascending, with gaps of all sizes, jumps back, and far apart. */
const idLists = fc
  .array(
    fc.record({
      start: fc.oneof(
        fc.nat(500),
        fc.nat(2 ** 20),
        fc.integer({ min: 2 ** 33, max: 2 ** 34 }),
        fc.integer({ min: Number.MAX_SAFE_INTEGER - 2000, max: Number.MAX_SAFE_INTEGER - 1000 }),
      ),
      gaps: fc.array(fc.oneof(fc.constant(0), fc.constant(0), fc.nat(3), fc.nat(200)), { maxLength: 40 }),
    }),
    { maxLength: 8 },
  )
  .map((parts) =>
    parts.flatMap(({ start, gaps }) => {
      let id = start;
      return gaps.map((gap) => {
        id += 1 + gap;
        return Math.min(id, Number.MAX_SAFE_INTEGER);
      });
    }),
  );

describe("row ids", () => {
  it("are decoded as they were encoded", () => {
    fc.assert(
      fc.property(idLists, (ids) => {
        expect(decode(encodeRowIds(runsOf(1, ids)), ids.length)).toEqual(ids);
      }),
      { numRuns: 500 },
    );
  });

  it("are cut and joined like lists", () => {
    const cases = idLists.chain((ids) =>
      fc.record({
        ids: fc.constant(ids),
        deleted: fc.subarray([...ids.keys()]),
        cut: fc.nat(ids.length),
        step: fc.constantFrom(0 as const, 1 as const),
      }),
    );
    fc.assert(
      fc.property(cases, ({ ids, deleted, cut, step }) => {
        const gone = new Set(deleted);
        const live = ids.filter((_, row) => !gone.has(row));
        const kept = withoutRows(runsOf(step, ids), Uint32Array.from(deleted));
        expect(listOf(kept)).toEqual(live);
        const index = Math.min(cut, live.length);
        const pieces = splitRuns(kept, [index, live.length - index]);
        expect(pieces.map(listOf)).toEqual([live.slice(0, index), live.slice(index)]);
        expect(listOf(concatRuns(step, pieces))).toEqual(live);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["a range", [5, 6, 7, 8], "range"],
    ["a range and what it lacks", [...Array(300).keys()].filter((id) => id !== 5), "rangeWithHoles"],
    ["a range and bits", [...Array(300).keys()].filter((id) => id % 3 !== 1), "rangeWithBitmap"],
    ["a list that ascends", [0, 40, 80, 120], "sortedArray"],
    ["a list", [9, 3, 700_000, 1, 5], "array"],
  ] as const)("take the shortest form: %s", (_, ids, form) => {
    const segments = segmentsOf(encodeRowIds(runsOf(1, ids)));
    expect(segments.map((segment) => segment[form] !== undefined)).toEqual([true]);
  });

  it("of appended fragments are one range", () => {
    const runs = concatRuns(
      1,
      Array.from({ length: 500 }, (_, part) => ({ step: 1, values: [part * 3], counts: [3] })),
    );
    expect(segmentsOf(encodeRowIds(runs))).toHaveLength(1);
  });

  it("are read in the forms that only others write", () => {
    const bitmap = U64RangeWithBitmap.create({ start: 3, end: 7, bitmap: Uint8Array.of(9) });
    const holes = U64RangeWithHoles.create({ start: 10, end: 14, holes: shorts(11, 0, 1) });
    const words = EncodedU64Array.create({
      u64Array: U64Array.create({ values: new Uint8Array(BigUint64Array.of(2n ** 40n, 1n).buffer) }),
    });
    const bytes = sequence(
      U64Segment.create({ rangeWithBitmap: bitmap }),
      U64Segment.create({ rangeWithHoles: holes }),
      U64Segment.create({ array: words }),
      U64Segment.create({ sortedArray: shorts(100, 1, 5) }),
    );
    expect(decode(bytes, 8)).toEqual([3, 6, 10, 13, 2 ** 40, 1, 101, 105]);
  });

  it.each([
    ["fewer ids than rows", sequence(U64Segment.create({ range: U64Range.create({ start: 0, end: 9 }) }))],
    [
      "more ids than rows",
      sequence(U64Segment.create({ range: U64Range.create({ start: 0, end: 2 ** 50 }) })),
    ],
    ["a range backwards", sequence(U64Segment.create({ range: U64Range.create({ start: 20, end: 10 }) }))],
    [
      "holes outside",
      sequence(
        U64Segment.create({
          rangeWithHoles: U64RangeWithHoles.create({ start: 0, end: 11, holes: shorts(40, 0) }),
        }),
      ),
    ],
    [
      "holes twice",
      sequence(
        U64Segment.create({
          rangeWithHoles: U64RangeWithHoles.create({ start: 0, end: 12, holes: shorts(4, 0, 0) }),
        }),
      ),
    ],
    [
      "a short bitmap",
      sequence(
        U64Segment.create({
          rangeWithBitmap: U64RangeWithBitmap.create({ start: 0, end: 10, bitmap: Uint8Array.of(255) }),
        }),
      ),
    ],
    [
      "an odd byte",
      sequence(
        U64Segment.create({
          array: EncodedU64Array.create({
            u16Array: U16Array.create({ base: 0, offsets: new Uint8Array(21) }),
          }),
        }),
      ),
    ],
    ["nothing", new Uint8Array(0)],
    ["garbage", Uint8Array.of(10, 200, 1, 1)],
  ])("of ten rows with %s are damaged", (_, bytes) => {
    expect(() => decodeRowIds(bytes, 10, "p")).toThrow(CorruptFileError);
  });
});

describe("row versions", () => {
  it("are decoded as they were encoded", () => {
    const lists = fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 9 })), { maxLength: 12 });
    fc.assert(
      fc.property(lists, (parts) => {
        const list = parts.flatMap(([count, version]) => Array<number>(count).fill(version));
        const runs = runsOf(0, list);
        expect(listOf(decodeRowVersions(encodeRowVersions(runs), list.length, "p"))).toEqual(list);
      }),
    );
  });

  it("count the rows of a span, whatever positions it names", () => {
    const spans = [
      U64Segment.create({
        rangeWithBitmap: U64RangeWithBitmap.create({ start: 0, end: 4, bitmap: Uint8Array.of(9) }),
      }),
      U64Segment.create({ range: U64Range.create({ start: 1, end: 4 }) }),
    ];
    const bytes = RowDatasetVersionSequence.encode(
      RowDatasetVersionSequence.create({ runs: spans.map((span, index) => ({ span, version: 7 + index })) }),
    );
    expect(listOf(decodeRowVersions(bytes, 5, "p"))).toEqual([7, 7, 8, 8, 8]);
    expect(() => decodeRowVersions(bytes, 6, "p")).toThrow(CorruptFileError);
    expect(() => decodeRowVersions(bytes, 4, "p")).toThrow(CorruptFileError);
  });

  it("may all be equal", () => {
    expect(uniformRuns(3, 0)).toEqual({ step: 0, values: [], counts: [] });
    expect(listOf(uniformRuns(3, 2))).toEqual([3, 3]);
  });
});
