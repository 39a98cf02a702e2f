/** Rows of an index sorted by value in memory, with computed ids or with the ids as data. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import type { LogicalType } from "../../../src/arrow/types/type.js";
import { integerWords, uint64Column } from "../../../src/indexes/indexColumns.js";
import type { IndexRows, RowStream } from "../../../src/indexes/kind.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { TemporaryFile } from "../../../src/io/temporaryFile.js";
import { sortByValue } from "../../../src/write/indexes/sortByValue.js";
import { sharedDirectory } from "../../support/fixtures.js";

const INT32 = { kind: "int", bits: 32, signed: true } as const;

const directory = sharedDirectory();

const makeFile = () => TemporaryFile.create(new NodeDisk({ durability: "none" }), directory);

interface Part {
  readonly values: readonly (number | null)[];
  readonly high: number;
  readonly low: number;
}

function columnOf(values: readonly (number | null)[]): Column {
  const numbers = Int32Array.from(values, (value) => value ?? 77);
  const bytes = new Uint8Array(Math.ceil(values.length / 8));
  for (const [row, value] of values.entries()) if (value !== null) bytes[row >>> 3] |= 1 << (row & 7);
  const nullCount = values.filter((value) => value === null).length;
  return {
    kind: "fixed",
    length: values.length,
    validity: nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount },
    byteWidth: 4,
    values: new Uint8Array(numbers.buffer),
  };
}

async function* batches(parts: readonly Part[], withRuns: (index: number) => boolean) {
  for (const [index, { values, high, low }] of parts.entries()) {
    const words = new Uint32Array(2 * values.length);
    for (const row of values.keys()) {
      words[2 * row] = low + row;
      words[2 * row + 1] = high;
    }
    const rows: IndexRows = { values: columnOf(values), ids: uint64Column(words), rowCount: values.length };
    yield withRuns(index) ? { ...rows, firstId: { high, low } } : rows;
  }
}

async function sorted(
  parts: readonly Part[],
  withRuns: (index: number) => boolean,
  concurrency?: number,
): Promise<[number | null, number, number][]> {
  const rows: [number | null, number, number][] = [];
  const options = { makeFile, ...(concurrency !== undefined && { concurrency }) };
  for await (const { values, ids, rowCount } of sortByValue(batches(parts, withRuns), INT32, options)) {
    if (values.kind !== "fixed") throw new Error(`a column of kind ${values.kind}`);
    const numbers = new Int32Array(values.values.buffer, values.values.byteOffset, rowCount);
    const words = integerWords(ids, "ids");
    for (let row = 0; row < rowCount; row++) {
      const { validity } = values;
      const isThere =
        validity === null ||
        ((validity.bytes[(validity.bitOffset + row) >>> 3] >> ((validity.bitOffset + row) & 7)) & 1) === 1;
      rows.push([isThere ? numbers[row] : null, words[2 * row + 1], words[2 * row]]);
    }
  }
  return rows;
}

/** Sorts rows in order, as the engine does: rows of equal values keep their order. */
function expected(parts: readonly Part[]): [number | null, number, number][] {
  const rows = parts.flatMap(({ values, high, low }) =>
    values.map((value, row): [number | null, number, number] => [value, high, low + row]),
  );
  const rank = (value: number | null): number => value ?? Number.NEGATIVE_INFINITY;
  return rows.sort(([a], [b]) => (rank(a) === rank(b) ? 0 : rank(a) < rank(b) ? -1 : 1));
}

const part = fc.record({
  values: fc.array(fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer())), { maxLength: 900 }),
  high: fc.nat(3),
  low: fc.oneof(fc.nat(5000), fc.constant(2 ** 32 - 1000)),
});

describe("the rows of an index by value", () => {
  test("have their ids for any form of ids and any memory", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.nat(8), async (parts, firstWithout) => {
        const rows = expected(parts);
        expect(await sorted(parts, () => true)).toEqual(rows);
        expect(await sorted(parts, () => false)).toEqual(rows);
        expect(await sorted(parts, (index) => index !== firstWithout)).toEqual(rows);
        expect(await sorted(parts, () => true, 2000)).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  test("take the ids of runs of consecutive batches, and of blocks beyond the first", async () => {
    const parts = Array.from({ length: 18 }, (_, index) => ({
      values: Array.from({ length: 4001 }, (_, row) => Math.imul(row + index, 2_654_435_761) >> 20),
      high: index >> 3,
      low: index % 3 === 0 ? index * 4001 : index * 5000,
    }));
    expect(await sorted(parts, () => true)).toEqual(expected(parts));
  });

  test.each<LogicalType>([
    INT32,
    { kind: "int", bits: 32, signed: false },
    { kind: "float", bits: 32 },
    { kind: "fixedSizeBinary", bytes: 4 },
  ])("keep every bit of $kind of 4 bytes, sorted by it", async (type) => {
    // Float bit patterns: 0 and -0, infinities, NaNs of both signs, and numbers in between.
    const bits = [
      0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0001, 0x3f80_0000, 0xbf80_0000,
    ];
    const all = Uint32Array.from({ length: 3000 }, (_, row) =>
      row < 1000 ? bits[row % bits.length] : Math.imul(row, 2_654_435_761),
    );
    const values = new Uint8Array(all.buffer);
    const column: Column = { kind: "fixed", length: all.length, validity: null, byteWidth: 4, values };
    const ids = Uint32Array.from({ length: 2 * all.length }, (_, word) => (word % 2 === 0 ? word / 2 : 7));
    const of = async (rows: IndexRows): Promise<number[]> => {
      const sortedIds: number[] = [];
      const input = (async function* () {
        yield rows;
      })();
      for await (const { values: blockValues, ids: ownIds } of sortByValue(input, type, { makeFile })) {
        sortedIds.push(...integerWords(blockValues, "values"), ...integerWords(ownIds, "ids"));
      }
      return sortedIds;
    };
    const rows = { values: column, ids: uint64Column(ids), rowCount: all.length };
    // Without runs the rows are sorted with all their columns.
    expect(await of({ ...rows, firstId: { high: 7, low: 0 } })).toEqual(await of(rows));
  });

  const of64 = fc.constantFrom<LogicalType>(
    { kind: "int", bits: 64, signed: true },
    { kind: "int", bits: 64, signed: false },
    { kind: "float", bits: 64 },
    { kind: "timestamp", unit: "us", timezone: null },
    { kind: "fixedSizeBinary", bytes: 8 },
  );
  const bits64 = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    // Zeros, infinities and NaN of both signs, and numbers beside zero.
    fc.constantFrom(0n, 1n, 2n ** 63n, 2n ** 64n - 1n, 0x7ff0n << 48n, 0xfff0n << 48n, 0x7ff8n << 48n),
  );

  test("keep every bit of values of 8 bytes, in any order and in order", async () => {
    await fc.assert(
      fc.asyncProperty(
        of64,
        fc.array(fc.array(bits64, { maxLength: 700 }), { maxLength: 4 }),
        fc.boolean(),
        async (type, values, isSorted) => {
          const parts = isSorted ? cutLike(values, sortedBits(values.flat(), type)) : values;
          const rows = (withRuns: boolean): RowStream =>
            (async function* () {
              for (const [index, some] of parts.entries()) {
                const bytes = new Uint8Array(BigUint64Array.from(some).buffer);
                const ids = Uint32Array.from({ length: 2 * some.length }, (_, word) =>
                  word & 1 ? index : word / 2,
                );
                yield {
                  values: { kind: "fixed", length: some.length, validity: null, byteWidth: 8, values: bytes },
                  ids: uint64Column(ids),
                  rowCount: some.length,
                  ...(withRuns && { firstId: { high: index, low: 0 } }),
                };
              }
            })();
          const wordsOf = async (input: RowStream): Promise<number[][]> => {
            const all: number[][] = [];
            for await (const block of sortByValue(input, type, { makeFile })) {
              const words = integerWords(block.values, "values");
              const ids = integerWords(block.ids, "ids");
              for (let row = 0; row < block.rowCount; row++)
                all.push([words[2 * row], words[2 * row + 1], ids[2 * row], ids[2 * row + 1]]);
            }
            return all;
          };
          // Without runs the rows are sorted with all their columns.
          expect(await wordsOf(rows(true))).toEqual(await wordsOf(rows(false)));
        },
      ),
      { numRuns: 60 },
    );
  });
});

function sortedBits(bits: readonly bigint[], type: LogicalType): bigint[] {
  const sign = 1n << 63n;
  const all = (1n << 64n) - 1n;
  const isSigned = type.kind !== "fixedSizeBinary" && (type.kind !== "int" || type.signed);
  const key = (value: bigint): bigint => {
    if (type.kind === "float") return value & sign ? value ^ all : value ^ sign;
    return isSigned ? value ^ sign : value;
  };
  return [...bits].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** Cuts values into parts as long as those of a sample. */
function cutLike(sample: readonly (readonly bigint[])[], values: readonly bigint[]): bigint[][] {
  let start = 0;
  return sample.map(({ length }) => {
    const part = values.slice(start, start + length);
    start += length;
    return part;
  });
}
